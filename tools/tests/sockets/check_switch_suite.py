#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The conformance suite against sockets that are switched to iWARP: a program in Python that knows nothing of MPA is a responder as
strict as any.

usage: check_switch_suite.py IWARP-RUN IWARP-CONFORM
"""
import collections
import os
import sys
import tempfile

import harness

SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "switched_server.py")
PASSES = 330  # at least


def main(run, conform):
    with harness.Peer(run, "--sockets", sys.executable, SERVER, strict=False) as peer, tempfile.TemporaryDirectory() as folder:
        target = f"tcp:{peer.address},class=bare,crc=on,rev=2,can=read,can=extensions,can=ird.16"
        cases = harness.suite(conform, folder, "--target", target)["cases"]
    verdicts = collections.Counter(case["verdict"] for case in cases)
    other = [case["id"] for case in cases if case["verdict"] not in ("PASS", "SKIP")]
    harness.check(not other, "no case fails", other)
    harness.check(verdicts["PASS"] >= PASSES, f"at least {PASSES} cases pass", verdicts)


harness.start(main, "usage: check_switch_suite.py IWARP-RUN IWARP-CONFORM")
