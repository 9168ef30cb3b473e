#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs of sockets for check_mixed.py. They know nothing of iWARP.

usage: mixed_peer.py serve PORT COUNT accept|select|epoll|first     serves so many clients: answers each line in capitals; first:
                                                                 speaks first
       mixed_peer.py ask PORT WORD [wait]       sends WORD, prints the answer; wait: what the server says first, then that
       mixed_peer.py refuse PORT                closes whoever sends something that is not "plain"
"""
import select
import socket
import sys
import threading


def serve_client(one, first):
    with one, one.makefile("rwb") as stream:
        if first:
            stream.write(b"welcome\n")
            stream.flush()
        for line in stream:
            stream.write(line.upper())
            stream.flush()


def serve(listener, count, how):
    clients = []
    epoll = select.epoll()
    epoll.register(listener, select.EPOLLIN)
    if how in ("select", "epoll"):
        listener.setblocking(False)
    while len(clients) < count:
        if how == "select":
            select.select([listener], [], [])
        elif how == "epoll":
            epoll.poll()
        try:
            one, where = listener.accept()
        except BlockingIOError:
            continue
        one.setblocking(True)
        if one.getpeername() != where:
            sys.exit("accept and getpeername do not agree")
        clients.append(threading.Thread(target=serve_client, args=(one, how == "first")))
        clients[-1].start()
    for client in clients:
        client.join()


def main(kind, port, *words):
    port = int(port)
    if kind == "ask":
        with socket.create_connection(("127.0.0.1", port)) as one, one.makefile("rwb") as stream:
            if words[1:]:
                print(stream.readline().decode().strip())
            stream.write(words[0].encode() + b"\n")
            stream.flush()
            print(stream.readline().decode().strip())
        return
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen()
        print("listening", flush=True)
        if kind == "serve":
            serve(listener, int(words[0]), words[1])
        else:
            while True:
                one, _ = listener.accept()
                line = one.recv(5)
                if line == b"plain":
                    one.sendall(b"yes, plain\n")
                    one.close()
                    return
                one.close()


main(*sys.argv[1:])
