#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs rdma-core's own tests of pyverbs on the verbs library, and compares their outcomes with a table that gives reasons.

usage: check_pyverbs.py IWARP-RUN [--table FILE] [--source FOLDER] [--all] [--keep FILE] [PATTERN...]

Needs Debian's package python3-pyverbs, which has the tests among its documents; they are copied to a temporary folder. --source names a folder of
others, the one with `tests/` in it. Nothing of them is part of this project.
The table, pyverbs.csv beside this script if no other is named, has a row for each test that does not pass: its name, with * for several;
`skip`, `fail`, or `either` if time decides whether it passes or fails; and why. Prints one line for each test without a row that does not pass, for each row that no longer holds (its
test passes, ends otherwise, or is gone), and a summary; --all prints every outcome. Those of other drivers' devices are left out (MODULES).
PATTERN chooses tests by their names; rows without a test are then no problem. --keep leaves what the tests said in FILE.
Ends with status 0, 1 if there is a problem, 77 if the package is not installed.

What is set for the tests, because they were written for devices in /sys and for InfiniBand: the device has the address 127.0.0.1; a free port instead
of always the same one; queue pairs that they would connect by their numbers are connected by rdma_cm; and a Write may be placed in
the peer's memory before that is read.
"""
import argparse
import csv
import fnmatch
import glob
import gzip
import importlib
import os
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", ".."))
import harness  # noqa: E402
import matrix  # noqa: E402

LIMIT = 120  # s, for one test; only one that hangs takes as long
PASS, SKIP, FAIL = "pass", "skip", "fail"
ALLOWED = {"skip": {SKIP}, "fail": {FAIL}, "either": {PASS, FAIL}}  # by a row's outcome
STATUSES = {0: PASS, 5: SKIP}  # how the process of one test ends; all others: FAIL
MODULES = "test_*.py"
OTHER_DEVICES = ("cuda", "efa", "hns", "mlx5")  # modules of tests for drivers that are not there
PACKAGE, TESTS = "python3-pyverbs", "usr/share/doc/rdma-core/tests"
DEVICE, ADDRESS = "iwarp0", "127.0.0.1"
RESET = 0  # IBV_QPS_RESET
STEPS = 100  # more than a message needs that loopback delivers at once
PYTHON = "/usr/bin/python3"  # for which the package is made


class Missing(Exception):
    """The tests cannot be had."""


# ---- where the tests are ----

def package(folder):
    """Returns the folder of the package's documents, which a system may leave out when it installs: then of the package, fetched again."""
    asked = subprocess.run(["dpkg-query", "-W", "-f=${Package}=${Version}", PACKAGE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    if asked.returncode != 0:
        raise Missing(f"{PACKAGE} is not installed")
    if os.path.isdir(os.path.join("/", TESTS)):
        return "/"
    for words in (["apt-get", "-qq", "download", asked.stdout], ["sh", "-c", "dpkg-deb -x *.deb ."]):
        done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise Missing(f"{asked.stdout} cannot be fetched: {last_line(done.stdout)}")
    return folder


def fetch(folder):
    """Copies the tests into a folder, in which they are in `tests/`."""
    source = os.path.join(package(folder), TESTS)
    if not os.path.isdir(source):
        raise Missing(f"{PACKAGE} has no tests in {TESTS}")
    os.mkdir(os.path.join(folder, "tests"))
    for name in os.listdir(source):
        with (gzip.open if name.endswith(".gz") else open)(os.path.join(source, name), "rb") as f:
            octets = f.read()
        with open(os.path.join(folder, "tests", name.removesuffix(".gz")), "wb") as f:
            f.write(octets)
    return folder


# ---- one test, inside of iwarp-run ----

def prepare(source):
    """Makes the tests importable, and tells them what they would look for in /sys."""
    sys.path[:0] = [source, os.path.join(source, "tests")]
    sys.argv[1:] = ["--dev", DEVICE]
    importlib.import_module("args_parser").parser.parse_args()
    place_before_reading(importlib.import_module("tests.utils"))
    base = importlib.import_module("tests.base")
    base.RDMATestCase._get_ip_mac = lambda self, device, port, gid: self.args.append([device, port, gid, ADDRESS, None])
    connected = base.RDMACMBaseTest.two_nodes_rdmacm_traffic

    def on_a_free_port(self, *words, **more):
        return connected(self, *words, **{"port": str(harness.free_port()), **more})

    base.RDMACMBaseTest.two_nodes_rdmacm_traffic = on_a_free_port
    base.RCResources.to_rts = connect_all


def place_before_reading(utils):
    """The tests read the peer's memory once a Write is completed, which on iWARP says that it has left: gives the peer, which is this process, the
    occasion to place it, by polling a queue that gets no entries."""
    poll = utils._poll_cq

    def poll_and_place(*words):
        entries = poll(*words)
        for _ in range(STEPS if Connections.idle else 0):
            Connections.idle.poll(1)
        return entries

    utils._poll_cq = poll_and_place


class Connections:
    """What keeps the connections of queue pairs, and those that have no peer yet, by their numbers."""
    waiting, kept = {}, []
    idle = None  # a completion queue


def connect_all(resources):
    """In place of RCResources.to_rts, which connects queue pairs by their numbers: connects them with rdma_cm, once both ends are there."""
    for qp, peer in zip(resources.qps, resources.rqps_num):
        if qp.qp_state == RESET:  # as to_rts: some were made with attributes of their own
            qp.to_init(resources.create_qp_attr())
        if peer in Connections.waiting:
            connect(qp, Connections.waiting.pop(peer))
        else:
            Connections.waiting[qp.qp_num] = qp


def connect(active, passive):
    """Connects two queue pairs of this process."""
    device, cq = importlib.import_module("pyverbs.device"), importlib.import_module("pyverbs.cq")
    Connections.idle = Connections.idle or cq.CQ(device.Context(name=DEVICE), 1, None, None, 0)
    cmid, cm = importlib.import_module("pyverbs.cmid"), importlib.import_module("pyverbs.cm_enums")
    channel, port = cmid.CMEventChannel(), str(harness.free_port())
    listener, connector = cmid.CMID(creator=channel), cmid.CMID(creator=channel)

    def event(kind):
        found = cmid.CMEvent(channel)
        if found.event_type != kind:
            raise RuntimeError(f"connecting: {found.event_str()}")
        return found

    listener.bind_addr(cmid.AddrInfo(src=ADDRESS, src_service=port, port_space=cm.RDMA_PS_TCP, flags=cm.RAI_PASSIVE))
    listener.listen()
    connector.resolve_addr(cmid.AddrInfo(src=ADDRESS, dst=ADDRESS, dst_service=port, port_space=cm.RDMA_PS_TCP))
    event(cm.RDMA_CM_EVENT_ADDR_RESOLVED).ack_cm_event()
    connector.resolve_route()
    event(cm.RDMA_CM_EVENT_ROUTE_RESOLVED).ack_cm_event()
    connector.connect(cmid.ConnParam(qp_num=active.qp_num))
    request = event(cm.RDMA_CM_EVENT_CONNECT_REQUEST)
    accepted = cmid.CMID(creator=request, listen_id=listener)
    request.ack_cm_event()
    accepted.accept(cmid.ConnParam(qp_num=passive.qp_num))
    for _ in range(2):
        event(cm.RDMA_CM_EVENT_ESTABLISHED).ack_cm_event()
    Connections.kept += [channel, listener, connector, accepted]


def names_of(suite):
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from names_of(one)
        else:
            yield one.id()


def list_inside(source):
    """Prints the names of all tests, and lines with `cannot` for modules that cannot be imported."""
    prepare(source)
    for path in sorted(glob.glob(os.path.join(source, "tests", MODULES))):
        module = os.path.basename(path)[:-len(".py")]
        if any(f"_{device}" in module for device in OTHER_DEVICES):
            continue
        for name in names_of(unittest.defaultTestLoader.loadTestsFromName(f"tests.{module}")):
            print("cannot" if "_FailedTest" in name else "test", module if "_FailedTest" in name else name.removeprefix("tests."))
    return 0


def run_inside(source, name):
    prepare(source)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=0).run(unittest.defaultTestLoader.loadTestsFromName(f"tests.{name}"))
    for _, why in result.skipped:
        print(f"skipped: {why}")
    sys.stdout.flush()
    ended = 1 if not result.wasSuccessful() or result.testsRun != 1 else 5 if result.skipped else 0
    os._exit(ended)  # the interpreter's end is not the test's affair


# ---- all of them ----

class Tests:
    def __init__(self, run, source):
        self.words = [run, PYTHON, "-B", os.path.abspath(__file__), "--inside", source]

    def start(self, *words):
        """Runs this script inside of iwarp-run. Returns its status (None: it had to be ended) and what it said."""
        with tempfile.TemporaryFile() as said, subprocess.Popen([*self.words, *words], stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
                                                                start_new_session=True) as process:
            try:
                status = process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                matrix.end(process)  # with what it has left
            said.seek(0)
            return status, said.read().decode(errors="replace")

    def names(self):
        status, said = self.start("list")
        lines = [line.split() for line in said.splitlines()]
        if status != 0 or not lines:
            sys.exit(f"the tests cannot be listed: {last_line(said)}")
        for what, name in lines:
            if what == "cannot":
                sys.exit(f"{name} cannot be imported")
        return [name for _, name in lines]

    def run(self, name):
        """Its outcome, and what it said."""
        status, said = self.start(name)
        if status is None:
            said += f"does not end within {LIMIT} s\n"
        elif status < 0:
            said += f"ended by signal {-status}\n"
        return STATUSES.get(status, FAIL), said


def last_line(said):
    """What is worth a line of what a test said: the exception's, not unittest's summary after it."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(("Ran ", "FAILED (", "OK", "---", "==="))]
    return lines[-1][:200] if lines else "nothing said"


class Table:
    """What is known of tests that do not pass."""

    def __init__(self, path):
        with open(path, newline="", encoding="ascii") as f:
            self.rows = list(csv.DictReader(f))
        self.used = set()
        for row in self.rows:
            if row["outcome"] not in ALLOWED or not row["reason"]:
                sys.exit(f"{path}: {row['test']}: needs an outcome, {', '.join(ALLOWED)}, and a reason")

    def judge(self, name, outcome, said):
        """What is wrong with an outcome, or None."""
        for number, row in enumerate(self.rows):
            if fnmatch.fnmatchcase(name, row["test"]):
                self.used.add(number)
                return None if outcome in ALLOWED[row["outcome"]] else f"{name}: {outcome}, but the table says {row['outcome']} ({row['reason']})"
        return None if outcome == PASS else f"{name}: {outcome} without a reason in the table: {last_line(said)}"

    def unused(self):
        return [f"{row['test']}: no test has this name, but the table has a row for it" for n, row in enumerate(self.rows) if n not in self.used]


def check(tests, table, words):
    """Runs the tests. Returns the number of problems."""
    problems, counts = 0, {PASS: 0, SKIP: 0, FAIL: 0}
    keep = open(words.keep, "w", encoding="utf-8") if words.keep else None  # pylint: disable=consider-using-with
    for name in tests.names():
        if words.patterns and not any(fnmatch.fnmatchcase(name, p) for p in words.patterns):
            continue
        outcome, said = tests.run(name)
        counts[outcome] += 1
        wrong = table.judge(name, outcome, said)
        problems += wrong is not None
        if words.all or wrong:
            print(wrong or f"{outcome}  {name}", flush=True)
        if keep:
            print(f"==== {name}: {outcome}\n{said}", file=keep, flush=True)
    if keep:
        keep.close()
    for wrong in [] if words.patterns else table.unused():
        problems += 1
        print(wrong)
    print(", ".join(f"{n} {what}" for what, n in counts.items()) + f", {problems} problems")
    return problems


def main():
    if sys.argv[1:2] == ["--inside"]:
        source, what = sys.argv[2:]
        return list_inside(source) if what == "list" else run_inside(source, what)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run")
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--table", default=os.path.join(HERE, "pyverbs.csv"))
    parser.add_argument("--source")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--keep")
    words = parser.parse_intermixed_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends the test that runs, too
    table = Table(words.table)
    with tempfile.TemporaryDirectory() as folder:
        try:
            source = os.path.abspath(words.source) if words.source else fetch(folder)
        except Missing as missing:
            print(f"skipped: {missing}")
            return harness.SKIPPED
        return 1 if check(Tests(os.path.abspath(words.run), source), table, words) else 0


if __name__ == "__main__":
    sys.exit(main())
