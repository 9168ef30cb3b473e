#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the suite against the example targets that have no agent, in both roles.

usage: check_personalities.py IWARP-CONFORM IWARP-PEER [LUA DECODE-DIR]

A peer that only listens, or only connects: at least 60 cases are judged; rping's server or client: at least 120. None of
them fails, and none is INCONCLUSIVE. The second decoder follows the captures.
"""
import functools
import os
import sys
import tempfile

import harness

LEAST = {"iwarp-peer": 60, "bare-client": 60, "rping-peer": 120, "rping-client": 120}
# The needs of a case against rping's part.
OWN = {"rping-peer": ("responder", "rping-server-"), "rping-client": ("initiator", "rping-client-")}


def play(conform, decoder, environment, folder, target):
    folder = os.path.join(folder, target)
    pcaps = os.path.join(folder, "pcaps")
    cases = harness.suite(conform, folder, "--target", target, "--time-scale", "10", "--pcap-dir", pcaps, env=environment)["cases"]
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
        print("%s: %s" % (target, harness.run(*decoder, pcaps).stdout.strip()))


def main(conform, peer, *decoder):
    environment = dict(os.environ, PATH=os.path.dirname(peer) + ":" + os.environ["PATH"])
    # They mostly wait.
    with tempfile.TemporaryDirectory() as folder:
        harness.side_by_side([functools.partial(play, conform, decoder, environment, folder, target) for target in LEAST], len(LEAST))


if __name__ == "__main__":
    harness.start(main, __doc__)
