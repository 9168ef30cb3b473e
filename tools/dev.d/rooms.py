# SPDX-License-Identifier: BSD-3-Clause
"""Which unit tests a change of a room can break: those of the room and of all that stands on it, read from the includes."""
import glob
import os
import re
import subprocess

from paths import ROOT, Failed

INCLUDE = re.compile(r'^\s*#\s*include\s*["<](?:iwarp/)?([\w./-]+)[">]', re.M)
CORE = os.path.join(ROOT, "proto")
OTHERS = ("conformance", "fuzz", "dissector", "tools", "pcaps")  # one room each: they stand on proto/ and have tests of their own
GENERATED = {"checks.h": "rules"}


def rooms():
    """The rooms of proto/ that have code, and the other top folders."""
    inside = {os.path.basename(folder.rstrip("/")) for folder in glob.glob(os.path.join(CORE, "*/")) if glob.glob(os.path.join(folder, "**", "*.[ch]"), recursive=True)}
    return (inside - {"include", "tests", "examples", "cmake"}) | set(OTHERS)


def included(path, known):
    """The rooms of proto/ that a source includes."""
    with open(path, encoding="utf-8") as file:
        names = INCLUDE.findall(file.read())
    found = {GENERATED.get(name) or (name.split("/")[0] if "/" in name else name.removesuffix(".h")) for name in names}
    return found & known


def below(known):
    """Room of proto/ -> the rooms that it includes, itself among them."""
    graph = {room: {room} for room in known}
    for path in glob.glob(os.path.join(CORE, "*", "**", "*.[ch]"), recursive=True):
        parts = os.path.relpath(path, CORE).split(os.sep)
        room = os.path.splitext(parts[-1])[0] if parts[0] == "include" else parts[0]
        if room in known:
            graph[room] |= included(path, known)
    for _ in known:  # no chain of rooms is longer
        for room in known:
            graph[room] = set().union(*(graph[name] for name in graph[room]))
    return graph


def changed_rooms():
    """The rooms with a change that is not committed, or that the last commit made; "tests", which is all of proto/, for what
    belongs to no room there."""
    known, found = rooms(), set()
    for command in (["git", "diff", "--name-only", "HEAD~1"], ["git", "ls-files", "--others", "--exclude-standard"]):
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        if done.returncode != 0:
            raise Failed("check: git does not say what changed; name a room")
        for name in done.stdout.split():
            parts = name.split("/")
            if parts[0] == "proto":
                room = os.path.splitext(parts[3])[0] if parts[1] == "include" and len(parts) > 3 else parts[2 if parts[1] == "tests" else 1]
                if room in known or name.endswith((".c", ".h", ".txt", ".cmake")):
                    found.add(room if room in known else "tests")
            elif parts[0] in known:
                found.add(parts[0])
    return found & (known | {"tests"})


def proto_tests(room):
    """The cmocka programs of proto/tests whose sources include the room or what stands on it; all of them for "tests"."""
    known = rooms() - set(OTHERS)
    graph = below(known)
    found = []
    for path in sorted(glob.glob(os.path.join(CORE, "tests", "**", "test_*.c"), recursive=True)):
        name = os.path.splitext(os.path.basename(path))[0]
        used = included(path, known) | {part for part in name.split("_")[1:2] if part in known}
        if room == "tests" or any(room in graph[other] for other in used) or not used:
            found.append(name)
    return found


def check_room(room):
    """Raises Failed if there is no such room."""
    known = rooms() | {"tests"}
    if room not in known:
        raise Failed(f"check: no room '{room}'; there are: {' '.join(sorted(known))}")
