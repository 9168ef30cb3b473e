#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kills a service under load and starts it at another address, again and again: the resolver finds it, and every message is delivered once or reported.

usage: check_messages_move.py IWARP-RUN MESSAGE-LOAD [TIMES [SEED]]

TIMES is 50. The service is at 127.0.0.2, 127.0.0.3, ...; every fifth time it is away for a second.
"""
import os
import random
import socket
import tempfile
import time

import harness
import message_ends

SENDER, SERVICE = 1, 2
TIMEOUT = "5000"  # ms: of a number that nobody has
MOST = 10  # s


def free_udp_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def await_taken(end, count):
    """Waits until it has taken so many messages."""
    until = time.monotonic() + message_ends.LIMIT
    while os.path.getsize(end.path) < count * message_ends.RECORD.size:
        if time.monotonic() > until or end.process.poll() is not None:
            harness.check(False, f"service {end.run - SERVICE} takes {count} messages", os.path.getsize(end.path), harness.read(end.said))
        time.sleep(0.002)


def main(run, load, times="50", seed=None):
    seed, times = int(seed) if seed is not None else random.randrange(1 << 32), int(times)
    print(f"seed {seed}")
    chance = random.Random(seed)
    run, load, files = os.path.abspath(run), os.path.abspath(load), harness.LeftFiles()
    ends, found = [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        common = ["--timeout", TIMEOUT, "--resolver-port", str(free_udp_port())]
        environment = dict(os.environ, TMPDIR=folder)

        def begin(number, at, words=()):
            ends.append(message_ends.End([run], load, folder, number, len(ends) + 1, at, [*words, *common], environment))
            return ends[-1]

        try:
            sender = begin(SENDER, f"127.0.0.1:{harness.free_port()}", ["--to", str(SERVICE)])
            sender.await_open()
            for i in range(times):
                if i % 5 == 4:
                    time.sleep(1)
                began = time.monotonic()
                service = begin(SERVICE, f"127.0.0.{i + 2}:{harness.free_port()}")
                service.await_open()
                await_taken(service, 1 + chance.randrange(300))
                found = max(found, time.monotonic() - began)
                time.sleep(chance.uniform(0, 0.05))
                if i + 1 < times:
                    service.kill()
            sender.stop()
            sender.await_end(MOST, "the sender")
            ends[-1].stop()
            ends[-1].await_end(MOST, "the last service")
            own, services = sender.journal(), ends[1:]
            journals = [service.journal() for service in services]
            harness.complain(*message_ends.judge(own, sender.run, journals, journals[:-1]))
            for service, journal in zip(services, journals):
                harness.expect(f"{service.at} has taken messages", journal.taken[sender.run])
            ports = [end.port for end in ends]
        finally:
            left = [words for end in ends for words in end.remove()]
        harness.equal("processes left", left, [])
        harness.equal("temporary files", os.listdir(folder), [])
        harness.equal("connections left", set(harness.tcp_states(*ports)) - {harness.TIME_WAIT}, set())
    files.check()
    harness.conclude(f"{times} places, the slowest one found and in use {found:.2f} s after it began; of {len(own.sent)} messages {len(own.delivered)} delivered, "
                     f"{len(own.undelivered)} reported")


if __name__ == "__main__":
    harness.start(main, __doc__)
