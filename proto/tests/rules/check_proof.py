#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The table requirement -> checks -> tests: its states, and what it refuses. usage: check_proof.py RULES_DIR"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

RULES = pathlib.Path(sys.argv.pop(1))
REQUIREMENTS = """id,rfc,section,level,subject,side,testable,requirement,how_to_test,expected_observation
MPA-1-01,5044,1,MUST,both,either,api,One,how,seen
MPA-1-02,5044,1,MUST,both,either,api,Two,how,seen
MPA-1-03,5044,1,MUST,both,either,no,Three,how,seen
SCTP-1-01,5043,1,MUST,both,either,api,Four,how,seen
"""
CHECKS = "check,kinds,reaction,rule,sender,others,text\nmpa-one,e,close,MPA-1-01,,,one is wrong\n"
ROWS = "rule,tests,why\n"
EDITS = "rules,file,old,new\n"
PROOF = "mutant,killed_by\n"
TEST = "static void works(void **state)\n{\n}\n"


class Proof(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_proof(self, rows=ROWS, proof=PROOF, edits=EDITS):
        for name, text in (("rules/requirements.csv", REQUIREMENTS), ("rules/checks.csv", CHECKS),
                           ("rules/rows.csv", rows), ("rules/proof.csv", proof), ("rules/edits.csv", edits),
                           ("tests/test_one.c", TEST), ("one.c", "int a;\n")):
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="ascii")
        return subprocess.run([sys.executable, RULES / "proof.py", "rules", "table.md"],
                              cwd=self.folder, capture_output=True, text=True, check=False)

    def states(self, rows=ROWS, proof=PROOF, edits=EDITS):
        result = self.run_proof(rows, proof, edits)
        self.assertNotIn("Traceback", result.stderr)
        table = (self.folder / "table.md").read_text(encoding="ascii").splitlines()
        return result.returncode, [line.split(" | ")[4] for line in table if line.startswith("| MPA")]

    def refuse(self, message, **files):
        result = self.run_proof(**files)
        self.assertEqual((result.returncode, result.stderr), (1, message + "\n"))

    def test_a_row_with_nothing_is_an_error(self):
        self.assertEqual(self.states(), (1, ["not run", "nothing"]))
        self.assertIn("neither code nor a reason: MPA-1-02 Two", self.run_proof().stderr)

    def test_rows_without_a_check(self):
        self.assertEqual(self.states(ROWS + "MPA-1-02,,so it is\n"), (0, ["not run", "reason"]))
        self.assertEqual(self.states(ROWS + "MPA-1-02,test_one:works,here\n"), (0, ["not run", "shown"]))

    def test_mutants_decide(self):
        rows = ROWS + "MPA-1-02,test_one:works,here\n"
        edits = EDITS + "MPA-1-02,one.c,a,b\n"
        killed = PROOF + "ignore:mpa-one,test_one:works\nbotch:mpa-one=silent,test_one:works\n"
        self.assertEqual(self.states(rows, killed, edits), (0, ["proven", "not run"]))
        alive = killed + "able:mpa-one,\nedit:MPA-1-02/1,\n"
        self.assertEqual(self.states(rows, alive, edits), (0, ["alive", "alive"]))
        self.assertEqual(self.states(rows, killed + "edit:MPA-1-02/1,test_one:works\n", edits),
                         (0, ["proven", "proven"]))

    def test_bad_lines(self):
        self.refuse("rules/rows.csv:2: 'MPA-9-09' is not a rule", rows=ROWS + "MPA-9-09,,why\n")
        self.refuse("rules/rows.csv:2: there is no test 'test_one:fails'", rows=ROWS + "MPA-1-02,test_one:fails,why\n")
        self.refuse("rules/rows.csv:2: rule MPA-1-02 has no reason", rows=ROWS + "MPA-1-02,,\n")
        self.refuse("rules/rows.csv:3: rule MPA-1-02 has a line already", rows=ROWS + "MPA-1-02,,a\nMPA-1-02,,b\n")
        self.refuse("rules/edits.csv:2: rows.csv names no tests of 'MPA-1-02'", edits=EDITS + "MPA-1-02,one.c,a,b\n")
        rows = ROWS + "MPA-1-02,test_one:works,here\n"
        self.refuse("rules/edits.csv:2: there is no file 'two.c'", rows=rows, edits=EDITS + "MPA-1-02,two.c,a,b\n")
        self.refuse("rules/edits.csv:2: one.c has no 'c'", rows=rows, edits=EDITS + "MPA-1-02,one.c,c,b\n")


if __name__ == "__main__":
    unittest.main()
