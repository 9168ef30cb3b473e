#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reads every case's capture with tshark and compares it with the second decoder: two decoders that
share nothing with the station.

usage: check_case_captures.py FOLDER LUA SECOND-DECODER

FOLDER is what suite_embedded.py left, which has asked the second decoder by itself.

- every capture: Ethernet, IP and TCP without a finding of tshark (checksums; sequence analysis but
  where the case crafts its segments) and nothing malformed below MPA;
- captures without a stimulus and without Markers: tshark's own iWARP dissector lists the FPDUs that
  the second decoder lists, frame by frame and in order.
"""
import functools
import os
import pathlib
import re
import struct
import sys
import tempfile

import harness

FIELDS = ["frame.number", "frame.comment", "tcp.stream", "tcp.srcport", "tcp.analysis.flags",
          "_ws.malformed", "tcp.checksum.status", "ip.checksum.status", "iwarp_mpa.ulpdulength",
          "iwarp_rdma.opcode", "tcp.dstport", "tcp.checksum", "tcp.checksum_calculated", "ip.src"]
OPCODES = {"Write": 0, "Read Request": 1, "Read Response": 2, "Send": 3, "Send with Invalidate": 4,
           "Send with SE": 5, "Send with SE and Invalidate": 6, "Terminate": 7, "Immediate Data": 8,
           "Immediate Data with SE": 9, "Atomic Request": 10, "Atomic Response": 11}
# Mistakes of tshark's built-in dissectors, with the reason: they take an FPDU for
# granted at the start of each TCP segment, so that FPDUs split by the station's writes are lost to
# them, and look for MPA at the start of a connection, not after streamed octets. The second
# decoder still judges those captures.
CRAFTED = re.compile(r"^tcp-")
TUN = "192.0.2."  # the addresses of crafted connections, whose other end is the kernel
SPLIT = re.compile(r"^tcp-|split|octet|coalesced|together|dribble|segment|and-fpdu"
                 r"|short-read|read-beyond|peer-blocks|^mpa-streaming|writes-of-|write-each-")


GROUP = 40  # captures that tshark reads at once: its start takes longer than most of them


def frames(octets):
    """How many packets a pcapng file of this machine's octet order has."""
    at = count = 0
    while at < len(octets):
        kind, size = struct.unpack_from("=II", octets, at)
        count += kind in (2, 3, 6)
        at += size
    return count


def tshark_group(paths, folder):
    """The rows of several captures; concatenated pcapng files are one."""
    if len(paths) == 1:
        return {paths[0]: tshark(paths[0])}
    texts = [pathlib.Path(p).read_bytes() for p in paths]
    together = pathlib.Path(folder, os.path.basename(paths[0]) + ".group")
    together.write_bytes(b"".join(texts))
    rows, lists, first = tshark(str(together)), {}, 0
    together.unlink()
    for path, count in zip(paths, map(frames, texts)):
        lists[path] = rows[first:first + count]
        for k, row in enumerate(lists[path]):
            row["frame.number"] = k + 1
        first += count
    if first != len(rows):
        sys.exit("%s ...: %d packets, tshark lists %d" % (paths[0], first, len(rows)))
    return lists


def tshark(path):
    # A port that the system has chosen may be that of another protocol (48898 is): heuristics first.
    command = ["tshark", "-n", "-r", path, "-o", "tcp.check_checksum:TRUE", "-o",
               "ip.check_checksum:TRUE", "-o", "tcp.try_heuristic_first:TRUE", "--disable-protocol", "rpcordma", "--disable-protocol",
               "smb_direct", "-T", "fields", "-E", "separator=|"]
    for field in FIELDS:
        command += ["-e", field]
    return [dict(zip(FIELDS, line.split("|"))) for line in harness.run(*command).stdout.splitlines()]


def second_decoder(lua, script, path):
    """The FPDUs of each TCP connection and direction: (ULPDU_Length, opcode)."""
    out = harness.run(lua, script, "--expect-problems", path)
    lists, ports, markers = {}, None, False
    for line in out.stdout.splitlines():
        head = re.match(r"CONNECTION \d+ I=\S*:(\d+) R=\S*:(\d+)", line)
        if head:
            ports = {"I>R": head.group(1), "R>I": head.group(2)}
        markers = markers or " M=1 " in line
        fpdu = re.match(r"\d+ (I>R|R>I) FPDU \d+ at=\d+ len=(\d+) crc=\S+ (.*?) (?:L=|short)", line)
        if fpdu:
            peer = "R>I" if fpdu.group(1) == "I>R" else "I>R"
            key = (ports[fpdu.group(1)], ports[peer])
            lists.setdefault(key, []).append((int(fpdu.group(2)), OPCODES.get(fpdu.group(3))))
    return lists, markers


def good_checksums(row, crafted):
    """Where Linux computes a checksum in place of a device it sends 0xffff for 0 (skb_checksum_help), as UDP wants
    it, also of TCP. A receiver's sum is right with both; tshark wants 0. One packet of 65,536 from the kernel is such."""
    mangled = crafted and (row["tcp.checksum"], row["tcp.checksum_calculated"]) == ("0xffff", "0x0000")
    return (row["tcp.checksum.status"] == "1" or mangled) and row["ip.checksum.status"] in ("1", "")


def judge_checksums():
    names = ["tcp.checksum.status", "ip.checksum.status", "tcp.checksum", "tcp.checksum_calculated"]
    for values, crafted, good in ((["1", "1", "0xc3dc", ""], False, True), (["1", "", "0x0000", ""], True, True),
                                  (["0", "1", "0xffff", "0x0000"], True, True), (["0", "1", "0xffff", "0x0000"], False, False),
                                  (["0", "1", "0xffff", "0x0001"], True, False), (["0", "0", "0xffff", "0x0000"], True, False)):
        if good_checksums(dict(zip(names, values)), crafted) != good:
            sys.exit("%s: expected %s" % (values, good))


def check(path, rows, lua, script):
    problems, listed, stimulus = [], {}, False
    name = os.path.basename(path)
    for row in rows:
        number = row["frame.number"]
        stimulus = stimulus or "stimulus" in row["frame.comment"]
        if row["tcp.stream"] == "":
            problems.append("frame %s is not TCP" % number)
        if row["tcp.analysis.flags"] and not CRAFTED.match(name):
            problems.append("frame %s: TCP analysis has a finding" % number)
        if not good_checksums(row, CRAFTED.match(name) or row["ip.src"].startswith(TUN)):
            problems.append("frame %s: bad checksum" % number)
        lengths = [int(n) for n in row["iwarp_mpa.ulpdulength"].split(",") if n]
        opcodes = [int(n, 0) for n in row["iwarp_rdma.opcode"].split(",") if n]
        key = (row["tcp.srcport"], row["tcp.dstport"])
        if len(lengths) == len(opcodes):
            listed.setdefault(key, []).extend(zip(lengths, opcodes))
        else:
            listed.setdefault(key, []).append((lengths, opcodes))
    expected, markers = second_decoder(lua, script, path)
    compared = not stimulus and not markers and not SPLIT.search(name)
    if compared:
        for key in set(listed) | set(expected):
            if listed.get(key, []) != expected.get(key, []):
                problems.append("port %s: tshark lists %s, the second decoder %s" %
                                (key[0], listed.get(key, []), expected.get(key, [])))
    return name, compared, problems


def check_group(paths, folder, lua, script):
    """A capture with a problem is looked at by itself: in a group ports may have come twice."""
    results = []
    for path, rows in tshark_group(paths, folder).items():
        result = check(path, rows, lua, script)
        if result[2] and len(paths) > 1:
            result = check(path, tshark(path), lua, script)
        results.append(result)
    return results


def main(suite, lua, script):
    judge_checksums()
    with tempfile.TemporaryDirectory() as folder:
        paths = sorted(map(str, pathlib.Path(suite, "pcaps").glob("*.pcapng")))
        if len(paths) < 2000:
            sys.exit("%s: %d captures" % (suite, len(paths)))
        groups = [paths[k:k + GROUP] for k in range(0, len(paths), GROUP)]
        lists = harness.side_by_side([functools.partial(check_group, group, folder, lua, script) for group in groups], os.cpu_count() or 1)
    results = [result for group in lists for result in group]
    for name, _, problems in results:
        harness.complain(*("%s: %s" % (name, problem) for problem in problems))
    compared = sum(1 for _, c, _ in results if c)
    print("tshark: %d captures read, FPDU lists compared in %d" % (len(results), compared))
    harness.expect("captures that were compared", compared >= 20, compared)
    harness.conclude()


if __name__ == "__main__":
    harness.start(main, __doc__)
