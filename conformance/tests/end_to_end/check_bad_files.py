#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Garbled, truncated or wrong files: each gets one line that names it, and exit status 64.

usage: check_bad_files.py IWARP-CONFORM [GARBLED]

Journals (--resume, merge), runs (diff, merge, --durations), baselines and target files: some by hand, and GARBLED (60) of each with octets changed
at random, which may also be good still.
"""
import json
import random
import shutil
import sys
import tempfile

import harness

SECONDS = 600  # nothing here may take longer, whatever the machine's load
MEMORY = 512 * 1024  # KiB that a process may ever have had
DEEP = "[" * 100000
CASE = """return family { case { id = "one", purpose = "p", rules = { "MPA-4.1-02" }, role = "responder",
  run = function(t) end },
  case { id = "two", purpose = "p", rules = { "MPA-4.1-02" }, role = "responder", run = function(t) end } }
"""


class Files(harness.Bench):
    def __init__(self, conform, folder):
        super().__init__(conform, folder)
        self.write("cases/x.lua", CASE)
        self.run(0, "run", "--cases", "cases", "--results", "good", "--write-baseline", "baseline", "-j1")

    def read(self, name):
        return harness.octets(self.at(name))

    def run(self, status, *words):
        return super().run(status, *words, errors="replace", timeout=SECONDS)


def journal(files):
    def resumed(text):
        shutil.rmtree(files.at("killed"), ignore_errors=True)
        shutil.copytree(files.at("good"), files.at("killed"))
        files.write("killed/journal.jsonl", text)
        return ("run", "--resume", "killed")

    good = files.read("good/journal.jsonl")
    head, one, two = good.splitlines(keepends=True)
    for what, text in (("an empty journal", b""), ("a journal without its end of line", head[:-1]),
                       ("a journal that is no JSON", b"garbage\n" + one),
                       ("a journal of another schema", head.replace(b'"schema":', b'"schema":9') + one),
                       ("a journal with a broken line between others", head + one[:40] + b"\n" + two),
                       ("a journal with a line that is no object", head + b"[]\n"),
                       ("a journal with nested garbage", head + DEEP.encode() + b"\n"),
                       ("a journal with a case that there is not", head + one.replace(b'"one"', b'"none"')),
                       ("a journal with a case twice", head + one + one),
                       ("a journal with an unknown verdict", head + one.replace(b"PASS", b"GOOD")),
                       ("a journal with octets that are no text", head + b"\xff\xfe\x00\n")):
        files.refused(what, *resumed(text), says=["journal.jsonl"])
        if files.read("killed/journal.jsonl") != text:
            sys.exit("%s: the journal was changed" % what)
    files.run(0, *resumed(head + one + two[:-1]))
    files.run(0, *resumed(head + b"\xff" * 1000000))
    print("ok - what was cut off is played again")
    return good, lambda text: (files.run((0, 64, 70, 3), *resumed(text)))


def run_json(files):
    def compared(text):
        files.write("bad.json", text)
        return ("diff", "good", "bad.json")

    good = files.read("good/run.json")
    run = json.loads(good)
    for what, text in (("an empty run", ""), ("a run that is no JSON", "{"), ("a run that is a list", "[]"),
                       ("a run of another schema", json.dumps({**run, "schema": 99})),
                       ("a run without cases", json.dumps({**run, "cases": 3})), ("nested garbage", DEEP),
                       ("a run with octets that are no text", b"{\"\xff\":1}")):
        files.refused("diff: " + what, *compared(text), says=["bad.json"])
    files.refused("diff: no file", "diff", "good", "none.json", says=["none.json"])
    for odd in ([None], [3, "x", []]):
        files.refused("diff: cases that are no objects", *compared(json.dumps({**run, "cases": odd})), says=["bad.json"])
    for odd in ([{}], [{"id": 3}], [{"id": "one", "exchange": [3, {"remarks": [1, [0], [0, 1]]}]}],
                [{"id": "one", "verdict": [], "exchange": {"a": 1}}]):
        files.run(1, *compared(json.dumps({**run, "cases": odd, "target": odd})))
    print("ok - diff: members of other types are differences")
    return good, lambda text: files.run((0, 1, 64), *compared(text))


def merged(files):
    """Merged, and the durations of shards."""
    def used(text):
        shutil.rmtree(files.at("bad"), ignore_errors=True)
        shutil.copytree(files.at("good"), files.at("bad"))
        files.write("bad/run.json", text)
        return ("merge", "bad", "--results", "merged", "--cases", "cases")

    good = files.read("good/run.json")
    run = json.loads(good)
    for odd in ([None], [3, "x", []], [{}], [{"id": 3, "line": 1}], [{"id": "one", "line": 1, "seconds": []}]):
        for what in ({"cases": odd}, {"cases": odd, "suite": odd}, {"cases": odd, "target": odd}, {"cases": odd, "suite": {"cases": len(odd)}},
                     {"facts": odd}):
            files.run((0, 64), *used(json.dumps({**run, **what})))
    print("ok - merge: members of other types end it, or are left out")

    def use(text):
        files.run((0, 1, 3, 64, 70), *used(text))
        files.run((0, 64), "list", "--cases", "cases", "--shard", "1/2", "--durations", "bad")

    return good, use


def merged_journal(files):
    good = files.read("good/journal.jsonl")

    def use(text):
        shutil.rmtree(files.at("bad"), ignore_errors=True)
        shutil.copytree(files.at("good"), files.at("bad"))
        files.write("bad/journal.jsonl", text)
        files.run((0, 1, 3, 64, 70), "merge", "bad", "--results", "merged", "--cases", "cases")

    return good, use


def baseline(files):
    def used(text):
        files.write("bad.baseline", text)
        return ("run", "--cases", "cases", "--results", "again", "--baseline", "bad.baseline")

    good = files.read("baseline") + b"one FAIL \"a reason\"\n"
    for what, text in (("without a reason", "one FAIL\n"), ("without a verdict", "one\n"),
                       ("with an unknown verdict", "one WRONG \"x\"\n"), ("with an open reason", "one FAIL \"x\n"),
                       ("with an id twice", "one FAIL \"x\"\none NOTE \"x\"\n"),
                       ("of octets", bytes(range(256))), ("of one long line", b"x" * 3000000)):
        files.refused("a baseline " + what, *used(text), says=["bad.baseline"])
    return good, lambda text: files.run((0, 1, 2, 64), *used(text))


def target(files):
    def used(text):
        files.write("bad.lua", text)
        return ("run", "--cases", "cases", "--results", "again", "--target", "./bad.lua")

    good = b"return { class = \"bare\", address = \"127.0.0.1\", port = 1, cannot = { \"reconnect\" }, crc = \"on\" }\n"
    for what, text in (("empty", ""), ("no Lua", "return {"), ("no table", "return 3"),
                       ("with an unknown field", "return { adress = \"x\" }"),
                       ("that loops for ever", "while true do end"),
                       ("that calls itself for ever", "local function f() return 1 + f() end return f()"),
                       ("that eats memory", "local s = 'x' while true do s = s .. s end"),
                       ("that eats memory in a table", "local t = {} for i = 1, 1e9 do t[i] = {} end"),
                       ("that raises a table", "local x = nil; return x.y"),
                       ("of compiled code", b"\x1bLua"), ("of octets", bytes(range(256))),
                       ("with a port of its own kind", "return { address = 'x', port = 1e300 }"),
                       ("with a list of other things", "return { address = 'x', port = 1, can = { {} } }")):
        files.refused("a target file " + what, *used(text), says=["bad.lua"])
    return good, lambda text: files.run((0, 3, 64, 70), *used(text))


def garble(rng, text):
    octets = bytearray(text)
    for _ in range(rng.choice((1, 1, 3, 20))):
        at = rng.randrange(len(octets))
        kind = rng.randrange(4)
        if kind == 0:
            octets[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            octets[at:at + rng.randrange(1, 30)] = b""
        elif kind == 2:
            octets[at:at] = rng.choice((b"\0", b"\"", b"{", b"}", b"[", b"]", b",", b"\n", b"null", b"-1", b"1e999",
                                        b"\\u0000", b"99999999999999999999", bytes(rng.randbytes(8))))
        else:
            del octets[at:]
        if not octets:
            break
    return bytes(octets)


def main(conform, count=60):
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        files = Files(conform, folder)
        for kind in (journal, run_json, merged, merged_journal, baseline, target):
            good, use = kind(files)
            for _ in range(int(count)):
                use(garble(rng, good))
            print("ok - %s: %d garbled files" % (kind.__name__, int(count)))
    harness.check_memory(conform, MEMORY)


if __name__ == "__main__":
    harness.start(main, __doc__)
