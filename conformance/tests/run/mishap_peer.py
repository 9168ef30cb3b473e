# SPDX-License-Identifier: BSD-3-Clause
"""An MPA responder that breaks as the private data of a Request says, for check_mishaps.py.

usage: mishap_peer.py PORT [once]

once: ends with status 1 after a connection.

One connection after the other. A word in a Request acts once its connection has ended; "now-" in front of it, at once:
dies (SIGSEGV after 0.1 s), crashes (SIGSEGV), exits (status 3), hangs, deaf (no listener for 0.3 s), slow (no answers for 1.5 s), rests (none for 0.01 s), leaks
(says so when it is ended by SIGTERM), clings (leaks, and answers nobody else until then), shuts (leaks, and has no listener from then on),
odd (a report, and it goes on), stuck (a report, and it hangs). Any word that is not known does nothing.
"""
import os
import resource
import signal
import socket
import sys
import time

KEY = b"MPA ID Rep Frame"
LATE, AWAY, SLOW, REST, FOREVER = 0.1, 0.3, 1.5, 0.01, 60
leaked = False


def say(text):
    print(text, flush=True)


def die():
    os.kill(os.getpid(), signal.SIGSEGV)


def ended(*_):
    if leaked:
        say("==1==ERROR: LeakSanitizer: detected memory leaks\n    #0 0x1 in keep_request peer.c:7")
    os._exit(1 if leaked else 0)


def listen(port):
    listener = socket.create_server(("127.0.0.1", port), backlog=64)
    say("listening on %d" % listener.getsockname()[1])
    return listener


def act(listener, word, port):
    global leaked
    if word == b"dies":
        signal.signal(signal.SIGALRM, lambda *_: die())
        signal.setitimer(signal.ITIMER_REAL, LATE)
    elif word == b"crashes":
        die()
    elif word == b"exits":
        os._exit(3)
    elif word == b"hangs":
        while True:
            time.sleep(FOREVER)
    elif word == b"deaf":
        time.sleep(AWAY)
        return listen(port)
    elif word == b"slow":
        time.sleep(SLOW)
    elif word == b"rests":
        time.sleep(REST)
    elif word == b"leaks":
        leaked = True
    elif word == b"clings":
        leaked = True
        time.sleep(FOREVER)
    elif word == b"shuts":
        leaked = True
        listener.close()
    elif word in (b"odd", b"stuck"):
        say("peer.c:9:1: runtime error: shift exponent is odd")
        time.sleep(FOREVER if word == b"stuck" else 0)
    return listener


def take(conn, size):
    octets = b""
    while len(octets) < size:
        more = conn.recv(size - len(octets))
        if not more:
            return None
        octets += more
    return octets


def serve(listener, port):
    conn = listener.accept()[0]
    with conn:
        head = take(conn, 20)
        private = take(conn, int.from_bytes(head[18:], "big")) if head else None
        word = (private or b"")[4:]
        if word.startswith(b"now-"):
            act(listener, word[4:], port)
        if word == b"deaf":
            listener.close()  # before the runner can go on, and connect once more
        if private is not None:
            try:
                conn.sendall(KEY + head[16:18] + b"\0\4" + private[:4])
                while conn.recv(4096):
                    pass
            except ConnectionError:
                pass
    return act(listener, word, port)


def main(port, once=None):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGTERM, ended)
    listener = listen(port)
    while True:
        listener = serve(listener, port)
        if once:
            sys.exit(1)
        if listener.fileno() < 0:
            time.sleep(FOREVER)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
