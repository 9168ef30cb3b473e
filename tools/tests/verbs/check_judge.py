#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What iwarp-run --judge finds about rping on both sides, and what it leaves: lines, a capture, a report, an exit status.

usage: check_judge.py IWARP-RUN IWARP-LINT
"""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import harness

LIMIT = 60  # s; a guard
OF_RPING = re.compile("(server|client) DISCONNECT|wait for |cq completion|cma event|rdma_")
UNKNOWN = "unknown from here"  # only if a second FPDU with a wrong CRC came before the connection was closed
CRC = "MPA-4.4-11 (MUST): the CRC of an FPDU does not match its octets [mpa-crc; initiator 127.0.0.1:"


def guard(what, holds):
    if not holds:
        harness.check(False, what)


class Bench(harness.Bench):
    def __init__(self, run, folder):
        super().__init__(run, folder)
        self.environment = dict(os.environ, TMPDIR=folder)

    def begin(self, *words):
        return subprocess.Popen([self.program, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                text=True, env=self.environment)

    def listening(self, *words):
        """A server, once it listens, and its port."""
        port = str(harness.free_port())
        server = self.begin(*words, "-a", "127.0.0.1", "-p", port)
        end = time.monotonic() + LIMIT
        while not harness.listens(int(port)):
            guard("the server listens", time.monotonic() < end and server.poll() is None)
            time.sleep(0.01)
        return server, port

    def pair(self, server_words, client_words, count=3, more=()):
        """Runs a server and a client: the status and what each printed on standard error, without rping's own lines."""
        server, port = self.listening(*server_words, "rping", "-s", *more)
        client = self.begin(*client_words, "rping", "-c", "-a", "127.0.0.1", "-p", port, "-C", str(count), *more)
        ends = []
        for end in (server, client):
            _, text = end.communicate(timeout=LIMIT)
            ends.append((end.returncode, [line for line in text.splitlines() if not OF_RPING.match(line)]))
        return ends

    def left(self):
        """The folders of iwarp-run."""
        return [self.at(name) for name in os.listdir(self.folder) if name.startswith("iwarp-run-")]

    def written(self):
        """What the processes that are judged have written so far."""
        return "".join(harness.read(folder, name) for folder in self.left() for name in os.listdir(folder) if name.endswith(".jsonl"))


def child_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return int(f.read().split()[0])


def check_clean(bench):
    for status, lines in bench.pair(["--judge=fail"], ["--judge"]):
        harness.equal("status of a clean end", status, 0)
        harness.equal("of a clean end", lines, ["iwarp-run: 1 connection, findings: 0 of the peer (0 MUST), 0 of this side"])


def check_broken(bench, lint):
    capture, report = bench.at("run.pcapng"), bench.at("run.txt")
    (status, lines), (_, own) = bench.pair(["--judge=fail", "--capture", capture, "--report", report], ["--violate", "mpa-crc", "--judge"])
    harness.equal("status: the peer broke a MUST", status, 1)
    harness.expect("the finding", re.match(re.escape(f"{capture}:6: {CRC}"), lines[0]), lines)
    harness.equal("the total", lines[-1], "iwarp-run: 1 connection, findings: 1 of the peer (1 MUST), 0 of this side")
    harness.equal("the total of who broke it", own[-1], "iwarp-run: 1 connection, findings: 0 of the peer (0 MUST), 1 of this side")
    judged = subprocess.run([lint, capture], capture_output=True, text=True, check=False).stdout.splitlines()
    harness.equal("iwarp-lint finds the same in the capture", [line for line in judged if UNKNOWN not in line],
                  [line for line in lines[:-1] if UNKNOWN not in line])
    harness.expect("the comment", CRC.encode() in harness.octets(capture))
    text = harness.read(report)
    for part in ("Command   rping -s -a 127.0.0.1", "Ended     with status 0", "Findings: 1 connection", lines[0], "CRC on, Markers off"):
        harness.expect(f"the report has {part}", part in text, text)


def check_json(bench):
    (status, lines), _ = bench.pair(["--json"], ["--violate", "mpa-crc"])
    found = [json.loads(line) for line in lines]
    harness.equal("status without fail", status, 0)
    harness.equal("types", [line["type"] for line in found if line["type"] != "unknown"], ["finding", "total"])
    harness.equal("rule", (found[0]["rule"], found[0]["by"], found[0]["program"]), ("MPA-4.4-11", "peer", "rping"))


def check_trace(bench):
    """Each end traces its start-up and its FPDUs; what one has sent the other has received."""
    traces = [bench.at(name) for name in ("server.trace", "client.trace")]
    bench.pair(["--trace", traces[0]], ["--trace", traces[1]])
    server, client = ([line for line in harness.lines_of(harness.read(trace)) if line["kind"] not in ("state", "fpdu-early")] for trace in traces)
    harness.equal("the server's start-up", [line["kind"] for line in server[:2]], ["startup-in", "startup-out"])
    for ours, theirs in (("in", "out"), ("out", "in")):
        harness.equal(f"what went {ours} at the server", [line["text"] for line in server if line["kind"].endswith("-" + ours)],
                      [line["text"] for line in client if line["kind"].endswith("-" + theirs)])
    harness.expect("FPDUs are traced", len(server) > 6, len(server))


def check_killed(bench):
    """What was found before the program was killed is there."""
    server, port = bench.listening("--judge", "rping", "-s", "-P")
    client = bench.begin("--violate", "mpa-crc", "rping", "-c", "-a", "127.0.0.1", "-p", port, "-C", "1")
    client.communicate(timeout=LIMIT)
    end = time.monotonic() + LIMIT
    while '"finding"' not in bench.written():
        guard("the finding is written at once", time.monotonic() < end)
        time.sleep(0.01)
    os.kill(child_of(server.pid), signal.SIGKILL)
    _, text = server.communicate(timeout=LIMIT)
    harness.expect("the finding of one killed", f"connection 0: {CRC}" in text, text)
    harness.expect("it did not end in order", "has not ended in order" in text, text)
    harness.equal("its status", server.returncode, 137)


def check_signals(bench):
    server, _ = bench.listening("--judge", "rping", "-s")
    server.terminate()
    _, text = server.communicate(timeout=LIMIT)
    harness.equal("status after SIGTERM", server.returncode, 143)
    harness.expect("the total after SIGTERM", "0 connections" in text, text)


def check_bound(bench):
    capture = bench.at("large.pcapng")
    (status, _), _ = bench.pair(["--capture", capture, "--capture-size", "1"], [], count=100, more=("-S", "60000"))
    harness.equal("status", status, 0)
    octets = harness.octets(capture)
    harness.expect("the capture is bounded", 500000 < len(octets) < 1 << 20, len(octets))
    harness.expect("the capture says so", b"Not everything is here" in octets)


def check_refused(bench):
    for words, status, part in ((("--judge=maybe", "true"), 64, "--judge maybe: expected fail"),
                                (("--capture", "x", "--report", "x", "true"), 64, "is the file of --capture"),
                                (("--trace", "x", "--report", "x", "true"), 64, "--trace x: is the file of --report"),
                                (("--capture", "/no/such/folder/x", "true"), 73, "cannot write /no/such/folder/x"),
                                (("--trace", "/no/such/folder/x", "true"), 73, "--trace: cannot write /no/such/folder/x")):
        end = bench.begin(*words)
        _, text = end.communicate(timeout=LIMIT)
        harness.equal(f"status of {words}", end.returncode, status)
        harness.expect(f"line of {words}", part in text and len(text.splitlines()) == 1, text)


def main(run, lint):
    if not shutil.which("rping"):
        harness.skip("rping is not installed")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(run, folder)
        check_clean(bench)
        check_broken(bench, lint)
        check_json(bench)
        check_trace(bench)
        check_killed(bench)
        check_signals(bench)
        check_bound(bench)
        check_refused(bench)
        harness.equal("nothing is left", bench.left(), [])
    harness.conclude()


if __name__ == "__main__":
    harness.start(main, __doc__)
