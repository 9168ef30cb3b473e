#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run each test of a build many times while the machine is busy, and report each that failed even once.

A test must not fail because the machine is slow. Also reported: a process or a temporary file that a test left.
Exit: 0 no test failed, 1 one did, 3 nothing to run, 64 usage, 70 ctest does not work, 130 interrupted.
"""
import argparse
import concurrent.futures
import contextlib
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib

MARK = "IW_STRESS"  # in the environment of all that a test starts
PR_SET_PDEATHSIG = 1
READABLE = 0o755  # some tests run programs as another user
DYING = 60  # seconds after which a process that a test has ended counts as left
BUSY = "while True: pass"
CHOICES = {"R": "tests", "E": "exclude", "L": "label", "LE": "label-exclude"}  # ctest's options, and how ours are named
libc = ctypes.CDLL(None)


def whole(least):
    def convert(text):
        if not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"expected a whole number of at least {least}")
        return int(text)
    return convert


def part(text):
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise argparse.ArgumentTypeError("expected K/M, with K from 1 to M")
    return int(match[1]), int(match[2])


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(64, f"{self.prog}: {message}\n")


def parse():
    cpus = len(os.sched_getaffinity(0))
    p = Parser(prog="tools/stress.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build", nargs="?", default="build", help="the build folder (default: build)")
    p.add_argument("--times", type=whole(1), default=20, metavar="N", help="run each test N times (default: 20)")
    p.add_argument("--part", type=part, metavar="K/M",
                   help="only one of M parts; M runs with K = 1 to M reach every test, whatever is added in between")
    p.add_argument("--seconds", type=whole(1), metavar="S", help="begin no run after S seconds")
    p.add_argument("--jobs", type=whole(1), default=max(1, cpus // 2), metavar="N", help="tests side by side (default: half of the CPUs)")
    p.add_argument("--load", type=whole(0), default=2 * cpus, metavar="N", help="busy loops beside them (default: two for each CPU)")
    p.add_argument("--logs", metavar="FOLDER", help="logs of what failed (default: BUILD/stress)")
    p.add_argument("--json", metavar="FILE", help="write the runs, failures and times of each test")
    for letter, name in CHOICES.items():
        p.add_argument("-" + letter, "--" + name, dest=letter, metavar="REGEX", help=f"as ctest's -{letter}")
    return p.parse_args()


class Load:
    """Starts busy loops in a process group of their own, which end with this program, however it ends."""

    def __init__(self, loops):
        command = [sys.executable, "-S", "-c", BUSY]
        count = loops
        if loops and shutil.which("stress-ng"):
            command, count = ["stress-ng", "--quiet", "--cpu", str(loops), "--timeout", "0"], 1
        self.processes = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd="/",
                                           start_new_session=True, preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM))
                          for _ in range(count)]

    def end(self):
        for how in (signal.SIGTERM, signal.SIGKILL):
            for process in self.processes:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, how)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(10)


def left(mark):
    """Returns the processes with this mark: number and command line."""
    found = {}
    needle = f"{MARK}={mark}".encode()
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and needle in (entry / "environ").read_bytes().split(b"\0"):
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return found


def end_all(mark, number):
    """Signals what a test has started."""
    for pid in left(mark):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


class Test:
    def __init__(self, listed):
        properties = {p["name"]: p["value"] for p in listed.get("properties", [])}
        self.name = listed["name"]
        self.locks = properties.get("RESOURCE_LOCK", [])
        self.serial = properties.get("RUN_SERIAL", False)
        self.disabled = properties.get("DISABLED", False)
        self.rank = 0 if "FIXTURES_SETUP" in properties else 2 if "FIXTURES_CLEANUP" in properties else 1
        self.seconds, self.logs = [], []  # of the runs, and of those that failed


class Stress:
    def __init__(self, options):
        self.o = options
        self.build = pathlib.Path(options.build).resolve()
        self.logs = pathlib.Path(options.logs or self.build / "stress").resolve()
        self.began = time.monotonic()
        self.stop = threading.Event()
        self.guard = threading.Lock()
        self.locks = {}
        self.marks = set()

    def tests(self, scratch):
        words = [w for letter in CHOICES if (value := getattr(self.o, letter)) for w in ("-" + letter, value)]
        home = self.home(scratch / "list")
        listed = subprocess.run(["ctest", "--test-dir", home, "--show-only=json-v1", *words], capture_output=True, text=True, check=False)
        if listed.returncode:
            print(f"tools/stress.py: ctest: {listed.stderr.strip()}", file=sys.stderr)
            sys.exit(70)
        found = [Test(t) for t in json.loads(listed.stdout)["tests"] if "command" in t]
        if self.o.part:
            k, m = self.o.part
            found = [t for t in found if zlib.crc32(t.name.encode()) % m == k - 1]
        self.locks = {name: threading.Lock() for t in found for name in t.locks}
        return [t for t in found if not t.disabled]

    def home(self, folder):
        """A folder for ctest's own files, so that several do not write the same ones."""
        folder.mkdir(parents=True)
        (folder / "CTestTestfile.cmake").write_text(f'subdirs("{self.build}")\n', encoding="utf-8")
        return str(folder)

    def complain_of(self, test, number, text, why):
        path = self.logs / f"{test.name}.{number}.log"
        with self.guard:
            self.logs.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            test.logs.append(str(path))
            print(f"FAILED {test.name}, run {number}, {test.seconds[-1]:.1f} s: {why}; log: {path}", flush=True)

    def run(self, test, number, scratch):
        if self.stop.is_set() or self.late():
            return
        with contextlib.ExitStack() as held:
            for name in sorted(test.locks):
                held.enter_context(self.locks[name])
            own = pathlib.Path(tempfile.mkdtemp(dir=scratch))
            own.chmod(READABLE)
            self.run_alone(test, number, own)

    def run_alone(self, test, number, own):
        mark = f"{os.getpid()}-{own.name}"
        files = own / "t"
        files.mkdir()
        with self.guard:
            self.marks.add(mark)
        began = time.monotonic()
        done = subprocess.run(["ctest", "--test-dir", self.home(own / "c"), "--tests-regex", "^" + re.escape(test.name) + "$",
                               "--fixture-exclude-any", ".", "--verbose", "--no-tests=error"],
                              env=dict(os.environ, **{MARK: mark, "TMPDIR": str(files)}), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True, check=False)
        test.seconds.append(time.monotonic() - began)
        if self.stop.is_set():
            return
        until = time.monotonic() + DYING
        while (processes := left(mark)) and time.monotonic() < until:
            time.sleep(0.1)
        names = sorted(f.name for f in files.iterdir())
        why = [what for what, so in (("it failed", done.returncode), ("it left processes", processes), ("it left files", names)) if so]
        if why:
            more = [f"left: process {number}: {line}" for number, line in processes.items()] + [f"left: file {name}" for name in names]
            self.complain_of(test, number, "\n".join([done.stdout, *more, ""]), ", ".join(why))
        end_all(mark, signal.SIGKILL)
        with self.guard:
            self.marks.discard(mark)
        shutil.rmtree(own, ignore_errors=True)

    def late(self):
        return self.o.seconds is not None and time.monotonic() - self.began > self.o.seconds

    def all(self, tests, scratch):
        """Round by round: where the time does not last, each test has run as often as the others."""
        with concurrent.futures.ThreadPoolExecutor(self.o.jobs) as pool:
            for number in range(1, self.o.times + 1):
                for rank in (0, 1, 2):
                    now = [t for t in tests if t.rank == rank]
                    now.sort(key=lambda t: -max(t.seconds, default=0))  # the longest first
                    for one in [pool.submit(self.run, t, number, scratch) for t in now if not t.serial]:
                        one.result()
                    for t in now:
                        if t.serial:
                            self.run(t, number, scratch)
                if self.stop.is_set() or self.late():
                    return

    def interrupted(self, *_):
        self.stop.set()
        for mark in list(self.marks):
            end_all(mark, signal.SIGTERM)

    def report(self, tests):
        bad = [t for t in tests if t.logs]
        for t in bad:
            print(f"{t.name}: failed {len(t.logs)} of {len(t.seconds)} runs: {' '.join(t.logs)}")
        runs = sum(len(t.seconds) for t in tests)
        fewest = min(len(t.seconds) for t in tests)
        print(f"{len(tests)} tests, {runs} runs ({fewest} or more of each), {self.o.load} busy loops, {self.o.jobs} side by side, "
              f"{time.monotonic() - self.began:.0f} s: {len(bad)} failed")
        if self.o.json:
            data = {"schema": 1, "load": self.o.load, "jobs": self.o.jobs, "seconds": round(time.monotonic() - self.began, 1),
                    "tests": [{"name": t.name, "runs": len(t.seconds), "failed": len(t.logs), "logs": t.logs,
                               "longest": round(max(t.seconds, default=0), 2)} for t in tests]}
            pathlib.Path(self.o.json).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        return 130 if self.stop.is_set() else 1 if bad else 0


def main():
    options = parse()
    stress = Stress(options)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stress.interrupted)
    with tempfile.TemporaryDirectory(prefix="iw-stress-") as scratch:
        os.chmod(scratch, READABLE)
        tests = stress.tests(pathlib.Path(scratch))
        if not tests:
            print("tools/stress.py: no test to run", file=sys.stderr)
            return 3
        load = Load(options.load)
        try:
            stress.all(tests, scratch)
        finally:
            load.end()
    return stress.report(tests)


if __name__ == "__main__":
    sys.exit(main())
