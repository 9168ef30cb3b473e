#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Faults planted by hand, with the tests that must notice them: proto/rules/planted.csv.

usage: planted_edits.py BUILD

Checks the table against the sources and the tests of a build: what is replaced is there exactly once, and each test exists.
main.py --planted makes each edit and asks the tests."""

import csv
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
import tree as trees  # noqa: E402

TABLE = "proto/rules/planted.csv"
COLUMNS = ["file", "old", "new", "tests"]


def read(top):
    """The rows, each with its place in the table."""
    path = pathlib.Path(top, TABLE)
    if not path.exists():
        return []
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames != COLUMNS:
            raise trees.Bad(f"{TABLE}: the columns must be {','.join(COLUMNS)}")
        rows = []
        for row in reader:
            row["place"] = f"{TABLE}:{reader.line_num}"
            rows.append(row)
    return rows


def wrong_edit(top, row):
    """What is wrong with a row's edit; empty if nothing."""
    try:
        text = pathlib.Path(top, row["file"]).read_text(encoding="utf-8")
    except OSError as error:
        return f"{row['file']}: {error.strerror}"
    count = text.count(row["old"]) if row["old"] else 0
    if count != 1:
        return f"what is replaced occurs {count} times in {row['file']}"
    if row["old"] == row["new"]:
        return "nothing is changed"
    return "" if (row["tests"] or "").split() else "no test is named"


def edited(text, row):
    return text.replace(row["old"], row["new"])


class Known:
    """The tests that there are: cmocka functions from the sources, cases from the runner, the rest from ctest."""

    def __init__(self, top, build):
        self.top = pathlib.Path(top)
        self.build = pathlib.Path(build)
        self.sources = {path.stem: path for path in self.top.glob("**/tests/**/test_*.c")
                        if not path.relative_to(self.top).parts[0].startswith("build")}
        self.cases = None
        self.names = None

    def missing(self, test):
        """What is wrong with the name of a test; empty if nothing."""
        head, _, tail = test.partition(":")
        if head == "case":
            if self.cases is None:
                listed = subprocess.run([self.build / "bin/iwarp-conform", "list"], check=True, text=True, stdout=subprocess.PIPE)
                self.cases = {line.split()[0] for line in listed.stdout.splitlines() if line}
            return "" if tail in self.cases else f"there is no case {tail}"
        if head == "ctest":
            if self.names is None:
                listed = subprocess.run(["ctest", "--test-dir", self.build, "-N"], check=True, text=True, stdout=subprocess.PIPE)
                self.names = set(re.findall(r"^ *Test +#\d+: (\S+)", listed.stdout, re.M))
            return "" if tail in self.names else f"there is no ctest {tail}"
        source = self.sources.get(re.sub(r"^(conformance|tools|live)_", "", head))
        if not source:
            return f"there is no test program {head}"
        near = source.parent.glob("*.[ch]")
        if not any(re.search(rf"\b{re.escape(tail)}\b", path.read_text(encoding="utf-8")) for path in near):
            return f"{head} has no test {tail}"
        return ""


def check(top, build):
    """All that is wrong with the table, a line each."""
    known = Known(top, build)
    wrong = []
    for row in read(top):
        found = [wrong_edit(top, row)] + [known.missing(test) for test in (row["tests"] or "").split()]
        wrong += [f"{row['place']}: {what}" for what in found if what]
    return wrong


def main(arguments):
    if len(arguments) != 1:
        print(__doc__.strip().splitlines()[2], file=sys.stderr)
        return 64
    try:
        wrong = check(trees.TOP, arguments[0])
    except trees.Bad as error:
        wrong = [str(error)]
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
