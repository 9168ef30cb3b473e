#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""iwarp-lint on captures that begin late: nothing is found that the whole capture does not show, and framing is found.

usage: check_lint_joined.py IWARP-LINT GOLDEN
"""
import os
import struct
import sys

import harness

PORT = "4711"
PACKET = 6  # pcapng: Enhanced Packet Block
CAPTURES = ["tcp/aligned-%s.pcapng", "tcp/packed-%s.pcapng", "tcp/unaligned-%s.pcapng", "operations/%s.pcapng"]
SETTINGS = ["crc", "nocrc", "markers", "markers-nocrc"]


def blocks(data):
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        yield kind, data[at:at + length]
        at += length


def without_first(data, n):
    kept, seen = [], 0
    for kind, block in blocks(data):
        seen += kind == PACKET
        if kind != PACKET or seen > n:
            kept.append(block)
    return b"".join(kept)


def lint(program, data):
    done = harness.run(program, "--json", "--messages", "--decode-as", PORT, "-", status=None, input=data, text=False)
    return done.returncode, harness.lines_of(done.stdout)


def main(program, golden):
    tried = 0
    for name in [c % s for c in CAPTURES for s in SETTINGS]:
        path = os.path.join(golden, name)
        if not os.path.exists(path):
            continue
        data = harness.octets(path)
        packets = sum(kind == PACKET for kind, _ in blocks(data))
        for n in range(packets):
            status, out = lint(program, without_first(data, n))
            if status != 0 or any(o["type"] == "finding" for o in out):
                sys.exit(f"{name} from packet {n + 1} on: exit {status}\n{out}")
            if n == 5 and not any(o["type"] == "message" for o in out):
                sys.exit(f"{name} from packet {n + 1} on: no message is seen\n{out}")
        tried += packets
    if tried < 100:
        sys.exit(f"{tried} beginnings only")
    print(f"{tried} beginnings")


if __name__ == "__main__":
    harness.start(main, __doc__)
