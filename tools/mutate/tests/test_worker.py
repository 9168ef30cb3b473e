#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which tests a worker asks."""

import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
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


if __name__ == "__main__":
    unittest.main()
