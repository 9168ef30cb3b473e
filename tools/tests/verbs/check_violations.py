#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rping as a hostile peer: each rule that a sender can break, under iwarp-run --violate, on both sides of iwarp-peer, or of the stock rping on
Linux's siw, both in the kernel that tools/siw has up.

usage: check_violations.py IWARP-RUN IWARP-PEER|siw [PATTERN]

Prints for each switch and side what the judge has found about rping, and how the peer has reacted. A run that does not end, or that ends by a
signal, fails; so does an iwarp-peer that is gone. What waits on for siw, which may not notice, is ended 5 s after the first octets of the connection. A
rule that rping has no occasion to break (an atomic, say) is "not broken here".
"""
import fnmatch
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import harness
import matrix

LIMIT = 60  # s; a guard
AT_ONCE = 6  # most of the time is waiting
LEAST = 40  # switches of which something shows on one side at least
# An answer that does not come is waited for by both ends, for ever: the run is ended after some seconds.
# So is the rest of a Request, by both ends.
WAITS = {"rdmap-response-order", "rdmap-response-missing", "rdmap-atomic-response-order", "mpa-startup-cut"}
PATIENCE = 5  # s
PEER = ["--personality", "rping"]


def switches(run):
    text = subprocess.run([run, "--list-rules"], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in text.split("# rules", 1)[0].splitlines() if line and line[0] != "#" and "violate" in line.split()[1].split(",")]


def judged(text):
    """The checks that rping itself failed by its judge's JSON lines."""
    found = []
    for line in text.splitlines():
        if line.startswith('{"type":"finding"') or line.startswith('{"type": "finding"'):
            finding = json.loads(line)
            if finding["by"] == "us" and finding["check"] not in found:
                found.append(finding["check"])
    return found


def reaction(text):
    """What the peer printed of its fault, or of what it was told."""
    faults = re.findall(r"(?:fault|terminated by the peer|lost|ended).*", text)
    return faults[-1][:90] if faults else "none"


class Pair:
    """One side is rping under iwarp-run, the other one iwarp-peer."""
    address = "127.0.0.1"
    waits = WAITS

    def __init__(self, run, peer, folder):
        self.run, self.peer, self.folder = run, peer, folder
        self.environment = dict(os.environ, TMPDIR=folder)
        self.broken = set()

    def end(self, process, what):
        """Its output, once it has ended by itself."""
        waits = what.split()[0] in self.waits
        try:
            out, err = process.communicate(timeout=PATIENCE if waits else LIMIT)
        except subprocess.TimeoutExpired:
            process.terminate()
            out, err = process.communicate()
            if waits:
                return out + err
            harness.complain(f"{what}: has not ended within {LIMIT} s")
            return ""
        harness.expect(f"{what}: ended by itself", not 128 < process.returncode <= 192, process.returncode)
        return out + err

    def start(self, *words):
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment)

    def rping(self, switch, *words):
        return self.start(self.run, "--json", "--violate", switch, "rping", *words)

    def report(self, switch, side, began, own, reaction):
        checks = judged(own)
        if checks:
            self.broken.add(switch)
        found = "found: " + " ".join(checks) if checks else "not broken here"
        print(f"{switch:32} {side:6} {time.monotonic() - began:5.1f} s  {found:50} peer: {reaction}", flush=True)

    def client(self, switch):
        began = time.monotonic()
        with harness.listening(self.peer, *PEER, stderr=subprocess.PIPE, env=self.environment) as listener:
            own = self.end(self.rping(switch, "-c", "-a", self.address, "-p", str(listener.port), "-C", "3"), f"{switch} of a client")
            harness.expect(f"{switch}: the peer is there still", listener.process.poll() is None)
            listener.process.send_signal(signal.SIGTERM)
            out, err = listener.process.communicate(timeout=LIMIT)
        self.report(switch, "client", began, own, reaction(out + err))

    def server(self, switch):
        began = time.monotonic()
        port = harness.free_port()
        rping = self.rping(switch, "-s", "-a", self.address, "-p", str(port))
        while not harness.listens(port) and rping.poll() is None:
            time.sleep(0.01)
        peer = self.start(self.peer, "connect", f"127.0.0.1:{port}", *PEER, "--count", "3", "--startup-timeout", "3000")
        theirs = self.end(peer, f"{switch}: the peer of a server")
        own = self.end(rping, f"{switch} of a server")
        self.report(switch, "server", began, own, reaction(theirs))

    def play(self, names):
        harness.side_by_side([functools.partial(side, name) for name in names for side in (self.client, self.server)], AT_ONCE)


class SiwPair(Pair):
    """The other side is the stock rping on siw. What siw does not notice both may wait for."""
    address = matrix.BesideSiw.addresses["a"]

    def __init__(self, run, folder):
        super().__init__(run, None, folder)
        self.environment = dict(os.environ)  # tools/siw finds its kernel by TMPDIR
        self.beside = matrix.BesideSiw(run, "server")
        self.trace = os.path.join(folder, "trace")

    def start(self, *words):
        return super().start(matrix.SIW, "exec", "-w", self.folder, *words)

    def rping(self, switch, *words):
        return self.start(self.run, "--json", "--trace", self.trace, "--violate", switch, "rping", *words)

    def end_both(self, own, other):
        """What ours printed. What has not ended by itself is ended, PATIENCE after our side had its connection: siw's kernel does not survive one that
        ends before it is accepted."""
        texts, until = [], time.monotonic() + LIMIT
        while not self.connected() and time.monotonic() < until and own.poll() is None:
            time.sleep(0.05)
        until = time.monotonic() + PATIENCE
        for process in (own, other):
            try:
                out, err = process.communicate(timeout=max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.terminate()
                out, err = process.communicate()
            texts.append(out + err)
        return texts[0]

    def connected(self):
        """Whether the trace has a state of the connection, or an FPDU."""
        return os.path.exists(self.trace) and os.path.getsize(self.trace) > 0

    def reaction(self):
        """The Terminate of the other side, else how the connection went on, as our trace has it."""
        last = "none"
        if not self.connected():
            return last
        with open(self.trace, encoding="utf-8") as file:
            for line in map(json.loads, file):
                if line["kind"] == "fpdu-in" and line["text"].startswith("terminate"):
                    return line["text"][:90]
                if line["kind"] == "state":
                    last = line["text"]
        return last

    def pair(self, switch, side, first, second):
        """Runs a server, then a client; ours is the one of `side`."""
        began, port = time.monotonic(), str(harness.free_port())
        if self.connected():
            os.remove(self.trace)
        server = first("-s", "-a", self.address, "-p", port)
        while not self.beside.listens(int(port)) and server.poll() is None:
            time.sleep(0.05)
        client = second("-c", "-a", self.address, "-p", port, "-C", "3")
        own = self.end_both(*((server, client) if side == "server" else (client, server)))
        alive = subprocess.run([matrix.SIW, "exec", "true"], stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0
        self.report(switch, side, began, own, self.reaction() if alive else "its kernel has ended")
        if not alive:
            subprocess.run([matrix.SIW, "down"], capture_output=True, check=False)
            subprocess.run([matrix.SIW, "up"], capture_output=True, check=True)

    def play(self, names):
        for name in names:
            ours, theirs = functools.partial(self.rping, name), functools.partial(self.start, "rping")
            self.pair(name, "client", theirs, ours)
            self.pair(name, "server", ours, theirs)


def main(run, peer, pattern="*"):
    if not shutil.which("rping"):
        harness.skip("rping is not installed")
    with tempfile.TemporaryDirectory() as folder:
        pair = SiwPair(run, folder) if peer == "siw" else Pair(run, peer, folder)
        names = [name for name in switches(run) if fnmatch.fnmatch(name, pattern)]
        pair.play(names)
        print(f"{len(names)} switches, {len(pair.broken)} show")
        if pattern == "*":
            harness.expect("switches that show", len(pair.broken) >= LEAST, len(pair.broken))
    harness.conclude()


if __name__ == "__main__":
    harness.start(main, __doc__)
