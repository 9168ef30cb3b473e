#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the suite against the example targets that have no agent, in both roles.

usage: check_personalities.py IWARP-CONFORM IWARP-PEER [LUA DECODE-DIR]

A peer that only listens, or only connects: at least 60 cases are judged; rping's server or client: at least 120. None of
them fails, and none is INCONCLUSIVE. The second decoder follows the captures.
"""
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

LEAST = {"iwarp-peer": 60, "bare-client": 60, "rping-peer": 120, "rping-client": 120}
# The needs of a case against rping's part.
OWN = {"rping-peer": ("responder", "rping-server-"), "rping-client": ("initiator", "rping-client-")}


def play(conform, decoder, environment, folder, target):
    folder = os.path.join(folder, target)
    pcaps = os.path.join(folder, "pcaps")
    done = subprocess.run([conform, "run", "--target", target, "--time-scale", "10", "--results", folder, "--pcap-dir", pcaps],
                          capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        sys.exit("%s: exit %d\n%s%s" % (target, done.returncode, done.stdout, done.stderr))
    with open(os.path.join(folder, "run.json"), encoding="utf-8") as f:
        cases = json.load(f)["cases"]
    judged = [c for c in cases if c["verdict"] in ("PASS", "NOTE", "FAIL")]
    print("%s: %d cases are judged" % (target, len(judged)))
    if len(judged) < LEAST[target]:
        sys.exit("%s: fewer than %d" % (target, LEAST[target]))
    if target in OWN:
        role, prefix = OWN[target]
        left_out = [c["id"] for c in cases if c["id"].startswith(prefix) and c not in judged]
        if left_out or any(c["role"] != role for c in judged):
            sys.exit("%s: not judged, or of the other role: %s" % (target, left_out))
    if decoder:
        done = subprocess.run([*decoder, pcaps], capture_output=True, text=True)
        print("%s: %s" % (target, done.stdout.strip()))
        if done.returncode != 0:
            sys.exit("%s: second decoder: exit %d\n%s" % (target, done.returncode, done.stderr))


def main(conform, peer, *decoder):
    environment = dict(os.environ, PATH=os.path.dirname(peer) + ":" + os.environ["PATH"])
    # They mostly wait.
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(len(LEAST)) as pool:
        list(pool.map(lambda target: play(conform, decoder, environment, folder, target), LEAST))


if __name__ == "__main__":
    if len(sys.argv) not in (3, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:])
