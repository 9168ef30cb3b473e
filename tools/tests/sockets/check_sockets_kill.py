#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kills one end of a connection of iWARP sockets at random moments: the other end must end, having seen no wrong octet, and nothing may be left.

usage: check_sockets_kill.py IWARP-RUN [TIMES [SEED [SECONDS]]]

TIMES is 200. The other end has SECONDS to end in (60). Both ends are socket_exchange.py, each way of it in turn. Looks after each for connections of the port
and processes, and at the end for files in the folders of temporary files and shared memory. IWARP-RUN may be `tcp`: then the same is tried without the library.
"""
import collections
import os
import random
import subprocess
import sys
import tempfile
import time

import harness

HERE = os.path.dirname(os.path.abspath(__file__))

LIMIT = 120  # s; a guard
WAYS = ("blocking", "poll", "select", "epoll", "edge", "quiet", "switched")
ALIKE = ("end", "ECONNRESET", "EPIPE", "ENOTCONN", "ETIMEDOUT", "ECONNABORTED", "EREMOTEIO")  # how a connection may end whose other end has died


def require(holds, what, *seen):
    """Ends the test unless it holds; says nothing if it does."""
    if not holds:
        harness.check(False, what, *seen)


def await_true(what, holds, seconds=LIMIT):
    end = time.monotonic() + seconds
    while not holds():
        require(time.monotonic() < end, what)
        time.sleep(0.005)


class Pair:
    def __init__(self, run, way, folder):
        self.run, self.way, self.folder = run, way, folder
        self.environment = dict(os.environ, TMPDIR=folder)
        self.port = harness.free_port()
        self.begun = []

    def begin(self, side):
        """A process, which has the path of its output."""
        words = [sys.executable, os.path.join(HERE, "socket_exchange.py"), side, "127.0.0.1", str(self.port), self.way]
        if self.run != "tcp":
            # A switched connection begins as a plain one: its rule is for another port.
            rule = "1" if self.way == "switched" else str(self.port)
            words = [self.run, "--sockets", "--listen-port" if side == "serve" else "--port", rule, *words]
        path = os.path.join(self.folder, f"{side}.{len(self.begun)}")
        with open(path, "wb") as output:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True, env=self.environment)
        process.output = path
        self.begun.append(process)
        return process

    def await_connected(self, process):
        await_true("a client connects", lambda: process.poll() is not None or "connected" in harness.read(process.output))

    def kill_one(self, side, from_start, delay, seconds):
        """Returns how the other end ended, and how long that took."""
        server = self.begin("serve")
        await_true("the server listens", lambda: harness.listens(self.port) or server.poll() is not None)
        client = self.begin("ask")
        if not from_start:
            self.await_connected(client)
        time.sleep(delay)  # where it is then is left to chance
        killed, other = (server, client) if side == "serve" else (client, server)
        killed.kill()
        killed.wait()
        if side == "ask" and harness.listens(self.port):  # it has not connected, and the server waits for another client
            client = self.begin("ask")
            self.await_connected(client)
            client.kill()
            client.wait()
        began = time.monotonic()
        when = f"{self.way}, {side} killed {delay:.3f} s after {'it began' if from_start else 'they connected'}"
        try:
            other.wait(seconds)
        except subprocess.TimeoutExpired:
            require(False, f"the other end ends: {when}", harness.read(other.output))
        took = time.monotonic() - began
        text = harness.read(other.output)
        require(other.returncode == 0, f"no octet is wrong: {when}", text)
        ended = text.split()[-1]
        require(ended in ALIKE or "not connected" in text, f"a connection ends as one of TCP: {when}", text)
        await_true("all connections are gone", lambda: not set(harness.tcp_states(self.port)) - {harness.TIME_WAIT})
        return ended if text.startswith("connected") else f"not connected ({ended})", took

    def left(self):
        """The processes of both ends that are still there."""
        found = harness.end_groups(self.begun)
        for process in self.begun:
            os.unlink(process.output)
        return found


def main(run, times="200", seed=None, seconds="60"):
    seed = int(seed) if seed is not None else random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    run = run if run == "tcp" else os.path.abspath(run)
    ways = WAYS[:-1] if run == "tcp" else WAYS
    files = harness.LeftFiles()
    ends, slowest = collections.Counter(), 0.0
    with tempfile.TemporaryDirectory() as temporary:
        for i in range(int(times)):
            pair = Pair(run, ways[i % len(ways)], temporary)
            try:
                ended, took = pair.kill_one(chance.choice(("serve", "ask")), chance.random() < 0.3, chance.uniform(0, 0.3), float(seconds))
            finally:
                left = pair.left()
            ends[ended] += 1
            slowest = max(slowest, took)
            harness.equal("processes left", left, [])
        harness.equal("temporary files", os.listdir(temporary), [])
    files.check()
    print(", ".join(f"{count} {ended}" for ended, count in ends.most_common()))
    harness.conclude(f"{times} kills, the slowest end {slowest:.2f} s after its peer")


if __name__ == "__main__":
    harness.start(main, __doc__)
