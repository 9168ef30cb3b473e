#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Listeners that take iWARP and plain TCP on one port, and clients that fall back to TCP.

usage: check_mixed.py IWARP-RUN LIBRARY
"""
import os
import sys

import harness
from harness import check

LIMIT = 300  # s; a guard
PATIENT = "mixed,wait=60000"  # so that a slow machine makes no client a silent one
PEER = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "mixed_peer.py")]


def serving(*words):
    """A server that ends once it has served its clients."""
    return harness.Peer(*words, says="listening", ends=True, stderr=None)


def ask(port, *words, by=()):
    return harness.run(*by, *PEER, "ask", port, *words, timeout=LIMIT).stdout.split()


def by_iwarp(run, port, *more):
    return [run, "--sockets", "--port", ",".join((port, *more))]


def both_kinds(run):
    for how in ("accept", "select", "epoll"):
        port = str(harness.free_port("127.0.0.1"))
        with serving(run, "--sockets", "--listen-port", f"{port},{PATIENT}", *PEER, "serve", port, "4", how):
            for i in range(2):
                check(ask(port, f"tcp{i}") == [f"TCP{i}"], f"a client on TCP, {how}")
                check(ask(port, f"iwarp{i}", by=by_iwarp(run, port)) == [f"IWARP{i}"], f"a client on iWARP, {how}")


def server_speaks_first(run):
    port = str(harness.free_port("127.0.0.1"))
    with serving(run, "--sockets", "--listen-port", f"{port},mixed,wait=20", *PEER, "serve", port, "1", "first"):
        check(ask(port, "x", "wait") == ["welcome", "X"], "a silent client is TCP's")
    port = str(harness.free_port("127.0.0.1"))
    with serving(run, "--sockets", "--listen-port", f"{port},{PATIENT}", *PEER, "serve", port, "1", "first"):
        check(ask(port, "x", "wait", by=by_iwarp(run, port)) == ["welcome", "X"], "one on iWARP is not silent")


def many_at_once(run):
    port = str(harness.free_port("127.0.0.1"))
    with serving(run, "--sockets", "--listen-port", f"{port},{PATIENT}", *PEER, "serve", port, "24", "accept"):
        calls = [lambda i=i: ask(port, f"n{i}", by=by_iwarp(run, port) if i % 3 == 0 else ()) for i in range(24)]
        check(harness.side_by_side(calls, 8) == [[f"N{i}"] for i in range(24)], "24 clients of both kinds")


def falls_back(run):
    port = str(harness.free_port("127.0.0.1"))
    with serving(*PEER, "refuse", port):
        done = harness.run(*by_iwarp(run, port), *PEER, "ask", port, "plain", status=None, timeout=LIMIT)
        check(done.returncode != 0, "a peer that speaks no MPA is no peer without fallback", done.stdout)
        check(ask(port, "plain", by=by_iwarp(run, port, "fallback=tcp")) == ["yes,", "plain"], "with fallback=tcp it is one on TCP")
    port = str(harness.free_port("127.0.0.1"))
    with serving(*PEER, "serve", port, "2", "first"):  # the attempt by iWARP is one of the two
        check(ask(port, "x", "wait", by=by_iwarp(run, port, "fallback=tcp")) == ["welcome", "X"], "a server that speaks first")
    done = harness.run(*by_iwarp(run, port, "fallback=tcp"), *PEER, "ask", port, "x", status=None, timeout=LIMIT)
    check("ConnectionRefusedError" in done.stderr, "nobody there: the error is TCP's", done.stderr)
    port = str(harness.free_port("127.0.0.1"))
    with serving(run, "--sockets", "--listen-port", f"{port},{PATIENT}", *PEER, "serve", port, "1", "accept"):
        check(ask(port, "both", by=by_iwarp(run, port, "fallback=tcp")) == ["BOTH"], "nothing to fall back from")


def other_verbs(library):
    port = str(harness.free_port("127.0.0.1"))
    environment = dict(os.environ, LD_PRELOAD=os.path.abspath(library), IWARP_SOCKETS=f"listen {port} mixed")
    done = harness.run(*PEER, "serve", port, "1", "accept", status=None, env=environment, timeout=LIMIT)
    check(done.returncode != 0 and ("Operation not supported" in done.stderr or "No such device" in done.stderr), "without our verbs: EOPNOTSUPP", done.stderr)


def main(run, library):
    both_kinds(run)
    server_speaks_first(run)
    many_at_once(run)
    falls_back(run)
    other_verbs(library)


harness.start(main, "usage: check_mixed.py IWARP-RUN LIBRARY")
