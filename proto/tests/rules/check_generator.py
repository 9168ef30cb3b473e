#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The generator of the rules' tables refuses bad input with one line FILE:LINE: what. usage: check_generator.py RULES_DIR"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

RULES = pathlib.Path(sys.argv.pop(1))
RULE_HEADER = ("id,rfc,section,level,subject,side,testable,requirement,how_to_test,"
               "expected_observation\n")
RULE = 'MPA-1-01,5044,1,MUST,both,either,no,"One, quoted",how,seen\n'
CHECK_HEADER = "check,kinds,reaction,rule,sender,others,text\n"
CHECK = "mpa-one,eo,2/0/0a,MPA-1-01,MPA-1-01,,one is wrong\n"
# Three rules: of a sender, of a receiver, of both.
SIDES = "".join(RULE.replace("-01", number).replace("both", subject) for number, subject in
                (("-01", "sender"), ("-02", "receiver"), ("-03", "both")))


class Generator(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def generate(self, rules, checks):
        (self.folder / "rules.csv").write_text(rules, encoding="utf-8")
        (self.folder / "checks.csv").write_text(checks, encoding="utf-8")
        return subprocess.run(
            [sys.executable, RULES / "generate.py", "rules.csv", "checks.csv", "checks.h", "table.c"],
            cwd=self.folder, capture_output=True, text=True, check=False)

    def refuse(self, message, rules=RULE_HEADER + RULE, checks=CHECK_HEADER + CHECK):
        result = self.generate(rules, checks)
        self.assertEqual((result.returncode, result.stderr), (1, message + "\n"))
        self.assertFalse((self.folder / "table.c").exists())

    def test_duty_of_the_ulp(self):
        self.refuse("checks.csv:2: check mpa-one is about the stack, but rule MPA-1-01 binds the ULP",
                    rules=RULE_HEADER + RULE.replace("both", "ulp"))

    def test_good(self):
        result = self.generate(RULE_HEADER + RULE, CHECK_HEADER + CHECK)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("    IW_CHECK_MPA_ONE, /* one is wrong */\n", (self.folder / "checks.h").read_text())
        table = (self.folder / "table.c").read_text()
        self.assertIn('{"mpa-one", IW_KIND_ENDPOINT | IW_KIND_OBSERVER, IW_REACTION_TERMINATE, '
                      '0x2, 0x0, 0x0a, 0, 0, NULL, 0, "one is wrong"},', table)
        self.assertIn('"One, quoted"', table)

    def test_rules(self):
        self.refuse("rules.csv:1: header line is not " + RULE_HEADER.strip(), rules=RULE)
        self.refuse("rules.csv:3: rule MPA-1-01 stands already at rules.csv:2",
                    rules=RULE_HEADER + RULE + RULE)
        self.refuse("rules.csv:2: 'mpa' is not a rule id",
                    rules=RULE_HEADER + RULE.replace("MPA-1-01", "mpa"))
        self.refuse("rules.csv:2: level 'OUGHT' is none of MAY, SHOULD, SHOULD NOT, MUST, MUST NOT",
                    rules=RULE_HEADER + RULE.replace("MUST", "OUGHT"))
        self.refuse("rules.csv:2: 9 fields, expected 10", rules=RULE_HEADER + RULE.replace(",seen", ""))
        self.refuse("rules.csv: no rules", rules=RULE_HEADER)
        self.refuse("rules.csv:4: the rules of RFC 5044 section 1 do not stand together",
                    rules=RULE_HEADER + RULE + RULE.replace("MPA-1-01,5044,1", "MPA-2-01,5044,2")
                    + RULE.replace("-01", "-02"))
        self.refuse("rules.csv: octet 88 is not ASCII",
                    rules=RULE_HEADER + "\u00a7" + RULE)

    def test_checks(self):
        self.refuse("checks.csv:2: check mpa-one names the unknown rule 'MPA-1-02'",
                    checks=CHECK_HEADER + CHECK.replace("-01,MPA-1-01", "-02,MPA-1-01"))
        self.refuse("checks.csv:2: check mpa-one names rule MPA-1-01 twice",
                    checks=CHECK_HEADER + CHECK.replace("-01,,", "-01,MPA-1-01,"))
        self.refuse("checks.csv:3: check mpa-one stands already at checks.csv:2",
                    checks=CHECK_HEADER + CHECK + CHECK)
        self.refuse("checks.csv:2: kinds 'ex' are not distinct letters of eosv",
                    checks=CHECK_HEADER + CHECK.replace("eo", "ex"))
        self.refuse("checks.csv:2: reaction '2/0/a' is none of L/T/CC (hexadecimal), close, local, -",
                    checks=CHECK_HEADER + CHECK.replace("0a", "a"))
        self.refuse("checks.csv:2: mpa-one can be refused (kinds eo) but has no reaction",
                    checks=CHECK_HEADER + CHECK.replace("2/0/0a", "-"))
        self.refuse("checks.csv:2: 'mpa' is not a check name",
                    checks=CHECK_HEADER + CHECK.replace("mpa-one", "mpa"))
        self.refuse("checks.csv: no checks", checks=CHECK_HEADER)

    def sent(self, kinds, rule, sender, others=""):
        return CHECK_HEADER + f"mpa-one,{kinds},2/0/0a,{rule},{sender},{others},one is wrong\n"

    def test_sender(self):
        rules = RULE_HEADER + SIDES
        for kinds, rule, sender, others, index in (
                ("eo", "MPA-1-02", "MPA-1-01", "MPA-1-01", 0), ("eo", "MPA-1-02", "MPA-1-03", "MPA-1-01 MPA-1-03", 2),
                ("eo", "MPA-1-02", "answer:MPA-1-02", "", 1), ("v", "MPA-1-02", "MPA-1-02", "", 1), ("e", "MPA-1-02", "", "", 1)):
            result = self.generate(rules, self.sent(kinds, rule, sender, others))
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn(f"0x2, 0x0, 0x0a, {int(rule[-1]) - 1}, {index}, ", (self.folder / "table.c").read_text())

    def test_bad_sender(self):
        rules = RULE_HEADER + SIDES
        for message, checks in (
                ("check mpa-one (kinds eo) names no rule of the sender", self.sent("eo", "MPA-1-01", "")),
                ("check mpa-one (kinds v) names no rule of the sender", self.sent("v", "MPA-1-01", "")),
                ("check mpa-one (kinds es) is about no sender, but names the rule 'MPA-1-01' of one",
                 self.sent("es", "MPA-1-01", "MPA-1-01")),
                ("check mpa-one names the unknown rule 'MPA-1-04' of the sender", self.sent("o", "MPA-1-01", "MPA-1-04")),
                ("the sender's rule MPA-1-03 is not among the rules of check mpa-one", self.sent("o", "MPA-1-01", "MPA-1-03", "MPA-1-02")),
                ("rule MPA-1-02 binds receivers, but the observer accuses the sender of it: name another one, "
                 "or write 'answer:MPA-1-02' if it is about what a receiver answers", self.sent("eo", "MPA-1-02", "MPA-1-02")),
                ("rule MPA-1-01 is not one of receivers, so 'answer:' is out of place", self.sent("eo", "MPA-1-01", "answer:MPA-1-01"))):
            self.refuse("checks.csv:2: " + message, rules, checks)

    def test_usage_and_missing_file(self):
        result = subprocess.run([sys.executable, RULES / "generate.py"], capture_output=True,
                                text=True, check=False)
        self.assertEqual(result.returncode, 64)
        result = subprocess.run([sys.executable, RULES / "generate.py", "none.csv", "b", "c", "d"],
                                cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stderr),
                         (1, "none.csv: No such file or directory\n"))


if __name__ == "__main__":
    unittest.main()
