#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The suite and iwarp-lint find the same in the same octets: every capture of a run is judged again.

usage: check_one_judge.py IWARP-CONFORM IWARP-AGENT IWARP-LINT [all]

Verdicts do not matter here, nor does what a case has no time for. Compares, for each connection of each case, the checks that the target failed. The runs: clean, and with an agent that is bent by a
switch; families of cases in a few, or all cases in all of them.

The two see the same octets but know different things: only the suite knows where streaming mode ends (BEGINS), what it sent itself where iwarp-lint cannot
read that, and that the target answers no Reads in other cases, either.
"""
import collections
import concurrent.futures
import json
import os
import re
import sys
import tempfile

import harness

FAMILIES = ("ddp-msn-*", "octets-[mpu]*", "rdmap-read-request-*", "bug-o*", "mpa-close-by-*", "rdmap-target-messages-*")
SOME = ("", "--ignore=ddp-msn", "--violate=mpa-pad", "--violate=ddp-last")
ALL = SOME + ("--violate=mpa-crc --violate=ddp-msn", "--ignore=rdmap-read-length", "--violate=rdmap-terminate-headers", "--ignore=ddp-stag", "--violate=mpa-rep-s-unasked",
             "--violate=rdmap-response-order", "--violate=rdmap-response-missing", "--violate=mpa-marker-unasked --violate=ddp-last")
NOTE = re.compile(r"finding (\S+) \(\S+\) on connection (\d+)(, allowed)?: ")
FOLLOWS = re.compile(r"(\S+) \(\S+\) on connection (\d+) follows from (\S+: RFC|a Read without an answer)")
# Octets of streaming mode that look like a Request (RFC 5044 §7.1.2), or that share a segment with it.
BEGINS = re.compile("mpa-streaming-(like-a-request|request-at-once)")


def of_suite(case):
    """Returns what the suite found, less what follows from other findings, and what it allows, as pairs of connection and check.

    Another case has shown that the target answers no Reads: what follows from that is passed over, too.
    """
    notes = case.get("notes", [])
    found = [m for m in map(NOTE.match, notes) if m]
    follow = [m for m in map(FOLLOWS.match, notes) if m]
    passed = {(int(m[2]), m[1]) for m in found if m[3]} | {(int(m[2]), m[1]) for m in follow if m[3].startswith("a Read")}
    return {(int(m[2]), m[1]) for m in found if not m[3]} - {(int(m[2]), m[1]) for m in follow}, passed


def of_lint(lint, path, role, *options):
    """Returns the same pairs, whether the other side sent a wrong CRC, and the connections on which that side cannot be read to its end."""
    found, sent_wrong, unread = set(), False, set()
    for line in harness.run(lint, "--json", *options, path, status=(0, 1)).stdout.splitlines():
        row = json.loads(line)
        if row["type"] == "finding" and row["side"] == role:
            found.add((row["connection"], row["check"]))
        if row["type"] == "unknown" and row["side"] != role:
            unread.add(row["connection"])
        sent_wrong |= row["type"] == "finding" and row["side"] != role and row["check"] == "mpa-crc"
    return found, sent_wrong, unread


def judge(lint, case):
    """Returns a line about each difference."""
    if case["verdict"] == "ERROR" or not case.get("pcap") or BEGINS.search(case["id"]):
        return []
    suite, allowed = of_suite(case)
    found, sent_wrong, unread = of_lint(lint, case["pcap"], case["role"], "--assume", "intact")
    # The target need not read what the station sends with a wrong CRC on purpose, and its own octets are intact all the same.
    plain = of_lint(lint, case["pcap"], case["role"])[0] if sent_wrong else found
    only = [("iwarp-lint", pair) for pair in plain - suite - allowed]
    only += [("suite", pair) for pair in suite - found - plain if pair[0] not in unread]
    return [f"{case['id']}: connection {pair[0]}: {pair[1]}: only the {who} finds it" for who, pair in sorted(only)]


def compare(conform, agent, lint, switch, every):
    with tempfile.TemporaryDirectory() as folder:
        bent = harness.script(os.path.join(folder, "bent"), f'#!/bin/sh\nexec "{agent}" "$@" {switch}\n')
        words = [] if every else [w for family in FAMILIES for w in ("--select", family)]
        harness.run(conform, "run", "--agent", bent, "--time-scale", "0.34", "-j", "8", "--keep", "all", "--results", os.path.join(folder, "run"),
                    *words, status=None)
        roles = {c["id"]: c["role"] for c in harness.load(folder, "run", "run.json")["cases"]}
        with open(os.path.join(folder, "run", "journal.jsonl"), encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        cases = [dict(row, role=roles[row["id"]]) for row in rows if row.get("id") in roles]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            lists = list(pool.map(lambda case: judge(lint, case), cases))
    wrong = [line for some in lists for line in some]
    harness.expect(f"{switch or 'clean'}: {len(cases)} cases", len(cases) > 40)
    if wrong:
        kinds = collections.Counter(line.split(": ", 2)[2] for line in wrong)
        harness.expect(f"{switch or 'clean'}: the same findings", False, "\n".join([f"{n} x {kind}" for kind, n in kinds.most_common()] + wrong[:40]))


def main(conform, agent, lint, every=""):
    if every not in ("", "all"):
        sys.exit(f"'{every}' is not all")
    for switch in ALL if every else SOME:
        compare(conform, agent, lint, switch, bool(every))
    harness.conclude()


if __name__ == "__main__":
    harness.start(main, __doc__)
