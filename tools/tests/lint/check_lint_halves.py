#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""iwarp-lint on captures whose directions follow one another, as two taps' files put together do: no rule is found broken that
the capture in order does not show.

usage: check_lint_halves.py IWARP-LINT GOLDEN
"""
import pathlib
import sys

import harness
from check_lint_joined import PACKET, blocks

# What it is found to be is proven by a frame with which a direction ends, as long as the other one is silent; nobody can see that here.
AS_IT_STANDS = {"mpa-pd-order": "mpa-pd-length"}
SENDER = slice(34, 40)  # of an Enhanced Packet Block: the second Ethernet address


def lint(program, data):
    """How often each rule is found broken."""
    found = harness.lines_of(harness.run(program, "--json", "-", status=(0, 1), input=data, text=False).stdout)
    return sorted(o["check"] for o in found if o["type"] == "finding")


def main(program, golden):
    tried = 0
    for path in sorted(pathlib.Path(golden).glob("*/*.pcapng")):
        parts = list(blocks(path.read_bytes()))
        head = [block for kind, block in parts if kind != PACKET]
        packets = [block for kind, block in parts if kind == PACKET]
        halves = [[p for p in packets if p[SENDER] == sender] for sender in dict.fromkeys(p[SENDER] for p in packets)]
        whole = lint(program, b"".join(head + packets))
        for first, second in (halves, halves[::-1]):
            found = lint(program, b"".join(head + first + second))
            if not set(found) <= set(whole) | {AS_IT_STANDS.get(check) for check in whole}:
                sys.exit(f"{path}: {found}, in order {whole}")
            tried += 1
    if tried < 900:
        sys.exit(f"{tried} captures only")
    print(f"{tried} captures")


if __name__ == "__main__":
    harness.start(main, __doc__)
