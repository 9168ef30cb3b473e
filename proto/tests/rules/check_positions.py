#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every position that the repository cites (OP-nn) stands in proto/rules/positions.md, once.

usage: check_positions.py TOP-FOLDER
"""
import pathlib
import re
import sys

TEXT = {".c", ".h", ".lua", ".py", ".md", ".csv", ".sh", ".txt", ".cmake", ".1", ".json", ".toml"}
ROOMS = ("proto", "conformance", "fuzz", "dissector", "pcaps", "tools")


def main(top):
    top = pathlib.Path(top)
    page = top / "proto/rules/positions.md"
    defined = re.findall(r"^\| (OP-\d+) \|", page.read_text(encoding="utf-8"), re.M)
    wrong = [f"{page}: {name} is there twice" for name in sorted(set(defined)) if defined.count(name) > 1]
    cited = 0
    files = [path for room in ROOMS for path in (top / room).rglob("*") if path.suffix in TEXT and path.is_file()]
    for path in [*files, *top.glob("*.md")]:
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            for name in re.findall(r"\bOP-\d+", line):
                cited += 1
                if name not in defined:
                    wrong.append(f"{path}:{number}: {name} does not stand in {page}")
    print(*wrong, f"{len(defined)} positions, {cited} citations", sep="\n")
    return 1 if wrong or not defined or not cited else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
