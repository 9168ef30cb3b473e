#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the tests and benchmarks in Python share: programs that are run and have to end well, peers that listen, what has to hold.

ctest and tools/dev put this folder on PYTHONPATH, so that `import harness` finds it. To run a test by hand:
tools/harness.py TEST ARGUMENT...
"""
import base64
import concurrent.futures
import inspect
import json
import os
import random
import re
import resource
import signal
import socket
import subprocess
import sys
import zlib

SKIPPED = 77  # the exit status that ctest takes for "skipped"


def start(main, usage):
    """Calls main with the words of the command line; ends the test with the usage if they are too few or too many, else
    with the status that main returns."""
    try:
        inspect.signature(main).bind(*sys.argv[1:])
    except TypeError:
        sys.exit(usage)
    sys.exit(main(*sys.argv[1:]))


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


# ---- what has to hold ----

_wrong = []


def check(holds, what, *seen):
    """Ends the test unless it holds."""
    if not holds:
        sys.exit("\n".join([f"not so: {what}", *map(str, seen)]))
    print(f"ok - {what}")


def complain(*texts):
    """Records what is wrong; the test goes on, to conclude()."""
    _wrong.extend(texts)


def expect(what, holds, seen=""):
    """Complains unless it holds."""
    if not holds:
        complain(f"{what}: {seen}")


def equal(what, seen, wanted):
    """Complains unless what was seen is what was wanted."""
    expect(what, seen == wanted, f"{seen!r} instead of {wanted!r}")


def conclude(good="good"):
    """Ends the test: prints what is wrong, else `good`."""
    print(*(_wrong or [good]), sep="\n")
    sys.exit(1 if _wrong else 0)


def side_by_side(calls, most):
    """Makes all calls, `most` at a time. Ends the test if one has ended with an exception, once all have ended."""
    with concurrent.futures.ThreadPoolExecutor(most) as pool:
        running = [pool.submit(call) for call in calls]
    return [one.result() for one in running]


# ---- files ----

def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def octets(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def load(*path):
    """The JSON value that a file holds."""
    return json.loads(read(*path))


def page_data(*path):
    """The data of a page of iwarp-conform."""
    return json.loads(zlib.decompress(base64.b64decode(re.search('id="data">([^<]*)<', read(*path)).group(1))))


def report_text(*path):
    """A report of iwarp-conform as text; a page's data as JSON."""
    return json.dumps(page_data(*path)) if path[-1].endswith(".html") else read(*path)


def installed_programs():
    """The programs of packaging/programs.csv, in its order."""
    table = read(os.path.dirname(os.path.abspath(__file__)), "packaging", "programs.csv")
    return [line.split(",")[0] for line in table.splitlines()[1:]]


def lines_of(text):
    """The JSON values of a text or of octets, one a line."""
    return [json.loads(line) for line in text.splitlines()]


def write(path, text):
    """Writes a text or octets; makes the folder. Returns the path."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(text if isinstance(text, (bytes, bytearray)) else text.encode())
    return path


def script(path, text):
    """Writes a program. Returns its path."""
    write(path, text)
    os.chmod(path, 0o755)
    return path


# ---- ports ----

LEAST_PORT = 10000


def free_port(host=""):
    """A TCP port that nobody has, if possible not of the range that the system gives to connections: one may be taken at any moment."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        range_begins = int(file.read().split()[0])
    while True:
        with socket.socket() as one:
            try:
                one.bind((host, random.randrange(LEAST_PORT, range_begins) if range_begins > LEAST_PORT + 1000 else 0))
            except OSError:
                continue
            return one.getsockname()[1]


# ---- programs ----

def run(*command, status=0, **more):
    """Runs a program to its end; it has no input but what `input` or `stdin` gives. Ends the test unless the exit status is
    `status`, or one of them; None: any. Returns what subprocess.run() does, with its output as text unless text=False."""
    if "input" not in more:
        more.setdefault("stdin", subprocess.DEVNULL)
    if "stdout" not in more and "stderr" not in more:
        more["capture_output"] = True
    done = subprocess.run(command, check=False, **{"text": True, **more})
    if status is not None and done.returncode not in ((status,) if isinstance(status, int) else status):
        said = [text if isinstance(text, str) else text.decode(errors="replace") for text in (done.stdout, done.stderr) if text]
        sys.exit("%s: exit %d, expected %s\n%s" %
                 (" ".join(map(str, command))[:1000], done.returncode, status, "".join(text[-3000:] for text in said)))
    return done


def suite(conform, results, *words, **more):
    """Plays cases (iwarp-conform run), with the folder `results`. Returns the report."""
    run(conform, "run", "--results", results, *words, **more)
    return load(results, "run.json")


class Bench:
    """A program, and the folder in which it is run."""

    def __init__(self, program, folder):
        self.program, self.folder = os.path.abspath(program), os.path.realpath(folder)
        os.makedirs(self.folder, exist_ok=True)

    def at(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text):
        return write(self.at(name), text)

    def run(self, status, *words, **more):
        return run(self.program, *words, status=status, cwd=self.folder, **more)

    def refused(self, what, *words, status=64, says=()):
        """Checks that the program refuses these words by one line, which holds all these texts."""
        done = self.run(None, *words)
        check(done.returncode == status and done.stdout == "" and done.stderr.count("\n") == 1 and all(text in done.stderr for text in says),
              what, f"exit {done.returncode}, expected {status} and one line with {' and '.join(says)}", done.stdout, done.stderr)
        return done.stderr


GUARD = 600  # s; for a program that does not end
LISTENING = r"\w+ on (?P<host>\S+):(?P<port>\d+)"


def end(process, number=signal.SIGTERM, status=0):
    """Ends a program by a signal; None: waits until it has ended by itself. Ends the test unless its exit status is `status`; None: any.
    Returns what it wrote on standard error, if that is a pipe."""
    if number is not None:
        process.send_signal(number)
    said = process.communicate(timeout=GUARD)[1]
    if status is not None and process.returncode != status:
        by = number.name if number is not None else "itself"
        sys.exit(f"{' '.join(map(str, process.args))[:1000]}: ended by {by} with {process.returncode}, expected {status}\n{said or ''}")
    return said


class Peer:
    """A program that first prints where it can be reached; `says` matches what it prints, without the last line's end, and names
    the parts `host` and `port` that there are. Leaving ends it, or waits for its end if it is one that `ends` by itself; it has to end
    well, unless `strict` is false."""

    def __init__(self, *command, says=LISTENING, strict=True, ends=False, **more):
        self.strict, self.ends = strict, ends
        self.process = subprocess.Popen(command, text=True, stdout=subprocess.PIPE,
                                        **{"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **more})
        text = "".join(self.process.stdout.readline() for _ in says.splitlines())
        self.said = re.fullmatch(says + "\n", text)
        if not self.said:
            self.process.kill()
            self.process.wait()
            sys.exit(f"{command[0]} said, instead of its address: {text}")
        found = self.said.groupdict()
        self.host, self.port = found.get("host"), int(found.get("port", 0))
        self.address = f"{self.host}:{self.port}"

    def __enter__(self):
        return self

    def end(self, number=signal.SIGTERM, status=0):
        return end(self.process, number, status)

    def __exit__(self, kind, *_):
        if not self.process.stdout.closed:
            self.end(None if self.ends and kind is None else signal.SIGTERM, 0 if self.strict and kind is None else None)


def listening(program, *options, host="127.0.0.1", **more):
    """iwarp-peer on a port that the system chooses."""
    return Peer(program, "listen", f"{host}:0", *options, **more)


# ---- TCP sockets ----

TCP_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
TIME_WAIT, LISTEN = "06", "0A"  # states there


def tcp_states(*ports, tables=None):
    """The states of the TCP sockets that have one of these ports at either end: those of this host, or of the text of other tables."""
    text = tables if tables is not None else "".join(map(read, TCP_TABLES))
    rows = [row for row in map(str.split, text.splitlines()) if len(row) > 3 and row[0] != "sl"]
    return [row[3] for row in rows if {int(end.rsplit(":", 1)[1], 16) for end in row[1:3]} & set(ports)]


def listens(port, tables=None):
    """Whether somebody listens on a TCP port, on this host or by the text of other tables."""
    return LISTEN in tcp_states(port, tables=tables)


# ---- what killed programs may leave ----

def end_groups(processes):
    """Ends process groups by SIGKILL. Returns the command lines of those that were still there."""
    found = []
    for process in processes:
        try:
            os.killpg(process.pid, signal.SIGKILL)
            found.append(process.args)
        except ProcessLookupError:
            pass
        process.wait()
    return found


class LeftFiles:
    """The files of this project in folders of shared memory and temporary files: none may be added while a test runs."""
    FOLDERS = ("/dev/shm", "/run", "/var/tmp")

    def __init__(self):
        self.before = {folder: set(os.listdir(folder)) for folder in self.FOLDERS if os.path.isdir(folder)}

    def check(self):
        for folder, names in self.before.items():
            equal(f"left in {folder}", [name for name in set(os.listdir(folder)) - names if "iwarp" in name or "rdma" in name], [])


# ---- memory ----

def sanitized(program):
    """True if the program was built with a sanitizer that has memory of its own: with one, nothing can be bounded."""
    return re.search(rb"__[amt]san_init", octets(program)) is not None


def peak():
    """The most KiB that one process of those that this one has waited for ever had in memory."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss


def check_memory(program, most):
    """Ends the test if a process had more than `most` KiB in memory."""
    if not sanitized(program):
        check(peak() <= most, f"at most {most // 1024} MiB of memory", f"{peak()} KiB")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    os.environ["PYTHONPATH"] = os.path.dirname(os.path.abspath(__file__))
    os.execv(sys.executable, [sys.executable, "-B", *sys.argv[1:]])
