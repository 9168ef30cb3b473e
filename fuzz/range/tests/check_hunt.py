#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""iwarp-fuzz against the practice range: a hunt finds each bug once, names its function, and its case shows it again.

usage: check_hunt.py IWARP-FUZZ IWARP-CONFORM PROGRAM SECONDS MORE BUG...
SECONDS: that a hunt may take, a bound and no measure: it ends when it has found as many causes as there are bugs
MORE: seconds of a second hunt that goes on, whatever it finds (0: none)
BUG: numbers of bugs that are switched on together ("2", "2,8,11")
"""
import functools
import json
import os
import sys
import tempfile

import harness

AS_INITIATOR = {"4"}  # bugs of the initiator
PLAYS, SHOWN = 10, 9
AT_A_TIME = 3  # they wait for most of the time


class Range:
    def __init__(self, fuzzer, conform, program):
        self.fuzzer, self.conform, self.program = map(os.path.abspath, (fuzzer, conform, program))
        lines = harness.run(self.program, "--list").stdout.splitlines()
        self.functions = {words[0]: words[2] for words in map(str.split, lines)}

    def environment(self, bugs):
        return {**os.environ, "IW_RANGE_BUG": bugs, "PATH": os.path.dirname(self.program) + ":" + os.environ["PATH"]}

    def target(self, bugs):
        return "range-client" if bugs in AS_INITIATOR else "range"

    def hunt(self, bugs, folder, *words):
        os.mkdir(folder)
        done = harness.run(self.fuzzer, "--target", self.target(bugs), "--results", folder, "--json", folder + "/report", *words, status=None,
                           env=self.environment(bugs))
        report = harness.load(folder, "report")
        harness.equal("bugs %s: exit status" % bugs, done.returncode, 1 if report["findings"] else 0)
        return report

    def judge(self, bugs, report, all_of_them):
        """Each finding is one of the bugs, no bug is found twice."""
        left = {bug: self.functions[bug] for bug in bugs.split(",")}
        for finding in report["findings"]:
            bug = next((bug for bug, function in left.items() if " in %s" % function in finding["text"]), None)
            harness.expect("bugs %s: a finding of its own" % bugs, bug is not None, finding)
            harness.expect("bugs %s: a case that shows it" % bugs, finding["verdict"] and not finding["verdict"].startswith("PASS"), finding)
            left.pop(bug, None)
            print("bug %s: sequence %s, %.1f s: %s" % (bug, finding["sequence"], finding["seconds"], finding["text"][:150]), flush=True)
        harness.expect("bugs %s: all are found" % bugs, not (all_of_them and left), (left, report["sequences"]))

    def play(self, bugs, finding, folder):
        """Plays the saved case again and again, each time with a new process."""
        bug = next(bug for bug in bugs.split(",") if " in %s" % self.functions[bug] in finding["text"])
        shown, seen = 0, []
        for i in range(PLAYS):
            results = "%s/play-%d" % (folder, i)
            harness.run(self.conform, "run", "--target", self.target(bugs), "--cases", finding["case"], "--allow-hazard", "--results", results,
                        status=None, env=self.environment(bugs))
            report = harness.load(results, "run.json")
            own = " in %s" % self.functions[bug] in json.dumps(report["findings"])
            shown += own and len(report["findings"]) == 1
            seen.append(report["findings"])
        harness.expect("bug %s: its case shows it" % bug, shown >= SHOWN, (shown, seen))
        print("bug %s: its case shows it %d times of %d" % (bug, shown, PLAYS), flush=True)

    def look_at(self, bugs, seconds, more):
        with tempfile.TemporaryDirectory() as folder:
            report = self.hunt(bugs, folder + "/hunt", "--time", seconds, "--findings", str(len(bugs.split(","))))
            self.judge(bugs, report, True)
            for finding in report["findings"]:
                if any(" in %s" % self.functions[bug] in finding["text"] for bug in bugs.split(",")):
                    self.play(bugs, finding, folder)
            if float(more) > 0:
                self.judge(bugs, self.hunt(bugs, folder + "/more", "--time", more), False)


def main(fuzzer, conform, program, seconds, more, *bugs):
    practice = Range(fuzzer, conform, program)
    harness.side_by_side([functools.partial(practice.look_at, one, seconds, more) for one in bugs], AT_A_TIME)
    harness.conclude()


if __name__ == "__main__":
    if len(sys.argv) < 7:
        sys.exit(__doc__)
    main(*sys.argv[1:])
