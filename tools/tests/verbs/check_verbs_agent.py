#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The second loop: the whole suite against iwarp-agent on our own libibverbs.

usage: check_verbs_agent.py IWARP-CONFORM TARGET BASELINE

TARGET is conformance/targets/verbs-agent.lua, played at a free port; BASELINE gives a reason for each case that does not pass. No case may be
INCONCLUSIVE.
"""
import os
import tempfile

import harness

PASSES = 1700  # at least
PORT = "7475"  # the target file's


def main(conform, target, baseline):
    text = harness.read(target)
    harness.check(text.count(PORT) == 2, "the target file names its port twice")
    with tempfile.TemporaryDirectory() as folder:
        own = harness.write(os.path.join(folder, "verbs-agent.lua"), text.replace(PORT, str(harness.free_port())))
        results = os.path.join(folder, "results")
        path = os.path.dirname(os.path.abspath(conform)) + os.pathsep + os.environ["PATH"]
        harness.run(conform, "run", "--target", own, "--baseline", baseline, "--results", results, "--time-scale", "0.34", "--jobs", "4",
                    env=dict(os.environ, PATH=path))
        verdicts = [case["verdict"] for case in harness.load(results, "run.json")["cases"]]
    for verdict in sorted(set(verdicts)):
        print(verdict, verdicts.count(verdict))
    harness.check("INCONCLUSIVE" not in verdicts and "ERROR" not in verdicts, "every case has a verdict")
    harness.check(verdicts.count("PASS") >= PASSES, f"at least {PASSES} cases pass")


if __name__ == "__main__":
    harness.start(main, __doc__)
