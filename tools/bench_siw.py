#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""iwarp-perf and Linux's siw (by perftest) against plain TCP, all inside the user-mode kernel of tools/siw, in turn: RDMA
Writes of a window of 128, and the half round trip of Sends. Medians of the rounds; the exit status is 1 if siw has the
better bandwidth at a size from 4 KiB up.

usage: bench_siw.py FOLDER-OF-PROGRAMS WORK [ROUNDS]

In the folder WORK a kernel is built in which siw's use of CRCs is a parameter (some minutes and 1 GB; it is used again).
By root the kernel runs with real-time priority.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SIW = os.path.join(HERE, "siw")
REAL_TIME = ["chrt", "-f", "20"] if os.geteuid() == 0 and shutil.which("chrt") else []
# Octets of a message, and how many of them take some tenths of a second.
SIZES = {64: 20000, 1024: 10000, 4096: 5000, 65536: 1500, 1048576: 128}
BAR = 4096

# perftest wants to read the CPU's clock rate where this kernel has none; it then measures it, and gives up now and then,
# with a bandwidth of 0.
PREPARE = """{ cat /proc/cpuinfo; echo "cpu MHz : 2000.000"; } >/dev/shm/cpuinfo && mount --bind /dev/shm/cpuinfo /proc/cpuinfo"""
PERFTEST = """ulimit -l unlimited
program=$1 crc=$2 size=$3 count=$4
echo "$crc" >/sys/module/siw/parameters/mpa_crc_required
for try in 1 2 3 4 5 6; do
    $program -d siw0 -R -F -s "$size" -n "$count" >/dev/null 2>&1 &
    until [ -n "$(ss -Hltn sport = :18515)" ]; do sleep 0.02; done
    said=$($program -d siw0 -R -F -s "$size" -n "$count" 10.7.0.1 2>/dev/null | grep -E "^ +$size +[0-9]")
    wait
    case $said in *" 0.00 "*" 0.00 "* | "") ;; *) break ;; esac
done
echo "$said" """


def inside(*words):
    return subprocess.run([SIW, "exec", *words], check=True, capture_output=True, text=True).stdout


def ours(bin_folder, test, sizes):
    """One round of iwarp-perf: {(size, lane): value}."""
    text = inside(os.path.join(bin_folder, "iwarp-perf"), "local", "--baseline", "tcp", "--crc", "both", "--test", test, "--rounds", "1",
                  "--slice", "200", "--size", ",".join(map(str, sizes)), "--json", "-")
    rows = json.loads(text[text.index("\n{") + 1:])["results"]
    found = {}
    for row in rows:
        lane = "tcp" if row["lane"]["transport"] == "tcp" else "on" if row["lane"]["crc"] else "off"
        found[row["size"], lane] = (row.get("gigabytes_per_second") or row.get("microseconds"))["median"]
    return found


def siw(program, crc, size, count):
    words = inside("bash", "-c", PERFTEST, "sh", program, "Y" if crc == "on" else "N", str(size), str(count)).split()
    if len(words) < 4:
        return None
    if program == "ib_send_lat":
        return float(words[4])  # microseconds, typical: the median
    return float(words[3]) * 1048576e-9  # MiB/s on average


def row(name, tcp, ours_value, siw_value, better, bar):
    """`better`: a greater value is. Each value is a list, one of each round."""
    ratios = [statistics.median(a / b for a, b in zip(values, tcp)) for values in (ours_value, siw_value)]
    good = (ratios[0] > ratios[1]) == better
    print("%-34s %9.3f %9.3f %9.3f   %6.3f %6.3f   %s"
          % (name, statistics.median(tcp), statistics.median(ours_value), statistics.median(siw_value), *ratios,
             ("holds" if good else "MISSED") if bar else "better" if good else "worse"), flush=True)
    return good or not bar


def measure(bin_folder, rounds):
    sizes, values = list(SIZES), {}
    for _ in range(rounds):
        for test, program, which in (("write-bw", "ib_write_bw", sizes), ("send-lat", "ib_send_lat", [4])):
            for (size, lane), value in ours(bin_folder, test, which).items():
                values.setdefault((test, size, "tcp" if lane == "tcp" else "ours " + lane), []).append(value)
            for size in which:
                for crc in ("off", "on"):
                    value = siw(program, crc, size, SIZES.get(size, 2000))
                    values.setdefault((test, size, "siw " + crc), []).append(value)
    print("%-34s %9s %9s %9s   %6s %6s" % ("GB/s, us", "TCP", "ours", "siw", "ours", "siw: ratio to TCP"))
    good = True
    for test, size in sorted({key[:2] for key in values}, key=lambda key: (key[0] != "write-bw", key[1])):
        for crc in ("off", "on"):
            columns = [values[test, size, lane] for lane in ("tcp", "ours " + crc, "siw " + crc)]
            whole = [turn for turn in zip(*columns) if turn[2]]
            if not whole:
                print("%s %d, CRC %s: perftest told nothing" % (test, size, crc))
                continue
            good &= row("%s %d, CRC %s" % (test, size, crc), *map(list, zip(*whole)), test == "write-bw", test == "write-bw" and size >= BAR)
    return 0 if good else 1


def main(bin_folder, work, rounds=9):
    work = os.path.abspath(work)
    subprocess.run([os.path.join(HERE, "siw.d/settings-kernel.sh"), work], check=True)
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(TMPDIR=folder, IW_SIW_KERNEL=os.path.join(work, "linux"))
        subprocess.run([*REAL_TIME, SIW, "up"], check=True, stdout=subprocess.DEVNULL)
        try:
            inside("sh", "-c", PREPARE)
            return measure(os.path.abspath(bin_folder), rounds)
        finally:
            subprocess.run([SIW, "down"], check=False)


if __name__ == "__main__":
    if not 3 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])))
