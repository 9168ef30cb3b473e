#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""depth.py FOLDER

Does the mutator get deep? Plants a trap in a copy of the tree in FOLDER (as planted.py does): the endpoint breaks down when it is about to
deliver the fifth Send in order. Runs the responder's harness from one seed, with two Sends and a Write, for 45 s at most: five times with
the mutator, three times with libFuzzer's own mutations alone. Prints after how many runs the trap was found. Exit status 1 unless the
mutator finds it each time.
"""
import os
import re
import subprocess
import sys
import tempfile

import planted

sys.path.insert(0, os.path.join(planted.ROOT, "fuzz", "seeds"))
import captures  # noqa: E402
import seeds  # noqa: E402

SECONDS = 45
TRAP = {"name": "depth", "file": "endpoint/rx.c", "old": "    ep->rx_open = false;\n    ep->rx_msn[IW_QN_SEND]++;\n    deliver(",
        "new": "    ep->rx_open = false;\n    if (ep->rx_msn[IW_QN_SEND] == 5)\n        __builtin_trap();\n    ep->rx_msn[IW_QN_SEND]++;\n    deliver("}


def seed():
    """Returns a seed started up by the harness itself, with CRCs and posted receives. The fuzzer has to find the rest."""
    receives = b"".join(seeds.step(seeds.LOCAL, seeds.operation(seeds.RECV, 1, 8, 0, 64)) for _ in range(8))
    sends = [bytes([0x41, 0x43]) + bytes(8) + bytes([0, 0, 0, msn]) + bytes(4) + b"send" for msn in (1, 2)]
    write = bytes([0xC1, 0x40, 0x11, 0x22, 0x33, 0x44, 0, 0, 0, 0, 0, 0, 0x10, 0]) + b"write"
    fpdus = [captures.frame(ulpdu, 0, False, True) for ulpdu in (*sends, write)]
    return bytes([seeds.STARTED | seeds.CRC, 0, 0x44, 0]) + receives + b"".join(seeds.step(seeds.A, fpdu) for fpdu in fpdus)


def hunt(binary, number, mutator):
    """(found, runs)"""
    with tempfile.TemporaryDirectory() as folder:
        corpus = os.path.join(folder, "corpus")
        os.mkdir(corpus)
        with open(os.path.join(corpus, "seed"), "wb") as f:
            f.write(seed())
        done = subprocess.run([binary, f"-seed={number}", f"-max_total_time={SECONDS}", "-max_len=4096", "-print_final_stats=1", corpus], cwd=folder, text=True,
                              capture_output=True, check=False, errors="replace", env={**os.environ, "IW_FUZZ_MUTATOR": "on" if mutator else "off"})
        runs = re.findall(r"number_of_executed_units: (\d+)", done.stderr)
        trapped = done.returncode != 0 and ("deliver" in done.stderr or "receive_send" in done.stderr)
        if done.returncode != 0 and not trapped:
            sys.exit(f"failed otherwise: {done.stderr[-2000:]}")
        return trapped, int(runs[-1]) if runs else 0


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    tree = os.path.abspath(sys.argv[1])
    planted.copy_tree(tree)
    path, before = planted.plant(tree, TRAP)
    try:
        planted.build(tree, ["endpoint-responder"])
        binary = planted.program(os.path.join(tree, "build-asan", "bin", "fuzz"), "endpoint-responder")
        good = True
        for mutator, times in ((True, 5), (False, 3)):
            for number in range(1, times + 1):
                found, runs = hunt(binary, number, mutator)
                good &= found or not mutator
                print(f"{'with' if mutator else 'without'} the mutator, seed {number}: {'found' if found else 'not found'} after {runs} runs", flush=True)
    finally:
        with open(path, "w", encoding="utf-8") as f:
            f.write(before)
    sys.exit(not good)


if __name__ == "__main__":
    main()
