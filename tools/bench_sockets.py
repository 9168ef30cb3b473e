#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sockets under iwarp-run --sockets against sockets without it: iperf3, a ping-pong, one-sided puts, each measured in turn with what it is
compared to, ROUNDS times; medians of the ratios of neighbours, least and most of them. As root it runs with real-time priority, so
that other load disturbs less. The exit status is 1 if a bar is missed.

usage: bench_sockets.py FOLDER-OF-PROGRAMS [ROUNDS [PATTERN]]

PATTERN chooses bars by their names.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import harness
from bench_common import REAL_TIME, Bars

HERE = os.path.dirname(os.path.abspath(__file__))

LIMIT = 120  # s, of one run: a guard
TRIES = 3
SECONDS = 2  # of one run of iperf3
ROUND_TRIPS = 20000
OTHER_PORT = 1  # a rule for a port that nobody uses: the library is there, all sockets stay plain


class Bench:
    def __init__(self, folder, scratch, rounds, pattern):
        self.run = os.path.join(folder, "iwarp-run")
        self.rounds, self.bars = rounds, Bars(pattern)
        self.program = os.path.join(scratch, "bench_sockets")
        subprocess.run(["cc", "-O2", "-I", os.path.join(HERE, "..", "proto", "include"), "-o", self.program, os.path.join(HERE, "bench_sockets.c")], check=True)

    def prefix(self, how, side, port):
        """`how`: plain (without the library), under (with it, as a plain socket), iwarp."""
        if how == "plain":
            return []
        rule = port if how == "iwarp" else OTHER_PORT
        return [self.run, "--sockets", "--listen-port" if side == "server" else "--port", str(rule)]

    def pair(self, how, server, client):
        """Runs a server and a client, which get a port for {p}; what the client printed."""
        for left in reversed(range(TRIES)):
            port = harness.free_port()
            ends = [[*REAL_TIME, *self.prefix(how, side, port), *(word.replace("{p}", str(port)) for word in words)]
                    for side, words in (("server", server), ("client", client))]
            with subprocess.Popen(ends[0], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
                try:
                    end = time.monotonic() + LIMIT
                    while not harness.listens(port) and process.poll() is None and time.monotonic() < end:
                        time.sleep(0.01)
                    ran = subprocess.run(ends[1], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT, check=False)
                    process.wait(LIMIT)
                finally:
                    process.kill()
                said = process.stderr.read()
            if ran.returncode == 0 and process.returncode == 0:
                return ran.stdout
            if not left:
                sys.exit(f"{' '.join(ends[1])}: status {ran.returncode}: {ran.stdout[-300:]}{ran.stderr[-300:]}; server: {process.returncode}: {said[-300:]}")

    def iperf3(self, how):
        """Gbit/s that were received."""
        text = self.pair(how, ["iperf3", "-s", "-1", "-B", "127.0.0.1", "-p", "{p}"], ["iperf3", "-c", "127.0.0.1", "-p", "{p}", "-t", str(SECONDS), "-J"])
        return json.loads(text)["end"]["sum_received"]["bits_per_second"] / 1e9

    def ping_pong(self, how, mode, octets):
        """us of one round trip."""
        words = ["{p}", mode, str(octets), str(ROUND_TRIPS)]
        return float(self.pair(how, [self.program, "serve", *words], [self.program, "ask", *words]))

    def bar(self, name, limit, ours, theirs, least=True):
        """One line: the ratio of two measurements, taken in turn."""
        if not self.bars.wanted(name):
            return
        pairs = [(ours(), theirs()) if i % 2 == 0 else (theirs(), ours())[::-1] for i in range(self.rounds)]
        self.bars.judge(name, limit, pairs, least, figures=True)


def main():
    if len(sys.argv) not in (2, 3, 4):
        sys.exit(__doc__)
    if not shutil.which("iperf3"):
        sys.exit("bench_sockets.py: iperf3 is not installed")
    with tempfile.TemporaryDirectory() as scratch:
        b = Bench(sys.argv[1], scratch, int(sys.argv[2]) if len(sys.argv) > 2 else 15, sys.argv[3] if len(sys.argv) > 3 else "*")
        b.bar("plain sockets, iperf3: with the library over without", 0.98, lambda: b.iperf3("under"), lambda: b.iperf3("plain"))
        b.bar("plain sockets, 50 octets, blocking: with the library over without", 1.02, lambda: b.ping_pong("under", "blocking", 50),
              lambda: b.ping_pong("plain", "blocking", 50), least=False)
        b.bar("iWARP sockets, iperf3 over TCP: Gbit/s", 0.75, lambda: b.iperf3("iwarp"), lambda: b.iperf3("plain"))
        b.bar("iWARP sockets, 50 octets over TCP polling: us", 1.3, lambda: b.ping_pong("iwarp", "polling", 50), lambda: b.ping_pong("plain", "polling", 50),
              least=False)
        b.bar("put of 4 octets and poll over TCP polling: us, half", 1.25, lambda: b.ping_pong("under", "put", 4) / 2,
              lambda: b.ping_pong("plain", "polling", 4) / 2, least=False)
        b.bars.end()


if __name__ == "__main__":
    main()
