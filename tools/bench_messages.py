#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Messages against plain TCP: round trips of 50 octets and up, files of 128 KiB to 80 MiB, each measured in turn with TCP's read and write by the
same two processes (iwarp-msg ping and get --tcp), ROUNDS times with new processes; medians, the least and the most of the ratios, processor time of
both ends. TCP always blocks; the messages' ends poll (--poll) or wait. Beside them LibRIPC over softiwarp and its TCP, as they were published in 2012
(two hosts with Xeon E5520 on IPoIB, round trips of 10,000). In the end 1,000 services are found, as by bench_resolver.py. As root it runs with
real-time priority, so that other load disturbs less. The exit status is 1 if a bar is missed.

usage: bench_messages.py FOLDER-OF-PROGRAMS [ROUNDS]
"""
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile

import bench_resolver
from bench_common import REAL_TIME, Bars

LIMIT = 300  # s, of one run: a guard
NUMBER = "7"
KIB, MIB = 1 << 10, 1 << 20
PINGS = {50: 10000, 1400: 10000, 4096: 10000, 16 * KIB: 4000, 64 * KIB: 2000, MIB: 200, 80 * MIB: 20}  # round trips
FILES = {128 * KIB: 400, MIB: 200, 8 * MIB: 60, 80 * MIB: 20}  # fetches
PAPER = {("ping", 50): (19.89, 51.28), ("ping", 1400): (22.61, 64.39), ("get", 128 * KIB): (185, 360), ("get", 80 * MIB): (39760, 118010)}  # us


class Ends:
    """iwarp-msg serve, and what talks to it."""

    def __init__(self, programs, folder, mode):
        self.program = [*REAL_TIME, os.path.join(programs, "iwarp-run"), os.path.join(programs, "iwarp-msg")]
        self.mode = ["--poll"] if mode == "polling" else []
        words = [*self.program, "serve", NUMBER, folder, "--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0", "--no-resolver", *self.mode]
        self.server = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        lines = [self.server.stdout.readline() for _ in range(2)]
        if not all(lines):
            sys.exit(f"{' '.join(words)}: does not serve")
        self.tcp, self.at = (line.split()[-1] for line in lines)

    def measure(self, *words):
        """The figures of messages and those of TCP."""
        words = [*self.program, *words, "--json", "--no-resolver", "--at", f"{NUMBER}={self.at}", "--tcp", self.tcp, *self.mode]
        ran = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT, check=False)
        if ran.returncode:
            sys.exit(f"{' '.join(words)}: status {ran.returncode}: {ran.stderr.strip()}")
        return [json.loads(line) for line in ran.stdout.splitlines()]

    def end(self):
        self.server.terminate()
        self.server.wait(LIMIT)
        self.server.stdout.close()


def row(what, octets, pairs):
    """Prints the medians of all rounds. Returns the median round trips of each."""
    middle = [{key: statistics.median(pair[i][key] for pair in pairs) for key in ("us_p50", "us_p99", "cpu_us", "far_cpu_us")} for i in (0, 1)]
    ratios = [pair[0]["us_p50"] / pair[1]["us_p50"] for pair in pairs]
    paper = PAPER.get((what, octets))
    figures = "".join(" %10.1f %10.1f %9.1f" % (m["us_p50"], m["us_p99"], m["cpu_us"] + m["far_cpu_us"]) for m in middle)
    print("%-4s %9d%s  %6.3f (%.3f .. %.3f)  %s" % (what, octets, figures, statistics.median(ratios), min(ratios), max(ratios),
                                                  "%g %g %.3f" % (*paper, paper[0] / paper[1]) if paper else ""), flush=True)
    return [(pair[0]["us_p50"], pair[1]["us_p50"]) for pair in pairs]


def table(programs, folder, mode, rounds):
    """Returns the median round trips of messages and TCP, by command and octets."""
    seen = {}
    kinds = [("ping", octets, [NUMBER, "--size", str(octets), "--count", str(count), "--warm-up", str(min(100, count // 4))]) for octets, count in PINGS.items()]
    kinds += [("get", octets, [NUMBER, str(octets), "--count", str(count), "--output", "/dev/null"]) for octets, count in FILES.items()]
    print(f"{mode:14} us: messages p50, p99, processors; TCP p50, p99, processors; messages over TCP (least .. most); LibRIPC, its TCP, ratio")
    measured = {kind[:2]: [] for kind in kinds}
    for _ in range(rounds):
        with contextlib.ExitStack() as stack:
            ends = Ends(programs, folder, mode)
            stack.callback(ends.end)
            for what, octets, words in kinds:
                measured[what, octets].append(ends.measure(what, *words))
    for kind in kinds:
        seen[kind[:2]] = row(*kind[:2], measured[kind[:2]])
    return seen


def main(programs, rounds=5):
    bars = Bars()
    with tempfile.TemporaryDirectory() as folder:
        for octets in FILES:
            with open(os.path.join(folder, str(octets)), "wb") as file:
                file.write(os.urandom(octets))
        seen = {mode: table(programs, folder, mode, rounds) for mode in ("polling", "blocking")}
    bars.judge("50 octets, messages poll, over blocking TCP: us", 0.8, seen["polling"]["ping", 50], least=False)
    bars.judge("50 octets, messages wait, over blocking TCP: us", 1.2, seen["blocking"]["ping", 50], least=False)
    for mode in seen:
        for octets in (MIB, 80 * MIB):
            bars.judge(f"{octets // MIB} MiB, {mode}, over TCP write and read: octets/s", 1.0, [pair[::-1] for pair in seen[mode]["ping", octets]])
    bars.judge("1,000 services found, the slowest way: s", bench_resolver.BAR, [(bench_resolver.measure(os.path.join(programs, "iwarp-msg"), rounds), 1)],
               least=False)
    bars.end()


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(sys.argv[1], *map(int, sys.argv[2:]))
