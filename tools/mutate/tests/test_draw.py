#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""C text in, edits out."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import draw  # noqa: E402


def edits(text, kind=None):
    """The line that each edit leaves, sorted."""
    sites = draw.Sites("a.c", text)
    return sorted(edit.lines(text)[1] for k, found in sites.found.items() if kind in (None, k) for edit in found)


class Functions(unittest.TestCase):
    def names(self, text):
        return [f.name for f in draw.Sites("a.c", text).source.functions]

    def test_names(self):
        text = "static int one(int x)\n{\n    return x;\n}\nstruct s {\n    int y;\n};\nstruct s two(void (*f)(int)) { f(2); }\n"
        self.assertEqual(self.names(text), ["one", "two"])

    def test_no_body(self):
        self.assertEqual(self.names("int f(void);\nenum { A = 1 };\nstatic const int t[] = {1, 2};\n"), [])

    def test_directives_and_comments_are_no_code(self):
        text = ("#define F(x) { \\\n    if (x) \\\n}\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n/* #if { */\n"
                "int f(void) { // {\n    /* } */ return 7; }\n#ifdef __cplusplus\n}\n#endif\n")
        self.assertEqual(self.names(text), ["f"])
        self.assertEqual([e.line for e in draw.Sites("a.c", text).found["constant"]], [9, 9])

    def test_outside_of_functions_nothing_is_edited(self):
        self.assertEqual(edits("static const int t[] = {1, 2 == 3};\nenum { A = 4 < 5 };\n"), [])

    def test_strings_and_characters_are_left_alone(self):
        self.assertEqual(edits("int f(void) { g(\"1 < 2 && 3\", '4'); }", "comparison"), [])
        self.assertEqual(edits("int f(void) { g(\"1 < 2 && 3\", '4'); }", "constant"), [])


class Comparisons(unittest.TestCase):
    def test_order(self):
        self.assertEqual(edits("int f(void) { x = a < b; }", "comparison"),
                         [f"int f(void) {{ x = a {op} b; }}" for op in ("<=", ">", ">=")])

    def test_equality(self):
        self.assertEqual(edits("int f(void) { x = a == b; }", "comparison"),
                         [f"int f(void) {{ x = a {op} b; }}" for op in ("!=", "<=", ">=")])
        self.assertEqual(edits("int f(void) { x = a != b; }", "comparison"),
                         [f"int f(void) {{ x = a {op} b; }}" for op in ("<", "==", ">")])

    def test_shifts_and_arrows_are_none(self):
        self.assertEqual(edits("int f(void) { a->b = c >> d << e; a >>= b; }", "comparison"), [])


class Constants(unittest.TestCase):
    def numbers(self, number):
        return [line[len("void f(void) { g("):-len("); }")] for line in edits(f"void f(void) {{ g({number}); }}", "constant")]

    def test_decimal(self):
        self.assertEqual(self.numbers("9"), ["10", "8"])
        self.assertEqual(self.numbers("0"), ["1"])
        self.assertEqual(self.numbers("1u"), ["0u", "2u"])
        self.assertEqual(self.numbers("2UL"), ["1UL", "3UL"])

    def test_hexadecimal_and_octal(self):
        self.assertEqual(self.numbers("0x1f"), ["0x1e", "0x20"])
        self.assertEqual(self.numbers("0X0"), ["0X1"])
        self.assertEqual(self.numbers("0600"), ["0577", "0601"])

    def test_fractions_are_left_alone(self):
        self.assertEqual(self.numbers("1e9"), [])
        self.assertEqual(self.numbers("0.5"), [])

    def test_declarations(self):
        self.assertEqual(edits("int f(void) { char text[64]; }"), [])
        self.assertEqual(edits("int f(void) { struct s x = {0}; }"), [])
        self.assertEqual(edits("int f(void) { static const int t[] = {1, 2}; }"), [])
        self.assertEqual(edits("int f(void) { struct s *p; size_t n[3]; iw_fn *g; }"), [])
        self.assertEqual(edits("int f(void) { size_t n = 5; }"), ["int f(void) { size_t n = 4; }", "int f(void) { size_t n = 6; }"])


class Conditions(unittest.TestCase):
    def conditions(self, statement):
        head, tail = "void f(void) { ", " }"
        return [line[len(head):-len(tail)] for line in edits(head + statement + tail, "condition")]

    def test_if(self):
        self.assertEqual(self.conditions("if (a) b();"), ["if (!(a)) b();", "if (0) b();", "if (1) b();"])

    def test_while_is_never_made_endless(self):
        self.assertEqual(self.conditions("while (a) b();"), ["while (!(a)) b();", "while (0) b();"])
        self.assertEqual(self.conditions("do b(); while (a);"), ["do b(); while (!(a));", "do b(); while (0);"])
        self.assertEqual(self.conditions("for (i = 0; i; i++) b();"), ["for (i = 0; !(i); i++) b();", "for (i = 0; 0; i++) b();"])
        self.assertEqual(self.conditions("for (;;) b();"), [])

    def test_joined(self):
        self.assertEqual(self.conditions("x = a && b(c, d);"),
                         ["x = !(a) && b(c, d);", "x = a && !(b(c, d));", "x = a ;", "x = a || b(c, d);", "x = b(c, d);"])

    def test_and_binds_closer_than_or(self):
        found = self.conditions("x = a || b && c;")
        self.assertIn("x = b && c;", found)  # without a
        self.assertIn("x = a ;", found)  # without b && c
        self.assertIn("x = a || c;", found)
        self.assertIn("x = a || b ;", found)
        self.assertIn("x = a && b && c;", found)
        self.assertIn("x = a || b || c;", found)
        self.assertIn("x = a || !(b) && c;", found)

    def test_choice(self):
        self.assertEqual(self.conditions("return a < b ? c : d;"),
                         ["return !(a < b) ? c : d;", "return 0 ? c : d;", "return 1 ? c : d;"])

    def test_lines_are_kept(self):
        text = "void f(void)\n{\n    if (a &&\n        b)\n        c();\n}\n"
        for edit in draw.Sites("a.c", text).found["condition"]:
            self.assertEqual(edit.apply(text).count("\n"), text.count("\n"))


class Statements(unittest.TestCase):
    def statements(self, statement):
        head, tail = "void f(void) { ", " }"
        return [line[len(head):-len(tail)] for line in edits(head + statement + tail, "statement")]

    def test_expressions(self):
        self.assertEqual(self.statements("a(b, c);"), [";"])
        self.assertEqual(self.statements("*a = b;"), [";"])
        self.assertEqual(self.statements("a->b.c[d] += e;"), [";"])
        self.assertEqual(self.statements("if (a) b(); else c();"), ["if (a) ; else c();", "if (a) b(); else ;"])
        self.assertEqual(self.statements("for (i = 0; i < n; i++) b();"), ["for (i = 0; i < n; i++) ;"])

    def test_jumps(self):
        self.assertEqual(self.statements("while (a) break;"), ["while (a) ;"])
        self.assertEqual(self.statements("switch (a) { case B: c(); break; default: d(); }"),
                         ["switch (a) { case B: ; break; default: d(); }", "switch (a) { case B: c(); ; default: d(); }",
                          "switch (a) { case B: c(); break; default: ; }"])

    def test_returns(self):
        self.assertEqual(self.statements("return;"), [";"])
        self.assertEqual(self.statements("return true;"), ["return false;"])
        self.assertEqual(self.statements("return a + b;"), ["return 0;"])
        self.assertEqual(self.statements("return 0;"), [";"])

    def test_declarations_stay(self):
        self.assertEqual(self.statements("int a; struct b *c = d(); e_t g = h;"), [])
        self.assertEqual(self.statements("(void)a;"), [])


class Drawing(unittest.TestCase):
    TEXTS = {"a.c": "int f(int x) { if (x < 3 && x > 1) g(x); return x; }", "b.c": "int h(void) { return 5; }"}

    def all(self, seed):
        drawing = draw.Drawing(self.TEXTS, seed)
        found = []
        while edit := drawing.next():
            found.append(edit)
        self.assertEqual(len(found), drawing.total())
        return found

    def test_same_seed_same_edits(self):
        self.assertEqual(self.all(7), self.all(7))
        self.assertNotEqual(self.all(7), self.all(8))

    def test_no_two_alike(self):
        found = self.all(7)
        self.assertEqual(len(set(found)), len(found))
        self.assertEqual({edit.file for edit in found}, {"a.c", "b.c"})
        self.assertEqual({edit.kind for edit in found}, set(draw.KINDS))


if __name__ == "__main__":
    unittest.main()
