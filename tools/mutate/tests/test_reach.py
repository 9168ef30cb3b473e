#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Where probes go, and which of them an edit belongs to."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import draw  # noqa: E402
import reach  # noqa: E402


def probed(text):
    """The text with probes, numbered from 0."""
    probes = reach.Probes({"a.c": text})
    first = probes.blocks["a.c"][0].number if probes.blocks["a.c"] else 0
    return re.sub(r"IW_REACH\((\d+)\)", lambda m: f"R({int(m[1]) - first})", probes.texts["a.c"])


class Places(unittest.TestCase):
    def test_bodies(self):
        self.assertEqual(probed("int f(void) { return 1; }\n"), "int f(void) { R(0); return 1; }\n")
        self.assertEqual(probed("struct s { int a; };\nint t[] = {1};\n"), "struct s { int a; };\nint t[] = {1};\n")

    def test_braces(self):
        self.assertEqual(probed("void f(void) { if (a) { b(); } else { c(); } }"),
                         "void f(void) { R(0); if (a) { R(1); b(); } else { R(2); c(); } }")
        self.assertEqual(probed("void f(void) { do { b(); } while (c); }"), "void f(void) { R(0); do { R(1); b(); } while (c); }")

    def test_no_braces(self):
        self.assertEqual(probed("void f(void) { if (a) b(); else c(); d(); }"),
                         "void f(void) { R(0); if (a) { R(1); b(); } else { R(2); c(); } d(); }")

    def test_after_a_jump(self):
        self.assertEqual(probed("void f(void) { if (a) return; b(); }"),
                         "void f(void) { R(0); if (a) { R(1); return; } R(2); b(); }")
        self.assertEqual(probed("void f(void) { if (a) { b(); return; } c(); }"),
                         "void f(void) { R(0); if (a) { R(1); b(); return; } R(2); c(); }")
        self.assertEqual(probed("void f(void) { if (a) return; else b(); }"),
                         "void f(void) { R(0); if (a) { R(1); return; } else { R(2); b(); } }")

    def test_labels_of_a_switch(self):
        self.assertEqual(probed("void f(void) { switch (a) { case B: b(); break; case C: default: c(); } }"),
                         "void f(void) { R(0); switch (a) { case B: R(1); b(); break; case C: R(2); default: R(3); c(); } }")

    def test_initialisers_have_none(self):
        text = "void f(void) { struct s x = {1, 2}; x = (struct s){3, 4}; FOR_EACH(x) { b(); } }"
        self.assertEqual(probed(text), text.replace("(void) {", "(void) { R(0);"))


class Blocks(unittest.TestCase):
    def test_the_innermost(self):
        text = "void f(void)\n{\n    if (a < 0) {\n        b < 1;\n    }\n    switch (c) {\n    case D:\n        d < 2;\n    case E:\n        e < 3;\n    }\n    f < 4;\n}\n"
        probes = reach.Probes({"a.c": text})
        found = {edit.line: probes.block(edit) - probes.blocks["a.c"][0].number for edit in draw.Sites("a.c", text).found["comparison"]}
        self.assertEqual(found, {3: 0, 4: 1, 8: 2, 10: 3, 12: 0})

    def test_a_change_elsewhere_moves_no_number(self):
        one = reach.Probes({"a.c": "void f(void) { g(); }", "b.c": "void g(void) { }"})
        two = reach.Probes({"a.c": "void f(void) { if (x) g(); }", "b.c": "void g(void) { }"})
        self.assertEqual(one.texts["b.c"], two.texts["b.c"])


# A test with calls of its own for those of the C library.
FAKES = """\
#include "reach.h"
#include <stdlib.h>
int open(const char *path, int flags, ...) { (void)path, (void)flags; abort(); }
int close(int fd) { (void)fd; abort(); }
void *mmap(void *at, size_t size, int protection, int flags, int fd, long from) { (void)at, (void)size, (void)protection, (void)flags, (void)fd, (void)from; abort(); }
int main(void) { IW_REACH(77); return 0; }
"""


class Running(unittest.TestCase):
    def test_the_calls_of_a_test_are_not_met(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "map")
            reach.clear(path)
            reach.write_runtime(folder, path)
            pathlib.Path(folder, "fakes.c").write_text(FAKES, encoding="ascii")
            subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-o", "fakes", "fakes.c", "reach.c"], cwd=folder, check=True)
            subprocess.run([pathlib.Path(folder, "fakes")], check=True)
            self.assertEqual(path.read_bytes()[76:79], b"\0\1\0")


class Kept(unittest.TestCase):
    def test_what_was_put_is_got(self):
        with tempfile.TemporaryDirectory() as folder:
            store = reach.Store(folder)
            path = pathlib.Path(folder, "map")
            reach.clear(path)
            with open(path, "r+b") as file:
                file.seek(77)
                file.write(b"\1")
            self.assertFalse(store.has("a:b", "now"))
            store.put("a:b", "now", path, {"wall": 1.5})
            self.assertTrue(store.has("a:b", "now"))
            self.assertFalse(store.has("a:b", "later"))
            facts, reached = store.get("a:b")
            self.assertEqual((facts["wall"], reached[76:79]), (1.5, b"\0\1\0"))


if __name__ == "__main__":
    unittest.main()
