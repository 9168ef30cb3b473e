#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures the cost of many connections: memory of one iwarp-peer with idle ones, processor time of iwarp-perf with busy ones.

usage: bench_scale.py PROGRAMS [CONNECTIONS]

Prints the memory of each connection without the socket buffers, which are the kernel's: after its start-up, and after four
messages of 64 octets have been echoed on all of them, with receives of 16384 octets (of which each that was used keeps a page)
and of 64. Then the processor time of both sides for a message of 64 octets, for 1 connection and more, beside plain TCP's in
the same run; each connection sends 64 of them at least, as what begins and ends a slice is not the messages'. Exit status 1: more than 8 KiB after the start-up.
"""
import json
import os
import resource
import signal
import socket
import struct
import sys

import harness

LIMIT = 8192
MESSAGES, EACH = 640000, 64  # of all connections in a slice, and of each at least
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


def idle(programs, count, size):
    """Returns the octets of each connection after its start-up."""
    with harness.listening(os.path.join(programs, "iwarp-peer"), "--crc", "off", "--limit", str(count), "--buffers", "4", "--size", str(size),
                           stderr=None, strict=False) as peer:
        connections = []
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", peer.port))
            connection.sendall(REQUEST)
            connections.append(connection)
        for connection in connections:
            if receive(connection, len(REPLY))[:16] != REPLY[:16]:
                sys.exit("bench_scale.py: no Reply")
        print("receives of %5d octets, after the start-up:    " % size, end="")
        living, each = memory(peer.process)
        for number in (1, 2, 3, 4):
            message = send_message(number, bytes(64))
            for connection in connections:
                connection.sendall(message)
            for connection in connections:
                if receive(connection, len(message)) != message:
                    sys.exit("bench_scale.py: another echo")
        print("receives of %5d octets, after 4 messages each: " % size, end="")
        memory(peer.process)
        for connection in connections:
            connection.close()
    if living != count:
        sys.exit("bench_scale.py: %d connections of %d" % (living, count))
    return each


def busy(programs, count):
    """Returns microseconds per message of plain TCP and of iWARP, both sides together."""
    ran = harness.run(os.path.join(programs, "iwarp-perf"), "local", "--baseline", "tcp", "--test", "send-bw", "--size", "64",
                      "--window", "8", "--connections", str(count), "--rounds", "5", "--count", str(max(MESSAGES // count, EACH)), "--json", "-")
    rows = json.loads(ran.stdout)["results"]
    return [row["cpu"]["client_us_per_message"] + row["cpu"]["server_us_per_message"] for row in rows]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    count = min(int(sys.argv[2]) if len(sys.argv) > 2 else 10000, most - 100)
    each = max(idle(sys.argv[1], count, size) for size in (16384, 64))
    first = None
    # iwarp-perf has a descriptor for each connection of both lanes.
    for connections in (1, 100, min(count, (most - 100) // 2)):
        tcp, iwarp = busy(sys.argv[1], connections)
        first = first or (tcp, iwarp)
        print("%5d busy connections: %.2f us a message, %.2f times that of one; TCP %.2f, %.2f times; %.2f times TCP's" %
              (connections, iwarp, iwarp / first[1], tcp, tcp / first[0], iwarp / tcp), flush=True)
    if each > LIMIT:
        sys.exit("bench_scale.py: %d octets for each idle connection, the bar is %d" % (each, LIMIT))


main()
