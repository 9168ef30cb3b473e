#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The suite against the embedded peer, once for all tests that look at its results.

usage: suite_embedded.py IWARP-CONFORM FOLDER [LUA DECODE-DIR]

Leaves in FOLDER, made anew: run.json, journal.jsonl, report.html and a capture of every case in pcaps/. Good if every
case passed or was skipped, every case that was played has a capture, the page holds all of them in less than 4 MB, and the second decoder (DECODE-DIR), which shares nothing
with the runner, follows all of them and finds every header as the RFCs lay it out.
"""
import pathlib
import shutil
import sys

import harness

PAGE = 4 << 20  # octets


def main(conform, folder, *decoder):
    folder = pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    pcaps = folder / "pcaps"
    # No verdict may depend on how busy the machine is: an awaited message comes, or does not for minutes.
    cases = harness.suite(conform, folder, "--time-scale", "10", "--pcap-dir", pcaps, stdout=None)["cases"]
    # A NOTE leaves the exit status 0: our own peer must honour SHOULDs, too.
    others = [c["verdict"] + " " + c["id"] for c in cases if c["verdict"] not in ("PASS", "SKIP")]
    if others:
        sys.exit("expected PASS or SKIP: %s" % ", ".join(others))
    played = [c["id"] for c in cases if c["verdict"] not in ("SKIP", "ERROR")]
    without = [case for case in played if not (pcaps / (case + ".pcapng")).is_file()]
    if without or len(played) < 2000:
        sys.exit("%d cases were played; without a capture: %s" % (len(played), ", ".join(without) or "none"))
    page = harness.page_data(folder / "report.html")
    silent = [c["id"] for c in page["report"]["cases"] if c["verdict"] == "PASS" and "exchange" not in c]
    size = (folder / "report.html").stat().st_size
    if len(page["report"]["cases"]) != len(cases) or silent or size >= PAGE:
        sys.exit("the page has %d octets and %d cases; without an exchange: %s" % (size, len(page["report"]["cases"]), silent or "none"))
    if decoder:
        harness.run(*decoder, pcaps, stdout=None)


if __name__ == "__main__":
    harness.start(main, __doc__)
