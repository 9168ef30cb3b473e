#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The rooms of the runner stand on those before them only, and see little of them.

usage: check_rooms.py RUNNER-FOLDER ROOM...

ROOMs in the order in which they stand on each other. A source names a header of another room as "ROOM/NAME.h".
"""
import pathlib
import re
import sys

MOST = 60  # headers of other rooms that rooms include, summed up


def main(folder, *rooms):
    folder, wrong, seen = pathlib.Path(folder), [], set()
    others = sorted(p.name for p in folder.iterdir() if p.is_dir() and p.name not in rooms and list(p.glob("*.[ch]")))
    wrong += [f"{folder}/{name}: is no room" for name in others]
    for at, room in enumerate(rooms):
        own = {path.name for path in (folder / room).glob("*.h")}
        sources = sorted((folder / room).glob("*.[ch]"))
        if not sources:
            wrong.append(f"{folder / room}: no sources")
        for path in sources:
            for name in re.findall(r'^\s*#\s*include\s*"([^"]+)"', path.read_text(encoding="utf-8"), re.M):
                below, _, header = name.partition("/")
                if header and below in rooms[:at]:
                    seen.add((room, name))
                elif header and below in rooms:
                    wrong.append(f"{path}: includes {name}, of a room that stands on {room}")
                elif not header and name not in own:
                    wrong.append(f"{path}: includes {name}, which is not in {room}/")
    if len(seen) > MOST:
        wrong.append(f"{len(seen)} headers of other rooms are included, expected at most {MOST}")
    print(*wrong, f"{len(rooms)} rooms, {len(seen)} headers of other rooms", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
