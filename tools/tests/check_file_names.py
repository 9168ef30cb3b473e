#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A name of a source file or a table stands for one thing in the whole project.

usage: check_file_names.py TOP
"""
import collections
import pathlib

import harness

SOURCES = {".c", ".csv", ".h", ".lua", ".py", ".sh"}
ROOMS = ("proto", "conformance", "fuzz", "dissector", "pcaps", "tools", ".github", ".clusterfuzzlite")
# Each program has its main.c; the test of the builder of captures has a library of its own, as the real scripts do.
SHARED = {"main.c", "lib.lua"}


def main(top):
    places = collections.defaultdict(list)
    for room in ROOMS:
        for path in pathlib.Path(top, room).rglob("*"):
            if path.suffix in SOURCES and "__pycache__" not in path.parts:
                places[path.name].append(str(path.relative_to(top)))
    if len(places) < 500:
        harness.complain(f"{top}: {len(places)} sources, expected the whole project")
    for name, found in sorted(places.items()):
        if len(found) > 1 and name not in SHARED:
            harness.complain(f"{name} stands for several things: {' '.join(sorted(found))}")
    harness.conclude(f"{len(places)} names")


if __name__ == "__main__":
    harness.start(main, __doc__)
