#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""iwarp-perf and Linux's siw (by perftest) against plain TCP, all inside the user-mode kernel of tools/siw, in turn: RDMA
Writes of a window of 128, and half of the round trip of Sends, everybody sleeping while there is nothing to do; with the
system calls of client and server for a message. Medians of the rounds; the exit status is 1 if siw has the better
bandwidth at a size from 4 KiB up.

usage: bench_siw.py FOLDER-OF-PROGRAMS WORK [ROUNDS]

In the folder WORK a kernel is built in which siw's use of CRCs is a parameter (some minutes and 1 GB; it is used again).
The rounds are kept there, too: with the same iwarp-perf, a run adds ROUNDS (9) more and prints all of them.
"""
import os
import statistics
import sys

import bench_kernel_common
from bench_common import perf_rows

# Octets of a message, and how many of them siw takes some seconds for at most.
SIZES = {"write-bw": {64: 8000, 4096: 8000, 65536: 3000, 1048576: 200}, "send-lat": {4: 3000, 4096: 2000, 65536: 500}}
PERFTEST = {"write-bw": "ib_write_bw", "send-lat": "ib_send_lat"}
BAR = 4096
# Octets of a Write in an FPDU, and what the FPDU adds; the same of a Send.
SEGMENT, EACH = {"write-bw": 1440, "send-lat": 1436}, {"write-bw": 20, "send-lat": 24}
CALLS = 64  # system calls are counted up to this size


def ours(bin_folder):
    """One round of iwarp-perf: {(test, size, lane): GB/s or us, and with "calls" system calls}."""
    found = {}
    for test, sizes in SIZES.items():
        for row in perf_rows([bench_kernel_common.SIW, "exec", os.path.join(bin_folder, "iwarp-perf")], "--baseline", "tcp", "--crc", "both", "--test", test,
                             "--rounds", 1, "--slice", 100, "--size", ",".join(map(str, sizes))):
            lane = "tcp" if row["lane"]["transport"] == "tcp" else "ours on" if row["lane"]["crc"] else "ours off"
            what = row["gigabytes_per_second"] if test == "write-bw" else row["microseconds"]
            calls = row["system_calls_per_message"]
            found[test, row["size"], lane] = what["median"]
            found[test, row["size"], lane + " calls"] = [calls["client"], calls["server"]]
    return found


def siw(test, size, crc):
    """GB/s of payload or us, from the octets that TCP carries."""
    whole = size + EACH[test] * -(-size // SEGMENT[test])
    rate = float(bench_kernel_common.perftest(PERFTEST[test], size, SIZES[test][size], crc))
    return rate * 1e-9 * size / whole if test == "write-bw" else whole / rate * 1e6


def siw_calls(test, size):
    counts = (500, 1500)
    seen = [[int(n) for n in bench_kernel_common.perftest(PERFTEST[test], size, count, "off", "calls").split()] for count in counts]
    ways = 2 if test == "send-lat" else 1  # messages of a count: each has an answer
    return [(b - a) / (counts[1] - counts[0]) / ways for a, b in zip(*seen)]


def one_round(bin_folder):
    values = ours(bin_folder)
    for test, sizes in SIZES.items():
        for size in sizes:
            for crc in ("off", "on"):
                values[test, size, "siw " + crc] = siw(test, size, crc)
            if size <= CALLS:
                values[test, size, "siw calls"] = siw_calls(test, size)
    return values


def report(rounds):
    missed = 0
    for test, sizes in SIZES.items():
        bandwidth = test == "write-bw"
        print("%-28s %9s %9s %9s %6s %6s  (ratio to TCP)" % (
            "%s, %s, %d rounds" % (test, "GB/s" if bandwidth else "us", len(rounds)), "TCP", "ours", "siw", "ours", "siw"))
        for size in sizes:
            for crc in ("off", "on"):
                columns = [[r[test, size, lane] for r in rounds] for lane in ("tcp", "ours " + crc, "siw " + crc)]
                ratios = [statistics.median(a / b for a, b in zip(column, columns[0])) for column in columns[1:]]
                good = ratios[0] > ratios[1] if bandwidth else ratios[0] < ratios[1]
                barred = bandwidth and size >= BAR
                missed += not good and barred
                print("%-28s %9.3f %9.3f %9.3f %6.3f %6.3f  %s" % (
                    "%d octets, CRC %s" % (size, crc), *map(statistics.median, columns), *ratios,
                    "holds" if good and barred else "MISSED" if barred else "better" if good else "worse"))
            if size <= CALLS:
                print("%-28s %s" % ("%d octets, calls a message" % size, ", ".join(
                    "%s %s" % (name, " + ".join("%.2f" % statistics.median(r[test, size, lane][k] for r in rounds) for k in (0, 1)))
                    for name, lane in (("TCP", "tcp calls"), ("ours", "ours on calls"), ("siw", "siw calls")))))
    return 1 if missed else 0


def main(bin_folder, work, rounds=9):
    work, bin_folder = os.path.abspath(work), os.path.abspath(bin_folder)
    perf = os.path.join(bin_folder, "iwarp-perf")
    with bench_kernel_common.kernel(work, [*PERFTEST.values(), "strace", perf]):
        return report(bench_kernel_common.more_rounds(work, perf, rounds, lambda: one_round(bin_folder)))


if __name__ == "__main__":
    if not 3 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])))
