# SPDX-License-Identifier: BSD-3-Clause
"""Applies one edit at a time to a tree of its own and asks the tests, until one notices."""

import contextlib
import ctypes
import dataclasses
import json
import math
import os
import re
import shutil
import signal
import time
import traceback

import guard
import planted_edits
import reach
import suite
import tree as trees

BATCH = 6  # programs linked at once
PR_SET_PDEATHSIG = 1
CLEAN = guard.Limits(cpu=3600, idle=900, wall=3600, memory=2 * guard.MEMORY)  # without an edit nothing hangs


def within(limits, deadline):
    """Limits that also end a test at a deadline."""
    return dataclasses.replace(limits, wall=min(limits.wall, deadline - time.monotonic()))


class Clock:
    """How many seconds each kind of work took."""

    def __init__(self):
        self.spent = {}

    @contextlib.contextmanager
    def on(self, work):
        began = time.monotonic()
        try:
            yield
        finally:
            self.spent[work] = self.spent.get(work, 0) + time.monotonic() - began


class Worker:
    def __init__(self, folder, builds, probes, store, tests, edited):
        self.tree = trees.Tree.free(folder)
        self.builds = builds
        self.probes = probes
        self.store = store
        self.wanted = re.compile(tests)
        self.edited = edited  # only these files are; None: any
        self.reached = {}  # the map of each test
        self.tests = []
        self.states = {}  # what each test is made of
        self.sound = set()  # tests that passed without an edit
        self.unsound = set()
        self.clean_suite = {}
        self.original_code = {}
        self.clock = Clock()

    def prepare(self):
        shutil.rmtree(self.tree.work, ignore_errors=True)
        self.tree.work.mkdir(parents=True)
        reach.clear(self.tree.reached)
        self.tree.copy(self.probes.texts)
        self.tree.probe()
        for build in self.builds:
            self.tree.build(build)
            self.tests += [test for test in suite.listed(self.tree, build) if self.wanted.search(test.name)]
        if self.edited is not None:
            holders = self.holders()
            self.tests = [test for test in self.tests if test.files & holders]
        self.states = self.tree.states([(test.key, test.files) for test in self.tests])

    def holders(self):
        """The sources that an edit can be in, or in what they include."""
        return set(self.edited) | set(self.tree.users("plain", *(file for file in self.edited if file.endswith(".h"))))

    def measure(self, key, until):
        """Runs a test without an edit and keeps what it took and reached, unless time is up before it has passed."""
        test = next(test for test in self.tests if test.key == key)
        reach.clear(self.tree.reached)
        outcome, wrong = self.run(test, within(CLEAN, until))
        if wrong:
            outcome, wrong = self.run(test, within(CLEAN, until))
        if wrong and time.monotonic() >= until:
            return
        self.store.put(key, self.states[key], self.tree.reached,
                       {"wall": outcome.wall, "cpu": outcome.cpu, "idle": outcome.idle, "wrong": wrong,
                        "output": outcome.output[-3000:].decode("utf-8", "replace") if wrong else "",
                        "verdicts": self.verdicts() if key == suite.SUITE else {}})

    def learn(self):
        """Takes over what all workers measured."""
        for test in self.tests:
            if test.build != "plain" or not self.store.has(test.key, self.states[test.key]):
                continue
            facts, self.reached[test.name] = self.store.get(test.key)
            (self.unsound if facts["wrong"] else self.sound).add(test.key)
            self.clean_suite = facts["verdicts"] or self.clean_suite

    def candidates(self, edit):
        """The tests that hold the edited source and, as far as is known, reach the edit."""
        block = self.probes.block(edit)
        return [t for t in self.tests if t.key not in self.unsound and (edit.file in t.files or edit.file.endswith(".h"))
                and (block is None or t.name not in self.reached or self.reached[t.name][block])]

    # The text of the edited file.

    def put(self, file, text):
        (self.tree.tree / file).write_text(text, encoding="utf-8")

    def original(self, file):
        """The text of a file when the run began."""
        if file not in self.probes.originals:
            self.probes.originals[file] = (self.tree.tree / file).read_text(encoding="utf-8")
        return self.probes.originals[file]

    def restore(self, file):
        self.put(file, self.probes.texts.get(file) or self.original(file))

    def same_code(self, file, old, new):
        """None if the edit does not compile; else whether an optimising compiler sees no difference."""
        files = [file] if file.endswith(".c") else self.tree.users("plain", file)
        if not any(self.tree.commands["plain"].get(user) for user in files):
            return False  # no program is made of it: nobody can notice
        for compiler in ("gcc", "clang"):
            if not shutil.which(compiler):
                continue
            same = True
            for user in files:
                known = self.original_code.get((user, compiler))
                if known is None:
                    self.put(file, old)
                    known = self.original_code[user, compiler] = self.tree.code(user, compiler)
                    self.put(file, new)
                made = self.tree.code(user, compiler)
                if made is None and known is not None:
                    return None
                if made != known:
                    same = False
                    break
            if same:
                return True
        return False

    # Tests.

    def run(self, test, limits, ids=()):
        """Runs a test; its Outcome and what it found wrong, empty if nothing."""
        scratch = self.tree.work / "tmp"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        shutil.rmtree(self.tree.work / "suite", ignore_errors=True)
        env = {**os.environ, **test.env, "TMPDIR": str(scratch), "IW_STRIDE": "997", "HOME": str(scratch),
               "ASAN_OPTIONS": "abort_on_error=0:allocator_may_return_null=1", "UBSAN_OPTIONS": "print_stacktrace=1"}
        until = None
        if test.name == suite.SUITE:
            (self.tree.work / "suite.json").unlink(missing_ok=True)
            until = lambda path: suite.NOT_OK.search(path.read_bytes())
        outcome = guard.run([*test.command, *ids], self.tree.work / "output", limits, test.cwd, env, until)
        shutil.rmtree(scratch, ignore_errors=True)
        if outcome.why not in ("", "enough"):
            return outcome, outcome.why
        if test.name == suite.SUITE:
            return outcome, self.suite_differs(outcome, ids)
        if outcome.status in (0, test.skips):
            return outcome, ""
        failed = suite.FAILED.findall(outcome.output)
        return outcome, (failed[0].decode() if failed else f"exit status {outcome.status}")

    def verdicts(self):
        """The verdict of each case, from the report of the suite."""
        try:
            with open(self.tree.work / "suite.json", encoding="utf-8") as file:
                return {case["id"]: case["verdict"] for case in json.load(file)["cases"]}
        except (OSError, ValueError, KeyError):
            return {}

    def suite_differs(self, outcome, ids):
        if found := suite.NOT_OK.search(outcome.output):
            return found[1].decode()
        verdicts = self.verdicts()
        if not verdicts:
            return f"no report, exit status {outcome.status}"
        for name, verdict in self.clean_suite.items():
            if (not ids or name in ids) and verdicts.get(name) != verdict:
                return name
        return "" if outcome.status == 0 else f"exit status {outcome.status}"

    def proven(self, test, limits):
        """True if a test passes without an edit: asked once, when it first notices one. The tree is as it was."""
        if test.key in self.sound:
            return True
        if test.key in self.unsound:
            return False
        if self.tree.make(test.build, test.targets):
            outcome, wrong = self.run(test, limits)
            if not wrong:
                self.sound.add(test.key)
                return True
        self.unsound.add(test.key)
        return False

    def ask(self, edit, history, new, deadline):
        """The test that notices, what it says and what was asked; the file is edited.

        Tests that were not measured come last, up to the deadline."""
        asked, unfinished = [], False
        order = sorted(history.order(edit.file, self.candidates(edit)), key=lambda test: test.name not in self.reached)
        made = set()
        for i, test in enumerate(order):
            if test.key in self.unsound:
                continue
            measured = test.name in self.reached
            until = math.inf if measured else deadline
            # A suite whose verdicts are not known would pass whatever they become.
            if time.monotonic() >= until or test.name == suite.SUITE and not self.clean_suite:
                unfinished |= not measured
                continue
            wanted = [(test.build, target) for target in test.targets]
            if not made.issuperset(wanted):
                batch = [t for t in order[i:i + BATCH] if t.build == test.build]
                targets = sorted({target for t in batch for target in t.targets})
                with self.clock.on(f"build {test.build}"):
                    if not self.tree.make(test.build, targets) and not self.tree.make(test.build, test.targets):
                        return "", "does not compile", asked
                made |= {(test.build, target) for target in targets}
            limits = history.limits(test)
            with self.clock.on(f"{'suite' if test.name == suite.SUITE else 'tests'} {test.build}"):
                outcome, wrong = self.run(test, within(limits, until))
                if wrong and not outcome.why.startswith(("more", "asleep")):
                    # Once more: what only the machine's other work brought about is no verdict.
                    ids = [wrong] if test.name == suite.SUITE and " " not in wrong else []
                    outcome, wrong = self.run(test, within(limits, until), ids)
            if wrong and time.monotonic() >= until:
                unfinished = True  # the deadline may have ended it
                continue
            if wrong and test.key not in self.sound:
                self.restore(edit.file)
                good = self.proven(test, limits)
                self.put(edit.file, new)
                made.clear()
                if not good:
                    continue
            asked.append((test.key, (outcome.wall, outcome.cpu, outcome.idle), bool(wrong)))
            if wrong:
                return test.key, wrong, asked
        return "", "unfinished" if unfinished else "", asked

    def judge(self, edit, history, deadline):
        """What becomes of an edit, as a dictionary."""
        old = self.original(edit.file)
        new = edit.apply(old)
        self.clock = Clock()
        try:
            self.put(edit.file, new)
            with self.clock.on("compare code"):
                same = self.same_code(edit.file, old, new)
            if same is None:
                return {"state": "uncompiled", "asked": []}
            if same:
                return {"state": "same", "asked": []}
            killer, why, asked = self.ask(edit, history, new, deadline)
            if not killer and why:
                return {"state": "uncompiled" if why == "does not compile" else why, "asked": asked}
            return {"state": "killed" if killer else "survived", "killer": killer, "why": why, "asked": asked}
        finally:
            guard.sweep()
            self.restore(edit.file)

    # Faults planted by hand.

    def unnoticed(self, name):
        """Why a test that planted.csv names did not notice; empty if it did. A case does if its verdict differs, too."""
        head, _, tail = name.partition(":")
        test = self.found(name)
        if test is None:
            return "is not among the tests"
        if not self.tree.make("plain", test.targets):
            return "cannot be built: the edit does not compile"
        outcome, wrong = self.run(test, suite.DEFAULT, [tail] if head == "case" else ())
        if not wrong:
            return "passes"
        if head in ("case", "ctest"):
            return "" if head == "ctest" or wrong == tail or outcome.status is None else f"ended otherwise: {wrong}"
        failed = [name.decode() for name in suite.FAILED.findall(outcome.output)]
        failed += [name.decode() for name in suite.BEGUN.findall(outcome.output)[-1:] if not failed]  # a crash or a hang
        return "" if tail in failed else f"passes; what fails is {' '.join(failed)}"

    def found(self, name):
        """The program or ctest of a name as planted.csv has it, or None."""
        head, _, tail = name.partition(":")
        name = suite.SUITE if head == "case" else tail if head == "ctest" else head
        return next((t for t in self.tests if t.build == "plain" and t.name == name), None)

    def learn_verdicts(self):
        """The verdict of each case without an edit, from a run of its own."""
        test = self.found("case:")
        if not self.tree.make(test.build, test.targets):
            raise trees.Bad("the suite cannot be built without an edit")
        _, wrong = self.run(test, CLEAN)
        if wrong:
            raise trees.Bad(f"the suite fails without an edit: {wrong}")
        self.clean_suite = self.verdicts()

    def plant(self, row):
        """The tests that did not notice a planted fault, each with the reason."""
        if wrong := planted_edits.wrong_edit(trees.TOP, row):
            return [wrong]
        if not self.clean_suite:
            self.learn_verdicts()
        failing = [name for name in row["tests"].split() if (test := self.found(name)) and test.name != suite.SUITE and not self.proven(test, CLEAN)]
        if failing:
            return [f"{name} fails without the edit" for name in failing]
        old = self.original(row["file"])
        try:
            self.put(row["file"], planted_edits.edited(old, row))
            return [f"{test} {why}" for test in row["tests"].split() if (why := self.unnoticed(test))]
        finally:
            guard.sweep()
            self.restore(row["file"])


def serve(pipe, *settings):
    """The life of a worker's process: prepares its tree, then judges edits that come through the pipe."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    guard.adopt()

    def end(*_):
        guard.sweep()
        os._exit(130)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        worker = Worker(*settings)
        worker.prepare()
        pipe.send(("ready", worker.states, {test.key for test in worker.tests if test.unit}))
        while (job := pipe.recv()) is not None:
            if job[0] == "measure":
                worker.measure(*job[1:])
                pipe.send(("measured", job[1]))
            elif job[0] == "learn":
                worker.learn()
            elif job[0] == "plant":
                pipe.send(("planted", job[1], worker.plant(job[1])))
            else:
                edit = job[1]
                result = worker.judge(*job[1:])
                pipe.send(("done", edit, {**result, "spent": worker.clock.spent}, sorted(worker.unsound)))
        pipe.send(("end",))
    except trees.Bad as error:
        pipe.send(("bad", str(error)))
    except EOFError:
        pass
    except Exception:  # whatever it is, the parent prints it
        pipe.send(("bad", traceback.format_exc()))
    guard.sweep()
