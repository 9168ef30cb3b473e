#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks how planted.py and depth.py interpret a fuzzer's output; a script plays the fuzzer.

usage: check_scripts.py
"""
import contextlib
import csv
import io
import os
import sys
import tempfile

import harness

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import depth
import planted


def fuzzer(path, text):
    return harness.script(path, "#!/bin/sh\n" + text)


def ended(call):
    """(what it ended the program with, what it printed)"""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        try:
            call()
        except SystemExit as e:
            return e.code, said.getvalue()
    return None, said.getvalue()


def depth_is_found_by_its_trap(folder):
    """A function that is reached for the first time is printed, too."""
    new = "echo 'NEW_FUNC[1/2]: 0x1 in receive_send' >&2; echo 'stat::number_of_executed_units: 7' >&2; "
    for status, found in ((0, False), (77, True)):
        assert depth.hunt(fuzzer(folder + "/fuzzer", new + "exit %d\n" % status), 1, True) == (found, 7), status


CRASHES = """for word; do case $word in -artifact_prefix=*) echo x >"${word#*=}crash-1" ;; esac; done; exit 77
"""


def real_bugs_fail(folder):
    """An input that fails without the fault, too, is a finding of the worst kind."""
    tree = folder + "/tree"
    with open(os.path.join(planted.ROOT, "fuzz", "planted_faults.csv"), newline="", encoding="utf-8") as f:
        fault = next(row for row in csv.DictReader(f) if " " not in row["harnesses"])
    harness = fault["harnesses"]
    program = planted.program(tree + "/build-asan/bin/fuzz", harness)
    baseline = planted.program(tree + "/baseline", harness)
    fuzzer(program, "exit 0\n")

    def plant(_, __):
        fuzzer(program, CRASHES)
        fuzzer(baseline, "exit 1\n")
        return os.devnull, ""

    planted.copy_tree = planted.build = planted.gather = lambda *_: None
    planted.plant = plant
    planted.hunt = lambda *_: (planted.turn(tree, harness, folder, 1, False), (harness, "said", 1.0))[1]
    sys.argv = ["planted.py", "--select", fault["name"], tree]
    code, said = ended(planted.main)
    assert code == 1 and "fails without a fault, too: %s/real/%s-crash-1\n" % (tree, harness) in said, (code, said)
    # Who is killed has found nothing.
    fuzzer(program, "kill -KILL $$\n")
    code, said = ended(lambda: planted.turn(tree, harness, folder, 1, False))
    assert code == harness + " was killed by signal 9", (code, said)


def main():
    for check in (depth_is_found_by_its_trap, real_bugs_fail):
        if len(sys.argv) < 2 or check.__name__ in sys.argv[1:]:
            with tempfile.TemporaryDirectory() as folder:
                check(folder)


main()
