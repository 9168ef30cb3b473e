#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The rooms of the runner stand on those before them only, and see little of them.

usage: check_rooms.py RUNNER-FOLDER ROOM...

ROOMs in the order in which they stand on each other. A source names a header of another room as "ROOM/NAME.h".
"""
import pathlib
import re

import harness

MOST = 60  # headers of other rooms that rooms include, summed up


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
    if len(seen) > MOST:
        harness.complain(f"{len(seen)} headers of other rooms are included, expected at most {MOST}")
    harness.conclude(f"{len(rooms)} rooms, {len(seen)} headers of other rooms")


if __name__ == "__main__":
    harness.start(main, __doc__)
