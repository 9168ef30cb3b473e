#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""iwarp-perf and Linux's siw (by perftest) against plain TCP, all inside the user-mode kernel of tools/siw, in turn: RDMA
Writes of a window of 128. Medians of the rounds; the exit status is 1 if siw has the better bandwidth at a size from 4 KiB
up.

usage: bench_siw.py FOLDER-OF-PROGRAMS WORK [ROUNDS]

In the folder WORK a kernel is built in which siw's use of CRCs is a parameter (some minutes and 1 GB; it is used again).
"""
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SIW = os.path.join(HERE, "siw")
# Octets of a message, and how many of them siw takes some seconds for at most.
SIZES = {64: 8000, 4096: 8000, 65536: 3000, 1048576: 200}
BAR = 4096
SEGMENT, EACH = 1440, 20  # octets of a Write in an FPDU, and what the FPDU adds


def inside(*words):
    return subprocess.run([SIW, "exec", *words], check=True, capture_output=True, text=True).stdout


def ours(bin_folder):
    """One round of iwarp-perf: {(size, lane): GB/s}."""
    text = inside(os.path.join(bin_folder, "iwarp-perf"), "local", "--baseline", "tcp", "--crc", "both", "--test", "write-bw", "--rounds", "1",
                  "--slice", "100", "--size", ",".join(map(str, SIZES)), "--json", "-")
    found = {}
    for row in json.loads(text[text.index("\n{") + 1:])["results"]:
        lane = "tcp" if row["lane"]["transport"] == "tcp" else "ours on" if row["lane"]["crc"] else "ours off"
        found[row["size"], lane] = row["gigabytes_per_second"]["median"]
    return found


def siw(crc, size):
    """GB/s of payload, from the octets that TCP carries."""
    rate = float(inside("/usr/bin/python3", "-IS", os.path.join(HERE, "siw.d/rate.py"), "ib_write_bw", str(size), str(SIZES[size]),
                        "Y" if crc == "on" else "N"))
    return rate * 1e-9 * size / (size + EACH * -(-size // SEGMENT))


def measure(bin_folder, rounds):
    values, missed = {}, 0
    for _ in range(rounds):
        for key, value in ours(bin_folder).items():
            values.setdefault(key, []).append(value)
        for size in SIZES:
            for crc in ("off", "on"):
                values.setdefault((size, "siw " + crc), []).append(siw(crc, size))
    print("write-bw, GB/s, %d rounds            TCP      ours       siw   ours    siw: ratio to TCP" % rounds)
    for size in SIZES:
        for crc in ("off", "on"):
            columns = [values[size, lane] for lane in ("tcp", "ours " + crc, "siw " + crc)]
            ratios = [statistics.median(a / b for a, b in zip(column, columns[0])) for column in columns[1:]]
            good = ratios[0] > ratios[1]
            missed += not good and size >= BAR
            print("%-28s %9.3f %9.3f %9.3f %6.3f %6.3f  %s" % ("%d octets, CRC %s" % (size, crc), *map(statistics.median, columns), *ratios,
                                                            "holds" if good else "MISSED" if size >= BAR else "worse"), flush=True)
    return 1 if missed else 0


def main(bin_folder, work, rounds=9):
    work = os.path.abspath(work)
    subprocess.run([os.path.join(HERE, "siw.d/settings-kernel.sh"), work], check=True)
    # However it ends, the kernel must not stay.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(TMPDIR=folder, IW_SIW_KERNEL=os.path.join(work, "linux"))
        try:
            subprocess.run([SIW, "up"], check=True, stdout=subprocess.DEVNULL)
            return measure(os.path.abspath(bin_folder), rounds)
        finally:
            subprocess.run([SIW, "down"], check=False)


if __name__ == "__main__":
    if not 3 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])))
