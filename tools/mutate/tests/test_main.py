#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Who of the workers is given what, and when."""

import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import draw  # noqa: E402
import main  # noqa: E402
import report  # noqa: E402

TEXT = "int f(int a) { return a < 1 ? a : 2; }\n"
STATES = {"one": "now", "two": "now", "asan:one": "now"}


class Worker:
    """The main process's end of a pipe."""

    def __init__(self):
        self.sent = []

    def send(self, job):
        self.sent.append(f"measure {job[1]}" if job[0] == "measure" else job[0])
        self.last = job


class Work(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.result = pathlib.Path(folder.name) / "result.json"
        self.options = mock.Mock(no_reach=False, budget=None, survivors=None, seed=7, n=2, jobs=1, resume=False, result=str(self.result))
        self.begin()

    def begin(self):
        self.left = list(draw.Sites("a.c", TEXT).found["comparison"])
        with mock.patch.object(main, "FOLDER", self.result.parent), mock.patch.object(main, "edited_files", lambda: {"a.c": TEXT}):
            self.run_ = main.Run(self.options, {"a.c": TEXT}, lambda: self.left.pop() if self.left else None)
        self.said = []
        self.run_.say = self.said.append
        self.one, self.two = Worker(), Worker()

    def measured(self, worker, key):
        path = self.run_.store.folder / "map"
        path.write_bytes(b"")
        self.run_.store.put(key, "now", path, {"wall": 1.0, "cpu": 1.0, "idle": 0.0})
        self.run_.take(worker, "measured", key)

    def judged(self, worker, state):
        edit = list(self.run_.began)[0]
        with mock.patch("builtins.print"):
            self.run_.take(worker, "done", edit, {"state": state, "asked": [], "killer": "one", "why": ""}, [])

    def test_edits_begin_once_all_is_measured_though_a_tree_is_not_ready(self):
        self.assertTrue(self.run_.give(2))
        self.run_.take(self.one, "ready", STATES, {"one"})
        self.assertTrue(self.run_.give(2))
        self.measured(self.one, "one")
        self.assertTrue(self.run_.give(2))
        self.assertEqual(self.one.sent, ["measure one", "measure two"])
        self.measured(self.one, "two")
        self.assertTrue(self.run_.give(2))
        self.assertEqual(self.one.sent[2:], ["learn", "edit"])
        self.run_.take(self.two, "ready", STATES, {"one"})
        self.assertTrue(self.run_.give(2))
        self.assertEqual(self.two.sent, ["learn", "edit"])
        self.judged(self.one, "killed")
        self.assertTrue(self.run_.give(2))  # the other one is awaited
        self.judged(self.two, "killed")
        self.assertFalse(self.run_.give(2))
        self.assertEqual((len(self.one.sent), len(self.two.sent)), (4, 2))

    def test_no_edit_begins_while_another_worker_measures(self):
        for worker in (self.one, self.two):
            self.run_.take(worker, "ready", STATES, {"one"})
        self.assertTrue(self.run_.give(1))
        self.measured(self.one, self.one.sent[0].split()[1])
        self.assertTrue(self.run_.give(1))
        self.assertEqual(sorted(self.one.sent + self.two.sent), ["measure one", "measure two"])
        self.measured(self.two, self.two.sent[0].split()[1])
        self.assertTrue(self.run_.give(1))
        self.assertEqual((self.one.sent + self.two.sent).count("edit"), 1)

    def hurry(self):
        """A run of at most 30 minutes whose tree is ready after three of them."""
        self.options.budget = 30
        self.begin()
        self.now = self.run_.start + 180
        self.run_.clock = lambda: self.now
        self.run_.take(self.one, "ready", STATES, {"two"})
        self.run_.give(2)

    def test_a_third_of_what_is_left_of_the_budget_goes_to_tests_without_an_edit(self):
        self.hurry()
        self.assertEqual(self.one.last, ("measure", "two", self.run_.start + 720))
        self.now = self.run_.start + 719
        self.measured(self.one, "two")
        self.assertTrue(self.run_.give(2))
        self.assertEqual(self.one.last, ("measure", "one", self.run_.start + 720))

    def test_edits_begin_though_tests_are_left_once_that_is_over(self):
        self.hurry()
        self.measured(self.one, "two")
        self.now = self.run_.start + 720
        self.assertTrue(self.run_.give(2))
        self.assertEqual(self.one.sent, ["measure two", "learn", "edit"])
        self.assertEqual(self.one.last[3], self.run_.start + 1800)
        self.assertEqual(self.said[-1], "1 tests were run without an edit, 1 were not")

    def test_a_test_that_ran_out_of_time_was_not_run(self):
        self.hurry()
        self.now = self.run_.start + 720
        self.run_.take(self.one, "measured", "two")
        self.assertTrue(self.run_.give(2))
        self.assertEqual(self.said[-1], "0 tests were run without an edit, 2 were not")

    def test_no_edit_begins_after_the_budget(self):
        self.hurry()
        self.measured(self.one, "two")
        self.now = self.run_.start + 1801
        self.assertFalse(self.run_.give(2))
        self.assertEqual(self.one.sent, ["measure two"])

    def test_the_suite_alone_is_run_if_nobody_asks_what_tests_reach(self):
        self.options.no_reach = True
        self.run_.take(self.one, "ready", {**STATES, "suite": "now"}, {"one"})
        self.assertTrue(self.run_.give(2))
        self.measured(self.one, "suite")
        self.assertTrue(self.run_.give(2))
        self.assertEqual(self.one.sent, ["measure suite", "learn", "edit"])

    def test_what_is_not_finished_is_no_edit_and_tried_again(self):
        self.options.survivors = str(self.result.parent / "survivors")
        self.run_.free, self.run_.left, self.run_.measured = {self.one}, [], True
        self.run_.give(1)
        edit = list(self.run_.began)[0]
        self.judged(self.one, "unfinished")
        self.assertFalse(self.run_.report.good())
        self.assertEqual(self.run_.report.survivors(), [])
        self.assertFalse(pathlib.Path(self.options.survivors).exists())
        self.assertIn("0 edits, 0 killed, 0 equal, 0 alive: no edit was finished; besides, 0 did not compile, 0 changed no code "
                      "and 1 were not finished", self.run_.report.summary())
        self.assertTrue(self.run_.give(1))  # another one instead
        self.judged(self.one, "killed")
        self.assertIn("1 edits, 1 killed, 0 equal, 0 alive: 100.0 %; besides", self.run_.report.summary())
        self.assertTrue(self.run_.report.good())
        self.options.resume = True
        self.begin()
        self.run_.free, self.run_.left, self.run_.measured = {self.two}, [], True
        self.run_.give(2)
        self.assertEqual(self.two.last[1], edit)

    def test_what_does_not_compile_is_replaced_until_none_is_left(self):
        self.run_.options.no_reach = True
        self.run_.take(self.one, "ready", STATES, {"one"})
        wanted = len(self.left)
        while self.run_.give(1):
            self.judged(self.one, "uncompiled")
        self.assertEqual(self.one.sent, ["learn"] + ["edit"] * wanted)

    def tried(self):
        """Tries two edits and leaves the result of a run that was ended then."""
        self.run_.free, self.run_.left, self.run_.measured = {self.one}, [], True
        for state in ("killed", "survived"):
            self.run_.give(3)
            self.judged(self.one, state)

    def test_a_run_that_was_ended_goes_on_with_what_it_had_not_tried(self):
        count = len(self.left)
        self.tried()
        self.options.resume = True
        self.begin()
        self.run_.free, self.run_.left, self.run_.measured = {self.two}, [], True
        self.run_.give(3)
        edit = list(self.run_.began)[0]
        self.assertEqual(self.run_.report.count("killed"), 1)
        self.assertEqual(self.run_.report.count("survived"), 1)
        self.assertNotIn(edit, [known for known, _ in self.run_.report.counted])
        self.assertEqual(len(self.left), count - 3)

    def test_a_run_with_as_many_edits_as_wanted_begins_none(self):
        self.tried()
        self.options.resume = True
        self.begin()
        self.run_.free, self.run_.left, self.run_.measured = {self.two}, [], True
        self.assertFalse(self.run_.give(2))
        self.assertEqual(self.two.sent, [])

    def test_a_result_of_other_edits_is_refused(self):
        self.tried()
        self.options.resume, self.options.seed = True, 8
        with self.assertRaisesRegex(main.trees.Bad, "its seed is 7, this is 8"):
            self.begin()
        self.result.write_text("[]")
        with self.assertRaisesRegex(main.trees.Bad, "expected the result of tools/dev mutate"):
            self.begin()
        self.result.unlink()
        with self.assertRaisesRegex(main.trees.Bad, "No such file"):
            self.begin()


class Listed(unittest.TestCase):
    def test_each_survivor_is_in_its_file(self):
        root = pathlib.Path(main.__file__).resolve().parents[2]
        for file, _, old, _ in report.read_list(main.LIST):
            self.assertIn(old, (root / file).read_text(encoding="utf-8"), file)


if __name__ == "__main__":
    unittest.main()
