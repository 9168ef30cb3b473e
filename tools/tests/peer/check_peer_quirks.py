#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""iwarp-peer says what seems to be the matter with a peer that sends nothing right, in place of a fault that follows from it.

usage: check_peer_quirks.py PEER
"""
import socket
import struct
import subprocess
import zlib

import harness

ZERO = struct.pack("<I", 0)


def send(msn, length=None):
    """A Send without payload, without its CRC field."""
    return (length or b"\x00\x12") + struct.pack(">BBIIII", 0x41, 0x43, 0, 0, msn, 0)


# What is sent after the start-up: whether CRCs are on, the FPDUs, and what the peer says.
ROWS = (
    (True, [send(1) + struct.pack("<I", zlib.crc32(send(1)))], "fault mpa-crc ", "the CRC is the CRC-32 of Ethernet in place of the CRC32c"),
    (False, [send(0) + ZERO], "fault ddp-msn ", "MSNs begin with another number than 1"),
    (False, [b"\0\0\0\0" + send(1) + ZERO], "fault ddp-", "Markers stand in the stream all the same"),
    (False, [send(1), send(2), send(3)], "fault ", "CRC fields are left out"),
    (False, [send(1, b"\x12\x00") + ZERO], "fault mpa-fin-inside ", "the ULPDU_Length is in reversed octet order"),
    (False, [b"\0\x12" + struct.pack(">BBIQ", 0xC1, 0x40, 0x1234, 0) + bytes(4) + ZERO], "fault ddp-stag", None),
)


def play(peer, crc, fpdus):
    """Returns the line that a listening peer prints about this one."""
    flags = 0x40 if crc else 0
    with harness.listening(peer, "--once", "--crc", "on" if crc else "off", strict=False, stderr=subprocess.PIPE) as listening:
        with socket.create_connection((listening.host, listening.port), timeout=120) as wire:
            wire.sendall(b"MPA ID Req Frame" + bytes([flags, 1, 0, 0]))
            reply = b""
            while len(reply) < 20:
                reply += wire.recv(20 - len(reply))
            for fpdu in fpdus:
                wire.sendall(fpdu)
            wire.shutdown(socket.SHUT_WR)
            while wire.recv(4096):
                pass
        return listening.process.stderr.read()


def main(peer):
    for crc, fpdus, fault, quirk in ROWS:
        said = play(peer, crc, fpdus)
        what = quirk or "a fault that nothing explains"
        harness.expect(what, fault in said, said)
        harness.expect(what, said.rstrip().endswith(": " + quirk) if quirk else said.count(": ") == 3, said)
    harness.conclude()


harness.start(main, __doc__)
