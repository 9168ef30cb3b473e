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
import os
import select
import socket
import statistics
import struct
import subprocess
import sys
import time

import harness

BAR = 2.0
CLIENTS = 4
REQUEST = b"MPA ID Req Frame" + bytes([0x40, 1, 0, 0])
SIZE = 8192


def crc32c(octets):
    crc = 0xFFFFFFFF
    for octet in octets:
        crc ^= octet
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return struct.pack("<I", crc ^ 0xFFFFFFFF)


def send_message(number, payload):
    ulpdu = bytes([0x41, 0x43]) + struct.pack(">IIII", 0, 0, number, 0) + payload
    fpdu = struct.pack(">H", len(ulpdu)) + ulpdu + bytes(-(len(ulpdu) + 2) % 4)
    return fpdu + crc32c(fpdu)


class Hostile:
    """Runs in a process of its own until it is ended."""

    def __init__(self, port):
        self.port = port

    def open(self, started=True):
        c = socket.create_connection(("127.0.0.1", self.port))
        if started:
            c.sendall(REQUEST)
            c.recv(20, socket.MSG_WAITALL)
        return c

    def half_open(self):
        held = [self.open(started=False) for _ in range(50)]
        held[0].sendall(REQUEST[:10])
        time.sleep(3600)

    def half_an_fpdu(self):
        held = [self.open() for _ in range(20)]
        for c in held:
            c.sendall(send_message(1, bytes(SIZE))[:-5])
        time.sleep(3600)

    def malformed(self):
        bad = bytearray(send_message(1, bytes(64)))
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
        c = self.open()
        c.setblocking(False)
        # More than it has posted is a fault, so it ends now and then, and begins anew.
        burst = b"".join(send_message(n, bytes(SIZE)) for n in range(1, 61))
        sent = 0
        while True:
            ready = select.select([c], [c] if sent < len(burst) else [], [], 0.001)
            try:
                if ready[1]:
                    sent += c.send(burst[sent:sent + 65536])
                if ready[0] and read:
                    time.sleep(0.001)
                    if not c.recv(read):
                        raise OSError
                elif ready[0]:
                    time.sleep(0.01)
            except OSError:
                c.close()
                c = self.open()
                c.setblocking(False)
                sent = 0

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


def main():
    if sys.argv[1:] == ["accept"]:
        accept_plainly()
    if len(sys.argv) == 4 and sys.argv[1] in KINDS:
        # It stands for another machine: the processors are the others' first, if they have real-time priority.
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        getattr(Hostile(int(sys.argv[2])), sys.argv[1])()
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    peer = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    exchanges = int(sys.argv[3]) if len(sys.argv) > 3 else 2000
    with harness.listening(peer, strict=False) as server, harness.Peer(sys.executable, "-B", __file__, "accept", strict=False) as acceptor:
        others(peer, server.port, exchanges)
        found = {kind: measure(peer, server.port, (acceptor if kind in CONTROLS else server).port, kind, rounds, exchanges) for kind in KINDS}
    print("storm: %.2f times what it does to them against a plain TCP acceptor" % (found["storm"] / found["storm_elsewhere"]))
    bad = [kind for kind in KINDS if kind not in CONTROLS and found[kind] > BAR]
    sys.exit("bench_hostile.py: above %.1f: %s" % (BAR, ", ".join(bad)) if bad else 0)


main()
