# SPDX-License-Identifier: BSD-3-Clause
"""table.py: for every rule of the catalogue that can be judged by watching (testable: wire-passive), the golden capture in
which it is broken and the one in which it is not; or why there is none (rows.csv). Exit status 1 if a rule has neither."""
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
    rest = {r["rule"]: r for r in read_csv(HERE, "rows.csv")}
    table, wrong = {name: [] for name in ("shown", *STANDINGS)}, []
    for r in rules:
        told = rest.pop(r["id"], None)
        if r["id"] in by_rule and (not told or told["standing"] == "context"):
            c = by_rule[r["id"]][0]
            if c.get("twin") not in clean:
                wrong.append(f'{r["id"]}: {c["file"]} has no clean twin')
            table["shown"].append((r, c, told))
        elif r["id"] in by_rule:
            wrong.append(f'{r["id"]}: rows.csv says "{told["standing"]}", but {by_rule[r["id"]][0]["file"]} shows it')
        elif told and told["standing"] in STANDINGS and told["reason"]:
            if (told["standing"] == "may") != (r["level"] == "MAY") or (told["standing"] == "context") != bool(told["option"]):
                wrong.append(f'{r["id"]}: rows.csv: "{told["standing"]}" does not go with its level or option')
            table[told["standing"]].append((r, None, told))
        else:
            wrong.append(f'{r["id"]}: no capture shows it broken, and rows.csv does not say why')
    wrong += [f"{rule}: rows.csv names it, but it is no rule of the kind wire-passive" for rule in rest]
    return table, wrong


def main():
    table, wrong = account()
    print(f'Rules that a golden capture shows broken ({len(table["shown"])})')
    for r, c, told in table["shown"]:
        option = f' with {" ".join(c["lint"])}' if c.get("lint") else ""
        print(f'  {r["id"]:<16} {r["level"]:<10} {c["check"]:<34} {c["file"]}, clean: {c["twin"]}{option}')
    for standing, title in STANDINGS.items():
        print(f"\n{title} ({len(table[standing])})")
        for r, _, told in table[standing]:
            option = f'{told["option"]}: ' if told["option"] else ""
            print(f'  {r["id"]:<16} {r["level"]:<10} {option}{told["reason"]}')
    total = sum(len(rows) for rows in table.values())
    print(f'\n{total + len([w for w in wrong if "no capture shows" in w])} rules of the kind wire-passive, {len(wrong)} not accounted for')
    for text in wrong:
        print(text, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
