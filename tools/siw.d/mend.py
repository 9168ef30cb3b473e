#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Puts the edits of mends.csv, and siw_mend.c and siw_mend.h, which they call, into a kernel's source.

usage: mend.py SOURCE | --numbers | --mask LIST

A line of mends.csv: the deviations of conformance/baselines/siw.md that the edit helps to put right (none: all), a file of
drivers/infiniband/sw/siw, a function in it (none: anywhere), and a text that occurs once there with its replacement, in
which @ is the text itself. The edits stand for siw as it was written: they do not see each other, and may not overlap.
The kernel puts right what its command line says (siw.mends=MASK): --mask prints the mask of a list of numbers, as in 1,5, or of
`all` or `none`; --numbers all numbers there are.
Exit status: 0 done, 64 no such number, 70 an edit does not fit the source.
"""
import csv
import itertools
import os
import pathlib
import re
import shutil
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
CODE = ("siw_mend.c", "siw_mend.h")


class Misfit(Exception):
    """An edit whose text is not there once."""


def read():
    """Returns the lines of mends.csv, with `mends` as a set of numbers."""
    with open(os.path.join(HERE, "mends.csv"), encoding="utf-8", newline="") as f:
        lines = list(csv.DictReader(itertools.dropwhile(lambda line: line.startswith("#"), f)))
    for line in lines:
        line["mends"] = {int(number) for number in line["mends"].split()}
    return lines


def numbers():
    return sorted(set().union(*(line["mends"] for line in read())))


def mask(text):
    """Returns the mask that stands for a list like 1,5."""
    known = numbers()
    wanted = known if text == "all" else [] if text == "none" else [int(one) if one.isdecimal() else -1 for one in text.split(",") if one]
    for one in wanted:
        if one not in known:
            raise ValueError("%s: expected `all`, `none`, or numbers of %s" % (text, ",".join(str(number) for number in known)))
    return sum(1 << one for one in set(wanted))


def function(text, name):
    """Returns where a function's definition begins and ends."""
    found = re.search(r"^[a-z][^;{}()]*\b%s\([^;{}]*\)\n\{" % re.escape(name), text, re.MULTILINE)
    if found is None:
        raise Misfit("there is no function %s" % name)
    return found.start(), text.index("\n}", found.end())


def edited(text, edits):
    """Returns the text with these edits."""
    places = []
    for edit in edits:
        begin, end = function(text, edit["in"]) if edit["in"] else (0, len(text))
        count = text.count(edit["old"], begin, end)
        if count != 1:
            raise Misfit("'%s' occurs %d times%s" % (edit["old"], count, edit["in"] and " in " + edit["in"]))
        at = text.index(edit["old"], begin, end)
        places.append((at, at + len(edit["old"]), edit["new"].replace("@", edit["old"])))
    result, done = [], 0
    for begin, end, new in sorted(places):
        if begin < done:
            raise Misfit("two edits overlap at '%s'" % text[begin:end])
        result += [text[done:begin], new]
        done = end
    return "".join(result) + text[done:]


def apply(source):
    """Edits the source of siw below this folder."""
    siw = pathlib.Path(source, "drivers/infiniband/sw/siw")
    lines = read()
    for name in sorted({line["file"] for line in lines}):
        path = siw / name
        try:
            path.write_text(edited(path.read_text(encoding="utf-8"), [line for line in lines if line["file"] == name]), encoding="utf-8")
        except Misfit as error:
            raise Misfit("%s: %s" % (path, error)) from None
    for name in CODE:
        shutil.copy(os.path.join(HERE, name), siw)
    with open(siw / "Makefile", "a", encoding="utf-8") as f:
        f.write("siw-y += siw_mend.o\n")


def main():
    words = sys.argv[1:]
    try:
        if words == ["--numbers"]:
            print(",".join(str(number) for number in numbers()))
        elif len(words) == 2 and words[0] == "--mask":
            print("0x%x" % mask(words[1]))
        elif len(words) == 1 and not words[0].startswith("-"):
            apply(words[0])
        else:
            print(__doc__, file=sys.stderr)
            sys.exit(64)
    except ValueError as error:
        print("mend: %s" % error, file=sys.stderr)
        sys.exit(64)
    except Misfit as error:
        print("mend: %s" % error, file=sys.stderr)
        sys.exit(70)


if __name__ == "__main__":
    main()
