#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rping as a hostile peer: each rule that a sender can break, under iwarp-run --violate, on both sides of iwarp-peer.

usage: check_violations.py IWARP-RUN IWARP-PEER [PATTERN]

Prints for each switch and side what the judge has found about rping, and how the peer has reacted. A run that does not end, or that ends by a
signal, fails; so does a peer that is gone. A rule that rping has no occasion to break (an atomic, say) is "not broken here".
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
WAITS = {"rdmap-response-order", "rdmap-response-missing", "rdmap-atomic-response-order"}
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
    def __init__(self, run, peer, folder):
        self.run, self.peer, self.folder = run, peer, folder
        self.environment = dict(os.environ, TMPDIR=folder)
        self.broken = set()

    def end(self, process, what):
        """Its output, once it has ended by itself."""
        waits = what.split()[0] in WAITS
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

    def report(self, switch, side, began, own, theirs):
        checks = judged(own)
        if checks:
            self.broken.add(switch)
        found = "found: " + " ".join(checks) if checks else "not broken here"
        print(f"{switch:32} {side:6} {time.monotonic() - began:5.1f} s  {found:50} peer: {reaction(theirs)}", flush=True)

    def client(self, switch):
        began = time.monotonic()
        listener = self.start(self.peer, "listen", "127.0.0.1:0", *PEER)
        port = re.search(r":(\d+)", listener.stdout.readline())[1]
        rping = self.start(self.run, "--json", "--violate", switch, "rping", "-c", "-a", "127.0.0.1", "-p", port, "-C", "3")
        own = self.end(rping, f"{switch} of a client")
        harness.expect(f"{switch}: the peer is there still", listener.poll() is None)
        listener.send_signal(signal.SIGTERM)
        out, err = listener.communicate(timeout=LIMIT)
        self.report(switch, "client", began, own, out + err)

    def server(self, switch):
        began = time.monotonic()
        port = harness.free_port()
        rping = self.start(self.run, "--json", "--violate", switch, "rping", "-s", "-a", "127.0.0.1", "-p", str(port))
        while not matrix.listens(port) and rping.poll() is None:
            time.sleep(0.01)
        peer = self.start(self.peer, "connect", f"127.0.0.1:{port}", *PEER, "--count", "3", "--startup-timeout", "3000")
        theirs = self.end(peer, f"{switch}: the peer of a server")
        own = self.end(rping, f"{switch} of a server")
        self.report(switch, "server", began, own, theirs)


def main(run, peer, pattern="*"):
    if not shutil.which("rping"):
        harness.skip("rping is not installed")
    with tempfile.TemporaryDirectory() as folder:
        pair = Pair(run, peer, folder)
        names = [name for name in switches(run) if fnmatch.fnmatch(name, pattern)]
        harness.side_by_side([functools.partial(side, name) for name in names for side in (pair.client, pair.server)], AT_ONCE)
        print(f"{len(names)} switches, {len(pair.broken)} show")
        if pattern == "*":
            harness.expect("switches that show", len(pair.broken) >= LEAST, len(pair.broken))
    harness.conclude()


if __name__ == "__main__":
    harness.start(main, __doc__)
