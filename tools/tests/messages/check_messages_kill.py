#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kills one of two ends that send each other short and long messages, at random moments: the other one gets the fate of every message within 10 s,
no message comes twice, and nothing is left.

usage: check_messages_kill.py IWARP-RUN MESSAGE-LOAD [TIMES [SEED]]

TIMES is 200. Four pairs at a time. A third of the moments lies before the ends have connected.
"""
import os
import random
import tempfile
import time

import harness
import message_ends

SIDE_BY_SIDE = 4
MOST = 10  # s that the other end has: the library's time-out, 5 s, for what nobody takes any more
FIRST, SECOND = 1, 2


class Pair:
    def __init__(self, run, load, folder, number, chance):
        self.run, self.load, self.folder, self.number, self.chance = run, load, folder, number, random.Random(chance)
        self.ends, self.wrong, self.took, self.counts = [], [], 0.0, ""

    def begin(self, number, to, words=()):
        # Not a port of the range from which the system takes those of others, who might be taken for what is left.
        self.ends.append(message_ends.End([self.run], self.load, self.folder, number, 10 * self.number + number, f"127.0.0.1:{harness.free_port()}",
                                          words=["--to", str(to), *words], environment=dict(os.environ, TMPDIR=self.folder)))
        return self.ends[-1]

    def kill_one(self):
        timeout = self.chance.choice(("500", "500", "500", "2000", "5000"))
        first = self.begin(FIRST, SECOND, ["--second", "--timeout", timeout])
        if first.await_open() is None:
            return
        second = self.begin(SECOND, FIRST, ["--timeout", timeout, "--at", f"{FIRST}={first.at}"])
        if self.chance.random() < 0.67:
            second.await_open()
        time.sleep(self.chance.uniform(0, 0.5))  # where they are then is left to chance
        killed, other = (first, second) if self.chance.random() < 0.5 else (second, first)
        killed.kill()
        if other.at is None:
            other.await_open()
        began = time.monotonic()
        other.stop()
        other.await_end(MOST, f"the other end of pair {self.number}")
        self.took = time.monotonic() - began
        own, dead = other.journal(), killed.journal()
        harness.complain(*(f"pair {self.number}: {text}" for text in message_ends.judge(own, other.run, [dead], [dead])),
                         *(f"pair {self.number}, from the dead: {text}" for text in message_ends.judge_dead(dead, killed.run, own)))
        self.counts = len(own.sent), len(own.delivered), len(own.undelivered), len(own.taken[killed.run])
        ports = [end.port for end in self.ends if end.at is not None]
        end = time.monotonic() + message_ends.LIMIT
        while set(harness.tcp_states(*ports)) - {harness.TIME_WAIT} and time.monotonic() < end:
            time.sleep(0.005)
        harness.equal(f"connections left of pair {self.number}", set(harness.tcp_states(*ports)) - {harness.TIME_WAIT}, set())

    def play(self):
        try:
            self.kill_one()
        finally:
            left = [found for end in self.ends for found in end.remove()]
        harness.equal(f"processes left of pair {self.number}", left, [])
        return self


def main(run, load, times="200", seed=None):
    seed = int(seed) if seed is not None else random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    files = harness.LeftFiles()
    with tempfile.TemporaryDirectory() as folder:
        pairs = [Pair(os.path.abspath(run), os.path.abspath(load), folder, i + 1, chance.random()) for i in range(int(times))]
        harness.side_by_side([pair.play for pair in pairs], SIDE_BY_SIDE)
        harness.equal("temporary files", os.listdir(folder), [])
    files.check()
    counts = [pair.counts for pair in pairs if pair.counts]
    sent, delivered, undelivered, taken = (sum(column) for column in zip(*counts))
    harness.expect("messages were delivered, reported and taken", delivered and undelivered and taken, counts)
    harness.conclude(f"{times} kills, the slowest end {max(pair.took for pair in pairs):.2f} s after its peer; "
                     f"of {sent} messages {delivered} delivered, {undelivered} reported; {taken} taken from the dead")


if __name__ == "__main__":
    harness.start(main, __doc__)
