# SPDX-License-Identifier: BSD-3-Clause
"""Changes octets of recorded FPDUs (classic pcap over Ethernet, one FPDU a segment) and puts their CRCs right again."""
import struct

import harness


def crc32c(octets):
    crc = 0xFFFFFFFF
    for octet in octets:
        crc ^= octet
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


class Recording:
    def __init__(self, path):
        self.octets = bytearray(harness.octets(path))
        self.frames = [None]  # (first octet of the TCP payload, end), from 1
        at = 24
        while at < len(self.octets):
            length = struct.unpack_from("<I", self.octets, at + 8)[0]
            ip = at + 16 + 14
            tcp = ip + (self.octets[ip] & 15) * 4
            self.frames.append((tcp + (self.octets[tcp + 12] >> 4) * 4, ip + struct.unpack_from(">H", self.octets, ip + 2)[0]))
            at += 16 + length

    def ulpdu(self, frame):
        """The offsets of the first octet of the ULPDU of a frame's FPDU, and of its end."""
        first = self.frames[frame][0]
        return first + 2, first + 2 + struct.unpack_from(">H", self.octets, first)[0]

    def change(self, frame, octet, mask):
        """Changes bits of an octet of the ULPDU (from its end if it is negative), and the CRC with it."""
        first, end = self.ulpdu(frame)
        self.octets[(first if octet >= 0 else end) + octet] ^= mask
        end = self.frames[frame][1]
        struct.pack_into("<I", self.octets, end - 4, crc32c(self.octets[first - 2:end - 4]))
