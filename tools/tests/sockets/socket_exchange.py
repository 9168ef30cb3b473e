#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""One end of a connection on which both ends send octets that the other one can check, until the connection ends.

usage: socket_exchange.py serve|ask ADDRESS PORT blocking|poll|select|epoll|edge|quiet|switched [OCTETS]

`serve` serves one connection. Sends for ever, or OCTETS octets, and then reads until the other end has shut down, too. blocking has a thread for each direction; poll, select,
epoll and edge one loop without blocking; quiet sends nothing and reads; switched sets the connection to iWARP (IWARP_MODE), then does as poll.
Prints how many octets came, and how it ended ("end", or the error's name). Ends with status 0 however the connection ends, 9 if an octet is wrong.
"""
import errno
import os
import select
import socket
import sys
import threading

IWARP_MODE = 0x4957
INITIATOR, RESPONDER = 1, 2
PERIOD = 65521  # a prime, so that a piece which is lost or comes twice shows
PATTERN = bytes((i * 7 + i // 251) % 256 for i in range(PERIOD))
PIECE = 50000


class Directions:
    """What is sent and what came."""

    def __init__(self, connection, octets):
        self.connection, self.octets, self.sent, self.came = connection, octets, 0, 0

    def next_piece(self):
        at = self.sent % PERIOD
        piece = PATTERN[at:at + PIECE]
        return piece if self.octets is None else piece[:self.octets - self.sent]

    def take(self, octets):
        at = self.came % PERIOD
        if octets != (PATTERN[at:] + PATTERN * (len(octets) // PERIOD + 1))[:len(octets)]:
            print(f"wrong octets after {self.came}", flush=True)
            os._exit(9)
        self.came += len(octets)

    def receive(self):
        """False at the end of the octets."""
        octets = self.connection.recv(100000)
        self.take(octets)
        return bool(octets)

    def send(self):
        """False if everything has been sent."""
        piece = self.next_piece()
        if piece:
            self.sent += self.connection.send(piece)
        if self.sent == self.octets:
            self.connection.shutdown(socket.SHUT_WR)
            return False
        return True


def all_of(step, failed):
    """Repeats a step until it is done, or fails."""
    try:
        while step():
            pass
    except OSError as error:
        failed.append(error)


def with_threads(both, sends):
    failed = []
    sender = threading.Thread(target=all_of, args=(both.send, failed))
    if sends:
        sender.start()
    all_of(both.receive, failed)
    if sends:
        if failed or both.octets is None:  # what is being sent goes nowhere
            try:
                both.connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        sender.join()
    if failed:
        raise failed[0]


class PollWaiter:
    """Waits with poll, select or epoll; edge: with epoll, which reports changes only."""

    def __init__(self, kind, number):
        self.kind, self.number, self.wanted = kind, number, 0
        if kind == "poll":
            self.poll = select.poll()
        elif kind in ("epoll", "edge"):
            self.poll = select.epoll()

    def want(self, reads, writes):
        wanted = (select.POLLIN if reads else 0) | (select.POLLOUT if writes else 0)
        if wanted == self.wanted:
            return
        if self.kind != "select":
            extra = select.EPOLLET if self.kind == "edge" else 0
            (self.poll.modify if self.wanted else self.poll.register)(self.number, wanted | extra)
        self.wanted = wanted

    def wait(self):
        """Whether it can be read, and whether it can be written."""
        if self.kind == "select":
            reads, writes, _ = select.select([self.number] if self.wanted & select.POLLIN else [], [self.number] if self.wanted & select.POLLOUT else [], [])
            return bool(reads), bool(writes)
        events = sum(event for _, event in self.poll.poll())
        other = events & (select.POLLERR | select.POLLHUP)
        return bool(events & select.POLLIN or other), bool(events & select.POLLOUT)


def repeat(step, edge):
    """One step, or with `edge` as many as there can be. Returns whether there may be more later."""
    try:
        while step():
            if not edge:
                return True
        return False
    except BlockingIOError:
        return True


def with_loop(both, kind):
    both.connection.setblocking(False)
    waiter = PollWaiter(kind, both.connection.fileno())
    reads = writes = True
    while reads or (writes and both.octets is not None):
        waiter.want(reads, writes)
        readable, writable = waiter.wait()
        if readable and reads:
            reads = repeat(both.receive, kind == "edge")
        if writable and writes:
            writes = repeat(both.send, kind == "edge")


def connect(side, address, port):
    if side == "ask":
        return socket.create_connection((address, port))
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, port), family=family) as listener:
        return listener.accept()[0]


def main(side, address, port, how, octets=None):
    try:
        with connect(side, address, int(port)) as connection:
            both = Directions(connection, int(octets) if octets is not None else None)
            print("connected", flush=True)
            if how == "switched":
                connection.setsockopt(socket.SOL_TCP, IWARP_MODE, RESPONDER if side == "serve" else INITIATOR)
            if how in ("blocking", "quiet"):
                with_threads(both, how == "blocking")
            else:
                with_loop(both, "poll" if how == "switched" else how)
            print(both.came, "end")
    except OSError as error:
        print(both.came if "both" in locals() else "not connected", errno.errorcode.get(error.errno, error))


if __name__ == "__main__":
    main(*sys.argv[1:])
