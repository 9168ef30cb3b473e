#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/siw.d/mends.csv and faults.csv: their form, that each edit applies to the kernel's source where its package is installed,
and that mend.py refuses what does not fit.

usage: test_mends.py
"""
import csv
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
PARTS = os.path.join(ROOT, "tools", "siw.d")
SOURCE = "/usr/src/linux-source-6.1.tar.xz"
SIW = "drivers/infiniband/sw/siw"
sys.path.insert(0, PARTS)
import mend  # noqa: E402
import mend_table  # noqa: E402
import siw_bench  # noqa: E402

EXAMPLE = """static int one(int a);

static int one(int a)
{
\treturn a;
}

int two(struct thing *a,
\tint b)
{
\treturn a;
}
"""


def edit(old, new, within=""):
    return {"old": old, "new": new, "in": within}


def table(name):
    with open(os.path.join(PARTS, name), encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f))


def deviations():
    """The numbers of siw.md."""
    with open(os.path.join(ROOT, "conformance", "baselines", "siw.md"), encoding="utf-8") as f:
        return {int(number) for number in re.findall(r"^## (\d+) ", f.read(), re.MULTILINE)}


class Edits(unittest.TestCase):
    def test_an_edit_is_made_in_its_function(self):
        self.assertEqual(mend.edited(EXAMPLE, [edit("return a;", "if (b)\n\t\t@", "two")]),
                         EXAMPLE.replace("\tint b)\n{\n\treturn a;", "\tint b)\n{\n\tif (b)\n\t\treturn a;"))

    def test_edits_do_not_see_each_other(self):
        self.assertEqual(mend.edited("a b", [edit("b", "a"), edit("a", "b")]), "b a")

    def test_what_does_not_fit_is_refused(self):
        for wrong, text in (([edit("return a;", "@")], "occurs 2 times"), ([edit("return b;", "@", "one")], "occurs 0 times in one"),
                            ([edit("a", "@", "three")], "no function three"),
                            ([edit("static int one(int a)\n", "@"), edit("int one(int a)\n{", "@")], "overlap")):
            with self.assertRaisesRegex(mend.Misfit, text):
                mend.edited(EXAMPLE, wrong)

    def test_masks(self):
        self.assertEqual(mend.mask("1,5"), 0b100010)
        self.assertEqual(mend.mask("none"), 0)
        self.assertEqual(mend.mask("all"), sum(1 << number for number in mend.numbers()))
        for wrong in ("0", "1,x", "999", "-1"):
            with self.assertRaises(ValueError):
                mend.mask(wrong)


class Tables(unittest.TestCase):
    def test_each_mend_is_a_deviation(self):
        self.assertLessEqual(set(mend.numbers()), deviations())
        self.assertLess(max(mend.numbers()), 64, "the kernel has a mask of 64 bits")

    def test_each_deviation_has_a_mend_or_a_reason(self):
        with open(os.path.join(ROOT, "conformance", "baselines", "siw.md"), encoding="utf-8") as f:
            section = f.read().split("\n## Not mended\n")[1].split("\n## ")[0]
        reasons = {int(number) for number in re.findall(r"^(\d+): ", section, re.MULTILINE)}
        self.assertEqual(deviations(), set(mend.numbers()) | reasons)
        self.assertFalse(set(mend.numbers()) & reasons)

    def test_code_that_asks_is_named_by_its_edit(self):
        for line in mend.read():
            asked = {int(number) for number in re.findall(r"iw_mended\((\d+)\)", line["new"])}
            self.assertLessEqual(asked, line["mends"], line["new"])
            self.assertNotEqual(line["new"], "@")

    def test_each_mend_has_code_that_asks(self):
        text = "".join(line["new"] for line in mend.read())
        for name in mend.CODE:
            with open(os.path.join(PARTS, name), encoding="utf-8") as f:
                text += f.read()
        self.assertEqual({int(number) for number in re.findall(r"iw_mended\((\d+)\)", text)}, set(mend.numbers()))

    def test_the_table_of_changes(self):
        lines = mend_table.read(mend_table.TABLE)
        cases = {target: set(mend_table.known_cases(target)) for target in siw_bench.BASELINE}
        for line in lines:
            self.assertIn(int(line["mend"]), mend.numbers())
            self.assertIn(line["way"], mend_table.WAYS)
            self.assertIn(line["case"], cases[line["target"]])
            self.assertNotEqual(line["before"], line["after"])
        for line in mend_table.read(mend_table.REST):
            self.assertIn(line["case"], cases[line["target"]])
            self.assertTrue(line["reason"])

    def test_no_reason_contradicts_the_table(self):
        """What a baseline names first is a deviation without whose mend the case does not pass, or with whose mend it does."""
        wrong = []
        for target in siw_bench.BASELINE:
            reasons = {}
            for line in mend_table.read(mend_table.TABLE):
                if line["target"] == target and (line["way"] == "without" or line["after"] in ("PASS", "SKIP")):
                    reasons.setdefault(line["case"], set()).add(int(line["mend"]))
            rest = {line["case"] for line in mend_table.read(mend_table.REST) if line["target"] == target}
            with open(siw_bench.baseline(target), encoding="utf-8") as f:
                for line in f:
                    named = re.search(r"^([^# ]+) .*?siw\.md (\d+):", line)
                    if named and named[1] not in rest and int(named[2]) not in reasons.get(named[1], ()):
                        wrong.append("%s %s: %s, but the table has %s" % (target, named[1], named[2], sorted(reasons.get(named[1], ()))))
        self.assertEqual([], wrong, "\n" + "\n".join(wrong))

    @unittest.skipUnless(os.path.exists(SOURCE), "there is no " + SOURCE)
    def test_the_edits_apply(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["tar", "-xJf", SOURCE, "-C", folder, "--strip-components=1", "linux-source-6.1/" + SIW], check=True)
            for fault in table("faults.csv"):
                with open(os.path.join(folder, SIW, fault["file"]), encoding="utf-8") as f:
                    self.assertEqual(f.read().count(fault["old"]), 1, fault["name"])
            mend.apply(folder)
            for line in mend.read():
                with open(os.path.join(folder, SIW, line["file"]), encoding="utf-8") as f:
                    self.assertIn(line["new"].replace("@", line["old"]), f.read())


if __name__ == "__main__":
    unittest.main(verbosity=2)
