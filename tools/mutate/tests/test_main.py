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

TEXT = "int f(int a) { return a < 1 ? a : 2; }\n"
STATES = {"one": "now", "two": "now", "asan:one": "now"}


class Worker:
    """The main process's end of a pipe."""

    def __init__(self):
        self.sent = []

    def send(self, job):
        self.sent.append(job[0] if job[0] != "measure" else " ".join(job))


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
        self.run_.say = lambda text: None
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
        self.run_.take(self.one, "ready", STATES)
        self.assertTrue(self.run_.give(2))
        self.measured(self.one, "two")
        self.assertTrue(self.run_.give(2))
        self.assertEqual(self.one.sent, ["measure two", "measure one"])
        self.measured(self.one, "one")
        self.assertTrue(self.run_.give(2))
        self.assertEqual(self.one.sent[2:], ["learn", "edit"])
        self.run_.take(self.two, "ready", STATES)
        self.assertTrue(self.run_.give(2))
        self.assertEqual(self.two.sent, ["learn", "edit"])
        self.judged(self.one, "killed")
        self.assertTrue(self.run_.give(2))  # the other one is awaited
        self.judged(self.two, "killed")
        self.assertFalse(self.run_.give(2))
        self.assertEqual((len(self.one.sent), len(self.two.sent)), (4, 2))

    def test_no_edit_begins_while_another_worker_measures(self):
        for worker in (self.one, self.two):
            self.run_.take(worker, "ready", STATES)
        self.assertTrue(self.run_.give(1))
        self.measured(self.one, self.one.sent[0].split()[1])
        self.assertTrue(self.run_.give(1))
        self.assertEqual(sorted(self.one.sent + self.two.sent), ["measure one", "measure two"])
        self.measured(self.two, self.two.sent[0].split()[1])
        self.assertTrue(self.run_.give(1))
        self.assertEqual((self.one.sent + self.two.sent).count("edit"), 1)

    def test_what_does_not_compile_is_replaced_until_none_is_left(self):
        self.run_.options.no_reach = True
        self.run_.take(self.one, "ready", STATES)
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



if __name__ == "__main__":
    unittest.main()
