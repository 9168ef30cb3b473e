#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stock RDMA programs under iwarp-run against iwarp-perf and plain TCP: perftest and rstream, each measured in turn with what it is
compared to, ROUNDS times; medians of the ratios of neighbours, least and most of them. As root it runs with real-time priority, so
that other load disturbs less. The exit status is 1 if a bar is missed.

usage: bench_verbs.py FOLDER-OF-PROGRAMS [ROUNDS]
"""
import os
import re
import shutil
import subprocess
import sys
import time

import harness
from bench_common import REAL_TIME, Bars, perf_rows

NEEDED = ("ib_write_bw", "ib_send_bw", "ib_send_lat", "rstream")
LIMIT = 120  # s, of one run: a guard
MIB = 1 << 20
TRIES = 3


class Bench:
    def __init__(self, folder, rounds):
        self.run, self.perf = os.path.join(folder, "iwarp-run"), os.path.join(folder, "iwarp-perf")
        self.rounds, self.bars = rounds, Bars()

    def pair(self, words, client_words, options=()):
        """Runs a server and a client of a program; what the client printed."""
        for left in reversed(range(TRIES)):
            port = str(harness.free_port())
            program = [*REAL_TIME, self.run, *options, *words, "-p", port]
            with subprocess.Popen(program, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
                try:
                    end = time.monotonic() + LIMIT
                    while not harness.listens(int(port)) and server.poll() is None and time.monotonic() < end:
                        time.sleep(0.01)
                    ran = subprocess.run([*program, *client_words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT,
                                         check=False)
                    server.wait(LIMIT)
                finally:
                    server.kill()
            if ran.returncode == 0:
                return ran.stdout
            if not left:
                sys.exit(f"{' '.join(program)}: status {ran.returncode}: {ran.stdout[-300:]}{ran.stderr[-300:]}")

    def perftest(self, program, size, count, *more, options=()):
        """The figure of perftest's last line: MiB/s of bandwidth, us of latency."""
        text = self.pair([program, "-R", "-s", str(size), "-n", str(count), *more], ["127.0.0.1"], options)
        row = re.findall(r"^ *%d +%d +(.*)$" % (size, count), text, re.M)[-1].split()
        return float(row[2] if program.endswith("_lat") else row[1])

    def rstream(self, size, count, *more):
        """Gb/s and us of a transfer."""
        text = self.pair(["rstream", "-S", str(size), "-I", str(count), "-C", "1", *more], ["-s", "127.0.0.1"])
        row = text.splitlines()[-1].split()
        return float(row[-2]), float(row[-1])

    def of_perf(self, test, size, lane, *more):
        """iwarp-perf's figure: MiB/s or us."""
        words = ["--baseline", "tcp"] if lane == "tcp" else []
        for row in perf_rows([*REAL_TIME, self.perf], "--test", test, "--size", size, "--crc", "on", "--rounds", 1, *words, *more):
            if row["lane"]["transport"] == ("tcp" if lane == "tcp" else "iwarp"):
                bandwidth = row.get("gigabytes_per_second")
                return bandwidth["median"] * 1e9 / MIB if bandwidth else row["microseconds"]["median"]
        sys.exit(f"iwarp-perf has no lane {lane}")

    def bar(self, name, limit, ours, theirs, least=True):
        """One line: the ratio of two measurements, taken in turn."""
        self.bars.judge(name, limit, [(ours(), theirs()) for _ in range(self.rounds)], least)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    lacking = [name for name in NEEDED if not shutil.which(name)]
    if lacking:
        sys.exit("bench_verbs.py: not installed: " + " ".join(lacking))
    b = Bench(sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 9)
    b.bar("ib_write_bw -R 64 KiB over iwarp-perf's, CRC on", 0.9, lambda: b.perftest("ib_write_bw", 65536, 20000), lambda: b.of_perf("write-bw", 65536, "iwarp"))
    b.bar("ib_write_bw -R 4 KiB over TCP", 1.0, lambda: b.perftest("ib_write_bw", 4096, 100000), lambda: b.of_perf("write-bw", 4096, "tcp"))
    b.bar("ib_send_bw -R 64 octets over iwarp-perf's", 0.5, lambda: b.perftest("ib_send_bw", 64, 200000), lambda: b.of_perf("send-bw", 64, "iwarp"))
    b.bar("ib_send_lat -R 4 octets, polling, over iwarp-perf's", 1.15, lambda: b.perftest("ib_send_lat", 4, 50000),
          lambda: b.of_perf("send-lat", 4, "iwarp", "--poll"), least=False)
    b.bar("ib_send_lat -R 4 octets, events, over TCP, blocking", 1.1, lambda: b.perftest("ib_send_lat", 4, 20000, "-e"),
          lambda: b.of_perf("send-lat", 4, "tcp"), least=False)
    b.bar("rstream 64 octets, blocking, over TCP: us", 1.2, lambda: b.rstream(64, 20000, "-T", "b")[1], lambda: b.rstream(64, 20000, "-T", "b", "-T", "s")[1],
          least=False)
    b.bar("rstream 64 KiB over TCP: Gb/s", 0.9, lambda: b.rstream(65536, 5000, "-T", "b")[0], lambda: b.rstream(65536, 5000, "-T", "b", "-T", "s")[0])
    b.bar("ib_write_bw -R 64 KiB, both ends judged, over none", 2 / 3, lambda: b.perftest("ib_write_bw", 65536, 20000, options=("--judge",)),
          lambda: b.perftest("ib_write_bw", 65536, 20000))
    b.bars.end()


if __name__ == "__main__":
    main()
