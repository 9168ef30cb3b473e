#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The shared libraries export what the public headers declare, each name once and with a version, and nothing else; their SONAME
has a number, and nothing of the build folder is in them. What iwarp/sockets.h declares is in the library that is preloaded,
what iwarp/messages.h declares in libiwarp-messages."""
import glob
import os
import re
import tempfile

import harness
from harness import check

# Functions that the headers define themselves, and types of functions, are in gcc's list, too.
FUNCTION = re.compile(r"^/\* (\S+):\d+:[A-Z]{2} \*/ extern .*?\b(iw_\w+) \((?!\*)", re.MULTILINE)
OBJECT = re.compile(r"^extern (?!\")[^(;]*?\b(iw_\w+)(?:\[[^\]]*\])?;", re.MULTILINE)
TYPE = re.compile(r"^typedef .*?\b(iw_\w+)\(", re.MULTILINE)


def declared(gcc, folders):
    """The functions and objects that the headers in folders/iwarp declare."""
    headers = [path for folder in folders for path in sorted(glob.glob(os.path.join(folder, "iwarp", "*.h")))]
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as listed:
        source = "".join(f'#include "{path}"\n' for path in headers)
        harness.run(gcc, "-std=c11", *(f"-I{folder}" for folder in folders), "-aux-info", listed.name, "-fsyntax-only", "-x", "c", "-", input=source)
        functions = {name for path, name in FUNCTION.findall(listed.read()) if path in headers}
    texts = [harness.read(path) for path in headers]
    types = {name for text in texts for name in TYPE.findall(text)}
    return (functions - types) | {name for text in texts for name in OBJECT.findall(text)}


def exported(library):
    """Names and versions of what a library exports, but for the version itself."""
    rows = [line.split()[-2:] for line in harness.run("nm", "-D", "--defined-only", library).stdout.splitlines()]
    return [name for kind, name in rows if kind != "A"]


def main(gcc, source, generated, core, host, sockets=""):
    declarations = declared(gcc, [source, generated])
    preloaded = {name for name in declarations if name.startswith("iw_sockets_")}
    messages = {name for name in declarations if name.startswith("iw_messages_")}
    wanted = declarations - preloaded - messages
    check(len(preloaded) > 5, "iwarp/sockets.h declares functions", sorted(preloaded))
    if sockets:
        check(preloaded <= set(exported(sockets)), "the preloaded library exports them", sorted(preloaded - set(exported(sockets))))
    check(len(wanted) > 200, "the headers declare functions", len(wanted))
    seen = []
    for library in (core, host):
        names = exported(library)
        check(all(name.endswith("@@IWARP_0") for name in names), f"{os.path.basename(library)} gives all of them a version", names)
        seen += [name.split("@")[0] for name in names]
        dynamic = harness.run("readelf", "-d", library).stdout
        soname = re.search(r"SONAME.*\[(.*)\]", dynamic)[1]
        check(re.fullmatch(r"libiwarp(_host)?\.so\.0", soname), f"{soname} has a number")
        check(re.search(r"\.so\.0\.\d+\.\d+$", os.path.realpath(library)) and os.path.exists(os.path.join(os.path.dirname(library), soname)),
              f"{soname} is a link to the file with the whole version")
        undefined = harness.run("nm", "-D", "--undefined-only", library).stdout.split()
        check(not {name for name in undefined if name.startswith("iw_") and name.split("@")[0] not in wanted}, f"{soname} needs no inner function of another one")
    check(len(seen) == len(set(seen)), "each in one library", sorted({name for name in seen if seen.count(name) > 1}))
    check(set(seen) == wanted, "they export what the headers declare", f"missing: {sorted(wanted - set(seen))}", f"more: {sorted(set(seen) - wanted)}")


harness.start(main, "usage: check_public_symbols.py GCC INCLUDE GENERATED_INCLUDE LIBIWARP.SO LIBIWARP_HOST.SO [LIBIWARP_SOCKETS.SO]")
