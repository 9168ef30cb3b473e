#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the version script of the shared libraries: what the public headers declare is global, all else is local.

usage: public_symbols.py MAP NODE HEADER...
"""
import re
import sys

# A declaration begins in the first column; a definition (static inline), a typedef and a tag do not count.
DECLARATION = re.compile(r"^(?!static\b|typedef\b|extern \"C\"|#)[a-z][^;{}()]*?\b(iw_\w+)(?:\(|\[|;)", re.MULTILINE)


def declared(text):
    """The names of functions and objects that a header declares."""
    text = re.sub(r"/\*.*?\*/|^#ifdef IW_PROVE\n.*?^#endif\n", "", text, flags=re.DOTALL | re.MULTILINE)
    return {name for name in DECLARATION.findall(text) if not re.search(rf"^(?:struct|enum|union) {name};", text, re.MULTILINE)}


def main():
    path, node, *headers = sys.argv[1:]
    names = set()
    for header in headers:
        with open(header, encoding="utf-8") as file:
            names |= declared(file.read())
    with open(path, "w", encoding="ascii") as file:
        file.write(f"{node} {{\n  global:\n" + "".join(f"    {name};\n" for name in sorted(names)) + "  local:\n    *;\n};\n")


if __name__ == "__main__":
    main()
