# SPDX-License-Identifier: BSD-3-Clause
"""Readers of what stands beside the checks: rows.csv, edits.csv, proof.csv and the names of the unit tests."""

import collections
import os
import pathlib
import re

import generate

ROW_COLUMNS = ["rule", "tests", "why"]
EDIT_COLUMNS = ["rules", "file", "old", "new"]
RESULT_COLUMNS = ["mutant", "killed_by"]


def read_checks(folder):
    """The rules, and the checks by name."""
    rules, index = generate.read_rules(f"{folder}/requirements.csv")
    checks = generate.read_checks(f"{folder}/checks.csv", rules, index)
    return rules, {check["check"]: check for check in checks}


def read_functions(folder):
    """The test functions of each test program."""
    return {path.stem: set(re.findall(r"^static void (\w+)\(void \*\*", path.read_text(encoding="utf-8"), re.M))
            for path in pathlib.Path(folder).glob("**/test_*.c")}


def read_reasons(folder, rules):
    """The lines of rows.csv by rule; the tests that they name exist."""
    functions = read_functions(f"{folder}/../tests")
    known, reasons = {rule["id"] for rule in rules}, {}
    for place, row in generate.rows(f"{folder}/rows.csv", ROW_COLUMNS):
        if row["rule"] not in known:
            raise generate.Bad(f"{place}: '{row['rule']}' is not a rule")
        if row["rule"] in reasons:
            raise generate.Bad(f"{place}: rule {row['rule']} has a line already")
        if not row["why"]:
            raise generate.Bad(f"{place}: rule {row['rule']} has no reason")
        row["tests"] = row["tests"].split()
        for test in row["tests"]:
            program, _, function = test.partition(":")
            if function not in functions.get(program, ()):
                raise generate.Bad(f"{place}: there is no test '{test}'")
        reasons[row["rule"]] = row
    return reasons


def read_edits(folder, reasons):
    """The edits of the code that break a rule without a check, each with the names of its mutants by rule."""
    edits, count = [], collections.Counter()
    for place, row in generate.rows(f"{folder}/edits.csv", EDIT_COLUMNS):
        row["place"] = place
        row["mutants"] = {}
        for rule in row["rules"].split():
            if not reasons.get(rule, {"tests": []})["tests"]:
                raise generate.Bad(f"{place}: rows.csv names no tests of '{rule}'")
            count[rule] += 1
            row["mutants"][rule] = f"edit:{rule}/{count[rule]}"
        if not row["mutants"]:
            raise generate.Bad(f"{place}: no rule")
        source = pathlib.Path(folder, "..", row["file"])
        if not source.is_file():
            raise generate.Bad(f"{place}: there is no file '{row['file']}'")
        if row["old"] not in source.read_text(encoding="utf-8"):
            raise generate.Bad(f"{place}: {row['file']} has no '{row['old']}'")
        edits.append(row)
    return edits


def read_results(path):
    """Who killed which mutant, as recorded; nothing if there is no record."""
    if not os.path.exists(path):
        return {}
    return {row["mutant"]: row["killed_by"] for _, row in generate.rows(path, RESULT_COLUMNS)}
