#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The commands in the pages for people do what the pages say.

usage: check_pages.py BIN-FOLDER PAGE

In an indented block "$ " begins a command ("> " goes on with it); what follows is what it prints, "..." standing for anything. Commands
whose program is missing are left out, and so are blocks without "$ ".
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import harness

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))


def commands(page):
    """(command, lines that it prints), in the order of the page."""
    found = []
    for line in harness.read(page).splitlines():
        if not line.startswith("    "):
            if line:
                found.append(None)  # text: the output ends
            continue
        text = line[4:]
        if text.startswith("$ "):
            found.append((text[2:], []))
        elif found and found[-1] is not None and text.startswith("> ") and not found[-1][1]:
            found[-1] = (found[-1][0] + "\n" + text[2:], [])
        elif found and found[-1] is not None:
            found[-1][1].append(text)
    return [one for one in found if one]


def pattern(lines):
    """A line "..." is any number of lines, "..." in a line any text."""
    out = ""
    for line in lines:
        out += "(?:.*\n)*?" if line.strip() == "..." else ".*".join(re.escape(part) for part in line.split("...")) + "\n"
    return out


def main(bin_folder, page):
    environment = dict(os.environ, PATH=os.path.abspath(bin_folder) + os.pathsep + os.environ["PATH"])
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.join(SOURCE, "conformance"), os.path.join(folder, "conformance"))
        n = 0
        for command, lines in commands(page):
            if not shutil.which(command.split()[0], path=environment["PATH"]):
                print("ok - left out: %s" % command)
                continue
            done = harness.run("sh", "-c", command, status=None, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               encoding="utf-8")
            harness.check(re.fullmatch(pattern(lines), done.stdout), command, "---- printed", done.stdout, "---- the page says", *lines)
            n += 1
        if n < 8:
            sys.exit("%s: only %d commands were found" % (page, n))


if __name__ == "__main__":
    harness.start(main, __doc__)
