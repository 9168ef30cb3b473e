# SPDX-License-Identifier: BSD-3-Clause
"""table.py: for every rule of the catalogue that can be judged by watching (testable: wire-passive), the golden capture in
which it is broken and the one in which it is not; or why there is none (no_capture.csv). Exit status 1 if a rule has neither."""
import csv
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
RULES = os.path.join(os.path.dirname(HERE), "proto", "rules")
STANDINGS = {
    "context": "Rules that need context: unknown without the option",
    "may": "Rules that cannot be broken: they permit",
    "cannot": "Rules whose breach no octet on the wire shows",
}


def read_csv(*path):
    with open(os.path.join(*path), encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f))


def shown(captures, checks):
    """By rule: the captures that show it broken, those that name it before those of its checks."""
    served = {c["check"]: [c["rule"], *c["others"].split()] for c in checks}
    named, others = {}, {}
    for c in captures:
        if not c.get("check") or not c["findings"]:
            continue
        for rule in c.get("rules", []):
            named.setdefault(rule, []).append(c)
        for rule in served[c["check"]]:
            others.setdefault(rule, []).append(c)
    return {rule: named.get(rule) or others[rule] for rule in {*named, *others}}


def account():
    """Rows of the table, by standing ("shown" or one of STANDINGS), and what is wrong with it."""
    with open(os.path.join(HERE, "golden", "manifest.json"), encoding="utf-8") as f:
        captures = json.load(f)["captures"]
    rules = [r for r in read_csv(RULES, "requirements.csv") if r["testable"] == "wire-passive"]
    by_rule = shown(captures, read_csv(RULES, "checks.csv"))
    clean = {c["file"] for c in captures if not c["findings"] and not c.get("unknown")}
    rest = {r["rule"]: r for r in read_csv(HERE, "no_capture.csv")}
    table, wrong = {name: [] for name in ("shown", *STANDINGS)}, []
    for r in rules:
        row = rest.pop(r["id"], None)
        c = by_rule.get(r["id"], [None])[0]
        if c and c.get("twin") not in clean:
            wrong.append(f'{r["id"]}: {c["file"]} has no clean twin')
        if c and not row and not c.get("lint"):
            table["shown"].append((r, c, None))
        elif c and not (row and row["standing"] == "context" and c.get("lint", [""])[0] == row["option"].split()[0]):
            wrong.append(f'{r["id"]}: {c["file"]} shows it, which is not what no_capture.csv says')
        elif row and row["standing"] in STANDINGS and row["reason"]:
            if (row["standing"] == "may") != (r["level"] == "MAY") or (row["standing"] == "context") != bool(row["option"] and c):
                wrong.append(f'{r["id"]}: no_capture.csv: "{row["standing"]}" does not go with its level, its option or the captures')
            table[row["standing"]].append((r, c, row))
        else:
            wrong.append(f'{r["id"]}: no capture shows it broken, and no_capture.csv does not say why')
    wrong += [f"{rule}: no_capture.csv names it, but it is no rule of the kind wire-passive" for rule in rest]
    return table, wrong


def line(rule, capture):
    return f'  {rule["id"]:<16} {rule["level"]:<10} {capture["check"]:<34} {capture["file"]}, clean: {capture["twin"]}'


def main():
    table, wrong = account()
    print(f'Rules that a golden capture shows broken ({len(table["shown"])})')
    for r, c, _ in table["shown"]:
        print(line(r, c))
    for standing, title in STANDINGS.items():
        print(f"\n{title} ({len(table[standing])})")
        for r, c, row in table[standing]:
            print(f'{line(r, c)}\n    {row["option"]}: {row["reason"]}' if c else f'  {r["id"]:<16} {r["level"]:<10} {row["reason"]}')
    total = sum(len(rows) for rows in table.values())
    print(f'\n{total + len([w for w in wrong if "no capture shows" in w])} rules of the kind wire-passive, {len(wrong)} not accounted for')
    for text in wrong:
        print(text, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
