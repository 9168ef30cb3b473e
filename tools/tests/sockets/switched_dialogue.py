#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A program of sockets that switches connected TCP sockets to iWARP (IWARP_MODE), for check_switch.py: both ends in one process,
with all means to wait that Python has. Prints "good" at the end.

usage: switched_dialogue.py [--absent]     --absent: the library is not there
"""
import errno
import fcntl
import os
import select
import socket
import struct
import sys
import termios
import threading

IWARP_MODE, OFF, INITIATOR, RESPONDER = 0x4957, 0, 1, 2
TCP = socket.IPPROTO_TCP


def must(holds, what):
    if not holds:
        sys.exit(f"not so: {what}")


def pair():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        return client, listener.accept()[0]


def switch(one, role):
    one.setsockopt(TCP, IWARP_MODE, role)


def switched():
    client, server = pair()
    client.sendall(b"hello\n")
    must(server.recv(6, socket.MSG_WAITALL) == b"hello\n", "plain TCP")
    server.setblocking(False)  # Python keeps all its threads waiting during setsockopt
    must(error_of(switch, server, RESPONDER) == errno.EINPROGRESS, "the responder waits")
    server.setblocking(True)
    switch(client, INITIATOR)
    must(client.getsockopt(TCP, IWARP_MODE) == INITIATOR and server.getsockopt(TCP, IWARP_MODE) == RESPONDER, "the modes can be read")
    return client, server


def error_of(call, *words):
    try:
        call(*words)
    except OSError as error:
        return error.errno
    return 0


def data(count):
    return bytes((i * 2654435761 >> 11) & 255 for i in range(4099)) * (count // 4099 + 1)


def octets_both_ways():
    client, server = switched()
    sent = data(3 << 20)
    for one, other in ((client, server), (server, client)):
        writer = threading.Thread(target=one.sendall, args=(sent,))
        writer.start()
        got = bytearray()
        while len(got) < len(sent):
            got += other.recv(100000)
        writer.join()
        must(got == sent, "the octets are the same")
    must(client.getpeername() == server.getsockname(), "addresses are TCP's")
    client.shutdown(socket.SHUT_WR)
    must(server.recv(10) == b"", "the end of a half")
    server.sendall(b"bye")
    must(client.recv(10) == b"bye", "the other half goes on")
    server.close()
    must(client.recv(10) == b"", "the end")


def ways_to_wait():
    client, server = switched()
    poll, epoll = select.poll(), select.epoll()
    poll.register(server, select.POLLIN)
    epoll.register(server, select.EPOLLIN)
    must(select.select([server], [client], [], 0) == ([], [client], []), "select: writable, not readable")
    must(poll.poll(0) == [] and epoll.poll(0) == [], "nothing to read")
    for wait in (lambda: select.select([server], [], [])[0], lambda: poll.poll(), lambda: epoll.poll()):
        later = threading.Timer(0.01, client.sendall, (b"12345",))
        later.start()
        must(wait(), "a wait ends when octets come")
        later.join()
        must(fcntl.ioctl(server, termios.FIONREAD, bytes(4)) == struct.pack("i", 5), "FIONREAD")
        must(server.recv(2, socket.MSG_PEEK) == b"12", "MSG_PEEK")
        must(os.read(server.fileno(), 10) == b"12345", "read")
    must(poll.poll(0) == [] and epoll.poll(0) == [], "all of it is read")
    server.setblocking(False)
    must(error_of(server.recv, 1) == errno.EAGAIN, "EAGAIN")
    server.setblocking(True)
    copy = os.dup(server.fileno())
    server.close()
    os.write(copy, b"by the copy")
    must(client.recv(20) == b"by the copy", "dup")
    os.close(copy)
    must(client.recv(1) == b"", "the last number closes")
    epoll.close()


def without_waiting():
    client, server = pair()
    client.setblocking(False)
    server.setblocking(False)
    must(error_of(switch, server, RESPONDER) == errno.EINPROGRESS, "a responder waits for the Request")
    must(error_of(switch, server, RESPONDER) == errno.EALREADY, "a second switch")
    must(error_of(switch, client, INITIATOR) in (0, errno.EINPROGRESS), "an initiator for the Reply")
    for one in (client, server):
        must(select.select([], [one], [], 60)[1] == [one], "writable when it is over")
        must(one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0, "SO_ERROR")
        must(error_of(switch, one, INITIATOR) == errno.EISCONN, "once only")
    client.sendall(b"x")
    must(select.select([server], [], [], 60)[0] == [server] and server.recv(1) == b"x", "octets")


def refused():
    for blocking in (True, False):
        client, server = pair()
        client.setblocking(blocking)
        answer = os.fork()
        if answer == 0:
            refuse(server)
            os._exit(0)
        if blocking:
            must(error_of(switch, client, INITIATOR) == errno.ECONNREFUSED, "ECONNREFUSED")
        elif error_of(switch, client, INITIATOR) != errno.ECONNREFUSED:  # which may be known at once
            select.select([], [client], [], 60)
            must(client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNREFUSED, "SO_ERROR")
        must(os.waitpid(answer, 0)[1] == 0, "the peer has refused")
        must(client.getsockopt(TCP, IWARP_MODE) == OFF, "it is TCP again")
        client.setblocking(True)
        must(client.recv(5, socket.MSG_WAITALL) == b"plain", "TCP goes on")
        client.sendall(b"goes on")
        must(server.recv(7, socket.MSG_WAITALL) == b"goes on", "in both directions")


def refuse(server):
    """A responder of MPA by hand: reads the Request, refuses (RFC 5044 §7.1.1: R=1), goes on with TCP."""
    head = server.recv(20, socket.MSG_WAITALL)
    must(head[:16] == b"MPA ID Req Frame", "a Request")
    server.recv(struct.unpack(">H", head[18:])[0], socket.MSG_WAITALL)
    server.sendall(b"MPA ID Rep Frame" + bytes([0x20 | head[16] & 0x10, head[17], 0, 4]) + bytes(4) + b"plain")


def what_cannot_be_switched():
    client, server = pair()
    must(error_of(switch, client, 7) == errno.EINVAL, "no such role")
    must(error_of(client.setsockopt, TCP, IWARP_MODE, b"\1") == errno.EINVAL, "no such length")
    must(error_of(switch, socket.socket(), INITIATOR) == errno.ENOTCONN, "not connected")
    server.sendall(b"unread")
    select.select([client], [], [])
    must(error_of(switch, client, INITIATOR) == errno.EBUSY and client.recv(6) == b"unread", "unread octets")


def after_fork():
    client, server = switched()
    child = os.fork()
    if child == 0:
        os._exit(0 if error_of(server.recv, 1) == errno.ECONNRESET and error_of(server.sendall, b"x") == errno.ECONNRESET else 1)
    must(os.waitpid(child, 0)[1] == 0, "a child's copy is lost")
    client.sendall(b"go on")
    must(server.recv(5) == b"go on", "the parent's goes on")


def at_the_end_of_the_process():
    """What was written leaves, although the process ends before the peer reads."""
    client, server = pair()
    sent = data(6 << 20)
    child = os.fork()
    if child == 0:
        server.close()
        switch(client, INITIATOR)
        client.sendall(sent)
        os._exit(0)
    client.close()
    switch(server, RESPONDER)
    got = bytearray()
    while octets := server.recv(70000):
        got += octets
        if len(got) < 100000:
            select.select([], [], [], 0.02)
    must(got == sent and os.waitpid(child, 0)[1] == 0, "all of it arrives")


def main():
    if sys.argv[1:] == ["--absent"]:
        must(error_of(switch, pair()[0], INITIATOR) == errno.ENOPROTOOPT, "without the library: as libc")
    else:
        for test in (octets_both_ways, ways_to_wait, without_waiting, refused, what_cannot_be_switched, after_fork, at_the_end_of_the_process):
            test()
            print(test.__name__, flush=True)
    print("good")


main()
