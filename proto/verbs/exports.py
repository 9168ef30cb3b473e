#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the version script and the stand-ins from exports.csv.

usage: exports.py exports.csv MAP SOURCE

Columns of exports.csv: name, version, and kind:
  own          a function of this room; the version IWARP_1.0 has those that no stock library has
  old          a function of an ABI that no program uses any more: returns EOPNOTSUPP
  old-pointer  the same, but returns NULL with errno EOPNOTSUPP
  private      for drivers of rdma-core: present, because drivers are linked BIND_NOW; only their registration is called, and does nothing
"""

import csv
import sys


def parent_order(versions):
    """IBVERBS_1.0, 1.1, 1.5 ... 1.14, the private node, and last our own."""
    return sorted(versions, key=lambda v: (2, 0) if v.startswith("IWARP_") else (0, int(v.split(".")[1])) if "." in v else (1, 0))


def version_script(rows):
    default = [r for r in rows if r["kind"] in ("own", "private")]
    lines, before = [], ""
    for version in parent_order({r["version"] for r in rows}):
        names = [r["name"] for r in default if r["version"] == version]
        body = "".join(f"    {name};\n" for name in names)
        glob = f"  global:\n{body}" if body else ""
        lines.append(f"{version} {{\n{glob}}}{before};\n")
        before = f" {version}"
    return "\n".join(lines)


HEAD = """/* Made by exports.py from exports.csv. */
#include <errno.h>
#include <stddef.h>

#define EXPORTED __attribute__((visibility("default")))

void iw_verbs_refused(const char *name);

static int refuse(const char *name)
{
    iw_verbs_refused(name);
    errno = EOPNOTSUPP;
    return EOPNOTSUPP;
}

static void *refuse_pointer(const char *name)
{
    (void)refuse(name);
    return NULL;
}

"""


def stand_ins(rows):
    text = HEAD
    for r in rows:
        name, version = r["name"], r["version"]
        if r["kind"] == "private":
            body = "return 0;" if name.startswith("verbs_register_driver") else f'return refuse("{name}");'
            text += f"EXPORTED int {name}(void);\nint {name}(void)\n{{\n    {body}\n}}\n"
        elif r["kind"].startswith("old"):
            pointer = r["kind"] == "old-pointer"
            stand_in = f"iw_verbs_old_{name}"
            result = "void *" if pointer else "int "
            call = "refuse_pointer" if pointer else "refuse"
            text += f'EXPORTED {result}{stand_in}(void);\n{result}{stand_in}(void)\n{{\n    return {call}("{name}@{version}");\n}}\n'
            text += f'__asm__(".symver {stand_in}, {name}@{version}");\n'
    return text


def main():
    table, script, source = sys.argv[1:]
    with open(table, newline="", encoding="ascii") as f:
        rows = list(csv.DictReader(f))
    with open(script, "w", encoding="ascii") as f:
        f.write(version_script(rows))
    with open(source, "w", encoding="ascii") as f:
        f.write(stand_ins(rows))


if __name__ == "__main__":
    main()
