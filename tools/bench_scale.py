#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Memory of one iwarp-peer with many idle connections.

usage: bench_scale.py IWARP-PEER [CONNECTIONS [OPTION-OF-IWARP-PEER...]]

Prints what each connection takes beside the socket buffers, which are the kernel's, after its start-up and after
messages have been echoed on all of them. Exit status 1: more than 8 KiB after the start-up.
"""
import os
import resource
import signal
import socket
import struct
import subprocess
import sys

LIMIT = 8192
REQUEST = b"MPA ID Req Frame" + bytes([0, 1, 0, 0])
REPLY = b"MPA ID Rep Frame" + bytes([0, 1, 0, 0])


def send_message(number, payload):
    """A Send in one FPDU; CRCs are off (RFC 5044 §4, RFC 5041 §4.3, RFC 5040 §4.1)."""
    ulpdu = bytes([0x41, 0x43]) + struct.pack(">IIII", 0, 0, number, 0) + payload
    return struct.pack(">H", len(ulpdu)) + ulpdu + bytes(-(len(ulpdu) + 2) % 4) + bytes(4)


def receive(connection, length):
    octets = b""
    while len(octets) < length:
        more = connection.recv(length - len(octets))
        if not more:
            sys.exit("bench_scale.py: a connection was closed")
        octets += more
    return octets


def memory(peer):
    peer.send_signal(signal.SIGUSR1)
    line = peer.stdout.readline()
    print(line, end="", flush=True)
    words = line.replace(",", "").split()
    return int(words[1]), int(words[-1])


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10000
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    peer = subprocess.Popen([sys.argv[1], "listen", "127.0.0.1:0", "--crc", "off", "--limit", str(count)] + sys.argv[3:],
                            stdout=subprocess.PIPE, text=True)
    try:
        port = int(peer.stdout.readline().rsplit(":", 1)[1])
        connections = []
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", port))
            connection.sendall(REQUEST)
            connections.append(connection)
        for connection in connections:
            if receive(connection, len(REPLY))[:16] != REPLY[:16]:
                sys.exit("bench_scale.py: no Reply")
        print("after the start-up:   ", end="")
        living, each = memory(peer)
        for number in (1, 2, 3, 4):
            message = send_message(number, bytes(64))
            for connection in connections:
                connection.sendall(message)
            for connection in connections:
                if receive(connection, len(message)) != message:
                    sys.exit("bench_scale.py: another echo")
        print("after 4 messages each: ", end="")
        memory(peer)
        for connection in connections:
            connection.close()
    finally:
        peer.terminate()
        peer.wait()
    if living != count or each > LIMIT:
        sys.exit("bench_scale.py: %d connections of %d, %d octets each, the bar is %d" % (living, count, each, LIMIT))


main()
