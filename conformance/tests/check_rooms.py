#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The rooms of the runner stand on those before them only, and see little of them; a header declares what few files define.

usage: check_rooms.py RUNNER-FOLDER ROOM...

ROOMs in the order in which they stand on each other. A source names a header of another room as "ROOM/NAME.h".
"""
import pathlib
import re

import harness

MOST = 60  # headers of other rooms that rooms include, summed up
FILES = 5  # that define the functions of one header, at most


def functions(source, end):
    """Returns the functions that stand in `source` with `end` after their parameters."""
    return set(re.findall(r"^[a-z][^\n;{}()=#]*?\b(iw_\w+)\([^;{}]*\)[^;{}]*" + end, source.read_text(encoding="utf-8"), re.M))


def complain_of_wide(folder):
    """Complains of each header whose functions too many files define."""
    definers = {name: path.name for path in folder.rglob("*.c") for name in functions(path, r"\n\{")}
    if not definers:
        harness.complain(f"{folder}: no function was found")
    for header in folder.rglob("*.h"):
        files = sorted({definers[name] for name in functions(header, ";") if name in definers})
        if len(files) > FILES:
            harness.complain(f"{header}: declares what {len(files)} files define ({', '.join(files)}), expected at most {FILES}")


def main(folder, first, *others):
    folder, rooms, seen = pathlib.Path(folder), (first, *others), set()
    strange = sorted(p.name for p in folder.iterdir() if p.is_dir() and p.name not in rooms and list(p.glob("*.[ch]")))
    harness.complain(*(f"{folder}/{name}: is no room" for name in strange))
    for at, room in enumerate(rooms):
        own = {path.name for path in (folder / room).glob("*.h")}
        sources = sorted((folder / room).glob("*.[ch]"))
        if not sources:
            harness.complain(f"{folder / room}: no sources")
        for path in sources:
            for name in re.findall(r'^\s*#\s*include\s*"([^"]+)"', path.read_text(encoding="utf-8"), re.M):
                below, _, header = name.partition("/")
                if header and below in rooms[:at]:
                    seen.add((room, name))
                elif header and below in rooms:
                    harness.complain(f"{path}: includes {name}, of a room that stands on {room}")
                elif not header and name not in own:
                    harness.complain(f"{path}: includes {name}, which is not in {room}/")
    complain_of_wide(folder)
    if len(seen) > MOST:
        harness.complain(f"{len(seen)} headers of other rooms are included, expected at most {MOST}")
    harness.conclude(f"{len(rooms)} rooms, {len(seen)} headers of other rooms")


if __name__ == "__main__":
    harness.start(main, __doc__)
