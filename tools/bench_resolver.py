#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures how long it takes to find 1,000 services of one host, of 1, 100 and 1,000 processes, by multicast and by unicast, each by a process
that knows none of them yet; beside it, in turn, 1,000 round trips of UDP over the same interface, one after the other. Prints medians. As root it
runs with real-time priority, so that other load disturbs less. The exit status is 1 if the bar is missed.

usage: bench_resolver.py IWARP-MSG [ROUNDS]
"""
import json
import multiprocessing
import os
import socket
import statistics
import subprocess
import sys
import time

from bench_common import REAL_TIME

NUMBERS = 1000
BAR = 1.0  # s
OCTETS = 56  # of a question
WAYS = {"multicast": ["--no-broadcast"], "unicast": ["--no-multicast", "--no-broadcast", "--host", "127.0.0.1"]}


def echo(line):
    while True:
        octets, source = line.recvfrom(2048)
        line.sendto(octets, source)


def round_trips(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.connect(address)
        begun = time.monotonic()
        for _ in range(NUMBERS):
            line.send(bytes(OCTETS))
            line.recv(2048)
        return time.monotonic() - begun


def resolve(program, common, words):
    done = subprocess.run([program, "resolve", *common, "--json", "--wait", "60000", *words, f"0-{NUMBERS - 1}"], stdout=subprocess.PIPE, text=True,
                          check=True)
    total = json.loads(done.stdout.splitlines()[-1])
    if total["found"] != NUMBERS:
        sys.exit(f"{total['found']} of {NUMBERS} found")
    return total["seconds"]


def claim(program, common, count):
    each = NUMBERS // count
    words = [[f"127.0.0.1:{4711 + n % 1000}", f"{n * each}-{n * each + each - 1}"] for n in range(count)]
    holders = [subprocess.Popen([program, "claim", *common, *w], stdout=subprocess.PIPE) for w in words]
    for holder in holders:
        if not holder.stdout.readline():
            sys.exit("a process cannot claim its numbers")
    return holders


def measure(program, rounds):
    """Prints a line for each way. Returns the seconds of the slowest one."""
    slowest = 0
    if REAL_TIME: # for the processes that this one starts, too
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(int(REAL_TIME[-1])))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.bind(("127.0.0.1", 0))
        echoer = multiprocessing.Process(target=echo, args=(line,), daemon=True)
        echoer.start()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(("127.0.0.1", 0))
            common = ["--interface", "lo", "--resolver-port", str(free.getsockname()[1])]
        for count in (1, 100, 1000):
            holders = claim(program, common, count)
            try:
                for way, words in WAYS.items():
                    pairs = [(resolve(program, common, words), round_trips(line.getsockname())) for _ in range(rounds)]
                    ours, plain = (statistics.median(p[i] for p in pairs) for i in (0, 1))
                    print(f"1,000 services of {count:4} processes by {way + ':':10} {ours:.3f} s (bar {BAR:g} s), {ours / plain:5.2f} of 1,000 round trips"
                          f" of UDP ({plain:.3f} s)", flush=True)
                    slowest = max(slowest, ours)
            finally:
                for holder in holders:
                    holder.terminate()
                for holder in holders:
                    holder.wait()
        echoer.terminate()
    return slowest


def main(program, rounds=5):
    sys.exit(measure(program, rounds) >= BAR)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(sys.argv[1], *map(int, sys.argv[2:]))
