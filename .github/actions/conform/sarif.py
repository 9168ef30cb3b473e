#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes what a run of iwarp-conform found, run.json in RESULTS, as findings.sarif (SARIF 2.1.0, as GitHub's code scanning takes
it) and summary.md in the same folder. Prints how many findings there are; those that a baseline knows do not count.

usage: sarif.py RESULTS TARGET
"""
import csv
import hashlib
import json
import os
import sys

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
LEVELS = {"FAIL": "error", "NOTE": "warning"}


def catalogue():
    with open(os.path.join(TOP, "proto", "rules", "requirements.csv"), encoding="utf-8", newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def rule(name, row):
    """A rule as SARIF has it; `row` of the catalogue, or None."""
    if row is None:
        return {"id": name, "shortDescription": {"text": name}, "help": {"text": name}, "defaultConfiguration": {"level": "warning"}}
    link = f"https://www.rfc-editor.org/rfc/rfc{row['rfc']}#section-{row['section']}"
    where = f"RFC {row['rfc']} section {row['section']}, {row['level']}"
    return {"id": name, "name": name, "defaultConfiguration": {"level": "error" if row["level"].startswith("MUST") else "warning"},
            "shortDescription": {"text": row["requirement"]}, "fullDescription": {"text": f"{row['requirement']} ({where})"},
            "helpUri": link, "help": {"text": f"{where}: {row['requirement']}", "markdown": f"[{where}]({link}): {row['requirement']}"}}


def location(finding, cases, target):
    """Where people look: the file of the target, if the target is a file here; else the case."""
    case = cases.get(finding["cases"][0], {}) if finding["cases"] else {}
    path, line = (target, 1) if os.path.isfile(target) else (case.get("file") or "conformance/cases", case.get("line") or 1)
    relative = os.path.relpath(path)
    if relative.startswith(".."):  # of an installed toolkit
        relative = path[path.find("conformance/"):] if "conformance/" in path else os.path.basename(path)
    return {"physicalLocation": {"artifactLocation": {"uri": relative, "uriBaseId": "%SRCROOT%"}, "region": {"startLine": line}}}


def sentence(finding):
    text = f"{finding['text']}: expected {finding['expected']}, actual {finding['actual']}" if finding["expected"] else finding["text"]
    return f"{text} (cases: {' '.join(finding['cases'][:5])}{' ...' if len(finding['cases']) > 5 else ''})"


def fingerprint(finding, target):
    """The same for the same finding of another day; the key and the form are those that GitHub compares."""
    return hashlib.sha256(f"{target}\n{finding['rule']}\n{finding['text']}".encode()).hexdigest()[:16] + ":1"


def sarif(report, found, target):
    rules, names = catalogue(), sorted({finding["rule"] for finding in found})
    cases = {case["id"]: case for case in report["cases"]}
    results = [{"ruleId": finding["rule"], "ruleIndex": names.index(finding["rule"]), "level": LEVELS.get(finding["verdict"], "note"),
                "message": {"text": sentence(finding)}, "locations": [location(finding, cases, target)],
                "partialFingerprints": {"primaryLocationLineHash": fingerprint(finding, target)}} for finding in found]
    driver = {"name": "iwarp-conform", "semanticVersion": report["tool"]["version"], "rules": [rule(name, rules.get(name)) for name in names]}
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def summary(report, found, target):
    counts = ", ".join(f"{number} {verdict}" for verdict, number in report["summary"].items())
    lines = [f"### iwarp-conform: {target}", "", counts, ""]
    if found:
        lines += ["| finding | verdict | rule | what | cases |", "|---|---|---|---|---|"]
        for finding in found:
            what = sentence(finding).replace("|", "\\|").replace("\n", " ")
            lines.append(f"| {finding['number']} | {finding['verdict']} | {finding['rule']} | {what} | {finding['count']} |")
    return "\n".join(lines) + "\n"


def main(results, target):
    with open(os.path.join(results, "run.json"), encoding="utf-8") as file:
        report = json.load(file)
    found = [{**finding, "rule": finding["rule"] or "no-rule"} for finding in report["findings"] if not finding["known"]]
    with open(os.path.join(results, "findings.sarif"), "w", encoding="utf-8") as file:
        json.dump(sarif(report, found, target), file, indent=1)
    with open(os.path.join(results, "summary.md"), "w", encoding="utf-8") as file:
        file.write(summary(report, found, target))
    print(len(found))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
