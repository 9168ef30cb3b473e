#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""classes.py FOLDER

Writes a seed for each class of bugs that iWARP stacks have had, or are likely to have: FOLDER/HARNESS/NAME. They lie in fuzz/regress,
where no merge drops them: in code that is right most of them reach nothing new.
"""
import pathlib
import struct
import sys

import captures
from seeds import A, AT, B, CRC, LOCAL, MARKERS_A, POST, RECV, STAG, STARTED, operation, step

LAZY, INVALIDATE = 0x40, 4
REQUEST_KEY, REPLY_KEY = captures.REQUEST, captures.REPLY


def untagged(opcode, msn=1, payload=b"", last=True, qn=0, mo=0, stag=0, control=1, rdmap=0x40):
    return bytes([control | (0x40 if last else 0), rdmap | opcode]) + struct.pack(">IIII", stag, qn, msn, mo) + payload


def tagged(opcode, stag, to, payload=b"", last=True, control=0x81, rdmap=0x40):
    return bytes([control | (0x40 if last else 0), rdmap | opcode]) + struct.pack(">IQ", stag, to) + payload


def read_request(msn, stag, to, size, sink=0x5555):
    return untagged(1, msn, struct.pack(">IQIIQ", sink, 0, size, stag, to), qn=1)


def atomic(msn, stag, to, opcode=0):
    return untagged(10, msn, struct.pack(">IIIQQQQQ", opcode, msn, stag, to, 1, 0, 0, 0xFFFFFFFFFFFFFFFF), qn=1)


def startup(key, flags, revision, private, length=None):
    return key + struct.pack(">BBH", flags, revision, len(private) if length is None else length) + private


def received(count=4, octets=64):
    return b"".join(step(LOCAL, operation(RECV, 1, 8, 0, octets, 128 * i)) for i in range(count))


class Script:
    """Steps of an endpoint that has been started up, with CRCs."""

    def __init__(self, markers=False, lazy=False, settings=(0, 0x44, 0)):
        self.markers, self.pos = markers, 0
        self.out = bytearray([STARTED | CRC | (MARKERS_A if markers else 0) | (LAZY if lazy else 0), *settings])

    def add(self, octets):
        self.out += octets
        return self

    def fpdu(self, ulpdu, wrong=0, kind=A):
        octets = captures.frame(ulpdu, self.pos, self.markers, True, wrong)
        self.pos += len(octets)
        return self.add(step(kind, octets))

    def fpdus(self, ulpdus):
        for ulpdu in ulpdus:
            self.fpdu(ulpdu)
        return self.out


def regions():
    """Memory: bounds, rights, protection domains, streams, invalidated STags."""
    r0, to, length = STAG, 0x1000, 4096
    yield "write-at-end", [tagged(0, r0, to + length - 4, b"abcd")]
    yield "write-past-by-one", [tagged(0, r0, to + length - 4, b"abcde")]
    yield "write-begins-at-end", [tagged(0, r0, to + length, b"a")]
    yield "write-before", [tagged(0, r0, to - 1, b"ab")]
    yield "write-wrap", [tagged(0, STAG + 2, 2**64 - 4, b"abcdefgh")]
    yield "write-nothing-anywhere", [tagged(0, 0, 2**64 - 1)]
    for i, why in ((1, "read-only"), (3, "local-only"), (6, "other-stream"), (7, "other-domain"), (99, "unknown")):
        at = {1: 0, 3: 0x2000}.get(i, 0x1000)
        yield f"write-{why}", [tagged(0, STAG + i, at, b"ab")]
        yield f"read-{why}", [read_request(1, STAG + i, at, 4)]
        yield f"atomic-{why}", [atomic(1, STAG + i, at)]
    yield "read-write-only", [read_request(1, STAG + 2, 2**64 - 513, 4)]
    yield "read-past-by-one", [read_request(1, r0, to + length - 4, 5)]
    yield "read-all", [read_request(1, r0, to, length)]
    yield "read-size-wrap", [read_request(1, r0, to, 2**32 - 1)]
    yield "atomic-past-by-one", [atomic(1, r0, to + length - 7)]
    yield "atomic-unaligned", [atomic(1, r0, to + 4)]
    yield "atomic-reserved", [atomic(1, r0, to, 1)]


def orders():
    """MSNs, MOs, and segments of messages."""
    for name, msns in (("gap", (1, 3)), ("late", (2, 1)), ("again", (1, 1)), ("zero", (0,)), ("wrap", (2**32 - 1,)), ("far", (1, 2**31 + 2))):
        yield f"msn-{name}", [untagged(3, msn, b"send") for msn in msns]
        yield f"msn-reads-{name}", [read_request(msn, STAG, 0x1000, 4) for msn in msns]
    yield "whole-without-last", [untagged(3, 1, bytes(64), last=False)]
    yield "too-long-by-one", [untagged(3, 1, bytes(65))]
    yield "offset-at-end", [untagged(3, 1, b"a", mo=64)]
    yield "offset-wrap", [untagged(3, 1, b"abcdefgh", mo=2**32 - 4)]
    yield "two-segments", [untagged(3, 1, b"ab", last=False), untagged(3, 1, b"cd", mo=2)]
    yield "segments-overlap", [untagged(3, 1, b"abcd", last=False), untagged(3, 1, b"cd", mo=2)]
    yield "segment-missing", [untagged(3, 1, b"abcd", last=False), untagged(3, 1, b"cd", mo=8)]
    yield "invalidate", [untagged(4, 1, b"x", stag=STAG + 5), tagged(0, STAG + 5, 0, b"dead"), untagged(6, 2, b"y", stag=STAG + 5)]
    yield "invalidate-others", [untagged(4, 1, b"x", stag=STAG + 6)]
    yield "immediate", [untagged(8, 1, bytes(8)), untagged(9, 2, bytes(8))]
    yield "immediate-short", [untagged(8, 1, bytes(7))]


def first_frames():
    """The first FPDU is already wrong; lengths below the opcode's header; T against the opcode."""
    for opcode in range(16):
        yield f"opcode-{opcode:x}-tagged", [tagged(opcode, STAG, 0x1000, b"abcd")]
        yield f"opcode-{opcode:x}-untagged", [untagged(opcode, 1, b"abcd")]
    for dv in (0, 2, 3):
        yield f"ddp-version-{dv}", [untagged(3, 1, b"ab", control=dv)]
    for rv in (0, 2, 3):
        yield f"rdmap-version-{rv}", [untagged(3, 1, b"ab", rdmap=rv << 6)]
    for length in (0, 1, 2, 13):
        yield f"write-length-{length}", [tagged(0, STAG, 0x1000)[:length]]
        yield f"response-length-{length}", [tagged(2, STAG, 0x1000)[:length]]
    for length in (1, 14, 17):
        yield f"send-length-{length}", [untagged(3)[:length]]
    for length in (18, 45, 47):
        yield f"read-request-length-{length}", [(read_request(1, STAG, 0x1000, 4) + b"\0")[:length]]
    for length in (18, 69, 71):
        yield f"atomic-length-{length}", [(atomic(1, STAG, 0x1000) + b"\0")[:length]]
    for length in (18, 21, 22, 23, 25, 37, 41, 65, 70):
        terminate = untagged(7, 1, bytes([0x10, 0, 0xE0, 0, 0, 46]) + read_request(1, STAG, 0x1000, 4) + bytes(8), qn=2)
        yield f"terminate-length-{length}", [terminate[:length]]


def responses():
    """Read Responses that differ from the request (16 octets into region 0)."""
    good = bytes(range(16))
    yield "good", [tagged(2, STAG, 0x1000, good)]
    yield "past-1", [tagged(2, STAG, 0x1000, good + b"x")]
    yield "past-4", [tagged(2, STAG, 0x1000, good + b"past")]
    yield "past-segment", [tagged(2, STAG, 0x1000, good, last=False), tagged(2, STAG, 0x1010, b"past")]
    yield "short", [tagged(2, STAG, 0x1000, good[:12])]
    yield "twice", [tagged(2, STAG, 0x1000, good)] * 2
    yield "other-sink", [tagged(2, STAG + 3, 0x2000, good)]
    yield "other-key", [tagged(2, STAG ^ 1, 0x1000, good)]
    yield "other-to", [tagged(2, STAG, 0x1001, good)]
    yield "segments", [tagged(2, STAG, 0x1000, good[:8], last=False), tagged(2, STAG, 0x1008, good[8:])]
    yield "segments-swapped", [tagged(2, STAG, 0x1008, good[8:], last=False), tagged(2, STAG, 0x1000, good[:8])]


def of_endpoint():
    for name, ulpdus in [*regions(), *orders(), *first_frames()]:
        yield name, Script().add(received()).fpdus(ulpdus)
    for name, ulpdus in responses():
        yield f"response-{name}", Script().add(step(LOCAL, operation(POST, 5, 0, 0, 16))).fpdus(ulpdus)
    twin = Script().add(step(LOCAL, operation(POST, 5, 3 << 4, 0, 16)))  # regions 3 and 4 begin at the same TO
    yield "response-twin-sink", twin.fpdu(tagged(2, STAG + 4, 0x2000, bytes(16))).out
    yield "local-invalidate", Script().add(step(LOCAL, operation(INVALIDATE, c=0))).fpdu(tagged(0, STAG, 0x1000, b"dead")).out
    yield "ird", Script(lazy=True, settings=(0, 0x11, 0)).fpdus(read_request(msn, STAG, 0x1000, 4) for msn in range(1, 5))
    for octet in range(4):
        yield f"crc-{octet}", Script().add(received(1)).fpdu(untagged(3, 1, b"send"), wrong=1 << 8 * octet).out
    yield "octet-by-octet", Script(markers=True).add(received()).fpdu(untagged(3, 1, bytes(600)), kind=B).fpdu(read_request(1, STAG, 0x1000, 8), kind=B).out
    script = Script(markers=True, settings=(0x20, 0x44, 0)).add(received())
    first, second = captures.frame(untagged(3, 1, b"one"), 0, True, True), untagged(3, 2, b"two")
    third = captures.frame(second, len(first), True, True)
    yield "early", script.add(step(A, first) + step(AT, struct.pack("<H", 20) + third[20:]) + step(A, third)).out


def startups():
    """Start-up frames in the place of the peer's: (name, frame without its key, what else comes with it)."""
    for length in (0, 1, 511, 512):
        yield f"pd-{length}", (0x40, 1, bytes(length), None)
    for length in (1, 513, 2000, 65535):
        yield f"pd-states-{length}", (0x40, 1, bytes(min(length + 4, 600)), length)
    for bits in range(8):
        block = struct.pack(">HH", 0x8000 | (0x4000 if bits & 1 else 0) | 4, (0x8000 if bits & 2 else 0) | (0x4000 if bits & 4 else 0) | 4)
        yield f"rtr-{bits}", (0x50, 2, block, None)
    for length in (0, 3):
        yield f"enhanced-{length}", (0x50, 2, bytes(length), None)
    yield "depths-open", (0x50, 2, b"\x3f\xff\x3f\xff", None)
    yield "revision-0", (0xC0, 0, b"", None)
    yield "revision-3", (0x40, 3, b"", None)
    yield "rejected", (0x60, 1, b"no", None)
    yield "markers", (0xC0, 1, b"", None)


def of_startup(initiator):
    key = REPLY_KEY if initiator else REQUEST_KEY
    send = captures.frame(untagged(3, 1, b"soon"), 0, False, True)
    for name, (flags, revision, private, length) in startups():
        settings = bytes([CRC | (8 | 16 if revision == 2 else 0), 0, 0x44, 0])
        yield f"startup-{name}", settings + step(A, startup(key, flags, revision, private, length))
    plain = bytes([CRC, 0, 0x44, 0])
    good = startup(key, 0x40, 1, b"pd")
    yield "startup-together", plain + received(1) + step(A, good + send)
    yield "startup-octet-by-octet", plain + received(1) + step(B, good + send)
    yield "startup-other-key", plain + step(A, startup(REQUEST_KEY if initiator else REPLY_KEY, 0x40, 1, b""))
    yield "startup-no-key-far", plain + step(A, startup(b"MPA ID Xxx Frame", 0x40, 1, bytes(500), 65535))


def of_deframer():
    settings = bytes([CRC | MARKERS_A, 0, 0, 0])
    for length in (1, 501, 502, 503, 504, 506, 508, 509, 1006, 1010, 1014):
        first = captures.frame(bytes(length), 0, True, True)
        yield f"marker-edge-{length}", settings + step(A, first + captures.frame(b"next", len(first), True, True))
    frame = bytearray(captures.frame(bytes(700), 0, True, True))
    for bit in (0, 2, 5, 8, 10, 15, 16, 31):
        bent = bytearray(frame[:-4])
        value = struct.unpack(">I", bent[512:516])[0] ^ 1 << bit
        bent[512:516] = struct.pack(">I", value)
        yield f"marker-bit-{bit}", settings + step(A, bytes(bent) + struct.pack("<I", captures.crc32c(bent)))
    whole = b""
    for i in range(12):
        whole += captures.frame(bytes([i]) * (20 + 17 * i), len(whole), True, True)
    for order in range(8):
        yield f"order-{order}", bytes([CRC | MARKERS_A, 0, 17 * order + 1, 29 * order + 3]) + step(A, whole)
    plain = bytes([CRC, 0, 3, 5])
    for octet in range(4):
        yield f"crc-{octet}", plain + step(A, captures.frame(b"wrong", 0, False, True, 1 << 8 * octet))
    yield "length-0", plain + step(A, captures.frame(b"", 0, False, True) + captures.frame(b"a", 0, False, True))
    yield "cut", plain + step(A, captures.frame(bytes(40), 0, False, True)[:-2])
    yield "length-most", plain + step(A, struct.pack(">H", 64769) + bytes(64))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    every = {"endpoint-responder": [*of_endpoint(), *of_startup(False)], "endpoint-initiator": [*of_endpoint(), *of_startup(True)],
             "segments": [*of_endpoint()], "deframer": [*of_deframer()]}
    for harness, classes in every.items():
        folder = pathlib.Path(sys.argv[1], harness)
        folder.mkdir(parents=True, exist_ok=True)
        for name, octets in classes:
            (folder / f"class-{name}").write_bytes(octets)
        print(f"{harness}: {len(classes)}")


if __name__ == "__main__":
    main()
