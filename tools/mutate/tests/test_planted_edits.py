#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tables of planted faults that are not as they should be."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import planted_edits  # noqa: E402

TEST = "static void test_one(void **state)\n{\n}\n"


class Table(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.top = pathlib.Path(self.folder.name)
        self.write("a.c", "x = 1;\ny = 1;\n")
        self.write("proto/tests/test_a.c", TEST)

    def write(self, name, text):
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def wrong(self, row):
        self.write(planted_edits.TABLE, "file,old,new,tests\n" + row + "\n")
        return [line.partition(": ")[2] for line in planted_edits.check(self.top, self.top / "build")]

    def test_good(self):
        self.assertEqual(self.wrong("a.c,x = 1,x = 2,test_a:test_one"), [])

    def test_lines(self):
        self.assertEqual(self.wrong('a.c,"1;\ny",2;y,test_a:test_one'), [])

    def test_bad_edits(self):
        self.assertEqual(self.wrong("a.c,= 1,= 2,test_a:test_one"), ["what is replaced occurs 2 times in a.c"])
        self.assertEqual(self.wrong("a.c,z = 1,z = 2,test_a:test_one"), ["what is replaced occurs 0 times in a.c"])
        self.assertEqual(self.wrong("a.c,x = 1,x = 1,test_a:test_one"), ["nothing is changed"])
        self.assertEqual(self.wrong("b.c,x = 1,x = 2,test_a:test_one"), ["b.c: No such file or directory"])
        self.assertEqual(self.wrong("a.c,x = 1,x = 2,"), ["no test is named"])

    def test_no_such_test(self):
        self.assertEqual(self.wrong("a.c,x = 1,x = 2,test_a:test_two"), ["test_a has no test test_two"])
        self.assertEqual(self.wrong("a.c,x = 1,x = 2,test_b:test_one"), ["there is no test program test_b"])

    def test_columns(self):
        self.write(planted_edits.TABLE, "file,old,new\n")
        with self.assertRaises(planted_edits.trees.Bad):
            planted_edits.check(self.top, self.top / "build")


if __name__ == "__main__":
    unittest.main()
