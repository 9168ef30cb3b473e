#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kills one end of an rping at random moments: the other end must end or serve the next client, and nothing may be left.

usage: check_kill.py IWARP-RUN [TIMES [SEED]]

TIMES is 100. Looks after each for connections of the port, for processes, and at the end for files in the folders of temporary files and
shared memory.
"""
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time

import harness

LIMIT = 60  # s; a guard


def await_true(what, holds):
    end = time.monotonic() + LIMIT
    while not holds():
        if time.monotonic() > end:
            harness.check(False, what)
        time.sleep(0.005)


class Ends:
    def __init__(self, run, environment):
        self.run, self.environment = run, environment
        self.port = harness.free_port()
        self.begun = []

    def begin(self, side, count):
        words = [self.run, "rping", side, "-a", "127.0.0.1", "-p", str(self.port), "-C", str(count)]
        self.begun.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                           start_new_session=True, env=self.environment))
        return self.begun[-1]

    def serve_next(self, server):
        """After its client was killed: the server ends, or waits for a client still and serves it."""
        await_true("the server closes the connection",
                   lambda: server.poll() is not None or not set(harness.tcp_states(self.port)) - {harness.LISTEN, harness.TIME_WAIT})
        if server.poll() is None and self.begin("-c", 3).wait(LIMIT) == 0:
            harness.equal("the server of the next client", server.wait(LIMIT), 0)
        await_true("the server ends", lambda: server.poll() is not None)

    def kill_one(self, side, delay):
        server = self.begin("-s", 1000000)
        await_true("the server listens", lambda: harness.listens(self.port))
        client = self.begin("-c", 1000000)
        time.sleep(delay)  # where it is then is left to chance
        (server if side == "server" else client).send_signal(signal.SIGKILL)
        if side == "server":
            server.wait()
            await_true("the client ends", lambda: client.poll() is not None)
        else:
            client.wait()
            self.serve_next(server)
        await_true("all connections are gone", lambda: not set(harness.tcp_states(self.port)) - {harness.TIME_WAIT})


def main(run, times="100", seed=None):
    if shutil.which("rping") is None:
        harness.skip("rping is not installed")
    seed = int(seed) if seed is not None else random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    files = harness.LeftFiles()
    with tempfile.TemporaryDirectory() as temporary:
        for _ in range(int(times)):
            ends = Ends(os.path.abspath(run), dict(os.environ, TMPDIR=temporary))
            try:
                ends.kill_one(chance.choice(("server", "client")), chance.uniform(0, 0.3))
            finally:
                left = harness.end_groups(ends.begun)
            harness.equal("processes left", left, [])
        harness.equal("temporary files", os.listdir(temporary), [])
    files.check()
    harness.conclude()


if __name__ == "__main__":
    harness.start(main, __doc__)
