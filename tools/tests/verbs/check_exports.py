#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares what our libibverbs exports with exports.csv and with the installed stock library, so that a newer rdma-core is noticed.

usage: check_exports.py OURS EXPORTS.CSV
"""
import csv
import glob
import re
import subprocess

import harness

VERSIONED = re.compile(r"^\S+ ([TBDVRWi]) (\w+)@@?(\w+\.?\w*)$")


def exports(library):
    """{(name, version, is it the default)} of a shared object."""
    out = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    found = set()
    for line in out.splitlines():
        match = VERSIONED.match(line)
        if match:
            found.add((match[2], match[3], "@@" in line))
    return found


def main(ours, table):
    mine = exports(ours)
    with open(table, newline="", encoding="ascii") as f:
        rows = list(csv.DictReader(f))
    listed = {(r["name"], r["version"], not r["kind"].startswith("old")) for r in rows}
    harness.equal("exported, not in exports.csv", sorted(mine - listed), [])
    harness.equal("in exports.csv, not exported", sorted(listed - mine), [])
    unversioned = subprocess.run(["nm", "-D", "--defined-only", ours], check=True, capture_output=True, text=True).stdout
    for name in ("open", "open64", "openat", "__open_2", "socket", "fstat", "write", "close", "poll"):
        harness.expect("interposed without version", re.search(rf" T {name}$", unversioned, re.M), name)
    stock = glob.glob("/usr/lib/*/libibverbs.so.1") + glob.glob("/lib/*/libibverbs.so.1")
    if not stock:
        harness.conclude("good; no stock libibverbs to compare with")
    theirs = exports(stock[0])
    harness.equal("the stock library has what ours lacks", sorted(theirs - mine), [])
    own = {export for export in mine if export[1] == "IWARP_1.0"}
    harness.equal("ours has what the stock library lacks", sorted(mine - theirs - own), [])
    harness.conclude()


if __name__ == "__main__":
    harness.start(main, __doc__)
