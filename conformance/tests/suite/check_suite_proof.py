#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the committed proof of the suite (conformance/proof/) with the suite itself.

usage: check_suite_proof.py IWARP-CONFORM IWARP-AGENT FOLDER-OF-THE-TABLES

Every rule that can be provoked on the wire is proven, claimed or dispositioned; no table has a line for what
does not exist, or for what needs none; every case was asked what it notices.
"""
import csv
import io
import os
import re

import harness

PROVEN, TOGETHER = 240, 320  # rules that can be provoked on the wire: at least this many
IDLE = 0.05                  # at most this part of the cases notices nothing


def output(*command):
    return harness.run(*command).stdout


def table(folder, name):
    path = os.path.join(folder, name + ".csv")
    if not os.path.exists(path):
        return {}
    return {line[0]: line[1] for line in list(csv.reader(io.StringIO(harness.read(path))))[1:] if line}


def complain(name, what, items):
    harness.complain(*("%s: %s %s" % (name, item, what) for item in sorted(items)))


def switches_of(agent):
    """KIND=CHECK of all; a reaction is left out."""
    checks = output(agent, "--list-rules").split("# rules")[0].splitlines()[1:]
    return {"%s=%s" % (re.match("[a-z]+", kind).group(), check)
            for check, kinds, *_ in (line.split() for line in checks if line) if kinds != "-"
            for kind in kinds.split(",")}


def check_rules(rules, claims, dispositions):
    known = {r["rule"] for r in rules}
    proven = {r["rule"] for r in rules if r["standing"] == "proven"}
    claimed = {r["rule"] for r in rules if r["standing"] == "claimed"}
    complain("claims.csv", "is no rule", set(claims) - known)
    complain("claims.csv", "is proven by self-check: delete the line", set(claims) & proven)
    complain("claims.csv", "is named by no case", (set(claims) & known) - claimed - proven)
    complain("dispositions.csv", "is no rule", set(dispositions) - known)
    complain("dispositions.csv", "is proven or claimed: delete the line", set(dispositions) & (proven | claimed))
    complain("requirements", "is neither proven nor claimed nor dispositioned",
             {r["rule"] for r in rules if r["standing"] == "unaccounted" and r["testable"] == "wire-active"})


def check_bars(summary):
    line = re.search(r"^wire-active: proven (\d+), claimed (\d+), dispositioned (\d+), of (\d+)$", summary, re.M)
    if not line:
        harness.complain("requirements --summary: no whole line for wire-active\n" + summary)
        return
    proven, claimed, dispositioned, of = map(int, line.groups())
    print(line.group(0))
    if proven < PROVEN or proven + claimed < TOGETHER or proven + claimed + dispositioned != of:
        harness.complain("expected at least %d proven, %d proven or claimed, and all accounted for" % (PROVEN, TOGETHER))


def check_cases(cases, switches, matrix, idle):
    words = {c: line.split() for c, line in matrix.items()}
    quiet = {c for c, w in words.items() if not w}
    complain("matrix.csv", "is no case", set(matrix) - cases)
    complain("matrix.csv", "is missing: iwarp-conform self-check --full --select ID --matrix matrix.csv",
             cases - set(matrix))
    noticed = {"=".join(w[2:].split("=")[:2]) for line in words.values() for w in line}
    complain("matrix.csv", "is no switch", noticed - switches)
    complain("matrix.csv", "is a check that no case notices", {s.split("=")[1] for s in switches - noticed} -
             {s.split("=")[1] for s in noticed})
    complain("idle.csv", "is no case", set(idle) - cases)
    complain("idle.csv", "does notice something: delete the line", (set(idle) & set(matrix)) - quiet)
    complain("idle.csv", "notices nothing, and has no line here", quiet - set(idle))
    complain("idle.csv", "has no reason", {c for c, reason in idle.items() if not reason})
    print("%d cases, %d of them notice nothing" % (len(cases), len(quiet)))
    if len(quiet) > IDLE * len(cases):
        harness.complain("idle.csv: expected at most %d cases" % (IDLE * len(cases)))


def main(conform, agent, folder):
    rules = list(csv.DictReader(io.StringIO(output(conform, "requirements", "--csv"))))
    cases = {line.split()[0] for line in output(conform, "list").splitlines()}
    check_rules(rules, table(folder, "claims"), table(folder, "dispositions"))
    check_bars(output(conform, "requirements", "--summary"))
    check_cases(cases, switches_of(agent), table(folder, "matrix"), table(folder, "idle"))
    harness.conclude()


if __name__ == "__main__":
    harness.start(main, __doc__)
