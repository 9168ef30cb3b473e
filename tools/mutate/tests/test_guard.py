#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Commands that hang, compute, grow or leave processes."""

import os
import pathlib
import signal
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import guard  # noqa: E402


class Guards(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        guard.adopt()
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_it(self, command, **limits):
        return guard.run(["sh", "-c", command], pathlib.Path(self.folder.name, "out"), guard.Limits(**limits))

    def test_status_and_output(self):
        outcome = self.run_it("echo one; echo two >&2; exit 3")
        self.assertEqual((outcome.status, outcome.why, outcome.output), (3, "", b"one\ntwo\n"))

    def test_a_signal(self):
        self.assertEqual(self.run_it("kill -SEGV $$").status, -11)

    def test_signals_that_are_ignored_here(self):
        old = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)}
        try:
            self.assertEqual([self.run_it(f"kill -{number} $$").status for number in ("HUP", "INT", "QUIT")], [-1, -2, -3])
        finally:
            for number, before in old.items():
                signal.signal(number, before)

    def test_asleep(self):
        outcome = self.run_it("sleep 600", idle=1)
        self.assertEqual((outcome.status, outcome.why), (None, "asleep for more than 1 s"))

    def test_asleep_in_a_child(self):
        self.assertEqual(self.run_it("(sleep 600 & wait); true", idle=1).why, "asleep for more than 1 s")

    def test_computing_is_not_sleeping(self):
        self.assertEqual(self.run_it("while :; do :; done", idle=0.5, cpu=2).why, "more than 2 s of processor time")

    def test_memory(self):
        hog = f"{sys.executable} -c 'import time; a = bytearray(200 << 20); time.sleep(600)'"
        self.assertEqual(self.run_it(hog, memory=100 << 20).why, "more than 100 MiB")

    def test_nothing_is_left(self):
        outcome = self.run_it("setsid sh -c 'setsid sleep 600 & echo $!'; exit 0")
        self.assertEqual((outcome.status, outcome.why), (0, ""))
        self.assertFalse(os.path.exists(f"/proc/{outcome.output.decode().strip()}"))

    def test_enough(self):
        path = pathlib.Path(self.folder.name, "out")
        outcome = guard.run(["sh", "-c", "echo not ok; sleep 600"], path, guard.Limits(), until=lambda p: b"not ok" in p.read_bytes())
        self.assertEqual((outcome.status, outcome.why, outcome.output), (None, "enough", b"not ok\n"))


if __name__ == "__main__":
    unittest.main()
