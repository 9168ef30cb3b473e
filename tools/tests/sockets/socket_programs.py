#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs socket programs unchanged over iWARP sockets, compares what they transferred, and has iwarp-lint judge what was on the wire.

usage: socket_programs.py FOLDER-OF-PROGRAMS [--over iwarp|rsocket|tcp] [--tier ci|nightly] [--capture client|both|none] [--keep FOLDER] [--env NAME=VALUE]
       [--table FILE] [--limit S] [--ending S] [PATTERN...]

The rows are those of a table, socket_programs.csv beside this script if no other is named:
  id       PATTERNs choose rows by it
  tier     ci: rows that each build runs; nightly: the large ones. --tier ci runs the former, none runs all
  files    the files that there are before: NAME=SIZE, with random octets
  server   a shell command in which `serve` runs its words under the library, or @NAME, a server of socket_services.py that stays
  client   a shell script in which `run` runs its words under the library; it fails at the first command that fails
           in both, `under` runs its words with the library, but all sockets stay plain until the program sets them to iWARP (only over iwarp)
  compare  the files that have to be the same then, A=B; A^B if B may lack the end of A
  known    the reason, if the row is known not to run over iWARP: then it has to fail
{a} is the address (::1 if the id ends with -6), {h} the same in a URL, {p} a free port, {python} the interpreter, {here} this folder; the folder of the row is the current one.
A row passes if all commands end with status 0, the files are the same, each capture has iWARP connections with messages and no finding, and no process and no
listener is left. --over tcp runs the programs as they are, rsocket with the distribution's librspreload under iwarp-run.
--capture says which end records (client), --env sets a variable for what runs under the library. --limit is the time that a row has, --ending the time that a server which is told to end has,
in seconds: guards, which only rows that fail need. Ends with status 0 if no row has failed, 77 if no row could be run.
"""
import argparse
import csv
import filecmp
import fnmatch
import glob
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", ".."))
sys.path.insert(0, os.path.join(HERE, "..", "verbs"))
import harness  # noqa: E402
import matrix  # noqa: E402
import socket_services  # noqa: E402

LIMITS = {"ci": 180, "nightly": 900}
ENDING = 60
RSPRELOAD = "/usr/lib/*/rsocket/librspreload.so"
MARK = "IW_SOCKETS_ROW"  # a variable of the environment, by which processes that are left are found
OTHER_PORT = 1  # nobody uses it
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class Library:
    """How a program is run: what stands before its words."""

    def __init__(self, over, folder, captures, variables):
        self.over, self.folder, self.captures, self.variables = over, os.path.abspath(folder), captures, variables

    def prefix(self, side, port):
        """The words, as a shell takes them."""
        words = ["env", *self.variables]
        if self.over == "tcp":
            return shlex.join(words)
        words.append(os.path.join(self.folder, "iwarp-run"))
        if self.over == "iwarp":
            words += ["--sockets", "--listen-port" if side == "server" else "--port", str(port)]
        text = shlex.join(words)
        if self.captures in (side, "both"):
            text += f' --capture "$(mktemp -u "$PWD/{side}.XXXXXX").pcapng"'
        if self.over == "rsocket":
            preload = glob.glob(RSPRELOAD)
            if not preload:
                harness.skip("librspreload is not installed")
            text += f""" sh -c 'LD_PRELOAD="$LD_PRELOAD:{preload[0]}" exec "$@"' sh"""
        return text

    def judge(self, folder):
        """What is wrong with the captures of a row, or None."""
        if self.over == "tcp" or self.captures == "none":
            return None
        captures = sorted(glob.glob(os.path.join(glob.escape(folder), "*.pcapng")))
        if not captures:
            return "no capture"
        messages = 0
        for capture in captures:
            ran = subprocess.run([os.path.join(self.folder, "iwarp-lint"), "--require", "--summary", "--json", capture], stdin=subprocess.DEVNULL,
                                 capture_output=True, text=True, check=False)
            lines = [json.loads(line) for line in ran.stdout.splitlines()]
            findings = [f"{line['rule']}: {line['text']}" for line in lines if line["type"] == "finding"]
            if ran.returncode:
                return f"iwarp-lint ended with {ran.returncode} for {os.path.basename(capture)}: {'; '.join(findings[:3]) or ran.stderr.strip()[-150:]}"
            messages += sum(count_messages(line) for line in lines if line["type"] == "connection")
        return None if messages else "no message of RDMAP in the captures"


def count_messages(connection):
    """The RDMAP messages of a connection, by its summary."""
    return sum(kind["messages"] for side in ("initiator", "responder") for kind in connection[side]["messages"].values())


class Row:
    def __init__(self, fields):
        self.name, self.tier, self.known = fields["id"], fields["tier"], fields["known"]
        self.files = dict(word.split("=") for word in fields["files"].split())
        self.server, self.client = fields["server"], fields["client"]
        self.compare = fields["compare"].split()

    def make_files(self, place):
        for name, size in self.files.items():
            left = int(size.rstrip("KMG")) * UNITS.get(size[-1], 1)
            os.makedirs(os.path.dirname(place.at(name)), exist_ok=True)
            with open(place.at(name), "wb") as file:
                while left:
                    left -= file.write(os.urandom(min(left, 1 << 20)))

    def differing(self, place):
        """The first pair of files that is not as it should be, or None."""
        for pair in self.compare:
            part = "^" in pair
            first, second = (place.at(name) for name in pair.split("^" if part else "="))
            if not os.path.isfile(second):
                return f"{pair}: no such file"
            if part:
                size = os.path.getsize(second)
                ran = subprocess.run(["cmp", "-n", str(size), first, second], check=False, capture_output=True)
                if not size or ran.returncode:
                    return f"{pair} differ"
            elif not filecmp.cmp(first, second, shallow=False):
                return f"{pair} differ: {os.path.getsize(first)} and {os.path.getsize(second)} octets"
        return None


def marked(mark):
    """The processes whose environment has this mark."""
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            if f"{MARK}={mark}".encode() in harness.octets(path):
                found.append(int(path.split("/")[2]))
        except OSError:
            pass  # it has ended, or is somebody else's
    return found


def await_none(what, seconds):
    """Whether `what` becomes empty in time."""
    until = time.monotonic() + seconds
    while what():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


class Try:
    """One run of a row."""

    def __init__(self, row, library, folder, limit, ending):
        self.row, self.library, self.ending = row, library, ending
        self.place = socket_services.Place(folder, "::1" if row.name.endswith("-6") else "127.0.0.1", harness.free_port(),
                                            library.folder)
        self.mark = f"{os.getpid()}.{row.name}"
        self.environment = dict(os.environ, **{MARK: self.mark})
        self.until = time.monotonic() + (limit or LIMITS[row.tier])
        self.server = None

    def fill(self, text):
        known = {"a": self.place.address, "h": self.place.host, "p": str(self.place.port), "here": shlex.quote(HERE), "python": shlex.quote(sys.executable)}
        for name, value in known.items():
            text = text.replace("{" + name + "}", value)
        return text

    def begin(self, side, text):
        word = "serve" if side == "server" else "run"
        functions = "".join(f'{name}() {{ {self.library.prefix(side, port)} "$@"; }}\n' for name, port in ((word, self.place.port), ("under", OTHER_PORT)))
        script = f"set -eu\n{functions}{self.fill(text)}"
        with open(self.place.at(f"{side}.output"), "wb") as output:
            return subprocess.Popen(["sh", "-c", script], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                                    cwd=self.place.folder, env=dict(self.environment, **self.place.environment))

    def said(self, side):
        return matrix.spoken(self.place.at(f"{side}.output"))

    def status(self, process):
        try:
            return process.wait(max(0.0, self.until - time.monotonic()))
        except subprocess.TimeoutExpired:
            return None

    def transfer(self):
        """Runs both ends. Returns what went wrong, or None."""
        stays = self.row.server.startswith("@")
        text = self.row.server
        if stays:
            text = "serve " + shlex.join(socket_services.SERVICES[text[1:]](self.place))
        self.row.make_files(self.place)
        self.server = self.begin("server", text)
        while not harness.listens(self.place.port):
            if self.server.poll() is not None:
                return f"server ended with {self.server.returncode} before it listened: {self.said('server')}"
            if time.monotonic() > self.until:
                return f"server does not listen: {self.said('server')}"
            time.sleep(0.01)
        client = self.begin("client", self.row.client)
        try:
            status = self.status(client)
        finally:
            socket_services.end_group(client, 1)
        if status != 0:
            return f"client {'does not end' if status is None else f'ended with {status}'}: {self.said('client')}; server: {self.said('server')}"
        if stays:
            if self.server.poll() is not None:
                return f"server does not stay: it ended with {self.server.returncode}: {self.said('server')}"
            if not socket_services.end_group(self.server, self.ending):
                return f"server does not end: {self.said('server')}"
        else:
            status = self.status(self.server)
            if status != 0:
                return f"server {'does not end' if status is None else f'ended with {status}'}: {self.said('server')}"
        return None

    def run(self):
        """Returns what went wrong, or None."""
        try:
            wrong = self.transfer() or self.row.differing(self.place)
            if not wrong and not await_none(lambda: marked(self.mark), self.ending):
                wrong = "processes are left"
            if not wrong and not await_none(lambda: harness.listens(self.place.port), self.ending):
                wrong = "the port still listens"
            return wrong or self.library.judge(self.place.folder)
        finally:
            if self.server is not None:
                socket_services.end_group(self.server, 1)
            for process in marked(self.mark):
                try:
                    os.kill(process, 9)
                except ProcessLookupError:
                    pass
            self.place.leave()


def run_row(row, library, scratch, keep, **guards):
    """A verdict and what is to be said of it."""
    folder = os.path.join(scratch, row.name)
    os.mkdir(folder, 0o755)
    try:
        wrong = Try(row, library, folder, **guards).run()
    except socket_services.Missing as missing:
        return "skip", str(missing)
    finally:
        if keep:
            shutil.rmtree(os.path.join(keep, row.name), ignore_errors=True)
            shutil.copytree(folder, os.path.join(keep, row.name), ignore=shutil.ignore_patterns("data", "www", *row.files), symlinks=True)
        shutil.rmtree(folder)
    if row.known and library.over == "iwarp":
        return ("known", f"{row.known}: {wrong}") if wrong else ("FAIL", f"passes, though it is known not to ({row.known})")
    return ("FAIL", wrong) if wrong else ("pass", "")


def is_wanted(row, words):
    if (words.over != "iwarp" and row.server.startswith("under ")) or (words.tier and row.tier != words.tier):
        return False
    return not words.patterns or any(fnmatch.fnmatch(row.name, p) for p in words.patterns)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--over", choices=("iwarp", "rsocket", "tcp"), default="iwarp")
    parser.add_argument("--tier", choices=sorted(LIMITS))
    parser.add_argument("--capture", choices=("client", "both", "none"), default="client")
    parser.add_argument("--keep")
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--limit", type=float)
    parser.add_argument("--ending", type=float, default=ENDING)
    parser.add_argument("--table", default=os.path.join(HERE, "socket_programs.csv"))
    words = parser.parse_intermixed_args()
    library = Library(words.over, words.folder, words.capture, words.env)
    counts = {"pass": 0, "FAIL": 0, "known": 0, "skip": 0}
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o755)  # servers run as users without privileges
        for row in map(Row, csv.DictReader(harness.read(words.table).splitlines())):
            if not is_wanted(row, words):
                continue
            began = time.monotonic()
            verdict, why = run_row(row, library, scratch, words.keep, limit=words.limit, ending=words.ending)
            counts[verdict] += 1
            print(f"{verdict:5} {row.name:24} {time.monotonic() - began:6.1f} s{'  ' + why if why else ''}", flush=True)
    print(", ".join(f"{n} {what}" for what, n in counts.items()))
    if counts["FAIL"]:
        return 1
    return 0 if counts["pass"] else harness.SKIPPED


if __name__ == "__main__":
    sys.exit(main())
