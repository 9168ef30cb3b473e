#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures the effect of a hostile client on the latency of the others in one iwarp-peer.

usage: bench_hostile.py IWARP-PEER [ROUNDS [EXCHANGES]]

Each of four clients (iwarp-peer connect) exchanges messages with one listening echo: in turn without and with each kind of
hostility on one connection, or of one client that connects again and again. Prints the ratio of the times (medians of the
rounds, 9 if not said otherwise). Exit status 1: a ratio above 2, or a client of the others that failed.

Also prints the effect of the machine itself, without a bar: the same storm against a plain TCP acceptor that has
nothing to do with iwarp-peer, and a process that only uses a processor.
"""
import contextlib
import os
import select
import socket
import statistics
import struct
import subprocess
import sys
import time

import harness
from bench_common import REPLY, request, send_message

BAR = 2.0
CLIENTS = 4
REQUEST = request(crc=True)
SIZE = 8192


class Hostile:
    """Runs in a process of its own until it is ended."""

    def __init__(self, port):
        self.port = port

    def open(self, started=True):
        c = socket.create_connection(("127.0.0.1", self.port))
        if started:
            c.sendall(REQUEST)
            c.recv(REPLY, socket.MSG_WAITALL)
        return c

    def half_open(self):
        held = [self.open(started=False) for _ in range(50)]
        held[0].sendall(REQUEST[:10])
        time.sleep(3600)

    def half_an_fpdu(self):
        held = [self.open() for _ in range(20)]
        for c in held:
            c.sendall(send_message(1, bytes(SIZE), crc=True)[:-5])
        time.sleep(3600)

    def malformed(self):
        bad = bytearray(send_message(1, bytes(64), crc=True))
        bad[-1] ^= 1
        while True:
            with self.open() as c:
                c.sendall(bad)
                while c.recv(4096):
                    pass

    def storm(self):
        while True:
            with self.open(started=False) as c:
                c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def messages(self, read):
        """As many echoes as the peer makes, of which `read` octets a millisecond are read."""
        # More than it has posted is a fault, so it ends now and then, and begins anew.
        burst = b"".join(send_message(n, bytes(SIZE), crc=True) for n in range(1, 61))
        while True:
            with self.open() as c, contextlib.suppress(OSError):
                c.setblocking(False)
                self.exchange(c, burst, read)

    @staticmethod
    def exchange(c, left, read):
        """Until the connection ends: sends what is left, receives no more than `read` octets a millisecond."""
        while True:
            readable, writable, _ = select.select([c], [c] if left else [], [], 0.001)
            if writable:
                left = left[c.send(left[:65536]):]
            if readable:
                time.sleep(0.001 if read else 0.01)
            if readable and read and not c.recv(read):
                return

    def slow_reader(self):
        self.messages(100)

    def never_reading(self):
        self.messages(0)

    storm_elsewhere = storm

    def busy(self):
        while True:
            pass


CONTROLS = ["storm_elsewhere", "busy"]
KINDS = CONTROLS + ["half_open", "half_an_fpdu", "malformed", "storm", "slow_reader", "never_reading"]


def accept_plainly():
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
    print("listening on 127.0.0.1:%d" % listener.getsockname()[1], flush=True)
    while True:
        listener.accept()[0].close()


def others(peer, port, exchanges):
    began = time.monotonic()
    clients = [subprocess.Popen([peer, "connect", "127.0.0.1:%d" % port, "--count", str(exchanges), "--size", "64"])
               for _ in range(CLIENTS)]
    if any([c.wait() for c in clients]):
        sys.exit("bench_hostile.py: one of the others failed")
    return (time.monotonic() - began) / exchanges


def measure(peer, port, target, kind, rounds, exchanges):
    """Prints the times of the others on `port` beside the hostile one on `target`, and returns the median of the ratios."""
    ratios, alone = [], []
    for _ in range(rounds):
        alone.append(others(peer, port, exchanges))
        hostile = subprocess.Popen([sys.executable, "-B", __file__, kind, str(target), "-"])
        try:
            time.sleep(0.1)
            ratios.append(others(peer, port, exchanges) / alone[-1])
            if hostile.poll() is not None:
                sys.exit("bench_hostile.py: %s ended by itself" % kind)
        finally:
            hostile.kill()
            hostile.wait()
    ratio = statistics.median(ratios)
    print("%-15s %6.1f us without it, %5.2f times with it (%.2f .. %.2f)" %
          (kind, 1e6 * statistics.median(alone), ratio, min(ratios), max(ratios)), flush=True)
    return ratio


def main(peer, rounds=9, exchanges=2000):
    with harness.listening(peer, strict=False) as server, harness.Peer(sys.executable, "-B", __file__, "accept", strict=False) as acceptor:
        others(peer, server.port, exchanges)
        found = {kind: measure(peer, server.port, (acceptor if kind in CONTROLS else server).port, kind, rounds, exchanges) for kind in KINDS}
    print("storm: %.2f times what it does to them against a plain TCP acceptor" % (found["storm"] / found["storm_elsewhere"]))
    bad = [kind for kind in KINDS if kind not in CONTROLS and found[kind] > BAR]
    sys.exit("bench_hostile.py: above %.1f: %s" % (BAR, ", ".join(bad)) if bad else 0)


if __name__ == "__main__":
    if sys.argv[1:] == ["accept"]:
        accept_plainly()
    if len(sys.argv) == 4 and sys.argv[1] in KINDS:
        # It stands for another machine: the processors are the others' first, if they have real-time priority.
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        getattr(Hostile(int(sys.argv[2])), sys.argv[1])()
    if len(sys.argv) not in (2, 3, 4):
        sys.exit(__doc__)
    main(sys.argv[1], *map(int, sys.argv[2:]))
