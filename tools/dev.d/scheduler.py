# SPDX-License-Identifier: BSD-3-Clause
"""Runs steps, those that do not need each other side by side, and prints one line for each."""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

from paths import ROOT

LOAD = 1.75  # steps start until so much of the processors is asked for: most of them also wait
SKIPPED = 77
TAIL = 60  # lines of a failed step's log
LAST_OF_TEST = 15  # lines of a failed test's output
BEAT = 60  # seconds after which a step that is still running is mentioned
LONGEST = 6  # times its budget, but at least an hour: then a step hangs, and is ended


class Ended(Exception):
    """A signal asked us to end."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def tail(log, lines):
    with open(log, encoding="utf-8", errors="replace") as file:
        return file.readlines()[-lines:]


def last_line(log):
    return next((line.strip() for line in reversed(tail(log, 20)) if line.strip()), "")


def failed_tests(log):
    """What each test that failed printed, of a log that ctest wrote: name -> its last lines."""
    found, lines = {}, None
    with open(log, encoding="utf-8", errors="replace") as file:
        for line in file:
            if test := re.match(r"\s*\d+/\d+ Test +#\d+: (\S+) \.*(.*)", line):
                lines = found.setdefault(test[1], []) if "***" in test[2] and "Skipped" not in test[2] else None
            elif re.match(r"\s*Start +\d+: |\d+% tests passed", line):
                lines = None
            elif lines is not None and line.strip():
                lines[:] = lines[1 - LAST_OF_TEST:] + [line]
    return found


class Run:
    """A step that is running: a process group of its own, its output in its log."""

    def __init__(self, step, environment):
        self.step = step
        self.log = os.path.join(ROOT, step.log)
        os.makedirs(os.path.dirname(self.log), exist_ok=True)
        self.began = self.mentioned = time.monotonic()
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(["bash", "-euo", "pipefail", "-c", step.run], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                            start_new_session=True, env={**os.environ, **environment})
        self.status = None
        self.processor = 0.0  # seconds of processor time, of the step and of all that it waited for

    def poll(self):
        """The exit status, as a shell reports it, or None."""
        if self.status is None:
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid != 0:
                self.status = self.process.returncode = os.waitstatus_to_exitcode(status)
                self.processor = usage.ru_utime + usage.ru_stime
        return self.status

    def seconds(self):
        return time.monotonic() - self.began

    def signal(self, number):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def hangs(self):
        return self.seconds() > 60 * max(60, LONGEST * self.step.minutes)

    def alive(self):
        """Whether a process of the group still runs; one that has ended and waits for its parent does not."""
        self.poll()
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                state, _, group = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[:3]
                if int(group) == self.process.pid and state != "Z":
                    return True
        return False


def end(running):
    """Ends whole process groups: they have ten seconds to tidy up."""
    for run in running:
        run.signal(signal.SIGTERM)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and any(run.alive() for run in running):
        time.sleep(0.1)
    for run in running:
        run.signal(signal.SIGKILL)
        while run.poll() is None:
            time.sleep(0.01)


class Scheduler:
    """Runs the steps that it is given; results: name -> (verdict, seconds, of these the processors'). The verdict is "ok", "FAILED",
    "SKIPPED" or "NOT RUN"."""

    def __init__(self, steps, keep_going, environment):
        self.waiting = list(steps)
        self.keep_going = keep_going
        self.environment = environment
        self.running = []
        self.results = {}

    def finish(self, step, verdict, text="", seconds=0.0, processor=0.0):
        self.results[step.name] = (verdict, seconds, processor)
        late = f"; its budget is {step.minutes:g} minutes" if seconds > 60 * step.minutes else ""
        say(f"{step.title:<60} {verdict if not text else f'{verdict}: {text}'} ({seconds:.0f} s, processors {processor:.0f} s{late})")

    def ended(self, run, hung):
        times = {"seconds": run.seconds(), "processor": run.processor}
        if run.status == 0 and not hung:
            self.finish(run.step, "ok", **times)
        elif run.status == SKIPPED:
            self.finish(run.step, "SKIPPED", last_line(run.log), **times)
        else:
            self.finish(run.step, "FAILED", f"{'it hung' if hung else f'exit {run.status}'}; its log, {run.step.log}, ends:", **times)
            sys.stderr.writelines("    " + line for line in tail(run.log, TAIL))
            for name, lines in failed_tests(run.log).items():
                say(f"  {name} printed last:")
                sys.stderr.writelines("    " + line for line in lines)
            sys.stderr.flush()

    def blocked(self, step):
        """The verdict of a step that is not to run, or None."""
        needs = [self.results[need][0] for need in step.needs if need in self.results]
        if any(verdict in ("FAILED", "NOT RUN") for verdict in needs):
            return "NOT RUN"
        return "SKIPPED" if "SKIPPED" in needs else None

    def failed(self):
        return any(result[0] == "FAILED" for result in self.results.values())

    def start(self):
        for step in list(self.waiting):
            if self.failed() and not self.keep_going:
                return
            if verdict := self.blocked(step):
                self.waiting.remove(step)
                self.finish(step, verdict, f"needs {', '.join(step.needs)}")
                continue
            busy = sum(run.step.load for run in self.running)
            if all(need in self.results for need in step.needs) and (not self.running or busy + step.load <= LOAD):
                self.waiting.remove(step)
                self.running.append(Run(step, self.environment))

    def beat(self, run):
        now = time.monotonic()
        if now - run.mentioned >= BEAT:
            run.mentioned = now
            say(f"  {run.step.title} is running, {run.seconds():.0f} s: {last_line(run.log)[:100]}")

    def run(self):
        """Runs all; returns the results."""
        asked = []  # a handler that raised could do so after a step has started and before it is in `running`

        def ask(number, frame):
            del frame
            asked.append(number)

        old = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        try:
            self.start()
            while self.running:
                time.sleep(0.05)
                if asked:
                    raise Ended(asked[0])
                for run in list(self.running):
                    if run.poll() is None and not run.hangs():
                        self.beat(run)
                        continue
                    hung = run.status is None
                    self.running.remove(run)
                    if run.alive():
                        end([run])  # also what a step has left that is over
                    self.ended(run, hung)
                self.start()
            if asked:
                raise Ended(asked[0])
        finally:
            for number in old:
                signal.signal(number, signal.SIG_IGN)
            end(self.running)
            for number, handler in old.items():
                signal.signal(number, handler)
        return self.results
