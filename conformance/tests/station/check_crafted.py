#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The cases with TCP segments of the station's own, as a user runs them.

usage: check_crafted.py IWARP-CONFORM

Where no network namespace may be made they are skipped, with the reason, and the others run. Where
one may, they pass, their captures have the packets as they were, and no process is left over. Exits
with 77 where the second half cannot be tried.
"""
import ctypes
import os
import platform
import struct
import tempfile

import harness
from harness import check

UNSHARE = {"x86_64": 272, "aarch64": 97}
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 38, 22, 2
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | 1  # EPERM


def refuse_unshare():
    """A seccomp filter: unshare() is not permitted."""
    program = b"".join(struct.pack("HBBI", *step) for step in (
        (0x20, 0, 0, 0), (0x15, 0, 1, UNSHARE[platform.machine()]), (0x06, 0, 0, REFUSE), (0x06, 0, 0, ALLOW)))
    octets = ctypes.create_string_buffer(program)
    filter_ = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(octets)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, FILTER, filter_, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def run(conform, folder, ids, limit=None):
    return {c["id"]: c for c in harness.suite(conform, folder, "--keep", "all", *ids, preexec_fn=limit)["cases"]}


def packets(path):
    """(from the station, sequence number, flags, payload) of each packet of a pcapng's IPv4 frames."""
    data = harness.octets(path)
    at, found = 0, []
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        if kind == 6:
            ip = at + 28 + 14
            total, tcp = struct.unpack_from(">H", data, ip + 2)[0], ip + 4 * (data[ip] & 15)
            seq, offset, flags = struct.unpack_from(">4xI4xBB", data, tcp)
            found.append((data[ip + 12:ip + 16] == bytes((192, 0, 2, 1)), seq, flags,
                          data[tcp + 4 * (offset >> 4):ip + total]))
        at += size
    return found


def refused(conform, folder):
    if platform.machine() not in UNSHARE:
        return
    cases = run(conform, folder, ["tcp-repeated*", "rdmap-target-writes"], refuse_unshare)
    check(cases.pop("rdmap-target-writes")["verdict"] == "PASS", "the other cases run", cases)
    check({(c["verdict"], c["reason"]) for c in cases.values()} ==
          {("SKIP", "needs crafted TCP segments: no network namespace: Operation not permitted")},
          "what needs crafted segments is skipped with the reason", cases)


def captures(cases):
    sent = [p for p in packets(cases["tcp-wrap-startup"]["pcap"]) if p[0]]
    syns = [seq for _, seq, flags, _ in sent if flags & 2]
    # The first connection measures; the second one's sequence numbers wrap 20 octets before the first FPDU.
    first = len([p for p in sent if p[3][:4] == b"MPA "][0][3])
    check(syns[1] == 0xFFFFFFFF - (first - 20), "the initial sequence number is the case's", syns)
    seqs = [p[1] for p in packets(cases["tcp-sends-reversed"]["pcap"]) if p[0] and p[3]]
    sends = sorted(seqs)[1:7]  # between the Request and the fence
    check([s for s in seqs if s in sends] == sorted(sends, reverse=True), "segments are in the order of the wire", seqs)
    octets = [(seq, payload) for station, seq, _, payload in packets(cases["tcp-repeated"]["pcap"])
              if station and payload]
    check(sum(octets.count(o) == 3 for o in set(octets)) == 2, "what was sent three times is there three times", octets)


def main(conform):
    with tempfile.TemporaryDirectory() as folder:
        refused(conform, folder)
    with tempfile.TemporaryDirectory() as folder:
        cases = run(conform, folder, ["tcp-*"])
        reasons = {c.get("reason") for c in cases.values()}
        if all(c["verdict"] == "SKIP" for c in cases.values()):
            harness.skip("; ".join(sorted(str(r) for r in reasons)))
        check(all(c["verdict"] == "PASS" for c in cases.values()), "every case passes",
              [c for c in cases.values() if c["verdict"] != "PASS"])
        captures(cases)
    check("iwarp0" not in os.listdir("/sys/class/net"), "no device is left", os.listdir("/sys/class/net"))


if __name__ == "__main__":
    harness.start(main, __doc__)
