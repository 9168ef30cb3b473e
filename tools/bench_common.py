# SPDX-License-Identifier: BSD-3-Clause
"""What several benchmarks do: run iwarp-perf, judge ratios, and speak to iwarp-peer with plain sockets."""
import fnmatch
import json
import os
import shutil
import statistics
import struct
import subprocess
import sys

# As root, so that other load disturbs less.
REAL_TIME = ["chrt", "-f", "20"] if os.geteuid() == 0 and shutil.which("chrt") else []

REPLY = 20  # octets of an MPA Reply


def request(crc):
    """An MPA Request of revision 1 (RFC 5044 §7.1.1)."""
    return b"MPA ID Req Frame" + bytes([0x40 if crc else 0, 1, 0, 0])


def crc32c(octets):
    crc = 0xFFFFFFFF
    for octet in octets:
        crc ^= octet
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return struct.pack("<I", crc ^ 0xFFFFFFFF)


def send_message(number, payload, crc):
    """A Send in one FPDU (RFC 5044 §4, RFC 5041 §4.3, RFC 5040 §4.1)."""
    ulpdu = bytes([0x41, 0x43]) + struct.pack(">IIII", 0, 0, number, 0) + payload
    fpdu = struct.pack(">H", len(ulpdu)) + ulpdu + bytes(-(len(ulpdu) + 2) % 4)
    return fpdu + (crc32c(fpdu) if crc else bytes(4))


def perf_rows(command, *options):
    """Runs iwarp-perf against itself. Returns the rows of its report."""
    words = [*command, "local", *map(str, options), "--json", "-"]
    ran = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if ran.returncode:
        raise SystemExit(f"{' '.join(words)}: status {ran.returncode}: {ran.stderr.strip()}")
    return json.loads(ran.stdout)["results"]


class Bars:
    """Ratios of what was measured in turn, against limits: a line for each, then the exit status."""

    def __init__(self, pattern="*"):
        self.pattern, self.count, self.missed = pattern, 0, 0

    def wanted(self, name):
        return fnmatch.fnmatch(name, self.pattern)

    def judge(self, name, limit, pairs, least=True, figures=False):
        """`pairs`: two figures of each round. Judges the median of their ratios; `figures` shows the medians of both, too."""
        ratios = [first / second for first, second in pairs]
        middle = statistics.median(ratios)
        good = middle >= limit if least else middle <= limit
        self.count += 1
        self.missed += not good
        both = "(%.2f, %.2f)" % tuple(statistics.median(one) for one in zip(*pairs)) if figures else ""
        line = "%-66s %6.3f (%.3f .. %.3f) %s %-5g %-6s %s" % (name, middle, min(ratios), max(ratios), ">=" if least else "<=", limit,
                                                             "holds" if good else "MISSED", both)
        print(line.rstrip(), flush=True)

    def end(self):
        print(f"{self.missed} of {self.count} bars missed" if self.missed else f"all {self.count} bars hold")
        sys.exit(1 if self.missed else 0)
