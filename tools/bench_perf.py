#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints every bar of the transport's speed in one table: iwarp-perf on loopback against plain TCP, medians of
rounds in turn. As root it runs with real-time priority, so that other load disturbs less. The exit status
is 1 if a bar is missed.

Both lanes have socket buffers of 128 KiB. If TCP grows them by itself, some MiB wait in them as soon as a receiver was
late once; they have left the caches by then, which delays it further, and which of the two states a run is in decides its
ratio. Rows of that kind come at the end, without a bar.

usage: bench_perf.py IWARP-PERF [ROUNDS]
"""
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

from bench_common import perf_rows

HERE = os.path.dirname(os.path.abspath(__file__))
REAL_TIME = ["chrt", "-f", "20"] if os.geteuid() == 0 and shutil.which("chrt") else []
CRC = {False: "CRC off", True: "CRC on"}
BUFFERS = ["--socket-buffer", "131072"]


def output(*words):
    return subprocess.run([*REAL_TIME, *words], check=True, capture_output=True, text=True).stdout


class Bench:
    def __init__(self, perf, rounds):
        self.perf, self.rounds, self.missed = perf, rounds, 0

    def bar(self, name, limit, value, spread="", least=True):
        """One line. `least`: the value must not be below the limit, else not above."""
        good = value >= limit if least else value <= limit
        self.missed += not good
        print("%-62s %7.3f %-20s %s %-5g %s" % (name, value, spread, ">=" if least else "<=", limit, "holds" if good else "MISSED"),
              flush=True)

    def local(self, *words, rounds=None, buffers=BUFFERS):
        return perf_rows([*REAL_TIME, self.perf], "--rounds", rounds or self.rounds, *buffers, *words)

    def ratios(self, words, bars, least=True, cpu=None, what=""):
        """Rows against TCP: `bars` gives the limit of a CRC setting, `cpu` that of the CPU time."""
        for row in self.local("--baseline", "tcp", *words):
            crc, ratio = row["lane"]["crc"], row.get("ratio_to_tcp")
            if not ratio or crc not in bars:
                continue
            name = "%s %d, %s%s" % (row["test"], row["size"], CRC[crc], what)
            self.bar(name, bars[crc], ratio["median"], "(%.3f .. %.3f)" % (ratio["min"], ratio["max"]), least)
            if cpu:
                self.bar(name + ": CPU a GiB", cpu[crc], row["cpu_ratio_to_tcp"], least=False)
            if row["test"].endswith("-lat") or row["size"] <= 4096:
                calls = row["system_calls_per_message"]
                print("%62s %7.3g + %.3g" % ("system calls a message, client and server", calls["client"], calls["server"]))

    def print_without_bar(self):
        """As TCP would have its buffers."""
        print("no bars, buffers as TCP grows them:")
        for row in self.local("--baseline", "tcp", "--test", "write-bw,send-bw", "--crc", "both", "--size", "65536,1048576", buffers=[]):
            if "ratio_to_tcp" in row:
                ratio = row["ratio_to_tcp"]
                print("%-62s %7.3f (%.3f .. %.3f), CPU %.3f" % ("%s %d, %s" % (row["test"], row["size"], CRC[row["lane"]["crc"]]),
                      ratio["median"], ratio["min"], ratio["max"], row["cpu_ratio_to_tcp"]), flush=True)

    def pairs(self, words, key, ratio, title, limit, least):
        """Two rows of the same size and `key` in turn, each pair in one run: what `ratio` makes of their speeds."""
        found = {}
        for _ in range(2 * self.rounds + 1):
            pair = {}
            for row in self.local("--size", "65536,1048576", *words, rounds=1):
                pair.setdefault((row["size"], *key(row)), []).append(row["gigabytes_per_second"]["median"])
            for which, speeds in pair.items():
                found.setdefault(which, []).append(ratio(*speeds))
        for which, values in sorted(found.items()):
            self.bar(title(*which), limit, statistics.median(values), "(%.3f .. %.3f)" % (min(values), max(values)), least)

    def reads(self):
        self.pairs(["--test", "write-bw,read-bw", "--crc", "both"], lambda row: [row["lane"]["crc"]],
                   lambda write, read: read / write,
                   lambda size, crc: "read-bw %d over write-bw, %s" % (size, CRC[crc]), 0.9, True)

    def markers(self):
        self.pairs(["--test", "write-bw", "--crc", "on", "--markers", "both"], lambda row: [],
                   lambda plain, marked: plain / marked,
                   lambda size: "write-bw %d, CRC on: time with Markers over without" % size, 1.15, False)

    def loop(self):
        said = output(self.perf, "loop")
        ratio, low, high = re.search(r"ratio\s+(\S+).*min (\S+) max (\S+)", said).groups()
        self.bar("loop 65536, CRC on, over a memcpy and two CRC passes", 1.2, float(ratio), "(%s .. %s)" % (low, high), least=False)
        said = output(self.perf, "loop", "--op", "send", "--size", "64", "--total", "200000000")
        self.bar("loop, Sends of 64 octets, millions a second", 3, int(re.search(r"(\d+) messages a second", said).group(1)) / 1e6)

    def crc32c(self):
        build = os.path.dirname(os.path.dirname(os.path.abspath(self.perf)))
        libraries = [os.path.join(build, "proto", name) for name in ("libiwarp_host.a", "libiwarp.a")]
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "crc32c")
            subprocess.run(["cc", "-O2", "-I", os.path.join(HERE, "../proto/include"), "-I", os.path.join(HERE, "../proto"), os.path.join(HERE, "bench_crc32c.c"),
                            os.path.join(HERE, "perf/perf_stats.c"), *libraries, "-lisal", "-lm", "-o", program], check=True)
            said = output(program)
        for line in said.splitlines():
            size, ratio, speed = line.split()
            self.bar("CRC32c of %s octets over ISA-L's speed" % size, 0.9, float(ratio), "%s GB/s" % speed)


def main(perf, rounds=9):
    bench = Bench(perf, rounds)
    print("iwarp-perf, %d rounds, %s; ratios to plain TCP unless said otherwise (least .. most)"
          % (rounds, "real-time priority" if REAL_TIME else "ordinary priority"))
    bench.ratios(["--test", "write-bw", "--crc", "both", "--size", "65536,1048576"], {False: 0.92, True: 0.75},
                 cpu={False: 1.2, True: 1.5})
    bench.ratios(["--test", "write-bw,send-bw", "--crc", "both", "--size", "64,1024,4096"], {False: 1, True: 1})
    bench.reads()
    bench.markers()
    bench.ratios(["--test", "write-bw", "--crc", "both", "--size", "65536,1048576", "--mss", "1460"], {False: 0.85, True: 0.7},
                 what=", segments of 1460")
    bench.ratios(["--test", "send-lat", "--crc", "on", "--size", "4", "--poll"], {True: 1.2}, least=False, what=", polling")
    bench.ratios(["--test", "send-lat", "--crc", "on", "--size", "4"], {True: 1.1}, least=False, what=", blocking")
    bench.ratios(["--test", "send-lat", "--crc", "both", "--size", "65536"], {False: 1.15, True: 1.45}, least=False,
                 what=", blocking")
    bench.ratios(["--test", "send-lat", "--crc", "both", "--size", "65536", "--poll"], {False: 1.15, True: 1.45}, least=False,
                 what=", polling")
    bench.crc32c()
    bench.loop()
    bench.print_without_bar()
    print("%d missed" % bench.missed)
    return 1 if bench.missed else 0


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])))
