#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""conformance/baselines/siw-reports: one bug report per deviation of siw.md, each of the same form, about cases that exist, with
octets that are known already and counts that are those of mend_table.csv.

usage: test_reports.py [--record]

--record: writes the counts of mend_table.csv into the reports instead.
"""
import collections
import csv
import glob
import os
import re
import sys
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
BASELINES = os.path.join(ROOT, "conformance", "baselines")
CASES = os.path.join(ROOT, "conformance", "cases")
REPORTS = os.path.join(BASELINES, "siw-reports")
sys.path.insert(0, os.path.join(ROOT, "tools", "siw.d"))
import mend_table  # noqa: E402
import siw_bench  # noqa: E402

SECTIONS = ["What", "RFC", "Seen", "Place", "Mend", "Versions"]
REMOTE_CRASHES = {2, 17, 21, 23, 42}
MOST_LINES = 60
LEAST_OCTETS = 8  # fewer are a field, not an input
COUNTS = re.compile(r"^(Cases that change \(\[mend_table\.csv\]\(\.\./\.\./\.\./tools/siw\.d/mend_table\.csv\)\): )(.*)\.$", re.MULTILINE)


def text_of(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return f.read()


def reports():
    """The texts of the reports by their file names."""
    return {name: text_of(REPORTS, name) for name in sorted(os.listdir(REPORTS)) if name != "README.md"}


def number_of(name):
    return int(re.fullmatch(r"(\d\d)-[a-z0-9]+(?:-[a-z0-9]+)*\.md", name)[1])


def octet_strings(text):
    """The runs of octets in hexadecimal, as digits: blanks, 0x, \\x, commas and colons between them do not count."""
    digits = re.sub(r"0x|\\x|[,:]", " ", text.lower())
    runs = re.findall(r"(?<![0-9a-z])[0-9a-f]{2}(?:[ \t]*[0-9a-f]{2})*(?![0-9a-z])", digits)
    return [re.sub(r"[ \t]", "", run) for run in runs]


def long_strings(text):
    return [run for run in octet_strings(text) if len(run) >= 2 * LEAST_OCTETS]


def known_octets():
    """What siw.md and the cases hold, in which a report's octets have to occur."""
    paths = [os.path.join(BASELINES, "siw.md")] + glob.glob(os.path.join(CASES, "**", "*"), recursive=True)
    return [run for path in paths if os.path.isfile(path) for run in long_strings(text_of(path))]


def known_cases():
    """The ids of all cases: those of the matrix, which self-check compares with the case files, and of the baselines."""
    with open(os.path.join(ROOT, "conformance", "proof", "matrix.csv"), encoding="utf-8", newline="") as f:
        ids = {line["case"] for line in csv.DictReader(f)}
    return ids.union(*(mend_table.known_cases(target) for target in siw_bench.BASELINE))


def cases_named(text):
    """The ids in a report: of its commands, and the code words that begin as ids do."""
    ids = re.findall(r"`((?:bug|ddp|rdmap|mpa|empa|effect|octets|rping|replay|ext)-[a-z0-9-]+)`", text)
    return ids + re.findall(r"^    .*iwarp-conform run .* ([a-z0-9-]+)$", text, re.MULTILINE)


def counts(number):
    """How many cases change with a deviation put right, as the reports say it."""
    found = collections.Counter((line["way"], line["target"]) for line in mend_table.read(mend_table.TABLE)
                                if line["mend"] == str(number))
    ways = (("alone", "alone"), ("with-1", "with 1"), ("without", "all but it"))
    parts = ["%s: %s" % (name, ", ".join("%s %d" % (target, found[way, target]) for target in ("siw", "siw-client", "siw-agent")
                                         if found[way, target])) for way, name in ways if any(key[0] == way for key in found)]
    return "; ".join(parts) or "none"


def record():
    for name, text in reports().items():
        now = counts(number_of(name))
        right = COUNTS.sub(lambda line, now=now: line[1] + now + ".", text)
        if now != "none":
            right = re.sub(r"\nWhy none: .*?(?=\n\n)", "", right, flags=re.DOTALL)
        if right != text:
            with open(os.path.join(REPORTS, name), "w", encoding="utf-8") as f:
                f.write(right)
            print("%s: %s" % (name, now))


class Reports(unittest.TestCase):
    maxDiff = None

    def test_one_for_each_deviation(self):
        standing = re.findall(r"^## (\d+) (?!Withdrawn)", text_of(BASELINES, "siw.md"), re.MULTILINE)
        self.assertEqual(sorted(map(int, standing)), sorted(map(number_of, reports())))

    def test_form(self):
        for name, text in reports().items():
            with self.subTest(name):
                lines = text.splitlines()
                self.assertEqual(lines[0], "<!-- SPDX-License-Identifier: BSD-3-Clause -->")
                self.assertTrue(lines[1].startswith("# RDMA/siw: "))
                self.assertIn("Number %d of [siw.md]" % number_of(name), text)
                self.assertEqual(re.findall(r"^## (.*)$", text, re.MULTILINE), SECTIONS)
                self.assertNotRegex(text, r"\n## .*\n+(## |\Z)", "an empty section")
                self.assertRegex(text, r'(?m)^- RFC \d{4} §[\d.]+: "')
                self.assertLessEqual(len(lines), MOST_LINES)

    def test_links(self):
        for name, text in [*reports().items(), ("README.md", text_of(REPORTS, "README.md"))]:
            for link in re.findall(r"\]\(([^)#]+)", text):
                self.assertTrue(os.path.exists(os.path.join(REPORTS, link)), name + " " + link)

    def test_the_readme_has_each_once_and_the_crashes_first(self):
        rows = re.findall(r"^\| \[(\d+)\]\((\S+)\) \| (.*?) \|", text_of(REPORTS, "README.md"), re.MULTILINE)
        self.assertEqual(sorted(row[1] for row in rows), list(reports()))
        self.assertEqual({int(row[0]) for row in rows[:len(REMOTE_CRASHES)]}, REMOTE_CRASHES)
        for number, name, title in rows:
            self.assertEqual(int(number), number_of(name))
            self.assertTrue(title.startswith(reports()[name].splitlines()[1][len("# RDMA/siw: "):]), name)

    def test_cases_exist(self):
        known = known_cases()
        for name, text in reports().items():
            named = cases_named(text)
            self.assertTrue(named, name)
            self.assertEqual([], sorted(set(named) - known), name)

    def test_no_octets_but_known_ones(self):
        known = known_octets()
        for name in [*reports(), "README.md"]:
            for run in long_strings(text_of(REPORTS, name)):
                self.assertTrue(any(run in one for one in known), "%s: %s is neither in siw.md nor in a case" % (name, run))

    def test_octets_are_found_in_any_dress(self):
        for text in ("see 00 01 02 03 04 05 06 07 here", "0001020304050607", "0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07",
                     "00:01:02:03:04:05:06:07", r"\x00\x01\x02\x03\x04\x05\x06\x07", "0001 0203\t04050607 xyz"):
            self.assertEqual(long_strings(text), ["0001020304050607"], text)
        self.assertEqual(long_strings("00 01 02 03 04 05 06"), [])

    def test_counts(self):
        for name, text in reports().items():
            line = COUNTS.search(text)
            self.assertTrue(line, name + " has no line of counts")
            self.assertEqual(line[2], counts(number_of(name)), name + ": test_reports.py --record writes it")
            self.assertEqual(line[2] == "none", "\nWhy none: " in text, name + ": a reason, if and only if no case changes")


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        record()
    else:
        unittest.main(verbosity=2)
