#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs rows of stock programs, a server and a client of each, on the verbs library.

usage: matrix.py IWARP-RUN [--quick] [--keep FOLDER] [--env NAME=VALUE] [--under COMMAND] [--table FILE] [--siw server|client] [--drivers SERVER,CLIENT] [PATTERN...]

The rows are those of a table, stock_programs.csv beside this script if no other is named: an identifier; `quick` for the few that each build runs, `stays` if the
server goes on after its client; and the two command lines, in which {a} is an IPv4 address, {a6} an IPv6 address, {p} a free port, {file} a file to copy and {copy}
its copy, {sockets} the preloaded library of sockets. Options before the program's name are iwarp-run's. PATTERN chooses rows by their identifiers. Prints one line
per row. A row passes if both ends end with status 0, or if the server stays until it is ended; the time that they take decides nothing but is limited (LIMIT).
Ends with status 0 if no row has failed, 77 if no row could be run for want of programs. --keep leaves the output of each
end in FOLDER. --env sets a variable for both ends. --under has COMMAND run both programs (`valgrind -q`). --siw has that end run on Linux's siw and the other one beside it in the
kernel that tools/siw has up. --drivers has the server run on one driver and the client on another, `siw` or `iwarp` (proto/kernel/), each in a network namespace
of its own in the kernel that `tools/siw up --driver iwarp` has; iwarp-run has no part in it.
"""
import argparse
import csv
import filecmp
import fnmatch
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", ".."))
import harness  # noqa: E402

LIMIT = 120  # s, for one row; only a failing one takes as long
SIW = os.path.realpath(os.path.join(HERE, "..", "..", "siw"))
HOSTS = os.path.realpath(os.path.join(HERE, "..", "..", "siw.d", "hosts.sh"))
FLAGS = ("--sockets",)  # options of iwarp-run without a value


def split_options(words):
    """The options of iwarp-run, and the program with its words."""
    count = 0
    while count < len(words) and words[count].startswith("-"):
        count += 1 if words[count] in FLAGS else 2
    return words[:count], words[count:]


def sockets_of(run):
    """The preloaded library of sockets beside a launcher."""
    return os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(run))), "lib", "iwarp", "libiwarp-sockets.so")


class Here:
    """Both ends on the library, on this host."""
    addresses = {"a": "127.0.0.1", "a6": "::1"}

    def __init__(self, run):
        self.run, self.sockets = run, sockets_of(run)

    def words(self, _side, words, _folder):
        return [self.run, *words]

    def listens(self, port):
        return harness.listens(port)


class BesideSiw:
    """One end on Linux's siw, both inside its kernel."""
    addresses = {"a": "10.7.0.1", "a6": "fd07::1"}

    def __init__(self, run, siw_side):
        self.run, self.siw_side, self.sockets = run, siw_side, sockets_of(run)

    def words(self, side, words, folder):
        inside = [SIW, "exec", "-w", folder]
        return [*inside, *split_options(words)[1]] if side == self.siw_side else [*inside, self.run, *words]

    def listens(self, port):
        shown = subprocess.run([SIW, "exec", "cat", *harness.TCP_TABLES], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True, check=False).stdout
        return harness.listens(port, shown)


class BetweenDrivers:
    """Each end on a driver, in a network namespace of its own in the kernel of tools/siw."""
    addresses = {"a": "10.8.0.1", "a6": "fd08::1"}
    sockets = ""

    def __init__(self, drivers):
        made = subprocess.run([SIW, "exec", HOSTS, "make", *drivers], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if made.returncode:
            raise SystemExit(f"matrix.py: hosts.sh make: {made.stderr.strip()}")

    def words(self, side, words, folder):
        return [SIW, "exec", "-w", folder, HOSTS, "run", side, *split_options(words)[1]]

    def listens(self, port):
        shown = subprocess.run([SIW, "exec", HOSTS, "run", "server", "cat", *harness.TCP_TABLES], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
        return harness.listens(port, shown)


class Row:
    def __init__(self, fields, folder, where, under=()):
        self.where = where
        self.name = fields["id"]
        self.quick = "quick" in fields["kind"].split()
        self.stays = "stays" in fields["kind"].split()
        self.port = harness.free_port()
        self.source = os.path.join(folder, "source")
        self.copy = os.path.join(folder, "copy")
        known = dict(where.addresses, p=self.port, file=self.source, copy=self.copy, sockets=where.sockets)
        ends = [split_options(shlex.split(fields[side].format(**known))) for side in ("server", "client")]
        self.programs = [*under[:1], *(words[0] for _, words in ends)]
        self.server, self.client = ([*options, *under, *words] for options, words in ends)
        self.copies = "{copy}" in fields["client"]

    def missing(self):
        for program in self.programs:
            if shutil.which(program) is None:
                return program
        return None


def end_server(process):
    """Ends a server that stays. Returns what was wrong with it, or None."""
    process.send_signal(signal.SIGTERM)  # without effect on one that has ended by itself
    status = process.wait()
    return None if status in (-signal.SIGTERM, 128 + signal.SIGTERM) else f"does not stay: it ended with {status}"


def end(process):
    """Ends a process group that is still there."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def wait(process, until):
    """Its status, or None if it runs for too long."""
    try:
        return process.wait(max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        return None


def spoken(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        lines = [line.strip() for line in f if line.strip()]
    return lines[-1][:150] if lines else "nothing said"


def run_row(row, folder, environment):
    """None if the row passes, else what went wrong."""
    outputs = [os.path.join(folder, f"{row.name}.{side}") for side in ("server", "client")]
    until = time.monotonic() + LIMIT
    processes = []

    def begin(side, words, output):
        with open(output, "wb") as f:
            processes.append(subprocess.Popen(row.where.words(side, words, os.path.dirname(row.copy)), stdin=subprocess.DEVNULL, stdout=f, stderr=subprocess.STDOUT,
                                              start_new_session=True, env=environment))
        return processes[-1]

    if row.copies:
        with open(row.source, "wb") as f:
            f.write(os.urandom(300001))
    try:
        server = begin("server", row.server, outputs[0])
        while not row.where.listens(row.port):
            if server.poll() is not None:
                return f"server ended with {server.returncode} before it listened: {spoken(outputs[0])}"
            if time.monotonic() > until:
                return "server does not listen"
            time.sleep(0.01)
        client = begin("client", row.client, outputs[1])
        for side, process, output in (("client", client, outputs[1]), ("server", server, outputs[0])):
            if side == "server" and row.stays:
                wrong = end_server(process)
                if wrong:
                    return f"server {wrong}: {spoken(output)}"
                continue
            status = wait(process, until)
            if status != 0:
                how = "does not end" if status is None else f"ended with {status}"
                return f"{side} {how}: {spoken(output)}"
        if row.copies and not filecmp.cmp(row.source, row.copy, shallow=False):
            return "the copy differs"
        return None
    finally:
        for process in processes:
            end(process)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run")
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--keep")
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--under", type=shlex.split, default=[])
    parser.add_argument("--table", default=os.path.join(HERE, "stock_programs.csv"))
    parser.add_argument("--siw", choices=("server", "client"))
    parser.add_argument("--drivers", type=lambda text: text.split(","))
    words = parser.parse_intermixed_args()
    run = os.path.abspath(words.run)
    where = BetweenDrivers(words.drivers) if words.drivers else BesideSiw(run, words.siw) if words.siw else Here(run)
    environment = dict(os.environ, **dict(e.split("=", 1) for e in words.env))
    counts = {"pass": 0, "FAIL": 0, "skip": 0}
    with tempfile.TemporaryDirectory() as scratch, open(words.table, newline="", encoding="ascii") as f:
        folder = words.keep or scratch
        os.makedirs(folder, exist_ok=True)
        for fields in csv.DictReader(f):
            row = Row(fields, scratch, where, words.under)
            if (words.quick and not row.quick) or (
                    words.patterns and not any(fnmatch.fnmatch(row.name, p) for p in words.patterns)):
                continue
            missing = row.missing()
            began = time.monotonic()
            wrong = None if missing else run_row(row, folder, environment)
            verdict = "skip" if missing else "FAIL" if wrong else "pass"
            counts[verdict] += 1
            why = f"  {missing} is not installed" if missing else f"  {wrong}" if wrong else ""
            print(f"{verdict}  {row.name:20} {time.monotonic() - began:6.1f} s{why}", flush=True)
    print(", ".join(f"{n} {what}" for what, n in counts.items()))
    if counts["FAIL"]:
        return 1
    return 0 if counts["pass"] else harness.SKIPPED


if __name__ == "__main__":
    sys.exit(main())
