#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Findings come from the wire: what the target's agent calls its faults changes none of them.

usage: check_renamed.py IWARP-CONFORM IWARP-AGENT [all]

Plays cases against an agent that is bent, and again with a program between runner and agent that gives each check and each rule in the
agent's events another name, or a name that is none. Compares rule, verdict, text, count and cases of the findings.
"""
import os
import sys
import tempfile

import harness

# Between runner and agent, which talk through a socket (--control-fd N). Requests pass as they are.
BETWEEN = r"""#!%(python)s
import json, os, socket, subprocess, sys, threading

OTHERS = {"check": ["mpa-marker-rsvd", "ddp-rsvd", "no-such-check"], "rule": ["MPA-4.2-02", "SEC-A-01", "NO-1-01"]}
at = sys.argv.index("--control-fd") + 1
runner = socket.socket(fileno=int(sys.argv[at]))
ours, theirs = socket.socketpair()
words = sys.argv[1:at] + [str(theirs.fileno())] + sys.argv[at + 1:]
agent = subprocess.Popen([%(agent)r] + words + %(switches)r, pass_fds=[theirs.fileno()])
theirs.close()

def requests():
    while octets := runner.recv(65536):
        ours.sendall(octets)
    ours.shutdown(socket.SHUT_WR)

threading.Thread(target=requests, daemon=True).start()
seen = 0
for line in ours.makefile("rb"):
    if b'"event"' in line and (b'"check"' in line or b'"rule"' in line):
        event = json.loads(line)
        seen += 1
        for name, others in OTHERS.items():
            if name in event:
                event[name] = next(o for o in others[seen %% 3:] + others if o != event[name])
        line = json.dumps(event).encode() + b"\n"
        with open(%(count)r, "a") as file:
            file.write("x")
    runner.sendall(line)
os._exit(agent.wait() and 1)
"""

FAMILIES = ("ddp-msn-*", "ddp-*stag*", "mpa-crc-*", "mpa-fault-*", "rdmap-opcode-*", "rdmap-terminate-*", "ext-atomic-*")
SWITCHES = (["--botch=ddp-stag=code"], ["--violate=mpa-pad", "--botch=rdmap-opcode=type"])


# No verdict may depend on how busy the machine is: an awaited message comes, or does not for minutes.
def findings(conform, agent, folder, every):
    words = [] if every else [w for family in FAMILIES for w in ("--select", family)]
    harness.run(conform, "run", "--agent", agent, "--time-scale", "10", "-j", "8", "--results", folder, *words, status=(0, 1, 3))
    report = harness.load(folder, "run.json")
    return [{k: f[k] for k in ("rule", "verdict", "text", "count", "cases")} for f in report["findings"]], \
        {c["id"]: c["verdict"] for c in report["cases"]}


def main(conform, agent, every=""):
    for switches in SWITCHES:
        with tempfile.TemporaryDirectory() as folder:
            count = os.path.join(folder, "count")
            plain = harness.script(os.path.join(folder, "plain"), '#!/bin/sh\nexec "%s" "$@" %s\n' % (agent, " ".join(switches)))
            renamed = harness.script(os.path.join(folder, "renamed"), BETWEEN % {
                "python": sys.executable, "agent": str(agent), "switches": switches, "count": count})
            wanted, verdicts = findings(conform, plain, os.path.join(folder, "a"), every)
            found, again = findings(conform, renamed, os.path.join(folder, "b"), every)
            harness.expect(f"{switches}: findings", len(wanted) > 0)
            harness.expect(f"{switches}: events were renamed", os.path.exists(count) and os.path.getsize(count) > 50)
            harness.expect(f"{switches}: the same findings", found == wanted, f"got {found}\nexpected {wanted}")
            other = {case: (verdicts[case], again[case]) for case in verdicts if verdicts[case] != again[case]}
            harness.expect(f"{switches}: the same verdicts", not other, other)
    harness.conclude()


if __name__ == "__main__":
    harness.start(main, __doc__)
