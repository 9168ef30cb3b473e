#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Trees that edits are made in, brought up to date with the sources."""

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


if __name__ == "__main__":
    unittest.main()
