#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The suite against the practice range: no bug, no failure; one bug, one finding, which names its function.

usage: check_suite.py IWARP-CONFORM PROGRAM BUG...
BUG: numbers of bugs that are switched on together ("0", "2", "2,8,11")
"""
import os
import re
import sys
import tempfile

import harness

# What the suite provokes of no peer without an agent: cases of our own do.
OWN = {"15"}
# A target that hangs is waited for, again and again.
SCALES = {"5": "2"}
CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases")


def functions(program, bugs):
    """Of these bugs, in the words of --list."""
    listed = dict(line.split(None, 3)[::2] for line in harness.run(program, "--list").stdout.splitlines())
    return {listed[bug] for bug in bugs.split(",") if bug != "0"}


def look_at(conform, program, bugs, clean):
    """Plays the suite. Returns the report. `clean`: that of the program without bugs, or None."""
    environment = {**os.environ, "IW_RANGE_BUG": bugs, "PATH": os.path.dirname(program) + ":" + os.environ["PATH"]}
    with tempfile.TemporaryDirectory() as results:
        words = ["--cases", CASES] if bugs in OWN else []
        done = harness.run(conform, "run", "--target", "range", "-j", "4", "--time-scale", SCALES.get(bugs, "3"), "--results", results, *words,
                           status=None, env=environment)
        report = harness.load(results, "run.json")
    wanted = functions(program, bugs)
    what = "bugs %s" % bugs
    harness.equal(what + ": exit status", done.returncode, 1 if wanted else 0)
    harness.equal(what + ": findings", len(report["findings"]), len(wanted))
    for finding in report["findings"]:
        named = {function for function in wanted if re.search(r"\b%s\b" % function, finding["text"])}
        harness.expect(what + ": a crash, and its function", finding["rule"] is None and len(named) == 1, finding)
        wanted -= named
    crashed = {case for finding in report["findings"] for case in finding["cases"]}
    for case in report["cases"]:
        before = (clean or {}).get(case["id"], "PASS")
        if case["id"] not in crashed and clean and before != case["verdict"]:
            harness.complain("%s: %s is %s, and %s without a bug" % (what, case["id"], case["verdict"], before))
    return report


def main(conform, program, *bugs):
    conform, program = os.path.abspath(conform), os.path.abspath(program)
    clean = {case["id"]: case["verdict"] for case in look_at(conform, program, "0", None)["cases"]}
    harness.expect("cases are played", sum(verdict == "PASS" for verdict in clean.values()) > 300, clean)
    for one in bugs:
        look_at(conform, program, one, clean)
    harness.conclude()


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
