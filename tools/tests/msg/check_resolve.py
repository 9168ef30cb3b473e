#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""iwarp-msg resolve and claim on one host: many services and processes, one that moves, two that want one number, strangers, and
datagrams that are forged or played again.

usage: check_resolve.py IWARP-MSG
"""
import os
import re
import signal
import socket
import struct
import subprocess
import tempfile
import threading

import harness
from harness import equal, expect

GROUP = "239.255.74.70"
GUARD = "60000"  # ms
MAGIC = 0x69577273
QUESTION, ANSWER = 1, 2
SEALED = 1


class World:
    """The program, at a resolver's port of its own on the loopback interface."""

    def __init__(self, program):
        self.program = program
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.common = ["--interface", "lo", "--resolver-port", str(self.port)]

    def claim(self, *words):
        """A process that answers for numbers until it is ended."""
        return harness.Peer(self.program, "claim", *self.common, *words, says="claimed.*", stderr=subprocess.PIPE)

    def refused(self, *words):
        return harness.run(self.program, "claim", *self.common, "--wait", GUARD, *words, status=1).stderr

    def resolve(self, *words, status=0, wait=GUARD):
        return harness.run(self.program, "resolve", *self.common, "--wait", wait, *words, status=status)

    def where(self, number, *words):
        return harness.lines_of(self.resolve("--json", str(number), *words).stdout)[0]["at"]


def many_services(world):
    holder = world.claim("127.0.0.1:4711", "1-1000")
    for words in ([], ["--no-multicast"], ["--no-multicast", "--no-broadcast", "--host", "localhost"]):
        lines = harness.lines_of(world.resolve("--json", "1-1000", *words).stdout)
        equal(f"{words}: numbers", [line["number"] for line in lines[:-1]], list(range(1, 1001)))
        equal(f"{words}: places", {line["at"] for line in lines[:-1]}, {"127.0.0.1:4711"})
        equal(f"{words}: instances", len({line["instance"] for line in lines[:-1]}), 1)
        total = {key: value for key, value in lines[-1].items() if key != "seconds"}
        equal(f"{words}: total", total, {"type": "total", "numbers": 1000, "found": 1000, "contested": 0})
    holder.end()


def many_processes(world):
    """They share the port; what comes to it by unicast is passed on to all of them."""
    holders = [world.claim(f"127.0.0.1:{5000 + n}", f"{n * 10}-{n * 10 + 9}") for n in range(20)]
    for words in ([], ["--no-multicast", "--no-broadcast", "--host", "127.0.0.1"]):
        done = world.resolve("0-199", *words)
        found = re.findall(r"^(\d+) at 127\.0\.0\.1:(\d+), instance ([0-9a-f]{16})$", done.stdout, re.M)
        equal(f"{words}: places", [(int(n), int(port)) for n, port, _ in found], [(n, 5000 + n // 10) for n in range(200)])
        equal(f"{words}: instances", len({instance for _, _, instance in found}), 20)
        expect(f"{words}: summed up", re.search(r"^200 of 200 numbers found in \d+\.\d{3} s$", done.stdout, re.M), done.stdout[-200:])
    for holder in holders:
        holder.end()


def one_that_moves(world):
    for port in range(4711, 4716):
        holder = world.claim(f"127.0.0.1:{port}", "7")
        equal("a service that moved is found", world.where(7), f"127.0.0.1:{port}")
        holder.end(signal.SIGKILL, -signal.SIGKILL)
    said = world.resolve("7", status=3, wait="100").stderr
    equal("one that is gone is not", said, "iwarp-msg: 7: nobody answers in 100 ms\n")


def two_that_want_it(world):
    holder = world.claim("127.0.0.1:4711", "7", "9")
    equal("the second is refused", world.refused("127.0.0.1:4712", "8", "9", "10"), "iwarp-msg: 9: another process has it\n")
    equal("and the first stays", world.where(9), "127.0.0.1:4711")
    world.resolve("8", "10", status=3, wait="100")
    found = ""
    while not found:  # a busy machine answers late
        found = world.resolve("--all", "7", status=(0, 3), wait="200").stdout
    equal("there is one", len(found.splitlines()), 1)
    equal("interrupted", holder.end(signal.SIGINT, 130), "")


def strangers(world, folder):
    keys = [harness.write(os.path.join(folder, f"key{n}"), f"the key of house number {n}\n") for n in (1, 2)]
    ours, theirs = (["--key-file", key] for key in keys)
    holder = world.claim("127.0.0.1:4711", "7", *ours)
    equal("who has the key finds", world.where(7, *ours), "127.0.0.1:4711")
    for words in ([], theirs):
        world.resolve("7", *words, status=3, wait="200")
    other = world.claim("127.0.0.1:4712", "7", *theirs)
    equal("a stranger's claim changes nothing", world.where(7, *ours), "127.0.0.1:4711")
    equal("and is one in its own house", world.where(7, *theirs), "127.0.0.1:4712")
    for process in (holder, other):
        equal("neither sees the other", process.end(), "")
    return ours


class Stranger(threading.Thread):
    """Hears every question to the group, and answers by what `forge` returns: datagrams."""

    def __init__(self, world, forge):
        super().__init__()
        self.forge, self.heard, self.ending = forge, [], False
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("", world.port))
        self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                               struct.pack("4s4si", socket.inet_aton(GROUP), bytes(4), socket.if_nametoindex("lo")))
        self.socket.settimeout(0.1)

    def run(self):
        while not self.ending:
            try:
                octets, source = self.socket.recvfrom(2048)
            except TimeoutError:
                continue
            if octets[5] == QUESTION:
                self.heard.append(octets)
                for forged in self.forge(octets):
                    self.socket.sendto(forged, source)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ending = True
        self.join()
        self.socket.close()


def answer(question, nonce=None, number=None, port=6666, mac=b""):
    """An answer to a question, with a lie of one's own."""
    number = number if number is not None else struct.unpack_from(">I", question, 8)[0]
    return struct.pack(">IBBBBIHHQ16s16s", MAGIC, 1, ANSWER, SEALED if mac else 0, 4, number, port, 0, 99,
                       nonce or question[24:40], socket.inet_aton("127.0.0.1") + bytes(12)) + mac


def lies(question):
    good = answer(question)
    yield answer(question, nonce=bytes(16))
    yield answer(question, nonce=bytes(reversed(question[24:40])))
    yield answer(question, number=8)
    yield answer(question, mac=bytes(32))
    for length in range(0, len(good), 7):
        yield good[:length]
    yield good + b"\0"
    for at, value in ((0, 0), (4, 2), (5, 3), (6, 4), (7, 5), (14, 1), (40, 239), (55, 1)):
        yield good[:at] + bytes([value]) + good[at + 1:]
    yield good[:12] + bytes(2) + good[14:]


def forged(world):
    with Stranger(world, lies) as stranger:
        world.resolve("7", status=3, wait="500")
        expect("the question was heard, more than once", len(stranger.heard) > 1, len(stranger.heard))
        equal("it has one length", {len(octets) for octets in stranger.heard}, {56})
        holder = world.claim("127.0.0.1:4711", "7")
        equal("the truth is found among lies", world.where(7), "127.0.0.1:4711")
        holder.end()
    with Stranger(world, lambda question: [answer(question)]):
        equal("without a key one answer is as good as another", world.where(7), "127.0.0.1:6666")


def replayed(world, key):
    """A stranger has questions of ours answered by playing them again; the answers are no use to it."""
    holder = world.claim("127.0.0.1:4711", "7", *key)
    with Stranger(world, lambda question: []) as stranger:
        equal("found", world.where(7, *key), "127.0.0.1:4711")
    old = stranger.heard[0]
    equal("a question has a MAC", (len(old), old[6]), (88, SEALED))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.settimeout(60)
        line.sendto(old, ("127.0.0.1", world.port))
        kept = line.recv(2048)
        equal("the answer is as long as the question", (len(kept), kept[5], kept[24:40]), (88, ANSWER, old[24:40]))
    holder.end()
    with Stranger(world, lambda question: [kept, kept[:24] + question[24:40] + kept[40:], answer(question), answer(question, mac=kept[56:])]):
        world.resolve("7", *key, status=3, wait="500")


def main(program):
    world = World(program)
    many_services(world)
    many_processes(world)
    one_that_moves(world)
    two_that_want_it(world)
    forged(world)
    with tempfile.TemporaryDirectory() as folder:
        key = strangers(world, folder)
        replayed(world, key)
    harness.conclude()


if __name__ == "__main__":
    harness.start(main, __doc__)
