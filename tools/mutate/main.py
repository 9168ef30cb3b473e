#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Edits the project's C at random and asks whether a test notices.

N edits that compile and change the program are made, one at a time: a comparison, a constant, a condition or a statement of
any function. Each is run against the tests whose programs hold it, the likely and cheap ones first, until one fails: unit
tests, the conformance suite against the embedded peer, the tests of the programs; the first two with AddressSanitizer, too.
The same seed draws the same edits from the same sources. Tests that need a kernel of their own or a
browser are left out, and so are edits of what runs only in a kernel."""

import argparse
import fnmatch
import json
import math
import multiprocessing
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
from multiprocessing.connection import wait

sys.dont_write_bytecode = True
import draw  # noqa: E402
import planted_edits  # noqa: E402
import reach  # noqa: E402
import report as reports  # noqa: E402
import suite  # noqa: E402
import tree as trees  # noqa: E402
import worker as workers  # noqa: E402

USAGE = 64
HERE = pathlib.Path(__file__).resolve().parent
LIST = HERE / "survivors.csv"
FOLDER = trees.TOP / "build-mutate"
# Tests, examples, what only a switch of the build compiles in, the glue of fuzzing engines, and what runs in a kernel.
NOT_EDITED = ("*/tests/*", "proto/examples/*", "proto/rules/hosted/*", "fuzz/engine/*.c", "fuzz/mutate/mutate_libfuzzer.c", "proto/kernel/*", "tools/siw.d/*", "tools/bench_*")


def edited_files():
    """The C sources that are edited, with their text."""
    found = {}
    for name in trees.sources():
        if not name.endswith((".c", ".h")) or any(fnmatch.fnmatch(name, p) for p in NOT_EDITED):
            continue
        found[name] = (trees.TOP / name).read_text(encoding="utf-8")
    return found


def commit():
    return subprocess.run(["git", "rev-parse", "HEAD"], cwd=trees.TOP, stdout=subprocess.PIPE, text=True, check=False).stdout.strip()


def fits(name, patterns):
    return not patterns or any(fnmatch.fnmatch(name, p) or fnmatch.fnmatch(name, p + "*") for p in patterns)


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"mutate: {message}\n")


def arguments():
    parser = Parser(prog="tools/dev mutate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                    epilog="exit status: 0 if at least 95 % were noticed and at most 3 % are listed as equal, 1 if not or if no edit was finished, 64 usage")
    parser.add_argument("n", metavar="N", nargs="?", type=int, default=200, help="edits (200)")
    parser.add_argument("seed", metavar="SEED", nargs="?", type=int, help="what decides which (the date)")
    parser.add_argument("--jobs", "-j", type=int, default=2 * os.cpu_count(),
                        help="edits at a time, each in a tree of its own (two for each CPU: tests wait half of their time)")
    parser.add_argument("--only", metavar="PATTERN", action="append", default=[], help="edit only these files: a glob or how they begin")
    parser.add_argument("--budget", metavar="MINUTES", type=float,
                        help="begin no other edit after this time. Once a tree is built, tests run without an edit for a third of what is left; "
                        "those that did not are asked last and only up to this time, the suite not at all. An edit that only such tests could "
                        "still notice is unfinished: it does not count, and --resume tries it again")
    parser.add_argument("--no-reach", action="store_true",
                        help="do not first find out which tests reach which code (for few edits); only the suite runs without an edit")
    parser.add_argument("--no-asan", action="store_true", help="do not ask the tests under AddressSanitizer")
    parser.add_argument("--tests", metavar="REGEX", default="", help="ask only the tests whose name it is found in: unit tests of a room, say")
    parser.add_argument("--list", action="store_true", help="print the edits, try none")
    parser.add_argument("--planted", action="store_true", help="instead, make each edit of proto/rules/planted.csv: its tests must notice")
    parser.add_argument("--at", metavar="FILE:LINE", help="try every edit of one line (N and SEED are ignored)")
    parser.add_argument("--result", metavar="FILE", default=str(FOLDER / "result.json"), help="the result as JSON (build-mutate/result.json)")
    parser.add_argument("--resume", action="store_true", help="go on with the run of --result, of the same SEED and commit")
    parser.add_argument("--survivors", metavar="FILE", help="append each survivor to a file as it is found")
    options = parser.parse_args()
    if options.n < 1 or options.jobs < 1 or (options.budget is not None and options.budget < 0):
        parser.error("N, --jobs and --budget are positive numbers")
    if options.resume and (options.at or options.planted):
        parser.error("--resume goes on with random edits: not with --at, not with --planted")
    try:
        re.compile(options.tests)
    except re.error as error:
        parser.error(f"--tests {options.tests}: {error}")
    if options.seed is None:
        options.seed = int(time.strftime("%Y%m%d"))
    return options, parser


class Pool:
    """The workers, each a process with a tree."""

    def __init__(self, jobs, builds, probes, store, tests="", edited=None):
        self.pipes, self.processes = [], []
        for _ in range(jobs):
            here, there = multiprocessing.Pipe()
            process = multiprocessing.Process(target=workers.serve, args=(there, FOLDER, builds, probes, store, tests, edited))
            process.start()
            there.close()
            self.pipes.append(here)
            self.processes.append(process)

    def messages(self):
        """What came, each with the pipe it came through."""
        for pipe in wait([p for p in self.pipes]):
            try:
                message = pipe.recv()
            except EOFError:
                raise trees.Bad("a worker ended") from None
            if message[0] == "bad":
                raise trees.Bad(message[1])
            yield pipe, message

    def end(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.join(30)


class Run:
    def __init__(self, options, texts, edits):
        self.options = options
        self.edited = [name for name in texts if draw.Sites(name, texts[name]).weight() > 0] if options.only or options.at else None
        self.probes = reach.Probes(edited_files())
        self.store = reach.Store(FOLDER / "clean")
        self.edits = edits  # a function: the next edit or None
        self.head = {"commit": commit(), "seed": options.seed, "wanted": options.n, "jobs": options.jobs}
        self.tried, self.minutes = reports.resume(options.result, self.head) if options.resume else ({}, 0)
        self.report = reports.Report(texts, reports.read_list(LIST))
        self.history = suite.History(FOLDER / "history.json")
        self.began = {}
        self.free, self.learned = set(), set()  # workers
        self.states, self.left, self.running = {}, None, set()  # tests to be run without an edit
        self.clock = time.monotonic
        self.start = self.clock()
        self.deadline = math.inf if options.budget is None else self.start + 60 * options.budget
        self.until = self.deadline  # of tests without an edit
        self.measured = self.spent = False

    def go(self, n):
        """Tries n edits; None is all there are."""
        pool = Pool(self.options.jobs, ["plain"] + ([] if self.options.no_asan else ["asan"]), self.probes, self.store, self.options.tests,
                    self.edited)
        try:
            while self.give(n):
                for pipe, message in pool.messages():
                    self.take(pipe, *message)
        finally:
            pool.end()

    def say(self, text):
        print(f"{(self.clock() - self.start) / 60:5.1f} min: {text}", flush=True)

    def take(self, pipe, what, *said):
        """Notes what a worker says, who is free now."""
        self.free.add(pipe)
        if what == "ready":
            self.say(f"a tree is ready, {len(said[0])} tests")
            if self.left is None:
                self.states = {key: state for key, state in said[0].items() if ":" not in key}
                left = [key for key, state in self.states.items()
                        if (key == suite.SUITE or not self.options.no_reach) and not self.store.has(key, state)]
                self.left = self.history.first(left, said[1], self.options.budget is not None)
                self.until = self.clock() + (self.deadline - self.clock()) / 3
        elif what == "measured":
            self.running.remove(said[0])
        else:
            self.done(*said)

    def give(self, n):
        """Gives work to who is free: first each test once without an edit, unless that was done for what it is made of now or
        the time for that is over.

        Returns False once there is nothing to wait for."""
        while self.left and self.free and self.clock() < self.until:
            self.running.add(self.left[0])
            self.free.pop().send(("measure", self.left.pop(0), self.until))
        if self.left is None or self.running:
            return True
        if not self.measured:
            self.measured = True
            known = [key for key, state in self.states.items() if self.store.has(key, state)]
            for key in known:
                self.history.learn(key, self.store.get(key)[0])
            self.say(f"{len(known)} tests were run without an edit, {len(self.states) - len(known)} were not")
        while self.free and (edit := self.next(n)):
            pipe = self.free.pop()
            if pipe not in self.learned:
                self.learned.add(pipe)
                pipe.send(("learn",))
            self.began[edit] = self.clock()
            pipe.send(("edit", edit, self.history, self.deadline))
        return bool(self.began)

    def next(self, n):
        """The next edit, or None if none is wanted or left."""
        if self.spent or n is not None and len(self.report.counted) + len(self.began) >= n:
            return None
        if self.clock() > self.deadline:
            self.spent = True
            self.say("the budget is spent")
            return None
        while (edit := self.edits()) and (result := self.tried.get(self.report.key(edit))):
            self.report.add(edit, result)
            if n is not None and len(self.report.counted) + len(self.began) >= n:
                return None
        return edit

    def write(self):
        """Writes the result so far, with which --resume goes on."""
        self.report.write(self.options.result, {**self.head, "minutes": round(self.minutes + (self.clock() - self.start) / 60, 1)})

    def done(self, edit, result, unsound):
        result["seconds"] = self.clock() - self.began.pop(edit)
        asked = result.pop("asked")
        result["asked"] = len(asked)
        for key, outcome, killed in asked:
            self.history.record(edit.file, key, outcome, killed)
        self.history.save()
        self.report.unsound |= set(unsound)
        if not self.report.add(edit, result):
            return
        self.write()
        print(self.report.line(edit, result), flush=True)
        if result["state"] == "survived" and self.options.survivors:
            with open(self.options.survivors, "a", encoding="utf-8") as file:
                file.write(self.report.block(edit) + "\n")


def plant(options):
    """Makes the edits of planted.csv; 0 if each test that is named notices."""
    rows = [row for row in planted_edits.read(trees.TOP) if fits(row["file"], options.only)]
    left, begun, wrong = list(rows), 0, 0
    pool = Pool(min(options.jobs, max(1, len(rows))), ["plain"], reach.Probes(edited_files()), None)
    try:
        while left or begun:
            for pipe, message in pool.messages():
                if message[0] == "planted":
                    begun -= 1
                    wrong += bool(message[2])
                    print(f"{message[1]['place']}: {message[1]['file']}: {'; '.join(message[2]) or 'noticed'}", flush=True)
                if left:
                    pipe.send(("plant", left.pop(0)))
                    begun += 1
    finally:
        pool.end()
    print(f"{len(rows)} planted faults, {len(rows) - wrong} noticed by each test that is named for them")
    return 1 if wrong else 0


def at_line(texts, where):
    """All edits of one line."""
    file, _, line = where.rpartition(":")
    sites = draw.Sites(file, texts[file])
    return [edit for found in sites.found.values() for edit in found if str(edit.line) == line]


def main():
    options, parser = arguments()
    FOLDER.mkdir(exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if options.planted:
        return plant(options)
    texts = {name: text for name, text in edited_files().items() if fits(name, options.only)}
    if not texts:
        parser.error("no C source fits --only")
    if options.at:
        file = options.at.rpartition(":")[0]
        if file not in texts:
            parser.error(f"{options.at} is no FILE:LINE of a C source that is edited")
        left = at_line(texts, options.at)
        texts = {file: texts[file]}
        edits, n = lambda: left.pop(0) if left else None, None
    else:
        drawing = draw.Drawing(texts, options.seed)
        edits, n = drawing.next, options.n
    if options.list:
        while (n is None or n > 0) and (edit := edits()):
            old, new = edit.lines(texts[edit.file])
            print(f"{edit.file}:{edit.line} {edit.function}: {edit.kind}\n  - {old}\n  + {new}")
            n = None if n is None else n - 1
        return 0
    run = Run(options, texts, edits)
    ended = None
    try:
        run.go(n)
    except KeyboardInterrupt:
        ended = 130
    except SystemExit as end:
        ended = end.code
    report = run.report
    for edit in report.survivors():
        print("\n" + report.block(edit), end="")
    print("\n" + report.summary())
    run.write()
    return ended if ended is not None else 0 if report.good() else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except trees.Bad as error:
        print(f"mutate: {error}", file=sys.stderr)
        sys.exit(1)
