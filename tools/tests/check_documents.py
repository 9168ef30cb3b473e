#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What documents say of the tree is there: each file and name of the tables that say where to add what, and the totals of
conformance/proof/diagnosis.csv.

usage: check_documents.py SOURCE
"""
import csv
import fnmatch
import os
import re
import subprocess
import sys

from harness import check

# A document, and where in it each word in backticks is a file or a name of the tree.
PARTS = ((".github/CONTRIBUTING.md", "## Where to add what", "## Style"),
         ("conformance/README.md", "## Where to add what", "## The rooms of the runner"),
         ("proto/rules/README.md", "## Add a check", "`generate.py` makes"))
FILE = re.compile(r"[\w./*{},\[\]-]+\.(?:\[ch\]|c|h|lua|py|csv|toml|txt|md|1|7)$")
NAME = re.compile(r"[a-z_]\w{3,}(?:\(\))?$")


def alternatives(pattern):
    """a{b,c} -> ab, ac."""
    found = re.search(r"\{([^{}]*)\}", pattern)
    if found is None:
        return [pattern]
    return [whole for word in found[1].split(",") for whole in alternatives(pattern[:found.start()] + word + pattern[found.end():])]


def part(text, begin, end):
    check(begin in text and end in text, f"the part from {begin} to {end}", text[:80])
    return text[text.index(begin):text.index(end)]


def unknown(text, files, words):
    """The files and names in backticks that are not there; capitals stand for a name to come."""
    missing = []
    for token in re.findall(r"`([^`\n]+)`", text):
        if re.search(r"NAME|ID\b", token):
            continue
        if FILE.match(token):
            missing += [one for one in alternatives(token) if not any(fnmatch.fnmatch("/" + name, "*/" + one) for name in files)]
        elif NAME.match(token) and token.removesuffix("()") not in words:
            missing.append(token)
    return missing


def totals(rows):
    found = [row for row in rows if int(row["findings"]) > 0]
    return (f"{len(found)} lines have findings: the first is right in {sum(row['first'] == 'right' for row in found)}, "
            f"at most 3 are found in {sum(int(row['findings']) <= 3 for row in found)}")


def main(source):
    names = subprocess.run(["git", "-C", source, "ls-files"], stdout=subprocess.PIPE, check=False, text=True).stdout.split("\n")[:-1]
    if not names:
        print("no git tree")
        return 77
    words = set()
    for name in names:
        if name.endswith((".c", ".h", ".lua", ".py", ".txt", ".cmake", ".toml", ".csv")) and os.path.exists(os.path.join(source, name)):
            words.update(os.path.splitext(os.path.basename(name))[:1])
            with open(os.path.join(source, name), encoding="utf-8", errors="replace") as file:
                words.update(re.findall(r"\w+", file.read()))
    check(unknown("`no_such_name()` `gone.c` `test_{rules,gone}.c` `read`", ["a/test_rules.c"], {"read"}) ==
          ["no_such_name()", "gone.c", "test_gone.c"], "what is not there is seen", "")
    for document, begin, end in PARTS:
        with open(os.path.join(source, document), encoding="utf-8") as file:
            missing = unknown(part(file.read(), begin, end), names, words)
        check(not missing, f"{document}: each file and name is in the tree", missing)
    with open(os.path.join(source, "conformance/proof/diagnosis.csv"), encoding="utf-8", newline="") as file:
        said = totals(list(csv.DictReader(file)))
    with open(os.path.join(source, "conformance/README.md"), encoding="utf-8") as file:
        check(said in " ".join(file.read().split()), "conformance/README.md has the totals of diagnosis.csv", said)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
