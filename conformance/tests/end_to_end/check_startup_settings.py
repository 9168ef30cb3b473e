#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the suite against the embedded target in the settings of its start-up.

usage: check_startup_settings.py IWARP-CONFORM few|all [LUA DECODE-DIR]

all: every combination of CRC on and off, Markers for both ends, one of them and none, and revision
0 (a permissive target), 1, 2 plain and 2 enhanced. few: three that have every setting between
them. No case may end as FAIL, ERROR or INCONCLUSIVE, and every SKIP says why. With LUA and DECODE-DIR
the second decoder follows all captures and finds every header as the RFCs lay it out.
"""
import itertools
import os
import sys
import tempfile

import harness

SETTINGS = list(itertools.product(("on", "off"), ("both", "target", "station", "none"),
                                  ("0", "1", "2-plain", "2")))
FEW = [("off", "both", "1"), ("on", "target", "2-plain"), ("off", "station", "0")]
LEAST = 900  # cases that pass in every setting


def run(conform, folder, spec, decoder):
    pcaps = os.path.join(folder, "pcaps")
    report = harness.suite(conform, folder, "--target", spec, "--pcap-dir", pcaps)
    if decoder:
        harness.run(*decoder, pcaps)
    return report["cases"]


def main(conform, which, *decoder):
    if which not in ("few", "all"):
        sys.exit(__doc__)
    for crc, markers, revision in SETTINGS if which == "all" else FEW:
        spec = "embedded,crc=%s,markers=%s,revision=%s" % (crc, markers, revision)
        with tempfile.TemporaryDirectory() as folder:
            cases = run(conform, folder, spec, decoder)
        count = {v: sum(c["verdict"] == v for c in cases)
                 for v in ("PASS", "NOTE", "FAIL", "INCONCLUSIVE", "SKIP", "ERROR")}
        print(spec + ": " + ", ".join("%d %s" % (n, v) for v, n in count.items()), flush=True)
        if count["FAIL"] or count["ERROR"] or count["INCONCLUSIVE"] or count["PASS"] < LEAST:
            sys.exit("%s: not what a right peer shows" % spec)
        if any(c["verdict"] == "SKIP" and not c["reason"] for c in cases):
            sys.exit("%s: a case is skipped without a reason" % spec)


if __name__ == "__main__":
    harness.start(main, __doc__)
