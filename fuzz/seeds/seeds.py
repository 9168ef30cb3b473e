#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""seeds.py FOLDER CAPTURE|FOLDER...

Makes seeds for the harnesses from captures: FOLDER/HARNESS/SHA1. For those of whole endpoints a capture is translated: what one side
did becomes local operations, what the other sent stays as it was, but for STags and TOs, which become those of input/local.h.
"""
import collections
import hashlib
import pathlib
import struct
import sys

import captures
from captures import (ATOMIC_REQUEST, ATOMIC_RESPONSE, IMMEDIATE, READ_REQUEST, READ_RESPONSE, SEND, TERMINATE, WRITE)

MOST = 6000  # octets after which a seed of steps ends
LARGE = 20000  # octets of a seed that is left out

# input/input.h
CRC, MARKERS_A, MARKERS_B, ENHANCED, PEER_TO_PEER, STARTED = 1, 2, 4, 8, 16, 32
A, B, LOCAL, TIME, AT, FIN, RST = range(7)
# input/local.h
POST, RECV, SHUTDOWN = 0, 1, 6
STAG, REGION_TO, REGION_LENGTH = 0x11223344, 0x1000, 4096
REVOCABLE = STAG + 5  # the region that the peer may invalidate
# enum iw_work_opcode
WORK = {3: 0, 5: 1, 4: 2, 6: 3, WRITE: 4, READ_REQUEST: 5, IMMEDIATE: 6, 9: 7}


def step(kind, body=b""):
    return b"".join(struct.pack("<BH", kind, len(body[i:i + 0xFFFF])) + body[i:i + 0xFFFF] for i in range(0, max(len(body), 1), 0xFFFF))


def operation(op, a=0, b=0, c=0, d=0, e=0, of_b=False):
    return struct.pack("<BBBBHH", op | (0x80 if of_b else 0), a, b, c, d & 0xFFFF, e & 0xFFFF)


def settings(connection, own_markers, peer_markers):
    first = (CRC if connection.side[0].crc else 0) | (MARKERS_A if peer_markers else 0) | (MARKERS_B if own_markers else 0)
    second = third = 0
    if connection.enhanced():
        block = connection.side[0].startup[20:24]
        first |= ENHANCED
        if len(block) == 4:
            word, other = struct.unpack(">HH", block)
            first |= PEER_TO_PEER if word & 0x8000 else 0
            second = (1 if word & 0x4000 else 0) | (2 if other & 0x8000 else 0) | (4 if other & 0x4000 else 0)
            third = min(word & 0x3FFF, 15) | min(other & 0x3FFF, 15) << 4
    else:
        third = 0x44
    if any(s.startup[17:18] == b"\0" for s in connection.side):
        second |= 0x40
    return bytes([first, second, third, 0x60])


class Translation:
    """STags and TOs of a capture as those of the harness's endpoint."""

    def __init__(self):
        self.base = {}
        self.reads = []  # (sink TO in the capture, sink TO here) of what our side reads

    def target(self, stag, to, length):
        base = self.base.setdefault(stag, to)
        offset = (to - base) % REGION_LENGTH
        if offset + length > REGION_LENGTH:
            offset = 0
        return STAG, REGION_TO + offset

    def ulpdu(self, f):
        """Translates what the peer sends into our endpoint's STags and TOs."""
        u = bytearray(f.ulpdu)
        if len(u) < f.header:
            return bytes(u)
        if f.opcode == WRITE and f.tagged:
            stag, to = struct.unpack(">IQ", u[2:14])
            struct.pack_into(">IQ", u, 2, *self.target(stag, to, len(u) - 14))
        elif f.opcode == READ_RESPONSE and f.tagged and self.reads:
            there, here = self.reads[0]
            struct.pack_into(">IQ", u, 2, STAG, here + (struct.unpack(">Q", u[6:14])[0] - there) % 0x10000)
            if f.last:
                self.reads.pop(0)
        elif f.opcode in (4, 6) and not f.tagged:
            struct.pack_into(">I", u, 2, REVOCABLE)
        elif f.opcode == READ_REQUEST and len(u) == 46:
            size, stag, to = struct.unpack(">IIQ", u[30:46])
            struct.pack_into(">IQ", u, 34, *self.target(stag, to, min(size, REGION_LENGTH)))
        elif f.opcode == ATOMIC_REQUEST and len(u) == 70:
            stag, to = struct.unpack(">IQ", u[26:38])
            stag, to = self.target(stag, to, 8)
            struct.pack_into(">IQ", u, 26, stag, to & ~7)
        return bytes(u)

    def read(self, f, offset):
        """Our side sends this Read Request."""
        self.reads.append((struct.unpack(">Q", f.ulpdu[22:30])[0], REGION_TO + offset))


def delivers(f):
    """Returns whether this is the first segment of a message that takes a receive."""
    return f.opcode in (3, 4, 5, 6, 8, 9) and not f.tagged and f.ulpdu[14:18] == bytes(4)


def local(f, total, translation, of_b=False):
    """Returns the local operation that sends a message with `total` octets, of which `f` is the last segment."""
    if f.opcode == ATOMIC_REQUEST and len(f.ulpdu) == 70:
        return operation(POST, 8 if struct.unpack(">I", f.ulpdu[18:22])[0] & 15 == 0 else 9, 0, 0, 1, 8, of_b)
    if f.opcode not in WORK:
        return None
    if f.opcode == READ_REQUEST:
        if len(f.ulpdu) != 46:
            return None
        size = struct.unpack(">I", f.ulpdu[30:34])[0]
        if translation:
            translation.read(f, 0)
        return operation(POST, 5, 0, 0, min(size, REGION_LENGTH), 0, of_b)
    return operation(POST, WORK[f.opcode], 0, 5 if f.opcode in (4, 6) else 0, min(total, 0xFFFF), 0, of_b)


def endpoint(connection, own):
    """Returns the seed for the endpoint that takes the place of side `own`."""
    ours, peer = connection.side[own], connection.side[1 - own]
    translation, out, pos, total = Translation(), bytearray(settings(connection, ours.markers, peer.markers)), 0, 0
    if peer.startup:
        out += step(A, peer.startup)
    for _, side, f in connection.events():
        if len(out) > MOST:
            break
        if side == own:
            total = total + max(len(f.ulpdu) - f.header, 0)
            if f.last:
                op = local(f, total, translation)
                total = 0
                out += step(LOCAL, op) if op else b""
            continue
        if delivers(f):
            out += step(LOCAL, operation(RECV, 1, 8, 0, 1500))
        octets = captures.frame(translation.ulpdu(f), pos, peer.markers, peer.crc, f.wrong)
        pos += len(octets)
        out += step(A, octets)
    rest = peer.octets[peer.fpdus[-1].end if peer.fpdus else len(peer.startup):]
    if rest and len(rest) < 2000:
        out += step(A, rest)
    if ours.ends and ours.ends[1] == "fin":
        out += step(LOCAL, operation(SHUTDOWN))
    if peer.ends:
        out += step(FIN if peer.ends[1] == "fin" else RST)
    return bytes(out)


def pair(connection, all_at_once):
    """Returns local operations of both sides, between which the channel carries the pending octets."""
    out, total = bytearray(settings(connection, connection.side[1].markers, connection.side[0].markers)), [0, 0]
    both = step(A, b"\0\0") + step(B, b"\0\0")
    out += both + both
    for _, side, f in connection.events():
        if len(out) > MOST // 3:
            break
        if delivers(f):
            out += step(LOCAL, operation(RECV, 1, 8, 0, 1500, of_b=side == 0))
        total[side] += max(len(f.ulpdu) - f.header, 0)
        if f.last:
            op = local(f, total[side], None, side == 1)
            total[side] = 0
            out += step(LOCAL, op) + (b"" if all_at_once else both) if op else b""
    for n, side in enumerate(connection.side):
        if side.ends:
            out += step(LOCAL, operation(SHUTDOWN, of_b=n == 1)) + both
    return bytes(out)


def observer(connection, as_ulpdus=None):
    """Returns the segments of both sides as captured; those of side `as_ulpdus` as ULPDUs."""
    joined = not connection.side[0].startup and not connection.side[1].startup
    out, edge = bytearray([CRC, 1 | (0 if as_ulpdus is None else 8 << as_ulpdus) | (0x20 if joined else 0), 0, 0]), [0, 0]
    things = [(order, n, pos, octets) for n, s in enumerate(connection.side) if n != as_ulpdus for order, pos, octets in s.pieces]
    things += [(s.ends[0] + 0.5, n, None, s.ends[1]) for n, s in enumerate(connection.side) if s.ends]
    if as_ulpdus is not None:
        s = connection.side[as_ulpdus]
        things += [(s.when(len(s.startup)), as_ulpdus, "as_ulpdus", s.startup)] if s.startup else []
        things += [(s.when(f.end), as_ulpdus, "as_ulpdus", f.ulpdu) for f in s.fpdus]
    for _, n, pos, octets in sorted(things, key=lambda thing: thing[0]):
        if len(out) > MOST:
            break
        if pos is None:
            out += step((FIN if octets == "fin" else RST) | (0x80 if n else 0), bytes([n]))
        elif pos == "as_ulpdus" or pos == edge[n]:
            out += step(n, octets)
            edge[n] += len(octets)
        elif abs(pos - edge[n]) < 0x8000:
            ahead = pos - edge[n] if pos > edge[n] else 0x8000 | (edge[n] - pos)
            out += step(AT | (0x80 if n else 0), struct.pack("<H", ahead) + octets)
    return bytes(out)


def deframer(side, aligned):
    """Returns the octets after the start-up, as they were cut."""
    out = bytearray([(CRC if side.crc else 0) | (MARKERS_A if side.markers else 0), 2 if aligned else 0, 0, 0])
    for _, pos, octets in side.pieces:
        if len(out) > MOST:
            break
        skip = max(len(side.startup) - pos, 0)
        if octets[skip:]:
            out += step(A, octets[skip:])
    return bytes(out)


def startup(connection, own):
    """Returns the peer's frame for a start-up in the place of side `own`, and the consumer's answer."""
    ours, peer = connection.side[own], connection.side[1 - own]
    first, second, third, _ = settings(connection, ours.markers, peer.markers)
    if any(s.startup[17:18] == b"\0" for s in connection.side):
        first |= 0x80
    second = second & 7 | (8 if own else 0) | (0x10 if second & 0x40 else 0) | (0x20 if peer.markers else 0)
    reject = own == 1 and ours.flags() & 0x20 != 0
    return bytes([first, second, third, 0]) + step(A, peer.startup) + (step(LOCAL, bytes([reject, 4])) if own else b"")


def bent(octets, check, what, initiator):
    """A seed of an endpoint with a switch: check's number, enum iw_switch with its wrong reaction."""
    return bytes([octets[0] | (0x80 if initiator else 0)]) + octets[1:4] + step(7, struct.pack("<HB", check, what)) + octets[4:]


class Seeds:
    def __init__(self, folder):
        self.folder, self.count = pathlib.Path(folder), collections.Counter()

    def put(self, harness, octets):
        if len(octets) > LARGE:
            return
        path = self.folder / harness / hashlib.sha1(octets).hexdigest()
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            self.count[harness] += 1
            path.write_bytes(octets)

    def of_connection(self, connection):
        for own, harness in enumerate(("endpoint-initiator", "endpoint-responder")):
            for name in (harness, "segments"):
                self.put(name, endpoint(connection, own))
            self.put("startup", startup(connection, own))
            self.put("pair", pair(connection, own == 1))
        for as_ulpdus in (None, 0, 1):
            self.put("observer", observer(connection, as_ulpdus))
        self.put("dissector", bytes(4) + observer(connection)[4:])
        for side in connection.side:
            if side.startup:
                self.put("rdmap", side.startup)
            if side.fpdus:
                self.put("deframer", deframer(side, len(side.pieces) % 2 == 0))
            for f in side.fpdus:
                if len(f.ulpdu) > 200:
                    continue
                self.put("ddp", f.ulpdu)
                if f.opcode == TERMINATE and not f.tagged:
                    self.put("terminate", f.ulpdu[18:])
                elif f.opcode in (READ_REQUEST, ATOMIC_REQUEST, ATOMIC_RESPONSE):
                    self.put("rdmap", f.ulpdu[f.header:])


ROOT = pathlib.Path(__file__).resolve().parents[2]


# One of each verb of the control protocol; the first four are what the others need.
REQUESTS = [
    '"do":"listen","accept":"ask"', '"do":"connect","host":"127.0.0.1","port":1', '"do":"register","length":64,"access":["local-write","remote-write","bind"],"fill":1',
    '"do":"bind","mem":1,"length":8,"access":["remote-read"]', '"do":"unlisten","listen":1', '"do":"accept","conn":1,"private":"beef"', '"do":"reject","conn":1',
    '"do":"stream_send","conn":1,"hex":"00ff"', '"do":"stream_take","conn":1,"length":4', '"do":"start","conn":1', '"do":"pd"', '"do":"unbind","window":1',
    '"do":"invalidate","mem":1', '"do":"release","mem":1', '"do":"fill","mem":1,"offset":2,"hex":"aabb"', '"do":"read","mem":1,"offset":-1,"length":8',
    '"do":"recv","conn":1,"work":1,"mem":1,"length":64', '"do":"recv","conn":1,"work":2,"sge":[[1,0,4],[1,8,4]]', '"do":"close","conn":1,"how":"abort","code":3',
    *(f'"do":"post","conn":1,"work":3,"op":"{op}","mem":1,"length":8,"remote_stag":1,"remote_to":"0x10","immediate":"0001020304050607","add_swap":1'
      for op in ("send", "send-se", "send-invalidate", "send-se-invalidate", "write", "read", "immediate", "immediate-se", "fetch-add", "cmp-swap")),
    '"do":"connect","host":"h","port":2,"config":{"revision":2,"crc":true,"markers":true,"peer_to_peer":true,"rtr":["send"],"ird":1,"ord":2,"ignore":["mpa-crc"],"violate":["ddp-msn"]}',
    '"do":"connect","host":"h","port":2,"stream":true,"half_close":true,"private":"00"', '"do":"reset"', '"do":"hello"',
]


def plain(seeds):
    """For harnesses of plain octets that are no wire's: the case files, and the examples of the control protocol."""
    for path in filter(pathlib.Path.is_file, (ROOT / "conformance" / "cases").rglob("*")):
        text = path.read_bytes()
        seeds.put("case", text if len(text) < 4096 else text[:text.rfind(b"\n\n", 0, 4096) + 1])
    protocol = (ROOT / "proto" / "control" / "PROTOCOL.md").read_bytes().splitlines(keepends=True)
    lines = [line[4:] for line in protocol if line.startswith((b"    > {", b"    < {"))]
    for harness, sign in (("agent", b">"), ("control", b"<")):
        own = [line[2:] for line in lines if line.startswith(sign)]
        for count in range(1, len(own) + 1):
            seeds.put(harness, b"".join(own[:count]))
    for number, request in enumerate(REQUESTS, 10):
        text = "".join(f'{{"id":{i},{r}}}\n' for i, r in enumerate([*REQUESTS[:4], request]))
        seeds.put("agent", text.encode())
        seeds.put("agent", f'{{"id":{number},{request}}}\n'.encode())
    for text in (b"{\n", b"[]\n", b"{}\n", b'{"id":"1","do":"hello"}\n', b'{"id":1,"do":"no"}\n', b"[" * 20 + b"\n", b'{"id":1,"do":"hello","x":1}\n', b"\n", b"\xff\n"):
        seeds.put("agent", text)
        seeds.put("control", text)


def files(paths):
    for path in map(pathlib.Path, paths):
        yield from sorted(p for p in path.rglob("*") if p.suffix in (".pcap", ".pcapng")) if path.is_dir() else [path]


def switched(seeds, folder):
    """Every switch with some of the operations between two endpoints; those that do not apply are left out by the merge."""
    checks = len((ROOT / "proto" / "rules" / "checks.csv").read_text(encoding="utf-8").splitlines())
    for name in ("rev1-crc-nomarkers", "rev1-crc-markers", "rev2-crc-nomarkers"):
        path = pathlib.Path(folder, "golden", "operations", name + ".pcapng")
        if not path.exists():
            continue
        connection = captures.connections(path.read_bytes())[0]
        for own in (0, 1):
            base = endpoint(connection, own)
            for check in range(1, checks):
                for what in range(3 + 8):
                    seeds.put("bent", bent(base, check, what, own == 0))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    seeds = Seeds(sys.argv[1])
    for path in files(sys.argv[2:]):
        octets = path.read_bytes()
        for connection in captures.connections(octets):
            seeds.of_connection(connection)
        if len(octets) <= 4096:
            seeds.put("capture", octets)
            seeds.put("lint", octets)
    plain(seeds)
    for path in sys.argv[2:]:
        switched(seeds, path)
    for harness, count in sorted(seeds.count.items()):
        print(f"{harness}: {count}")


if __name__ == "__main__":
    main()
