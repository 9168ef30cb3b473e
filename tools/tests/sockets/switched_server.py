#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A server that switches every connection to iWARP at once, as the MPA responder, and reads what comes until its end. Runs under
iwarp-run --sockets. Prints "listening on 127.0.0.1:PORT".
"""
import errno
import select
import socket
import threading

IWARP_MODE, RESPONDER = 0x4957, 2


def serve(one):
    select.select([], [one], [])  # the switch is over
    with one:
        if one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0:
            return
        one.setblocking(True)
        try:
            while one.recv(65536):
                pass
        except OSError:
            pass  # the peer, or its faults, have ended it


def main():
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        print("listening on %s:%d" % listener.getsockname(), flush=True)
        while True:
            one, _ = listener.accept()
            one.setblocking(False)
            try:
                one.setsockopt(socket.IPPROTO_TCP, IWARP_MODE, RESPONDER)
            except OSError as error:
                if error.errno != errno.EINPROGRESS:
                    one.close()
                    continue
            threading.Thread(target=serve, args=(one,), daemon=True).start()


main()
