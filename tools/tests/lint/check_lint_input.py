#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""iwarp-lint reports the same for the same packets in every format, and accepts any octets.

usage: check_lint_input.py IWARP-LINT IWARP-PERF LINT-SERVE [memory]

LINT-SERVE is iwarp-lint's main() in one process, for the more than 1,600 times that it is asked here. IWARP-LINT itself is
run where the process matters: a capture on the standard input, memory, signals. memory: nothing else is asked.
"""
import json
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile

import harness
from harness import check

ETHERNET, SLL, SLL2, NULL, LOOP, RAW = 1, 113, 276, 0, 108, 101
MEMORY = 64 << 20


class Served:
    """iwarp-lint's main() as often as it is called, in one process (lint/serve.c)."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, words):
        octets = b"".join(os.fsencode(word) + b"\0" for word in words)
        try:
            self.process.stdin.write(struct.pack("=I", len(octets)) + octets)
            self.process.stdin.flush()
            status, out, err = struct.unpack("=III", self.process.stdout.read(12))
        except (OSError, struct.error):
            sys.exit("%s: the process ended with status %d" % (" ".join(words), self.process.wait()))
        return subprocess.CompletedProcess(words, status, self.process.stdout.read(out), self.process.stdout.read(err))

    def end(self):
        """Ends it, and sees whether a sanitizer has anything against all of it."""
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait()


class Lint(harness.Bench):
    def __init__(self, program, perf, served, folder):
        super().__init__(program, folder)
        self.perf, self.served = perf, served

    def write(self, octets, name="in.pcap"):
        return super().write(name, octets)

    def run(self, *words, status=0, **more):
        done = harness.run(self.program, *words, status=None, text=False, **more) if more else self.served.run(words)
        if done.returncode not in ((0, 1) if status is None else (status,)):
            sys.exit("%s: exit %d, expected %s\n%s%s" % (" ".join(words), done.returncode, status,
                                                         done.stdout.decode()[-2000:], done.stderr.decode()[-2000:]))
        return done

    def connections(self, path, *words, status=0, **more):
        lines = self.run("--json", "--summary", *words, path, status=status, **more).stdout.splitlines()
        return [o for o in map(json.loads, lines) if o["type"] == "connection"]

    def record(self, *words):
        path = self.at("made.pcapng")
        harness.run(self.perf, "loop", "--pcap", path, *words)
        return harness.octets(path)


def packets(octets):
    """The IP packets of a little-endian pcapng file of Ethernet, and their times."""
    found = []
    while octets:
        kind, size = struct.unpack("<II", octets[:8])
        if kind == 6:
            high, low, captured = struct.unpack("<III", octets[12:24])
            found.append((high << 32 | low, octets[28 + 14:28 + captured]))
        octets = octets[size:]
    return found


def pcap(frames, link, order="<", nano=True, snap=None):
    parts = [struct.pack(order + "IHHIIII", 0xa1b23c4d if nano else 0xa1b2c3d4, 2, 4, 0, 0, 65535, link)]
    for time, frame in frames:
        kept = frame if snap is None else frame[:snap]
        parts += (struct.pack(order + "IIII", time // 10**9, time % 10**9 // (1 if nano else 1000), len(kept), len(frame)), kept)
    return b"".join(parts)


def block(order, kind, body):
    body += bytes(-len(body) % 4)
    size = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + size + body + size


def pcapng(frames, links, order="<"):
    """Frame n is of interface n modulo their number."""
    octets = block(order, 0x0a0d0d0a, struct.pack(order + "IHHq", 0x1a2b3c4d, 1, 0, -1))
    for link in links:
        octets += block(order, 1, struct.pack(order + "HHI", link, 0, 0) + struct.pack(order + "HHBxxxI", 9, 1, 9, 0))
    for n, (time, frame) in enumerate(frames):
        octets += block(order, 6, struct.pack(order + "IIIII", n % len(links), time >> 32, time & 0xffffffff, len(frame),
                                              len(frame)) + frame)
    return octets


def kind_of(packet):
    return b"\x08\x00" if packet[0] >> 4 == 4 else b"\x86\xdd"


def family(packet, v6=10):
    return 2 if packet[0] >> 4 == 4 else v6


MAC = bytes.fromhex("020000000001020000000002")
FRAMES = {
    "Ethernet": (ETHERNET, lambda p: MAC + kind_of(p) + p),
    "a VLAN": (ETHERNET, lambda p: MAC + b"\x81\x00\x00\x07" + kind_of(p) + p),
    "QinQ": (ETHERNET, lambda p: MAC + b"\x88\xa8\x00\x07\x81\x00\x00\x08" + kind_of(p) + p),
    "QinQ of old": (ETHERNET, lambda p: MAC + b"\x91\x00\x00\x07\x81\x00\x00\x08" + kind_of(p) + p),
    "padded Ethernet": (ETHERNET, lambda p: (MAC + kind_of(p) + p).ljust(60, b"\xee")),
    "Linux cooked": (SLL, lambda p: b"\0\0\0\1\0\6" + MAC[:6] + b"\0\0" + kind_of(p) + p),
    "Linux cooked 2": (SLL2, lambda p: kind_of(p) + b"\0\0\0\0\0\2\0\1\0\6" + MAC[:6] + b"\0\0" + p),
    "loopback, little-endian": (NULL, lambda p: struct.pack("<I", family(p, 30)) + p),
    "loopback, big-endian": (NULL, lambda p: struct.pack(">I", family(p, 28)) + p),
    "OpenBSD's loopback": (LOOP, lambda p: struct.pack(">I", family(p, 24)) + p),
    "raw IP": (RAW, lambda p: p),
    "raw IP as 12": (12, lambda p: p),
    "raw IP as 14": (14, lambda p: p),
}


def with_options(p):
    return bytes([0x47]) + p[1:2] + struct.pack(">H", len(p) + 8) + p[4:20] + b"\x94\4\0\0\1\1\1\0" + p[20:]


def as_ipv6(p, extensions=b"", first=6):
    hosts = b"".join(bytes.fromhex("20010db8") + bytes(8) + p[i:i + 4] for i in (12, 16))
    return b"\x60\0\0\0" + struct.pack(">HBB", len(extensions) + len(p) - 20, first, 64) + hosts + extensions + p[20:]


def with_extensions(p):
    # Hop-by-hop, routing, an atomic fragment, authentication, destination options.
    chain = bytes.fromhex("2b00010400000000" "2c00000000000000" "3300000000000009" "3c02000000000001" "0000000100000000"
                          "0600010400000000")
    return as_ipv6(p, chain, 0)


def fragments(p, number, size=24):
    """The packet in fragments, the last one first."""
    if p[0] >> 4 == 4:
        head, rest = p[:20], p[20:]
        make = lambda at, part, more: (head[:2] + struct.pack(">HHH", 20 + len(part), number, at // 8 | more << 13) + head[8:]
                                       + part)
    else:
        head, rest = p[:40], p[40:]
        make = lambda at, part, more: (head[:4] + struct.pack(">HB", 8 + len(part), 44) + head[7:] +
                                       struct.pack(">BBHI", 6, 0, at | more, number) + part)
    parts = range(0, len(rest), size)
    return [make(at, rest[at:at + size], at + size < len(rest)) for at in reversed(parts)]


def same(lint, wanted, octets, what, *words, **more):
    got = lint.connections(lint.write(octets), *words, **more)
    for one in got + wanted:  # IPv6 shows other addresses
        one.pop("initiator_address", None)
        one.pop("responder_address", None)
    check(got == wanted, what, got, wanted)


def links(lint):
    made = lint.record("--size", "100", "--total", "400", "--connections", "2")
    frames = packets(made)
    wanted = lint.connections(lint.write(made))
    check([c["initiator"]["messages"]["write"]["octets"] for c in wanted] == [100, 100] and
          not [c for c in wanted if c["initiator"]["gaps"] or not c["agreed"]["crc"]], "two connections", wanted)
    for name, (link, make) in FRAMES.items():
        same(lint, wanted, pcap([(t, make(p)) for t, p in frames], link), name)
        same(lint, wanted, pcap([(t, make(as_ipv6(p))) for t, p in frames], link), name + ", IPv6")
    ethernet = FRAMES["Ethernet"][1]
    same(lint, wanted, pcap([(t, ethernet(with_options(p))) for t, p in frames], ETHERNET), "IPv4 options")
    same(lint, wanted, pcap([(t, ethernet(with_extensions(p))) for t, p in frames], ETHERNET), "IPv6 extension headers")
    same(lint, wanted, pcap([(t, ethernet(p)) for t, p in frames], ETHERNET, ">"), "a big-endian file")
    same(lint, wanted, pcapng([(t, ethernet(p)) for t, p in frames], [ETHERNET], ">"), "a big-endian pcapng file")
    mixed = list(FRAMES.values())
    same(lint, wanted, pcapng([(t, mixed[n % len(mixed)][1](p)) for n, (t, p) in enumerate(frames)], [m[0] for m in mixed]),
         "interfaces of all kinds in one file")
    return frames, wanted


def in_fragments(lint, frames):
    for name, make in (("IPv4", lambda p: p), ("IPv6", as_ipv6)):
        pieces = [[(t, f) for f in fragments(make(p), n + 1)] for n, (t, p) in enumerate(frames)]
        whole = lint.connections(lint.write(pcap([(t, make(p)) for t, p in frames], RAW)))
        for order in ("the last first", "the first first", "shuffled"):
            if order == "the first first":
                pieces = [list(reversed(p)) for p in pieces]
            if order == "shuffled":
                for p in pieces:
                    random.Random(len(p)).shuffle(p)
            got = lint.connections(lint.write(pcap([f for p in pieces for f in p], RAW)))
            check([c["initiator"] for c in got] == [c["initiator"] for c in whole], "%s fragments, %s" % (name, order), got)
        some = [f for p in pieces for f in p[:-1] or p]
        out = lint.run("--json", "--summary", lint.write(pcap(some, RAW))).stdout.splitlines()
        total = json.loads(out[-1])
        check(total["unfinished_datagrams"] > 0, "%s fragments that are missing" % name, total)


def inputs(lint, frames, wanted):
    ethernet = [(t, FRAMES["Ethernet"][1](p)) for t, p in frames]
    octets = pcap(ethernet, ETHERNET)
    done = lint.run("--json", "--summary", "-", input=octets)
    got = [json.loads(line) for line in done.stdout.splitlines()]
    check(len([o for o in got if o["type"] == "connection"]) == 2, "the standard input", got)
    path = lint.write(octets)
    check(len(lint.connections(path, "--filter", "tcp port 10001")) == 1, "a filter")
    check(lint.connections(path, "--filter", "udp") == [], "a filter that selects nothing")
    check(b'filter "tcp prt 1": ' in lint.run("--filter", "tcp prt 1", path, status=2).stderr, "a filter that is none")
    copy = lint.at("copy.pcapng")
    mixed = list(FRAMES.values())
    lint.write(pcapng([(t, mixed[n % len(mixed)][1](p)) for n, (t, p) in enumerate(frames)], [m[0] for m in mixed]), "mixed.pcapng")
    lint.run("--annotate", copy, lint.at("mixed.pcapng"))
    check(len(lint.connections(copy)) == 2, "a copy has the interfaces of the capture")
    # 60 octets of each frame: of what carries an FPDU the end is missing, and nothing is found.
    out = lint.connections(lint.write(pcap(ethernet, ETHERNET, snap=60)))
    check(sum(c[s]["findings"] for c in out for s in ("initiator", "responder")) == 0 and
          sum(c["initiator"]["missing"] for c in out) > 0, "a snap length", out)


def sequence_space(lint, frames, wanted):
    """Every TCP sequence number as far on that the streams wrap; ports used again; nothing before the start-up."""
    port = lambda p: struct.unpack(">H", p[20:22])[0]
    def moved(p, by):
        by = by if port(p) >= 10000 else 0
        seq, ack = struct.unpack(">II", p[24:32])
        there = (0, 2**32 - 30)[port(p) != 4420], (0, 2**32 - 30)[port(p) == 4420]
        return p[:24] + struct.pack(">II", (seq + there[0]) % 2**32, (ack + there[1]) % 2**32 if p[33] & 16 else 0) + p[32:]
    ones = [(t, p) for t, p in frames if 10000 in struct.unpack(">HH", p[20:24])]
    first = [c for c in wanted if c["connection"] == 0]
    same(lint, first, pcap([(t, moved(p, 1)) for t, p in ones], RAW), "sequence numbers that wrap")
    again = [(t, p[:24] + struct.pack(">I", (struct.unpack(">I", p[24:28])[0] + 77777 * (p[20:22] != b"\x11\x44")) % 2**32) +
              (struct.pack(">I", (struct.unpack(">I", p[28:32])[0] + 77777 * (p[20:22] == b"\x11\x44")) % 2**32)
               if p[33] & 16 else p[28:32]) + p[32:]) for t, p in ones]
    got = lint.connections(lint.write(pcap(ones + again, RAW)))
    check([c["initiator"] for c in got] == [first[0]["initiator"]] * 2, "ports used again", got)
    got = lint.connections(lint.write(pcap([f for f in ones if not f[1][33] & 2], RAW)))
    check([c["initiator"] for c in got] == [first[0]["initiator"]], "no SYN in the capture", got)


def cut(lint):
    """A file with a finding, cut at every octet: the report is the beginning of the whole file's report."""
    frames = [(t, FRAMES["Ethernet"][1](p)) for t, p in packets(lint.record("--size", "1", "--total", "2"))]
    bad = next(i for i, (_, f) in enumerate(frames) if len(f) == 54 + 24)  # the Write: 14 octets of header, 1 of payload
    frames[bad] = frames[bad][0], frames[bad][1][:-1] + bytes([frames[bad][1][-1] ^ 1])
    octets = pcap(frames, ETHERNET)
    name = lint.write(octets)
    whole = lint.run("--messages", name, status=1).stdout
    check(whole.count(b"MPA-4.4-11") == 1, "a flipped bit is found", whole)
    ends, at = {24}, 24
    for _, frame in frames:
        at += 16 + len(frame)
        ends.add(at)
    found = set()
    for length in range(len(octets)):
        lint.write(octets[:length])
        status = 2 if length not in ends else 1 if length >= min(e for e in ends if e > 24 and octets[:e].count(frames[bad][1]))\
            else 0
        out = lint.run("--messages", name, status=status).stdout
        if not whole.startswith(out):
            sys.exit("cut at %d: %s\nis no beginning of\n%s" % (length, out, whole))
        found.add(out)
    check(len(found) > 5, "cut at each of %d octets" % len(octets), found)


def garbage(lint):
    source = random.Random(5044)
    made = lint.record("--size", "3000", "--total", "12000", "--connections", "2", "--markers", "on")
    statuses = set()
    for n in range(150):
        octets = bytearray(made)
        for _ in range(source.randrange(1, 40)):
            octets[source.randrange(28 if n % 2 else 0, len(octets))] = source.randrange(256)
        done = lint.served.run(["--messages", "--summary", lint.write(bytes(octets))])
        statuses.add(done.returncode)
        if done.returncode not in (0, 1, 2) or b"Sanitizer" in done.stderr:
            sys.exit("mutant %d: exit %d\n%s" % (n, done.returncode, done.stderr.decode(errors="replace")))
    check(statuses == {1, 2} or statuses == {0, 1, 2}, "mutants of a capture", statuses)
    for n in range(20):
        octets = bytes(source.randrange(256) for _ in range(2000))
        lint.run(lint.write(octets), status=2)
        frames = [(i, octets[i:i + 80]) for i in range(0, 1900, 20)]
        lint.run(lint.write(pcapng(frames, [ETHERNET, RAW, NULL, SLL, SLL2, LOOP])), status=0)
    check(True, "octets that are nothing")


REQUEST, REPLY = b"MPA ID Req Frame\0\1\0\0", b"MPA ID Rep Frame\0\1\0\0"  # no CRCs


def packet(addresses, ports, seq, ack, data):
    """An IPv4 packet of an acknowledging TCP segment, without checksums."""
    tcp = struct.pack(">HHIIHHHH", *ports, seq, ack, 0x5010, 65535, 0, 0) + data
    return b"\x45\0" + struct.pack(">HHHBBH", 20 + len(tcp), 0, 0, 64, 6, 0) + b"".join(addresses) + tcp


def talk(*said):
    """The IP packets, without SYNs, of what two sides (0, 1) say in turn from sequence numbers 1 on."""
    frames, seq = [], [1, 1]
    for n, (side, data) in enumerate(said):
        turn = slice(None, None, 1 - 2 * side)
        frames.append((n, packet((b"\x0a\0\0\1", b"\x0a\0\0\2")[turn], (1000, 2000)[turn], seq[side], seq[1 - side], data)))
        seq[side] += len(data)
    return frames


def streaming(lint):
    """RFC 5044 7.1.2: octets of the ULP before the Request, which may look like one."""
    fpdu = bytes.fromhex("0016 4143 00000000 00000000 00000001 00000000 61626364 00000000")
    def found(*said):
        lines = lint.run("--json", "--messages", lint.write(pcap(talk(*said), RAW)), status=None).stdout.splitlines()
        out = [json.loads(line) for line in lines]
        return [(o["frame"], o["side"], o.get("check", o.get("text", "")), o["octet"]) for o in out if "side" in o]
    whole = [(1, "initiator", "mpa request rev 1 pd 0", 0), (2, "responder", "mpa reply rev 1 pd 0", 0),
             (3, "initiator", "send L msn 1 mo 0 len 4", 20)]
    later = lambda by: [(frame + by, *rest) for frame, *rest in whole]
    mpa = (0, REQUEST), (1, REPLY), (0, fpdu)
    for before in ((), ((0, b"HELLO"),), ((1, b"220 ready"),), ((0, b"HELLO"), (1, b"200 ready"), (0, b"GO"), (1, b"gone")),
                   ((0, b"x" + REQUEST), (1, b"y" + REPLY)),
                   ((0, b"x"), (0, b"MPA ID Req Frame is a key")), ((0, b"x"), (0, REQUEST[:19])),
                   ((0, b"x"), (0, REQUEST[:17] + b"\3\0\0")), ((0, b"x"), (0, REQUEST[:18] + b"\2\1"))):
        got = found(*before, *mpa)
        check(got == later(len(before)), "start-up after %s" % (before,), got)
        check(found(*before) == [], "and no start-up in it")
    got = found((1, b"x"), *((1 - side, data) for side, data in mpa))
    check([g[:2] for g in got] == [(2, "initiator"), (3, "responder"), (4, "initiator")], "the one who was called sends the Request", got)
    got = found((0, b"HELLO"), (1, b"200"), (0, REQUEST[:16] + b"\x08" + REQUEST[17:]), (1, REPLY))
    check((3, "initiator", "mpa-res-bits", 16) in got, "a finding after it", got)
    # The octets sent before come again, alone and followed by the Request.
    frames = talk((0, b"HELLO"), (1, b"200"), *mpa)
    joined = talk((0, b"HELLO" + REQUEST))[0][1]
    joined = joined[:28] + frames[2][1][28:32] + joined[32:]
    lines = lint.run("--json", "--messages", lint.write(pcap(frames[:3] + [(3, frames[0][1]), (4, joined)] + frames[3:], RAW)))
    texts = [json.loads(line).get("text") for line in lines.stdout.splitlines()]
    check(texts[:3] == [w[2] for w in whole], "and comes again", texts)


def half_open(lint):
    """20,000 connections that have begun, each in the middle of an FPDU."""
    frames = []
    for n in range(20000):
        a, b = (b"\x0a\0" + struct.pack(">H", n), b"\x0a\1\0\1")
        for sent, seq, ack, data in ((0, 1, 1, b"MPA ID Req Frame\x40\1\0\0"), (1, 1, 21, b"MPA ID Rep Frame\x40\1\0\0"),
                                     (0, 21, 21, b"\x10\0" + b"\xc1\x40" + bytes(98))):
            turn = slice(None, None, 1 - 2 * sent)
            frames.append((n, packet((a, b)[turn], (1000, 2000)[turn], seq, ack, data)))
    path = lint.write(pcap(frames, RAW))
    child = os.fork()
    if child == 0:
        null = os.open("/dev/null", os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(os.open(lint.at("said"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        # The shell's child has a memory of its own from its beginning on.
        os.execvp("sh", ["sh", "-c", '"$0" "$@"; exit $?', lint.program, "--summary", path])
    _, status, usage = os.wait4(child, 0)
    said = harness.read(lint.at("said"))
    check(os.waitstatus_to_exitcode(status) == 0 and said.count("\n") == 1 and "more than 10000 connections" in said,
          "20,000 half-open connections: said once", said)
    # What a sanitizer takes is not the program's.
    check(harness.sanitized(lint.program) or usage.ru_maxrss * 1024 < MEMORY, "in 64 MiB", usage.ru_maxrss)


def summary(lint):
    lint.record("--size", "2000", "--total", "40000", "--crc", "off", "--markers", "on")
    out = lint.run("--summary", lint.at("made.pcapng")).stdout.decode()
    for text in ("agreed: revision 1, CRC off, Markers both ways\n", "10 write (20000 octets, 2000 each), 10 read-request",
                 "reads and atomics: at most 1 outstanding; 10 answered in (p50, p90, p99, most) "):
        check(text in out, "the summary has: %s" % text.strip(), out)
    one, = lint.connections(lint.at("made.pcapng"))
    times = one["initiator"]["reads"]["nanoseconds"]
    # 2000 octets and what goes around them, at a nanosecond each.
    check(2000 < times["p50"] <= times["p90"] <= times["p99"] <= times["most"] < 2300, "how long Reads took", times)


def extract(lint):
    octets = lint.record("--size", "5000", "--total", "40000")
    path, into = lint.at("made.pcapng"), lint.at("buffer")
    pattern = bytes((i * 31 + i // 257) & 255 for i in range(5000))
    for stag in ("0x1000", "8192"):
        out = lint.run("--extract", stag, "--into", into, path).stdout.decode()
        check(harness.octets(into) == pattern and "5000 octets of STag 0x%x" % int(stag, 0) in out, "the buffer %s" % stag, out)
    # One segment of each Write is not in the capture: 1440 octets of payload each, so the second is from 1440 on.
    frames = [f for f in packets(octets) if f[1][40 + 2:44] != b"\x81\x40" or struct.unpack(">Q", f[1][48:56])[0] != 1440]
    out = lint.run("--json", "--extract", "0x1000", "--into", into, lint.write(pcap(frames, RAW))).stdout.splitlines()
    line = next(json.loads(line) for line in out if b'"extract"' in line)
    check(line["holes"] == [{"from": "0x5a0", "to": "0xb3f"}] and line["from"] == "0x0" and line["to"] == "0x1387", "a hole", line)
    check(harness.octets(into) == pattern[:1440] + bytes(1440) + pattern[2880:], "is a hole in the file")
    lint.record("--size", "500", "--total", "4000", "--connections", "2")
    said = lint.run("--extract", "0x1000", "--into", into, path, status=64).stderr
    check(b"of connection 0" in said and b"of connection 1: expected --connection or --owner" in said, "two buffers", said)
    lint.run("--extract", "0x1000", "--into", into, "--connection", "1", "--owner", "responder", path)
    check(b"no Write or Read Response" in lint.run("--extract", "0x1000", "--into", into, "--owner", "initiator", path,
                                                   status=64).stderr, "no such buffer")
    check(b"cannot be written" in lint.run("--extract", "0x1000", "--into", "/nonexistent/x", "--connection", "0", path,
                                           status=73).stderr, "a file that cannot be written")


def usage(lint):
    path = lint.at("made.pcapng")
    for words, said in ((["--extract", "0x1", path], b"expected both or none"), (["--into", "x", path], b"expected both or none"),
                        (["--extract", "x", path], b"expected an STag"), (["--owner", "me", path], b"expected initiator or responder"),
                        (["--connection", "-1", path], b"expected the number of a connection"),
                        (["--live", "lo", path], b"expected one capture, a file or --live"),
                        (["--live", "lo", "--annotate", "x"], b"expected a file"),
                        (["--extract", "1", "--into", path, path], b"expected another file")):
        check(said in lint.run(*words, status=64).stderr, "64: %s" % " ".join(words[:2]))


def live(lint):
    """Frames as they pass; the summary when a signal comes."""
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]
    with subprocess.Popen([lint.program, "--live", "lo", "--filter", "tcp port %d" % port, "--json", "--messages", "--summary"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        line = b""
        for _ in range(600):
            with socket.create_connection(("127.0.0.1", port)) as a, server.accept()[0] as b:
                a.sendall(b"MPA ID Req Frame\0\1\0\0")
                b.recv(20, socket.MSG_WAITALL)
                b.sendall(b"MPA ID Rep Frame\0\1\0\0")
                a.recv(20, socket.MSG_WAITALL)
            if select.select([process.stdout], [], [], 0.1)[0]:
                line = process.stdout.readline()
                break
            if process.poll() is not None:
                break
        process.send_signal(signal.SIGINT)
        out, said = process.communicate()
    if process.returncode == 2 and (b"not permitted" in said or b"No such device" in said):
        print("ok - live # SKIP %s" % said.decode().strip())
        return
    check(process.returncode == 130 and b"mpa request rev 1" in line, "a live capture is reported at once", line, said)
    lines = [json.loads(line) for line in out.splitlines()]
    check(lines[-1]["type"] == "total" and lines[-1]["connections"] > 0, "and sums up when it is ended", lines[-1:])


def main(program, perf, served, only=""):
    if only not in ("", "memory"):
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        lint = Lint(program, perf, Served(served), folder)
        if not only:
            frames, wanted = links(lint)
            in_fragments(lint, frames)
            inputs(lint, frames, wanted)
            sequence_space(lint, frames, wanted)
            summary(lint)
            extract(lint)
            usage(lint)
            live(lint)
            streaming(lint)
        half_open(lint)
        if not only:
            garbage(lint)
            cut(lint)
    status = lint.served.end()
    check(status == 0, "the process that was asked all of this has ended well", status)
    check("No such device" in harness.run(program, "--live", "nowhere0", status=None).stderr or
          os.geteuid() != 0, "an interface that is not there")


if __name__ == "__main__":
    harness.start(main, __doc__)
