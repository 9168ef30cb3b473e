# SPDX-License-Identifier: BSD-3-Clause
"""Captures of iWARP: TCP connections, their start-up frames and FPDUs. No more of pcap, pcapng, TCP and MPA than seeds need."""
import contextlib
import struct

REQUEST = b"MPA ID Req Frame"
REPLY = b"MPA ID Rep Frame"
WRITE, READ_REQUEST, READ_RESPONSE, SEND, TERMINATE, IMMEDIATE, ATOMIC_REQUEST, ATOMIC_RESPONSE = 0, 1, 2, 3, 7, 8, 10, 11

CRC_TABLE = []
for _n in range(256):
    for _ in range(8):
        _n = _n >> 1 ^ (0x82F63B78 if _n & 1 else 0)
    CRC_TABLE.append(_n)


def crc32c(octets):
    crc = 0xFFFFFFFF
    for octet in octets:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ octet) & 0xFF]
    return crc ^ 0xFFFFFFFF


def frames(octets):
    """(link type, frame) of each packet of a pcap or pcapng file."""
    if octets[:4] == b"\x0a\x0d\x0d\x0a":
        order = "<" if octets[8:12] == b"\x4d\x3c\x2b\x1a" else ">"
        at, links = 0, []
        while at + 12 <= len(octets):
            kind, length = struct.unpack(order + "II", octets[at:at + 8])
            if length < 12:
                return
            if kind == 1:
                links.append(struct.unpack(order + "H", octets[at + 8:at + 10])[0])
            elif kind == 6:
                interface, _, _, taken = struct.unpack(order + "IIII", octets[at + 8:at + 24])
                yield links[interface], octets[at + 28:at + 28 + taken]
            at += length
        return
    order = "<" if octets[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    link = struct.unpack(order + "I", octets[20:24])[0] & 0xFFFF
    at = 24
    while at + 16 <= len(octets):
        taken = struct.unpack(order + "I", octets[at + 8:at + 12])[0]
        yield link, octets[at + 16:at + 16 + taken]
        at += 16 + taken


LINKS = {1: (12, 14), 113: (14, 16), 276: (0, 20)}  # link type: where EtherType and packet begin


def segments(octets):
    """(sender, receiver, sequence number, flags, payload) of each TCP segment."""
    for link, frame in frames(octets):
        if link not in LINKS:
            continue
        at, begin = LINKS[link]
        kind, packet = frame[at:at + 2], frame[begin:]
        if kind == b"\x08\x00" and len(packet) >= 20 and packet[9] == 6:
            total = struct.unpack(">H", packet[2:4])[0]
            tcp, ends = packet[(packet[0] & 15) * 4:total or None], (packet[12:16], packet[16:20])
        elif kind == b"\x86\xdd" and len(packet) >= 40 and packet[6] == 6:
            tcp, ends = packet[40:40 + struct.unpack(">H", packet[4:6])[0]], (packet[8:24], packet[24:40])
        else:
            continue
        if len(tcp) < 20:
            continue
        source, target, seq = struct.unpack(">HHI", tcp[:8])
        yield (ends[0], source), (ends[1], target), seq, tcp[13], tcp[(tcp[12] >> 4) * 4:]


class Fpdu:
    """One FPDU: where it ends on the stream, its ULPDU, and what its CRC field is xored with."""

    def __init__(self, end, ulpdu, wrong):
        self.end, self.ulpdu, self.wrong = end, ulpdu, wrong
        self.tagged = len(ulpdu) > 0 and ulpdu[0] & 0x80 != 0
        self.last = len(ulpdu) > 0 and ulpdu[0] & 0x40 != 0
        self.opcode = ulpdu[1] & 15 if len(ulpdu) > 1 else None
        self.header = 14 if self.tagged else 18


def content(octets, at, begin, markers, count):
    """`count` octets that are no Markers, and where they end. Raises EOFError if they are not all there."""
    out = bytearray()
    while len(out) < count:
        if markers and (at - begin) % 512 == 0:
            at += 4
        if at >= len(octets):
            raise EOFError
        run = count - len(out)
        if markers:
            run = min(run, 512 - (at - begin) % 512)
        out += octets[at:at + run]
        at += run
    return bytes(out), at


def read_fpdus(octets, begin, markers, crc):
    found, at = [], begin
    with contextlib.suppress(EOFError):
        while True:
            field, after = content(octets, at, begin, markers, 2)
            length = field[0] << 8 | field[1]
            body, crc_at = content(octets, after, begin, markers, length + (2 - length) % 4)
            mark, end = content(octets, crc_at, begin, markers, 4)
            wrong = crc32c(octets[at:end - 4]) ^ struct.unpack("<I", mark)[0] if crc and length < 20000 else 0
            found.append(Fpdu(end, body[:length], wrong))
            at = end
    return found


def frame(ulpdu, pos, markers, crc, wrong=0):
    """Returns the FPDU at `pos` octets after the start-up frame."""
    out, header = bytearray(), None
    for octet in [*struct.pack(">H", len(ulpdu)), *ulpdu, *bytes((2 - len(ulpdu)) % 4), None]:  # None: the CRC comes here
        if markers and (pos + len(out)) % 512 == 0:
            out += struct.pack(">I", 0 if header is None else len(out) - header)
        header = len(out) if header is None else header
        if octet is not None:
            out.append(octet)
    return bytes(out + struct.pack("<I", (crc32c(out) if crc else 0) ^ wrong))


class Side:
    def __init__(self):
        self.first = None   # sequence number of its first octet
        self.pieces = []    # (order, position, octets) as captured
        self.octets = b""
        self.startup = b""
        self.fpdus = []
        self.ends = None    # (order, "fin" or "rst")
        self.markers = self.crc = False

    def seen(self, order, seq, flags, payload):
        if flags & 2:
            self.first = (seq + 1) & 0xFFFFFFFF
        if self.first is None:
            self.first = seq
        if payload:
            self.pieces.append((order, (seq - self.first) & 0xFFFFFFFF, payload))
        if flags & 5 and self.ends is None:
            self.ends = (order, "rst" if flags & 4 else "fin")

    def join(self):
        """Returns the octets without a gap; the first copy counts."""
        out = bytearray()
        for _, pos, octets in sorted(self.pieces, key=lambda piece: piece[1]):
            if pos > len(out):
                break
            out += octets[len(out) - pos:] if len(out) - pos < len(octets) else b""
        self.octets = bytes(out)

    def flags(self):
        return self.startup[16] if len(self.startup) > 16 else 0

    def when(self, end):
        """Returns the order of the segment that brought the octet before position `end`."""
        return min((order for order, pos, octets in self.pieces if pos < end <= pos + len(octets)), default=0)


class Connection:
    """side[0] is the Initiator, side[1] the Responder."""

    def __init__(self):
        self.side = (Side(), Side())

    def read(self):
        for s in self.side:
            s.join()
            if s.octets[:4] == b"MPA " and len(s.octets) >= 20:
                s.startup = s.octets[:20 + struct.unpack(">H", s.octets[18:20])[0]]
        a, b = self.side
        old = b.startup[17:18] == b"\0"
        for s, other in ((a, b), (b, a)):
            s.markers = old or other.flags() & 0x80 != 0
            s.crc = old or (a.flags() | b.flags()) & 0x40 != 0
            s.fpdus = read_fpdus(s.octets, len(s.startup), s.markers, s.crc)

    def enhanced(self):
        return all(s.flags() & 0x10 and s.startup[17] > 1 for s in self.side)

    def events(self):
        """(order, side, FPDU) of both sides as they were captured."""
        found = [(s.when(f.end), n, i, f) for n, s in enumerate(self.side) for i, f in enumerate(s.fpdus)]
        return [(order, n, f) for order, n, _, f in sorted(found, key=lambda e: e[:3])]


def connections(octets):
    """Yields every connection of a capture in which anything is said."""
    live, found = {}, []
    for order, (source, target, seq, flags, payload) in enumerate(segments(octets)):
        key = (source, target)
        if flags & 0x12 == 2 or (key not in live and (target, source) not in live):
            live.pop((target, source), None)
            live[key] = Connection()
            found.append(live[key])
        if key in live:
            live[key].side[0].seen(order, seq, flags, payload)
        else:
            live[(target, source)].side[1].seen(order, seq, flags, payload)
    for connection in found:
        a, b = connection.side
        if any(octets.startswith(REQUEST) for _, pos, octets in b.pieces if pos == 0):
            connection.side = (b, a)
        connection.read()
    return [c for c in found if c.side[0].pieces or c.side[1].pieces]
