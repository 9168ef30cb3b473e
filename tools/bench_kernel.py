#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""This project's driver and Linux's siw, both by perftest, against plain TCP in the same user-mode kernel of tools/siw, in turn: Writes
and Reads in flight, and half of the round trip of Sends whose ends sleep. Medians of the rounds; the exit status is 1 if siw is better
anywhere.

usage: bench_kernel.py FOLDER-OF-PROGRAMS WORK [ROUNDS]

In the folder WORK a kernel is built that has both drivers, and siw's use of CRCs as a parameter (some minutes and 1 GB; it is used again
until WORK/linux is removed). The rounds are kept there, too: with the same kernel, a run adds ROUNDS (5) more and prints all of them.
"""
import hashlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

from bench_common import perf_rows

HERE = os.path.dirname(os.path.abspath(__file__))
SIW = os.path.join(HERE, "siw")
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
TRIES = 3  # of perftest, which crashes or stands still at times


def tcp(bin_folder):
    """One round of plain TCP: {(test, size, "tcp"): GB/s or us}."""
    found = {}
    for test, sizes in SIZES.items():
        for row in perf_rows([SIW, "exec", os.path.join(bin_folder, "iwarp-perf")], "--baseline", "tcp", "--crc", "off", "--test", test,
                             "--rounds", 1, "--slice", 100, "--size", ",".join(map(str, sizes))):
            if row["lane"]["transport"] == "tcp":
                what = row["gigabytes_per_second"] if test != "send-lat" else row["microseconds"]
                found[test, row["size"], "tcp"] = what["median"]
    return found


def perftest(test, size, crc, device):
    """GB/s of payload or us, from the octets that TCP carries."""
    whole = size + EACH[test] * -(-size // SEGMENT[test]) + (REQUEST if test == "read-bw" else 0)
    words = ["/usr/bin/python3", "-IS", os.path.join(HERE, "siw.d/rate.py"), PERFTEST[test], str(size), str(SIZES[test][size]),
             "Y" if crc == "on" else "N", device]
    for left in reversed(range(TRIES)):
        ran = subprocess.run([SIW, "exec", *words], check=False, capture_output=True, text=True)
        if ran.returncode == 0:
            rate = float(ran.stdout)
            return whole / rate * 1e6 if test == "send-lat" else rate * 1e-9 * size / whole
        print("bench_kernel.py: %s: status %d: %s%s" % (" ".join(words), ran.returncode, ran.stderr.strip(), "; once more" if left else ""),
              file=sys.stderr)
    sys.exit(1)


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


def kept(path):
    """The rounds in the file, of which each line is one."""
    with open(path, encoding="utf-8") as file:
        return [{tuple(key): value for key, value in json.loads(line)} for line in file]


def measure(bin_folder, work, rounds):
    with open(os.path.join(work, "linux"), "rb") as file:
        path = os.path.join(work, "rounds-%s.jsonl" % hashlib.sha256(file.read()).hexdigest()[:12])
    with open(path, "a", encoding="utf-8") as file:
        for _ in range(rounds):
            print(json.dumps(list(one_round(bin_folder).items())), file=file, flush=True)
    return report(kept(path))


def main(bin_folder, work, rounds=5):
    work = os.path.abspath(work)
    missing = [name for name in (*PERFTEST.values(), os.path.join(bin_folder, "iwarp-perf")) if not shutil.which(name)]
    if missing:
        sys.exit("bench_kernel.py: there is no %s (tools/dev setup record installs perftest)" % ", no ".join(missing))
    os.environ["IW_SIW_DRIVER"] = "iwarp"
    subprocess.run([os.path.join(HERE, "siw.d/settings-kernel.sh"), work], check=True)
    # However it ends, the kernel must not stay.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(TMPDIR=folder, IW_SIW_KERNEL=os.path.join(work, "linux"))
        try:
            subprocess.run([SIW, "up"], check=True, stdout=subprocess.DEVNULL)
            return measure(os.path.abspath(bin_folder), work, rounds)
        finally:
            subprocess.run([SIW, "down"], check=False)


if __name__ == "__main__":
    if not 3 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])))
