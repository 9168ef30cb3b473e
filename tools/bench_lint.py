#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures the cost of iwarp-lint --summary: CPU time against tshark's on the same capture, memory, and many connections
against one. The programs take turns. Prints medians; the exit status is 1 if a bar is missed.

usage: bench_lint.py IWARP-LINT IWARP-PERF [OCTETS [ROUNDS]]
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

TSHARK, MEMORY, MANY = 20, 64, 2  # the bars: times as fast, MiB, times the cost per octet


def cost(*words, first=None):
    """Returns CPU seconds, user and system, and peak MiB. The shell's child has a memory of its own from its beginning on.
    `first` is called in the child before."""
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        if first:
            first()
        os.execvp("sh", ["sh", "-c", '"$0" "$@"; exit $?', *words])
    _, status, usage = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit("%s: exit %d" % (" ".join(words), os.waitstatus_to_exitcode(status)))
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def record(perf, path, octets, connections):
    subprocess.run([perf, "loop", "--pcap", path, "--size", "16384", "--total", str(octets), "--connections", str(connections)],
                   check=True, stdout=subprocess.DEVNULL)
    return os.path.getsize(path)


def main(program, perf, octets=1 << 30, rounds=5):
    bars = []
    with tempfile.TemporaryDirectory() as folder:
        names = {n: os.path.join(folder, "%d.pcapng" % n) for n in (1, 1000, 10000)}
        sizes = {n: record(perf, path, octets, n) for n, path in names.items()}
        lint = {n: [] for n in names}
        tshark, memory = [], 0
        for turn in range(rounds):
            for n, path in names.items():
                seconds, most = cost(program, "--summary", path)
                lint[n].append(seconds / sizes[n])
                memory = max(memory, most)
            # It needs much longer: every second turn, and one with a thousand connections, as with a few its
            # time grows with the square of the file.
            if turn % 2 == 0 and shutil.which("tshark"):
                tshark.append(cost("tshark", "-n", "-q", "-z", "expert", "-r", names[1000])[0] / sizes[1000])
        for n, times in lint.items():
            print("iwarp-lint --summary, %5d connections: %5.2f GB/s, median of %d (%.2f to %.2f)" %
                  (n, 1e-9 / statistics.median(times), rounds, 1e-9 / max(times), 1e-9 / min(times)))
        if tshark:
            ratio = statistics.median(tshark) / statistics.median(lint[1000])
            print("tshark -z expert,      1000 connections: %5.1f MB/s, iwarp-lint is %.1f times as fast (bar %d)" %
                  (1e-6 / statistics.median(tshark), ratio, TSHARK))
            bars.append(ratio >= TSHARK)
        ratio = statistics.median(lint[10000]) / statistics.median(lint[1])
        print("10,000 connections in turn, segment by segment: %.2f times the cost of one per octet (bar %d)" % (ratio, MANY))
        print("memory: at most %.1f MiB (bar %d), files of %.2f GB" % (memory, MEMORY, max(sizes.values()) * 1e-9))
        bars += [ratio <= MANY, memory < MEMORY]
    sys.exit(not all(bars))


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:3], *map(int, sys.argv[3:]))
