# SPDX-License-Identifier: BSD-3-Clause
"""What several benchmarks do: run iwarp-perf, and speak to iwarp-peer with plain sockets."""
import json
import struct
import subprocess

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
