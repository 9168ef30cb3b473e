#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures the cost of the Wireshark plugin: CPU time and memory of tshark with it, against the built-in iWARP dissectors on
the same captures. Both take turns. Prints medians; the exit status is 1 if a bar is missed.

usage: bench_dissector.py PLUGINS IWARP-PERF [MIB [ROUNDS]]

PLUGINS is the build's folder of plugins (4.0/epan/iwarp.so lies in it). The command that is measured is
tshark -n -q -z expert -r FILE, for the built-in dissectors with --disable-protocol iwarp.
"""
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

from bench_lint import cost

CPU, MEMORY, SECOND, MANY = 1.25, 1.1, 2.2, 1.5  # the bars: times
NOBODY = 65534  # Wireshark looks for no plugins but the system's when it is run by root
MESSAGE, HEADER, MPA = 65536, 14, 6  # octets: a Write, its tagged header in each FPDU, ULPDU length and CRC
BUILT_IN = ("--disable-protocol", "iwarp")


class Bench:
    def __init__(self, folder, plugins, perf, rounds):
        os.chmod(folder, 0o755)
        self.folder, self.perf, self.rounds, self.good = folder, perf, rounds, True
        shutil.copytree(plugins, os.path.join(folder, "plugins"))

    def become_nobody(self):
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        os.environ.update(HOME=self.folder, WIRESHARK_PLUGIN_DIR=os.path.join(self.folder, "plugins"), LC_ALL="C")

    def record(self, *options):
        path = os.path.join(self.folder, "capture.pcapng")
        subprocess.run([self.perf, "loop", "--pcap", path, "--port", "4711", *map(str, options)], check=True,
                       stdout=subprocess.DEVNULL)
        return path

    def cost(self, path, *options):
        return cost("tshark", "-n", "-q", "-z", "expert", "-r", path, *options, first=self.become_nobody)

    def output(self, *options):
        return subprocess.run(["tshark", *options], check=True, capture_output=True, encoding="utf-8",
                              preexec_fn=self.become_nobody).stdout

    def report(self, text, value, bar):
        """Prints a line; a bar of None is none."""
        print(text + (f" (bar {bar})" if bar else ""), flush=True)
        self.good = self.good and (not bar or value <= bar)

    def compare(self, name, path, cpu=None, memory=MEMORY):
        """Compares CPU time and memory with the built-in's. Returns our CPU time."""
        turns = [(self.cost(path), self.cost(path, *BUILT_IN)) for _ in range(self.rounds)]
        ours, theirs = (statistics.median(turn[k][0] for turn in turns) for k in (0, 1))
        most = [max(turn[k][1] for turn in turns) for k in (0, 1)]
        self.report(f"{name}: {ours:.2f} s, built-in {theirs:.2f} s, {ours / theirs:.2f} times", ours / theirs, cpu)
        self.report(f"{name}: {most[0]:.0f} MiB, built-in {most[1]:.0f} MiB, {most[0] / most[1]:.2f} times", most[0] / most[1], memory)
        return ours

    def framing(self, messages, path, fpdu):
        """Checks that every FPDU is found, with a good CRC and the length that it was made with."""
        room = fpdu - fpdu % 4 - MPA - HEADER
        lengths = [HEADER + room] * (MESSAGE // room) + ([HEADER + MESSAGE % room] if MESSAGE % room else [])
        tree = self.output("-n", "-r", path, "-q", "-z", "iwarp,tree")
        good = re.search(r"^ good +(\d+) ", tree, re.MULTILINE)
        good = int(good[1]) if good else 0
        rest = sum(map(int, re.findall(r"^ (?:bad|unchecked|unknown) +(\d+) ", tree, re.MULTILINE)))
        theirs = self.output("-n", "-r", path, *BUILT_IN, "-Y", "iwarp_mpa.fpdu", "-T", "fields", "-e", "iwarp_mpa.ulpdulength")
        right = sum(int(length, 0) in lengths for length in theirs.replace(",", "\n").split())
        want = messages * len(lengths)
        print(f"FPDUs of {fpdu} octets: {good} of {want} with a good CRC, {rest} others (bar: all, none); built-in: "
              f"{right} of their lengths, {100 * right / want:.1f} %", flush=True)
        self.good = self.good and good == want and rest == 0


def main(plugins, perf, mib=300, rounds=3):
    messages = mib * 16
    octets = messages * MESSAGE
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder, plugins, perf, rounds)
        if "iwarp.so" not in bench.output("-G", "plugins"):
            sys.exit("tshark does not load the plugin")
        options = ("--size", MESSAGE, "--total", octets, "--traffic")
        path = bench.record(*options, "writes")
        bench.compare(f"{mib} MiB of Writes, each segment an FPDU", path, CPU)
        path = bench.record(*options, "writes", "--fpdu", 8192)
        bench.compare(f"{mib} MiB of Writes, FPDUs of 8 KiB over segments", path)
        bench.framing(messages, path, 8192)
        bench.compare(f"{mib} MiB of Sends", bench.record(*options, "sends"))

        path = bench.record("--size", MESSAGE, "--total", octets * 2 // 15, "--traffic", "sends")
        once = statistics.median(bench.cost(path)[0] for _ in range(rounds))
        twice = statistics.median(bench.cost(path, "-2")[0] for _ in range(rounds))
        bench.report(f"{mib * 2 // 15} MiB of Sends: {once:.2f} s, with a second pass {twice:.2f} s, {twice / once:.2f} times",
                   twice / once, SECOND)

        times = {}
        for connections in (mib * 1000 // 30, mib * 10000 // 30):
            path = bench.record("--size", 2048, "--total", 4096 * connections, "--connections", connections)
            times[connections] = bench.compare(f"{connections} connections", path, None, None) / connections
        few, many = times.values()
        bench.report(f"ten times the connections: {many / few:.2f} times the time of each", many / few, MANY)
    sys.exit(not bench.good)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:3], *map(int, sys.argv[3:]))
