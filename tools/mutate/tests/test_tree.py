#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Trees that edits are made in, brought up to date with the sources."""

import fcntl
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tree as trees  # noqa: E402


class Copy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = pathlib.Path(folder.name, "top")
        self.put("a/one.c", "one")
        self.put("two.c", "two")
        subprocess.run(["git", "init", "-q"], cwd=self.top, check=True)
        self.tree = trees.Tree(pathlib.Path(folder.name, "0"))
        self.tree.folder.mkdir()

    def put(self, name, text):
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def copy(self, *names, **texts):
        with mock.patch.object(trees, "TOP", self.top), mock.patch.object(trees, "sources", lambda: list(names)):
            self.tree.copy(texts)

    def known(self):
        """What scripts of the tests get to know from git."""
        return subprocess.run(["git", "ls-files"], cwd=self.tree.tree, check=True, stdout=subprocess.PIPE, text=True).stdout.split()

    def test_again(self):
        self.copy("a/one.c", "two.c")
        self.assertEqual(self.known(), ["a/one.c", "two.c"])
        (self.tree.tree / "build").mkdir()
        (self.tree.tree / "build/kept").touch()
        self.copy("a/one.c")
        self.assertIn("a/one.c", self.known())
        self.assertNotIn("two.c", self.known())
        self.assertFalse((self.tree.tree / "two.c").exists())
        self.assertTrue((self.tree.tree / "build/kept").exists())

    def states(self):
        """Those of two tests: one's program holds one.c, the other's both."""
        names = ["a/one.c", "two.c", "cases.lua", "a/tests/check.py", "b/tests/double.h", "README.md", "tools/results/figures.csv"]
        self.copy(*names)
        return self.tree.states([("one", {"a/one.c", "/usr/include/x.h"}), ("both", {"a/one.c", "two.c", "a/tests/x/check_it.py"})])

    def test_what_a_test_is_made_of(self):
        for name in ("cases.lua", "a/tests/check.py", "b/tests/double.h", "README.md", "tools/results/figures.csv"):
            self.put(name, "before")
        before = self.states()
        self.put("two.c", "changed")
        after = self.states()
        self.assertEqual(before["one"], after["one"])
        self.assertNotEqual(before["both"], after["both"])
        for name in ("b/tests/double.h", "README.md", "tools/results/figures.csv"):
            self.put(name, "after")
        self.assertEqual(self.states(), after)
        self.put("a/tests/check.py", "after")
        self.assertEqual(self.states()["one"], after["one"])
        self.assertNotEqual(self.states()["both"], after["both"])
        self.put("cases.lua", "after")
        self.assertNotEqual(self.states()["one"], after["one"])


class Build(unittest.TestCase):
    def test_one_tree_at_a_time(self):
        """Trees that build at once would all compile what the first one leaves in ccache."""
        with tempfile.TemporaryDirectory() as folder:
            tree = trees.Tree(pathlib.Path(folder, "1"))
            (tree.tree / "build").mkdir(parents=True)
            (tree.tree / "build/build.ninja").touch()
            (tree.tree / "build/compile_commands.json").write_text("[]", encoding="ascii")
            others = []

            def ninja(command, _):
                with open(pathlib.Path(folder, "building"), "wb") as lock:
                    try:
                        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except BlockingIOError:
                        others.append((command[0], "must wait"))

            with mock.patch.object(tree, "_must", ninja):
                tree.build("plain")
                self.assertEqual(others, [("ninja", "must wait")])
                tree.build("plain")  # it may again
            self.assertEqual(len(others), 2)


if __name__ == "__main__":
    unittest.main()
