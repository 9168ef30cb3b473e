#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures the cost of many connections: memory of one iwarp-peer with idle ones, processor time of iwarp-perf with busy ones.

usage: bench_scale.py PROGRAMS [CONNECTIONS]

Prints the memory of each connection without the socket buffers, which are the kernel's: after its start-up, and after four
messages of 64 octets have been echoed on all of them, with receives of 16384 octets (of which each that was used keeps a page)
and of 64. Then the processor time of both sides for a message of 64 octets, for 1 connection and more, beside plain TCP's in
the same run; each connection sends 64 of them at least, as what begins and ends a slice is not the messages'. Exit status 1: more than 8 KiB after the start-up.
"""
import os
import resource
import signal
import socket
import sys

import harness
from bench_common import REPLY, perf_rows, request, send_message

LIMIT = 8192
MESSAGES, EACH = 640000, 64  # of all connections in a slice, and of each at least


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
            connection.sendall(request(crc=False))
            connections.append(connection)
        for connection in connections:
            if not receive(connection, REPLY).startswith(b"MPA ID Rep Frame"):
                sys.exit("bench_scale.py: no Reply")
        print("receives of %5d octets, after the start-up:    " % size, end="")
        living, each = memory(peer.process)
        for number in (1, 2, 3, 4):
            message = send_message(number, bytes(64), crc=False)
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
    rows = perf_rows([os.path.join(programs, "iwarp-perf")], "--baseline", "tcp", "--test", "send-bw", "--size", 64, "--window", 8,
                     "--connections", count, "--rounds", 5, "--count", max(MESSAGES // count, EACH))
    return [row["cpu"]["client_us_per_message"] + row["cpu"]["server_us_per_message"] for row in rows]


def main(programs, connections=10000):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    count = min(connections, most - 100)
    each = max(idle(programs, count, size) for size in (16384, 64))
    first = None
    # iwarp-perf has a descriptor for each connection of both lanes.
    for connections in (1, 100, min(count, (most - 100) // 2)):
        tcp, iwarp = busy(programs, connections)
        first = first or (tcp, iwarp)
        print("%5d busy connections: %.2f us a message, %.2f times that of one; TCP %.2f, %.2f times; %.2f times TCP's" %
              (connections, iwarp, iwarp / first[1], tcp, tcp / first[0], iwarp / tcp), flush=True)
    if each > LIMIT:
        sys.exit("bench_scale.py: %d octets for each idle connection, the bar is %d" % (each, LIMIT))


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(sys.argv[1], *map(int, sys.argv[2:]))
