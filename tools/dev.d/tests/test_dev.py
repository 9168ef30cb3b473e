#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests of tools/dev: the table of steps, the scheduler, the rooms that a change reaches."""
import contextlib
import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import check  # noqa: E402
import results  # noqa: E402
import rooms  # noqa: E402
import scheduler  # noqa: E402
import steps  # noqa: E402
from paths import Failed  # noqa: E402

CI_MINUTES = 18
NIGHT_MINUTES = 120


def waiting_for(left, chosen):
    return [step for step in chosen if step.name in left]


def sleeps(pid):
    """Whether there is a `sleep` of this number that has not ended: where process 1 collects nobody, one that has stays as a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            name, state = re.fullmatch(r"\d+ \((.*)\) (\S).*", file.read(), re.DOTALL).groups()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return name == "sleep" and state not in "ZX"


class Table(unittest.TestCase):
    def length(self, chosen):
        """The minutes of a run in which each step takes its budget, started as the scheduler does. More steps than the
        processors have room for slow each other down."""
        waiting, left, done, now = list(chosen), {}, set(), 0.0
        while waiting or left:
            for step in list(waiting):
                busy = sum(running.load for running in waiting_for(left, chosen))
                if done.issuperset(step.needs) and (not left or busy + step.load <= scheduler.LOAD):
                    waiting.remove(step)
                    left[step.name] = step.minutes
            speed = 1 / max(1, sum(step.load for step in waiting_for(left, chosen)))
            first = min(left, key=left.get)
            passed = left[first]
            left = {name: minutes - passed for name, minutes in left.items() if name != first}
            done.add(first)
            now += passed / speed
        return now

    def test_ci_fits(self):
        self.assertLessEqual(self.length(steps.chosen(steps.load(), "test", 0)), CI_MINUTES)

    def test_each_night_fits(self):
        table = steps.load()
        for night in range(steps.NIGHTS):
            chosen = {step.name: step for tier in ("test", "nightly") for step in steps.chosen(table, tier, night)}
            self.assertLessEqual(self.length(list(chosen.values())), NIGHT_MINUTES, f"night {night}")

    def test_all_run_within_seven_nights(self):
        table = steps.load()
        ran = {step.name for night in range(steps.NIGHTS) for step in steps.chosen(table, "nightly", night)}
        self.assertEqual({step.name for step in table.values() if "nightly" in step.tiers} - ran, set())
        for step in table.values():
            self.assertTrue(set(step.nights) <= set(range(steps.NIGHTS)) and step.nights, step.name)

    def test_ci_ends_with_a_summary(self):
        self.assertEqual([step.name for step in steps.chosen(steps.load(), "test", 0) if step.summary], ["tests-gcc"])

    def bad(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(text)
            file.flush()
            with self.assertRaises(Failed) as raised:
                steps.load(file.name)
        return str(raised.exception)

    def test_tables_that_make_no_sense(self):
        row = '[[step]]\nname = "a"\ntitle = "A"\nrun = "true"\ntiers = ["test"]\nminutes = 1\n'
        self.assertIn("two steps are named a", self.bad(row + row))
        self.assertIn("a needs b", self.bad(row + 'needs = ["b"]\n'))
        self.assertIn("a: ", self.bad(row + "colour = 3\n"))
        self.assertIn("a: the tiers are", self.bad(row.replace('"test"', '"tset"')))


class Running(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def step(self, name, run, needs=(), **more):
        return steps.Step(name, f"step {name}", run, ["test"], 1, list(needs), log=os.path.join(self.folder.name, name), **more)

    def run_steps(self, *rows, keep_going=True):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            found = scheduler.Scheduler(rows, keep_going, {"JOBS": "1"}).run()
        return {name: result[0] for name, result in found.items()}, said.getvalue()

    def test_a_failed_step_is_shown_with_its_log(self):
        found, said = self.run_steps(self.step("a", "echo why it failed; exit 3"), self.step("b", "true", ["a"]), self.step("c", "true", ["b"]), self.step("d", "true"))
        self.assertEqual(found, {"a": "FAILED", "b": "NOT RUN", "c": "NOT RUN", "d": "ok"})
        self.assertIn("exit 3", said)
        self.assertIn("    why it failed\n", said)

    def test_a_skipped_step_gives_its_reason(self):
        found, said = self.run_steps(self.step("a", "echo no kernel; exit 77"), self.step("b", "exit 1", ["a"]))
        self.assertEqual(found, {"a": "SKIPPED", "b": "SKIPPED"})
        self.assertIn("SKIPPED: no kernel", said)

    def test_nothing_starts_after_a_failure_unless_it_is_to_go_on(self):
        found, _ = self.run_steps(self.step("a", "exit 1"), self.step("b", "true"), keep_going=False)
        self.assertEqual(found.get("a"), "FAILED")
        self.assertNotIn("b", found)

    def test_a_pipe_that_fails_is_a_failure(self):
        found, _ = self.run_steps(self.step("a", "false | true"), self.step("b", "echo $UNSET_VARIABLE"))
        self.assertEqual(found, {"a": "FAILED", "b": "FAILED"})

    def test_steps_run_side_by_side(self):
        meet = os.path.join(self.folder.name, "fifo")
        os.mkfifo(meet)
        found, _ = self.run_steps(self.step("a", f"echo here > {meet}", load=0.5), self.step("b", f"grep -q here {meet}", load=0.5))
        self.assertEqual(found, {"a": "ok", "b": "ok"})

    def test_busy_steps_do_not(self):
        mark = os.path.join(self.folder.name, "mark")
        found, _ = self.run_steps(self.step("a", f"mkdir {mark}; rmdir {mark}"), self.step("b", f"mkdir {mark}; rmdir {mark}"), self.step("c", f"mkdir {mark}; rmdir {mark}"))
        self.assertEqual(set(found.values()), {"ok"})

    def ends_on_a_signal(self, more, signal_it):
        """Whether a signal to a scheduler ends the `sleep` that its step began."""
        pid = os.path.join(self.folder.name, "pid")
        code = (f"import os, signal, sys; sys.path.insert(0, {os.path.dirname(HERE)!r}); import scheduler, steps\n{more}\n"
                f"scheduler.Scheduler([steps.Step('a', 'A', 'sleep 1000 & echo $! > {pid}.new; mv {pid}.new {pid}; wait', [], 1, log={self.folder.name + '/log'!r})], True, {{}}).run()")
        with subprocess.Popen([sys.executable, "-B", "-c", code], stderr=subprocess.DEVNULL) as runner:
            if signal_it:
                while not os.path.exists(pid):
                    self.assertIsNone(runner.poll())
                    time.sleep(0.01)
                runner.send_signal(signal.SIGTERM)
            self.assertNotEqual(runner.wait(), 0)
        with open(pid, encoding="ascii") as file:
            number = int(file.read())
        until = time.monotonic() + 600  # the signal is sent; on a busy machine it takes effect later
        while sleeps(number) and time.monotonic() < until:
            time.sleep(0.01)
        return not sleeps(number)

    def test_a_signal_ends_whole_process_groups(self):
        self.assertTrue(self.ends_on_a_signal("", True))

    def test_a_signal_while_a_step_starts_ends_it(self):
        pid = os.path.join(self.folder.name, "pid")
        self.assertTrue(self.ends_on_a_signal(
            "class Run(scheduler.Run):\n"
            "    def __init__(self, *more):\n"
            "        super().__init__(*more)\n"
            f"        while not os.path.exists({pid!r}): pass\n"
            "        os.kill(os.getpid(), signal.SIGTERM)\n"
            "scheduler.Run = Run", False))

    def test_the_figure_is_the_last_match(self):
        row = self.step("a", "echo 1 edits; echo '22 edits  of 3'; echo end", figure=r"^\d+ edits.*")
        self.run_steps(row)
        self.assertEqual(results.figure(row), "22 edits of 3")
        path = os.path.join(self.folder.name, "runs.csv")
        for _ in range(2):
            results.record([("2026-01-02", "abc", "tools/dev nightly 0", 2, "a", "ok", "1", "2", "22 edits of 3")], path)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "date,commit,command,cores,step,verdict,seconds,processor_seconds,figure\n" + "2026-01-02,abc,tools/dev nightly 0,2,a,ok,1,2,22 edits of 3\n" * 2)


class FailedTests(unittest.TestCase):
    LOG = """\
    Start 194: tools_check_siw
1/3 Test #194: tools_check_siw ...................***Failed   60.21 sec
siw: down
not so: it has ended

    Start 195: tools_check_siw_errors
2/3 Test #195: tools_check_siw_errors ............   Passed    2.01 sec
    Start 196: tools_check_silent
3/3 Test #196: tools_check_silent ................***Timeout  3600.00 sec

33% tests passed, 2 tests failed out of 3
The following tests FAILED:
"""

    def test_what_they_printed_is_found(self):
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as log:
            log.write(self.LOG)
            log.flush()
            self.assertEqual(scheduler.failed_tests(log.name), {"tools_check_siw": ["siw: down\n", "not so: it has ended\n"], "tools_check_silent": []})

    def test_only_the_end_of_much_output(self):
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as log:
            log.write("1/1 Test #1: much ...***Failed    1.00 sec\n" + "".join(f"{n}\n" for n in range(100)))
            log.flush()
            self.assertEqual(scheduler.failed_tests(log.name), {"much": [f"{n}\n" for n in range(85, 100)]})


class Rooms(unittest.TestCase):
    def test_what_stands_on_a_room(self):
        deframer = rooms.proto_tests("mpa")
        for name in ("test_mpa_deframer", "test_endpoint", "test_transport", "test_observer_checks"):
            self.assertIn(name, deframer)
        self.assertNotIn("test_crc32c", deframer)
        self.assertIn("test_transport", rooms.proto_tests("transport"))
        self.assertNotIn("test_mpa_deframer", rooms.proto_tests("transport"))

    def test_imports_run_downwards(self):
        graph = rooms.below(rooms.rooms() - set(rooms.OTHERS))
        self.assertNotIn("endpoint", graph["mpa"])
        self.assertNotIn("mpa", graph["wire"])

    def test_no_such_room(self):
        with self.assertRaises(Failed):
            rooms.check_room("mpaa")


class Check(unittest.TestCase):
    def test_tests_that_came_or_went_since_the_build_was_configured(self):
        with tempfile.TemporaryDirectory() as top:
            build = os.path.join(top, "build")
            for name in ("old", "kept"):
                with open(os.path.join(top, f"conformance_test_{name}.in"), "w", encoding="utf-8"):
                    pass
            with open(os.path.join(top, "CMakeLists.txt"), "w", encoding="utf-8") as file:
                file.write("cmake_minimum_required(VERSION 3.25)\nproject(x NONE)\nfile(GLOB tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/*.in)\n"
                           "foreach(test ${tests})\n get_filename_component(name ${test} NAME_WE)\n add_custom_target(${name})\nendforeach()\n")
            subprocess.run(["cmake", "-G", "Ninja", "-S", top, "-B", build], check=True, stdout=subprocess.DEVNULL)
            os.rename(os.path.join(top, "conformance_test_old.in"), os.path.join(top, "conformance_test_new.in"))
            with unittest.mock.patch.object(check, "build_folder", lambda _: build):
                self.assertEqual(check.targets(["conformance"]), ["conformance_test_kept", "conformance_test_new"])


class Commands(unittest.TestCase):
    def dev(self, *words):
        return subprocess.run([os.path.join(HERE, "..", "..", "dev"), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)

    def test_usage(self):
        self.assertEqual(self.dev("help").returncode, 0)
        for words in (["tset"], ["test", "all"], ["check", "a", "b"]):
            done = self.dev(*words)
            self.assertEqual((done.returncode, done.stdout), (64, ""))
        for words, text in ((["nightly", "7"], "'7' is no night"), (["step", "buidl"], "no step 'buidl'"), (["setup", "all"], "'all' is none of")):
            done = self.dev(*words)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(len(done.stderr.splitlines()), 1)
            self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main()
