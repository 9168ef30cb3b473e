#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which test is asked first."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import guard  # noqa: E402
import suite  # noqa: E402

FILE = "tools/lint/summary.c"


def a_test(name, build="plain", unit=True):
    return suite.Test(build, name, [], "", {}, ["bin/" + name], {FILE}, unit, None)


class Order(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.history = suite.History(pathlib.Path(folder.name, "history.json"))
        self.tests = [a_test("tools_check_lint", unit=False), a_test("tools_test_lint", "asan"), a_test("test_ddp"),
                      a_test("tools_test_lint"), a_test("tools_test_summary")]

    def order(self):
        return [test.key for test in self.history.order(FILE, self.tests)]

    def took(self, key, seconds, killed=False):
        self.history.record(FILE, key, (seconds, seconds, 0), killed)

    def test_what_has_the_name_of_the_file_comes_first_a_sanitizer_before_slow_scripts(self):
        self.history.cost["tools_check_lint"] = 60
        self.assertEqual(self.order(), ["tools_test_lint", "tools_test_summary", "asan:tools_test_lint", "test_ddp", "tools_check_lint"])

    def test_what_has_noticed_before_comes_first(self):
        for test in self.tests:
            self.history.cost[test.key] = 1
        self.took("tools_test_lint", 1)
        self.took("tools_test_summary", 1)
        self.took("test_ddp", 1, True)
        self.assertEqual(self.order()[0], "test_ddp")


class First(unittest.TestCase):
    def setUp(self):
        self.history = suite.History("nowhere/history.json")
        self.history.cost = {"test_dear": 9, "test_cheap": 2, suite.SUITE: 300, "script_dear": 60, "script_cheap": 20}
        self.keys = ["script_new", "script_dear", "test_dear", suite.SUITE, "test_new", "script_cheap", "test_cheap"]

    def first(self, hurry):
        return self.history.first(self.keys, {"test_dear", "test_cheap", "test_new"}, hurry)

    def test_what_takes_long_begins_first(self):
        self.assertEqual(self.first(False), [suite.SUITE, "script_dear", "script_cheap", "test_dear", "test_cheap", "script_new", "test_new"])

    def test_in_a_hurry_unit_tests_the_suite_scripts(self):
        self.assertEqual(self.first(True), ["test_new", "test_cheap", "test_dear", suite.SUITE, "script_cheap", "script_dear", "script_new"])


class Sanitized(unittest.TestCase):
    def test_scripts_are_not(self):
        self.assertTrue(suite.sanitized(a_test("tools_test_lint")))
        self.assertTrue(suite.sanitized(a_test(suite.SUITE, unit=False)))
        self.assertFalse(suite.sanitized(a_test("tools_check_lint", unit=False)))


class Limits(unittest.TestCase):
    def test_far_more_than_a_test_ever_took(self):
        history = suite.History("nowhere/history.json")
        self.assertEqual(history.limits(a_test("one")), guard.Limits())
        history.record(FILE, "one", (9, 3.0, 10.0), False)
        self.assertEqual(history.limits(a_test("one")), guard.Limits(cpu=30.0, idle=40.0))
        self.assertEqual(history.limits(a_test("one", "asan")), guard.Limits(cpu=120.0, idle=40.0, memory=2 * guard.MEMORY))


if __name__ == "__main__":
    unittest.main()
