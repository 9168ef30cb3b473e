#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""This project's driver and Linux's siw, both by perftest, against plain TCP in the same user-mode kernel of tools/siw, in turn: Writes
and Reads in flight, and half of the round trip of Sends whose ends sleep. Medians of the rounds; the exit status is 1 if siw is better
anywhere.

usage: bench_kernel.py FOLDER-OF-PROGRAMS WORK [ROUNDS]

In the folder WORK a kernel is built that has both drivers, and siw's use of CRCs as a parameter (some minutes and 1 GB; it is used again
until WORK/linux is removed). The rounds are kept there, too: with the same kernel, a run adds ROUNDS (5) more and prints all of them.
"""
import os
import statistics
import sys

import bench_kernel_common
from bench_common import perf_rows

# Octets of a message, and how many of them take some seconds for at most.
SIZES = {
    "write-bw": {4096: 8000, 65536: 2000, 1048576: 200},
    "read-bw": {4096: 8000, 65536: 2000, 1048576: 400},
    "send-lat": {4: 3000, 4096: 2000},
}
PERFTEST = {"write-bw": "ib_write_bw", "read-bw": "ib_read_bw", "send-lat": "ib_send_lat"}
# Octets of a message in an FPDU, what each FPDU adds, and a Read Request's FPDU.
SEGMENT, EACH, REQUEST = {"write-bw": 1440, "read-bw": 1440, "send-lat": 1436}, {"write-bw": 20, "read-bw": 20, "send-lat": 24}, 52
DEVICES = {"ours": "iw0", "siw": "siw0"}


def tcp(bin_folder):
    """One round of plain TCP: {(test, size, "tcp"): GB/s or us}."""
    found = {}
    for test, sizes in SIZES.items():
        for row in perf_rows([bench_kernel_common.SIW, "exec", os.path.join(bin_folder, "iwarp-perf")], "--baseline", "tcp", "--crc", "off", "--test", test,
                             "--rounds", 1, "--slice", 100, "--size", ",".join(map(str, sizes))):
            if row["lane"]["transport"] == "tcp":
                what = row["gigabytes_per_second"] if test != "send-lat" else row["microseconds"]
                found[test, row["size"], "tcp"] = what["median"]
    return found


def perftest(test, size, crc, device):
    """GB/s of payload or us, from the octets that TCP carries."""
    whole = size + EACH[test] * -(-size // SEGMENT[test]) + (REQUEST if test == "read-bw" else 0)
    rate = float(bench_kernel_common.perftest(PERFTEST[test], size, SIZES[test][size], crc, device))
    return whole / rate * 1e6 if test == "send-lat" else rate * 1e-9 * size / whole


def one_round(bin_folder):
    values = tcp(bin_folder)
    for test, sizes in SIZES.items():
        for size in sizes:
            for crc in ("off", "on"):
                for who, device in DEVICES.items():
                    values[test, size, f"{who} {crc}"] = perftest(test, size, crc, device)
    return values


def report(rounds):
    worse = 0
    for test, sizes in SIZES.items():
        bandwidth = test != "send-lat"
        print("%-28s %9s %9s %9s %6s %6s  (ratio to TCP)" % (
            "%s, %s, %d rounds" % (test, "GB/s" if bandwidth else "us", len(rounds)), "TCP", "ours", "siw", "ours", "siw"))
        for size in sizes:
            for crc in ("off", "on"):
                columns = [[r[test, size, lane] for r in rounds] for lane in ("tcp", "ours " + crc, "siw " + crc)]
                ratios = [statistics.median(a / b for a, b in zip(column, columns[0])) for column in columns[1:]]
                good = ratios[0] > ratios[1] if bandwidth else ratios[0] < ratios[1]
                worse += not good
                print("%-28s %9.3f %9.3f %9.3f %6.3f %6.3f  %s" % (
                    "%d octets, CRC %s" % (size, crc), *map(statistics.median, columns), *ratios, "better" if good else "WORSE"))
    return 1 if worse else 0


def main(bin_folder, work, rounds=5):
    work, bin_folder = os.path.abspath(work), os.path.abspath(bin_folder)
    os.environ["IW_SIW_DRIVER"] = "iwarp"
    with bench_kernel_common.kernel(work, [*PERFTEST.values(), os.path.join(bin_folder, "iwarp-perf")]):
        return report(bench_kernel_common.more_rounds(work, os.path.join(work, "linux"), rounds, lambda: one_round(bin_folder)))


if __name__ == "__main__":
    if not 3 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])))
