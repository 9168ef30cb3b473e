#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which tests a worker asks."""

import math
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import guard  # noqa: E402
import worker  # noqa: E402


def test(name, *files):
    return mock.Mock(key=name, files=set(files))


TESTS = [test("one", "a.c"), test("two", "b.c", "c.c"), test("three", "c.c")]


class Prepare(unittest.TestCase):
    def kept(self, edited, wanted=""):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        tree = mock.Mock(work=pathlib.Path(folder.name) / "work", reached=pathlib.Path(folder.name) / "reached")
        tree.users.side_effect = lambda build, *headers: ["b.c"] if "h.h" in headers else []
        with mock.patch.object(worker.trees.Tree, "free", lambda folder: tree), \
                mock.patch.object(worker.suite, "listed", lambda tree, build: TESTS):
            found = worker.Worker(folder.name, ["plain"], mock.Mock(texts={}), None, wanted, edited)
            for each in TESTS:
                each.name = each.key
            found.prepare()
        return [each.key for each in found.tests]

    def test_all_of_them_if_any_file_is_edited(self):
        self.assertEqual(self.kept(None), ["one", "two", "three"])

    def test_those_that_hold_an_edited_file(self):
        self.assertEqual(self.kept(["a.c"]), ["one"])
        self.assertEqual(self.kept(["c.c"]), ["two", "three"])
        self.assertEqual(self.kept(["d.c"]), [])

    def test_those_that_hold_what_includes_an_edited_header(self):
        self.assertEqual(self.kept(["h.h"]), ["two"])
        self.assertEqual(self.kept(["none.h", "a.c"]), ["one"])

    def test_those_of_a_name(self):
        self.assertEqual(self.kept(["c.c"], "^th"), ["three"])


class Given(unittest.TestCase):
    """A worker; each of its tests takes ten seconds of a clock that begins at 0, and finds what this says wrong."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.ran, self.wrong, self.now = [], {}, 0
        patch = mock.patch.object(worker, "time", mock.Mock(monotonic=lambda: self.now))
        patch.start()
        self.addCleanup(patch.stop)
        with mock.patch.object(worker.trees.Tree, "free", lambda folder: mock.Mock(reached=pathlib.Path(folder) / "reached")):
            self.worker = worker.Worker(folder.name, [], mock.Mock(**{"block.return_value": 0}), mock.Mock(), "", None)
        self.worker.run = self.run_
        self.worker.tests = [self.a_test(name) for name in ("script", "unit", "suite", "other")]
        self.worker.states = {test.key: "now" for test in self.worker.tests}
        self.worker.put = self.worker.restore = lambda *file: None

    @staticmethod
    def a_test(name):
        found = mock.Mock(key=name, files={"a.c"}, build="plain", targets=["bin/" + name])
        found.name = name
        return found

    def run_(self, test, limits, ids=()):
        self.ran.append(test.name)
        self.now += min(10, limits.wall)
        why = "longer than it may" if limits.wall < 10 else ""
        return guard.Outcome(None if why else 0, why, b"", 1.0, 0.0, 10.0), why or self.wrong.get(test.name, "")


class Ask(Given):
    def ask(self, deadline, measured, verdicts):
        self.worker.reached = {name: b"\1" for name in measured}
        self.worker.sound = {test.key for test in self.worker.tests}
        self.worker.clean_suite = {"case": "PASS"} if verdicts else {}
        history = mock.Mock(**{"order.side_effect": lambda file, tests: tests, "limits.return_value": guard.Limits()})
        killer, why, _ = self.worker.ask(mock.Mock(file="a.c"), history, "", deadline)
        return killer, why, self.ran

    def test_what_was_not_measured_comes_last(self):
        self.assertEqual(self.ask(math.inf, ["unit", "suite"], True), ("", "", ["unit", "suite", "script", "other"]))

    def test_after_the_deadline_only_what_was_measured_is_asked(self):
        self.assertEqual(self.ask(0, ["unit", "suite"], True), ("", "unfinished", ["unit", "suite"]))

    def test_what_was_measured_is_asked_whatever_the_time(self):
        self.assertEqual(self.ask(0, ["unit", "suite", "script", "other"], True), ("", "", ["script", "unit", "suite", "other"]))

    def test_an_edit_that_is_noticed_is_finished(self):
        self.wrong = {"unit": "fails"}
        self.assertEqual(self.ask(0, ["unit"], False), ("unit", "fails", ["unit"] * 2))

    def test_without_known_verdicts_the_suite_is_not_asked(self):
        self.assertEqual(self.ask(math.inf, ["unit"], False), ("", "unfinished", ["unit", "script", "other"]))

    def test_a_suite_that_gave_no_verdicts_leaves_nothing_unfinished(self):
        self.assertEqual(self.ask(math.inf, ["unit", "suite"], False), ("", "", ["unit", "script", "other"]))

    def test_the_deadline_ends_a_test_and_that_is_no_verdict(self):
        self.assertEqual(self.ask(25, ["unit", "suite"], True), ("", "unfinished", ["unit", "suite", "script", "script"]))

    def test_before_the_deadline_an_unmeasured_test_is_heard(self):
        self.wrong = {"script": "fails"}
        self.assertEqual(self.ask(50, ["unit", "suite"], True)[0], "script")

    def test_an_unfinished_edit_is_no_survivor(self):
        self.worker.original = lambda file: ""
        self.worker.same_code = lambda *file: False
        self.worker.ask = lambda *job: ("", "unfinished", [])
        with mock.patch.object(worker.guard, "sweep"):
            self.assertEqual(self.worker.judge(mock.Mock(file="a.c"), None, 0)["state"], "unfinished")


class Measure(Given):
    def kept(self, until):
        self.worker.verdicts = dict
        with mock.patch.object(worker.reach, "clear"):
            self.worker.measure("unit", until)
        return [call.args[3]["wrong"] for call in self.worker.store.put.call_args_list]

    def test_what_passes_is_kept(self):
        self.assertEqual(self.kept(math.inf), [""])

    def test_what_fails_twice_is_kept(self):
        self.wrong = {"unit": "fails"}
        self.assertEqual(self.kept(math.inf), ["fails"])

    def test_what_ran_out_of_time_is_not(self):
        self.assertEqual(self.kept(9), [])

    def test_what_failed_before_and_then_ran_out_of_time_is_not(self):
        self.wrong = {"unit": "fails"}
        self.assertEqual(self.kept(19), [])
        self.assertEqual(self.ran, ["unit"] * 2)


if __name__ == "__main__":
    unittest.main()
