# SPDX-License-Identifier: BSD-3-Clause
"""Which tests reach which blocks of the sources: a test that does not reach an edit need not be asked.

Each block of a function gets a probe, a store into a map that is a file, shared by all processes of a test. That also
sees what processes do that are killed, and it is so cheap that all tests can run with it."""

import bisect
import json
import os
import pathlib
import re
import zlib

import csource

SLOTS, SLOT = 4096, 512  # a source has one slot, or more
HEADER = """\
#ifndef IW_REACH
#define IW_REACH(n) (void)(iw_reach_map[n] = 1)
extern unsigned char *iw_reach_map;
#endif
"""
# Calls the kernel itself: a test may have open(), close() and mmap() of its own.
RUNTIME = """\
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
long syscall(long number, ...);
static unsigned char nowhere[SIZE];
__attribute__((visibility("hidden"))) unsigned char *iw_reach_map = nowhere;
__attribute__((constructor(101))) static void iw_reach_open(void)
{
    long fd = syscall(SYS_openat, AT_FDCWD, MAP, O_RDWR | O_CLOEXEC), map;

    if (fd < 0)
        return;
    map = syscall(SYS_mmap, 0L, (long)SIZE, (long)(PROT_READ | PROT_WRITE), (long)MAP_SHARED, fd, 0L);
    if (map != -1)
        iw_reach_map = (unsigned char *)map;
    syscall(SYS_close, fd);
}
"""


JUMPS = ("return", "break", "continue", "goto")


class Block:
    """Code that runs if and when its start is reached."""

    __slots__ = ("number", "start", "end", "braces")

    def __init__(self, start, end, braces=False):
        self.number = None
        self.start = start
        self.end = end
        self.braces = braces  # they have to be made for the probe


def blocks(source):
    """The blocks of all functions, by start: bodies, what an if, else or loop rules, what follows a label of a switch or an if
    that leaves."""
    found = []
    for function in source.functions:
        opened = [function.first - 1]
        labels = {}  # the brace of a switch -> its last label's block
        found.append(_block(source, function.first - 1, function.last))
        for i in range(function.first, function.last):
            token = source.tokens[i]
            if token.text == "{":
                opened.append(i)
                if _begins(source, i):
                    found.append(_block(source, i, source.match[i]))
                    if source.tokens[i - 1].text == ")" and _leaves(source, i):
                        found += _after(source, source.match[i], opened[-2])
            elif token.text == "}":
                opened.pop()
            elif token.text in ("case", "default") and (colon := _colon(source, i)):
                brace = opened[-1]
                if brace in labels:
                    labels[brace].end = token.start
                labels[brace] = _block(source, colon, source.match[brace])
                found.append(labels[brace])
            elif (end := _simple(source, i)) is not None:
                found.append(Block(source.tokens[i - 1].end, source.tokens[end].end, True))
                if token.text in JUMPS:
                    found += _after(source, end, opened[-1])
    return sorted(found, key=lambda block: block.start)


def _block(source, first, last):
    """What lies between two tokens."""
    return Block(source.tokens[first].end, source.tokens[last].start)


def _simple(source, i):
    """The `;` of a statement without braces that an if, else or loop rules, if one begins here."""
    before = source.tokens[i - 1].text
    if before == ")":
        if i - 1 not in source.match or source.tokens[source.match[i - 1] - 1].text not in ("if", "for", "while"):
            return None
    elif before != "else":
        return None
    if source.tokens[i].text in ("if", "for", "while", "switch", "do", "{", ";"):
        return None
    while source.tokens[i].text != ";":
        i = source.match[i] + 1 if source.tokens[i].text in csource.PAIRS else i + 1
    return i


def _leaves(source, brace):
    """True if the last statement in braces is a jump."""
    i = source.match[brace] - 1
    if source.tokens[i].text != ";":
        return False
    while source.tokens[i - 1].text not in (";", "{", "}"):
        i -= 1
    return source.tokens[i].text in JUMPS


def _after(source, i, brace):
    """What follows token i up to the end of a block; nothing if only an else or the end does."""
    if source.tokens[i + 1].text in ("else", "}", "case", "default", "while"):
        return []
    if source.tokens[i + 1].kind == "name" and source.tokens[i + 2].text == ":":
        return []
    return [Block(source.tokens[i].end, source.tokens[source.match[brace]].start)]


def _begins(source, i):
    """True if statements follow this brace, and control gets past it."""
    before = source.tokens[i - 1].text
    if before == ")":
        return source.tokens[source.match[i - 1] - 1].text in ("if", "for", "while")
    return before in ("else", "do")


def _colon(source, i):
    if source.tokens[i].text == "default":
        return i + 1 if source.tokens[i + 1].text == ":" else None
    while source.tokens[i].text not in (":", "{", "}", ";", "?"):
        i += 1
    return i if source.tokens[i].text == ":" else None


class Probes:
    """The probes of all sources. Each source has numbers of its own, which a change of another one does not move."""

    def __init__(self, texts):
        self.originals = texts
        self.texts = {}  # with probes
        self.blocks = {}
        taken = set()
        for name in sorted(texts):
            found = blocks(csource.Source(texts[name]))
            slot = zlib.crc32(name.encode()) % SLOTS
            while taken & (wanted := {(slot + i) % SLOTS for i in range(len(found) // SLOT + 1)}):
                slot = (slot + 1) % SLOTS
            taken |= wanted
            put = []
            for i, block in enumerate(found):
                block.number = (slot * SLOT + i) % (SLOTS * SLOT)
                put.append((block.start, 1, f" {'{ ' if block.braces else ''}IW_REACH({block.number});"))
                if block.braces:
                    put.append((block.end, 0, " }"))  # before a probe of what follows
            out, last = [], 0
            for at, _, text in sorted(put):
                out += [texts[name][last:at], text]
                last = at
            self.texts[name] = "".join(out) + texts[name][last:]
            self.blocks[name] = found

    def block(self, edit):
        """The number of the innermost block that holds an edit; None if it lies in none."""
        found = self.blocks[edit.file]
        i = bisect.bisect_right([block.start for block in found], edit.start)
        inside = [block for block in found[:i] if block.end >= edit.end]
        return inside[-1].number if inside else None


def write_runtime(folder, map_path):
    """What is included in each source, and the source of what is linked to each program."""
    header = pathlib.Path(folder, "reach.h")
    if not header.exists() or header.read_text(encoding="ascii") != HEADER:  # or everything is compiled again
        header.write_text(HEADER, encoding="ascii")
    text = f'#define SIZE {SLOTS * SLOT}\n#define MAP "{map_path}"\n{RUNTIME}'
    pathlib.Path(folder, "reach.c").write_text(text, encoding="utf-8")


def clear(path):
    """An empty map, also for programs that run as another user."""
    with open(path, "wb") as file:
        file.truncate(SLOTS * SLOT)
    os.chmod(path, 0o666)


class Store:
    """What the tests did without an edit, in a folder: what they took, whether they passed, which blocks they reached; each
    for one state of what the test is made of."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def _path(self, key):
        return self.folder / re.sub(r"[^\w.-]", "_", key)

    def has(self, key, state):
        try:
            with open(self._path(key), "rb") as file:
                return json.loads(file.readline())["state"] == state
        except (FileNotFoundError, ValueError, KeyError):
            return False

    def put(self, key, state, map_path, facts):
        new = self._path(key).with_suffix(".new")
        reached = pathlib.Path(map_path).read_bytes()
        new.write_bytes(json.dumps({**facts, "state": state}).encode() + b"\n" + zlib.compress(reached, 1))
        new.rename(self._path(key))

    def get(self, key):
        """The facts of a test, and its map."""
        facts, _, reached = self._path(key).read_bytes().partition(b"\n")
        return json.loads(facts), zlib.decompress(reached)
