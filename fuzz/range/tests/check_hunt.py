#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""iwarp-fuzz against the practice range: a hunt finds each bug, and names its function.

usage: check_hunt.py IWARP-FUZZ PROGRAM SECONDS BUG...
SECONDS: that a hunt may take, a bound and no measure: it ends with its first finding
"""
import os
import sys
import tempfile

import harness

AS_INITIATOR = {"4"}  # bugs of the initiator


def listed(program):
    """The function of each bug, by its number."""
    return {words[0]: words[2] for words in (line.split() for line in harness.run(program, "--list").stdout.splitlines())}


def hunt(fuzzer, program, seconds, bug, function):
    environment = {**os.environ, "IW_RANGE_BUG": bug, "PATH": os.path.dirname(program) + ":" + os.environ["PATH"]}
    with tempfile.TemporaryDirectory() as folder:
        done = harness.run(fuzzer, "--target", "range-client" if bug in AS_INITIATOR else "range", "--time", seconds, "--findings", "1",
                           "--results", folder + "/results", "--json", folder + "/report", status=None, env=environment)
        report = harness.load(folder, "report")
    texts = [finding["text"] for finding in report["findings"]]
    harness.expect("bug %s is found" % bug, done.returncode == 1 and texts, (done.returncode, report.get("sequences"), done.stderr[-500:]))
    for finding in report["findings"]:
        harness.expect("bug %s: its function" % bug, " in %s" % function in finding["text"], finding)
        print("bug %s: sequence %s, %.1f s: %s" % (bug, finding["sequence"], finding["seconds"], finding["text"][:150]))
    sys.stdout.flush()


def main(fuzzer, program, seconds, *bugs):
    fuzzer, program = os.path.abspath(fuzzer), os.path.abspath(program)
    functions = listed(program)
    for bug in bugs:
        hunt(fuzzer, program, seconds, bug, functions[bug])
    harness.conclude()


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
