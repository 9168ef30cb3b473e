#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""iwarp-msg resolve and claim between hosts: network namespaces on one switch, which go when their processes end.

usage: check_nets.py IWARP-MSG
"""
import os
import shutil
import signal
import subprocess
import sys

import harness
from harness import equal, expect

INSIDE = "IW_CHECK_NETS_INSIDE"
GUARD = "60000"  # ms


def enter():
    """Runs this test again in a network namespace of its own, if it may make one."""
    if not all(shutil.which(name) for name in ("unshare", "nsenter", "ip")):
        harness.skip("unshare, nsenter and ip (util-linux, iproute2) are needed")
    for options in (["-n"], ["-U", "-r", "-n"]):
        if subprocess.run(["unshare", *options, "ip", "link", "add", "test0", "type", "bridge"], capture_output=True, check=False).returncode == 0:
            sys.exit(subprocess.run(["unshare", *options, sys.executable, "-B", *sys.argv], env={**os.environ, INSIDE: "1"}, check=False).returncode)
    harness.skip("no network namespace with a bridge can be made here")


def ip(*words):
    harness.run("ip", *words)


class Host:
    """A namespace that lives as long as its process, which ends with this test."""

    def __init__(self, program, name, *addresses):
        self.program, self.name = program, name
        # It says a line when it is inside, and ends when its standard input does.
        self.keeper = subprocess.Popen(["unshare", "-n", "sh", "-c", "echo here; exec cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.keeper.stdout.readline()
        ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", str(self.keeper.pid))
        ip("link", "set", name, "master", "switch", "up")
        self.run("ip", "link", "set", "lo", "up")
        self.run("ip", "link", "set", "eth0", "up")
        for address in addresses:
            self.run("ip", "address", "add", address, "dev", "eth0", *(("nodad",) if ":" in address else ("broadcast", "+")))

    def inside(self, *command):
        return ["nsenter", "-n", "-t", str(self.keeper.pid), *command]

    def run(self, *command, **more):
        return harness.run(*self.inside(*command), **more)

    def claim(self, *words):
        return harness.Peer(*self.inside(self.program, "claim", *words), says="claimed.*", stderr=subprocess.PIPE)

    def resolve(self, *words, status=0, wait=GUARD):
        return self.run(self.program, "resolve", "--json", "--wait", wait, *map(str, words), status=status)

    def where(self, number, *words):
        return harness.lines_of(self.resolve(number, *words).stdout)[0]["at"]

    def close(self):
        self.keeper.stdin.close()
        self.keeper.wait()
        self.keeper.stdout.close()


def every_way(a, b):
    """A host gives its own address, whichever way it is asked; all of its processes hear a unicast."""
    holders = [a.claim("0.0.0.0:4711", "7"), a.claim("0.0.0.0:4712", "8"), a.claim("127.0.0.1:4713", "9")]
    for words in (["--no-broadcast"], ["--no-multicast"], ["--no-multicast", "--no-broadcast", "--host", "10.9.0.1"]):
        for number, port in ((7, 4711), (8, 4712)):
            equal(f"{number} by {words}", b.where(number, *words), f"10.9.0.1:{port}")
        equal("what listens to its own host is not for others", b.resolve(9, *words, status=3, wait="200").stdout.count("service"), 0)
        equal("and is for that host", a.where(9, *words), "127.0.0.1:4713")
    for holder in holders:
        holder.end()


def one_that_moves(a, b, c):
    for host, address in ((a, "10.9.0.1"), (b, "10.9.0.2"), (a, "10.9.0.1")):
        holder = host.claim("0.0.0.0:4711", "7")
        equal("found where it is", c.where(7), f"{address}:4711")
        holder.end(signal.SIGKILL, -signal.SIGKILL)


def without_ipv4(a, d, e):
    """Two hosts with link-local addresses only, of which one gets another."""
    holder = d.claim("[::]:4711", "7")
    at = e.where(7)
    expect("found by IPv6", at.startswith("[fe80:") and at.endswith("%eth0]:4711"), at)
    d.run("ip", "address", "add", "10.9.0.4/24", "dev", "eth0")
    equal("an address that comes later is heard of", a.where(7), "10.9.0.4:4711")
    holder.end()


def nets_that_join(a, b, c):
    """Both believe that the number is theirs, until they can hear each other."""
    ip("link", "set", b.name, "down")
    holders = [a.claim("0.0.0.0:4711", "7"), b.claim("0.0.0.0:4711", "7")]
    equal("there is one", harness.lines_of(c.resolve("--all", 7, wait="300").stdout)[-1]["contested"], 0)
    ip("link", "set", b.name, "up")
    lines = []
    while len(lines) < 3:  # a switch takes its time
        done = c.resolve("--all", 7, status=(0, 1, 3), wait="1000")
        lines = harness.lines_of(done.stdout)
    equal("both are seen", {line["at"] for line in lines[:-1]}, {"10.9.0.1:4711", "10.9.0.2:4711"})
    equal("and counted", (done.returncode, lines[-1]["contested"]), (1, 1))
    equal("and reported", done.stderr, "iwarp-msg: 7: 2 processes answer, expected one\n")
    said = holders[0].process.stderr.readline()
    equal("one hears of the other", said, "iwarp-msg: 7: another process answers for it, too\n")
    for holder in holders:
        holder.end()


def main(program):
    if INSIDE not in os.environ:
        enter()
    ip("link", "set", "lo", "up")
    ip("link", "add", "switch", "type", "bridge", "mcast_snooping", "0")
    ip("link", "set", "switch", "up")
    hosts = [Host(program, name, address) for name, address in (("host1", "10.9.0.1/24"), ("host2", "10.9.0.2/24"), ("host3", "10.9.0.3/24"))]
    hosts += [Host(program, name) for name in ("host4", "host5")]
    a, b, c, d, e = hosts
    every_way(a, b)
    one_that_moves(a, b, c)
    without_ipv4(a, d, e)
    nets_that_join(a, b, c)
    for host in hosts:
        host.close()
    harness.conclude()


if __name__ == "__main__":
    harness.start(main, __doc__)
