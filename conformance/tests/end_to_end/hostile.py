# SPDX-License-Identifier: BSD-3-Clause
"""Peers that mean no good: each is a function of (connection, random numbers), drawn from a seed.

A `Wire` is the hostile end of one TCP connection; it gives up as soon as the tester does. `PEERS` are
what an MPA port may do, `AGENTS` what a control port may do.
"""
import contextlib
import json
import socket
import struct
import threading
import time

LONG = 60  # seconds: no hostile end outlives this; the tester's deadlines are far below it


class Over(Exception):
    """The tester has gone, or the run is at its end."""


class Wire:
    """A socket that is given up when the run is over."""

    def __init__(self, sock, over):
        self.sock, self.over, self.held = sock, over, b""
        self.end = time.monotonic() + LONG
        sock.settimeout(0.05)

    def check(self):
        if self.over.is_set() or time.monotonic() > self.end:
            raise Over

    def send(self, octets):
        view = memoryview(octets)
        while view:
            self.check()
            try:
                view = view[self.sock.send(view):]
            except TimeoutError:
                pass

    def recv(self, most=65536):
        """Some octets, b"" at the tester's FIN."""
        while True:
            self.check()
            try:
                return self.sock.recv(most)
            except TimeoutError:
                pass

    def read(self, count):
        while len(self.held) < count:
            more = self.recv()
            if not more:
                raise Over
            self.held += more
        out, self.held = self.held[:count], self.held[count:]
        return out

    def line(self):
        while b"\n" not in self.held:
            more = self.recv()
            if not more:
                raise Over
            self.held += more
        line, self.held = self.held.split(b"\n", 1)
        return line

    def idle(self):
        """Takes whatever comes, and says nothing, until the tester goes."""
        while self.recv():
            pass

    def stare(self):
        """Neither reads nor writes."""
        while True:
            self.check()
            self.over.wait(0.05)

    def pause(self, seconds):
        self.check()
        self.over.wait(seconds)

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()
        raise Over


# ---- octets ----

TABLE = []
for _octet in range(256):
    _crc = _octet
    for _ in range(8):
        _crc = _crc >> 1 ^ (0x82F63B78 if _crc & 1 else 0)
    TABLE.append(_crc)


def crc32c(octets):
    crc = 0xFFFFFFFF
    for octet in octets:
        crc = crc >> 8 ^ TABLE[(crc ^ octet) & 255]
    return struct.pack("<I", crc ^ 0xFFFFFFFF)


def fpdu(ulpdu, good=True):
    frame = struct.pack(">H", len(ulpdu)) + ulpdu
    frame += bytes(-len(frame) % 4)
    return frame + (crc32c(frame) if good else b"\xde\xad\xbe\xef")


def untagged(opcode, qn, msn, mo=0, payload=b"", last=True):
    return struct.pack(">BBIIII", 0x41 if last else 0x01, 0x40 | opcode, 0, qn, msn, mo) + payload


def tagged(opcode, stag, to, payload=b"", last=True):
    return struct.pack(">BBIQ", 0xC1 if last else 0x81, 0x40 | opcode, stag, to) + payload


def some(rng, most):
    return rng.randbytes(rng.choice((0, 1, 3, 20, 512, rng.randrange(most + 1))))


def segment(rng, msn):
    """One DDP segment; most of them are no good."""
    kind = rng.randrange(7)
    if kind == 0:
        return untagged(3, 0, msn, 0, some(rng, 1400))
    if kind == 1:
        return untagged(1, 1, msn, 0, struct.pack(">IQIIQ", 7, 0, rng.choice((0, 8, 0xFFFFFFFF)), 7, 0))
    if kind == 2:
        return untagged(7, 2, msn, 0, rng.randbytes(rng.choice((0, 3, 4, 24, 50))))
    if kind == 3:
        return tagged(rng.choice((0, 2)), rng.getrandbits(32), rng.getrandbits(64), some(rng, 1400))
    if kind == 4:
        return untagged(rng.randrange(16), rng.choice((0, 1, 2, 3, rng.getrandbits(32))), rng.getrandbits(32),
                        rng.getrandbits(32), some(rng, 1400), rng.random() < 0.5)
    return some(rng, 1400)


def startup(wire, rng, key=None, **bent):
    """Takes the Request if the tester is the initiator, and answers it as a good peer would but for `bent`."""
    if key is None:
        request = wire.read(20)
        key, flags, revision = b"MPA ID Rep Frame", request[16] & 0x70, request[17]
        private = wire.read(struct.unpack(">H", request[18:20])[0])
    else:
        flags, revision, private = 0x50, 2, b"\x80\x10\x40\x10"
    private = private[:4] if flags & 0x10 else b""
    flags, revision = bent.get("flags", flags & ~0x80), bent.get("revision", revision)
    private += bent.get("private", b"")
    length = bent.get("length", len(private))
    wire.send(key + struct.pack(">BBH", flags, revision, length) + private)


def opened(wire, rng, called, **bent):
    """A start-up, whichever end begins."""
    if called:
        startup(wire, rng, b"MPA ID Req Frame", **bent)
        reply = wire.read(20)
        wire.read(struct.unpack(">H", reply[18:20])[0])
    else:
        startup(wire, rng, **bent)


# ---- behaviours of an MPA port: (wire, rng, called); `called`: this end has connected and begins ----

def nothing(wire, rng, called):
    wire.idle()


def unread(wire, rng, called):
    wire.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    if rng.random() < 0.5:
        opened(wire, rng, called)
    wire.stare()


def random_octets(wire, rng, called):
    wire.send(rng.randbytes(rng.choice((1, 19, 20, 21, 600, 20000, 300000))))
    if rng.random() < 0.5:
        wire.idle()


def endless_octets(wire, rng, called):
    block = rng.choice((bytes(65536), rng.randbytes(65536), b"MPA ID Rep Frame" * 4096, b"\xff" * 65536))
    while True:
        wire.send(block)


def endless_startup(wire, rng, called):
    key = rng.choice((b"MPA ID Rep Frame", b"MPA ID Req Frame"))
    frame = key + bytes((0x40, 1)) + struct.pack(">H", rng.choice((0, 512, 65535)))
    while True:
        wire.send(frame * 500)


def drip(wire, rng, called):
    octets = b"MPA ID Rep Frame" + bytes((rng.choice((0, 0x50)), 1, 0, 4)) + rng.randbytes(5000)
    for i in range(rng.choice((0, 5, 19, 20, 24)), len(octets)):
        wire.send(octets[i:i + 1])
        wire.pause(rng.choice((0.001, 0.01)))


def drip_fpdus(wire, rng, called):
    opened(wire, rng, called)
    octets = b"".join(fpdu(untagged(3, 0, n + 1, 0, b"drip")) for n in range(100))
    for octet in octets:
        wire.send(bytes((octet,)))
        wire.pause(rng.choice((0, 0.001, 0.005)))
    wire.idle()


def fast_drip(wire, rng, called):
    """Octets one by one, as fast as they go."""
    if rng.random() < 0.5:
        opened(wire, rng, called)
    wire.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while True:
        wire.send(b"\x00")


def bent_startup(wire, rng, called):
    opened(wire, rng, called, flags=rng.getrandbits(8), revision=rng.choice((0, 1, 2, 3, 255)),
           private=rng.randbytes(rng.choice((0, 1, 4, 508, 512, 513, 2000))))
    wire.idle()


def huge_private(wire, rng, called):
    private = rng.randbytes(rng.choice((513, 4096, 65000)))
    opened(wire, rng, called, private=private, length=rng.choice((513, 65535, len(private) & 0xFFFF)))
    while True:
        wire.send(private)


def startup_then_garbage(wire, rng, called):
    opened(wire, rng, called)
    wire.send(rng.randbytes(rng.choice((1, 4, 8, 100, 70000))))
    wire.idle()


def endless_fpdus(wire, rng, called):
    """The same good or bad FPDUs over and over; MSN may count or not."""
    opened(wire, rng, called)
    good = rng.random() < 0.8
    kind = rng.randrange(5)
    if kind == 0:  # a Send that never ends
        block = fpdu(untagged(3, 0, 1, 0, rng.randbytes(rng.choice((0, 1, 1000))), False), good)
    elif kind == 1:
        block = fpdu(tagged(0, 1, 0, rng.randbytes(rng.choice((0, 1, 1000, 60000)))), good)
    elif kind == 2:
        block = fpdu(untagged(1, 1, 1, 0, struct.pack(">IQIIQ", 7, 0, 8, 7, 0)), good)
    elif kind == 3:
        block = fpdu(tagged(2, 0x46454E01, 1), good)  # Read Responses, as a fence expects one
    else:
        block = b"".join(fpdu(segment(rng, n + 1), good) for n in range(20))
    block *= max(1, 65536 // len(block))
    while True:
        wire.send(block)


def counting_fpdus(wire, rng, called):
    """Sends and Read Requests that are all right, as many as go through."""
    opened(wire, rng, called)
    read = struct.pack(">IQIIQ", 7, 0, 0, 7, 0)
    for first in range(1, 1 << 30, 500):
        wire.send(b"".join(fpdu(untagged(3, 0, n, 0, b"")) + fpdu(untagged(1, 1, n, 0, read))
                           for n in range(first, first + 500)))


def one_huge_message(wire, rng, called):
    """A Send of many segments: right, and larger than anybody asked for."""
    opened(wire, rng, called)
    size = rng.choice((1, 100, 60000))
    payload = bytes(size)
    for n in range(rng.choice((2000, 20000))):
        wire.send(fpdu(untagged(3, 0, 1, n * size & 0xFFFFFFFF, payload, False), size < 200))
    wire.send(fpdu(untagged(3, 0, 1, 0, b"")))
    wire.idle()


def terminate_flood(wire, rng, called):
    opened(wire, rng, called)
    n = 0
    while True:
        n += 1
        wire.send(fpdu(untagged(7, 2, n, 0, rng.randbytes(rng.choice((3, 4, 24, 50))))) *
                  rng.choice((1, 100)))


def random_fpdus(wire, rng, called):
    opened(wire, rng, called)
    for n in range(rng.choice((1, 5, 200))):
        wire.send(fpdu(segment(rng, n + 1), rng.random() < 0.9))
    wire.idle()


def bent_framing(wire, rng, called):
    """CRCs, lengths and Markers that make no sense."""
    opened(wire, rng, called, flags=rng.choice((0, 0x40, 0x80, 0xC0)))
    for n in range(200):
        frame = bytearray(fpdu(segment(rng, n + 1)))
        if rng.random() < 0.5:
            frame[rng.randrange(len(frame))] ^= 1 << rng.randrange(8)
        if rng.random() < 0.2:
            frame[0:2] = struct.pack(">H", rng.choice((0, 1, 64768, 64769, 65535)))
        if rng.random() < 0.3:
            frame[rng.randrange(len(frame)):0] = rng.randbytes(4)
        wire.send(bytes(frame))
    wire.idle()


def mirror(wire, rng, called):
    if rng.random() < 0.5:
        opened(wire, rng, called)
    while True:
        octets = wire.recv()
        if not octets:
            return
        wire.send(octets)


def reset_soon(wire, rng, called):
    """A reset at any moment of an otherwise good beginning."""
    at = rng.randrange(6)
    if at == 1:
        wire.recv()
    elif at == 2:
        wire.send(b"MPA ID Rep Fr"[:rng.randrange(13)])
    elif at >= 3:
        opened(wire, rng, called)
    if at == 4:
        wire.send(fpdu(untagged(3, 0, 1, 0, b"x"))[:rng.randrange(28)])
    if at == 5:
        wire.recv()
        wire.pause(rng.random() * 0.02)
    wire.reset()


def half_open(wire, rng, called):
    """A FIN at any moment; takes the tester's octets, or does not."""
    if rng.random() < 0.5:
        opened(wire, rng, called)
    if rng.random() < 0.5:
        wire.send(rng.randbytes(rng.randrange(40)))
    wire.sock.shutdown(socket.SHUT_WR)
    if rng.random() < 0.5:
        wire.idle()
    wire.stare()


PEERS = (nothing, unread, random_octets, endless_octets, endless_startup, drip, drip_fpdus, fast_drip, bent_startup,
         huge_private, startup_then_garbage, endless_fpdus, counting_fpdus, one_huge_message, terminate_flood,
         random_fpdus, bent_framing, mirror, reset_soon, half_open)


# ---- behaviours of a control port: (wire, rng, port), `port` being a hostile MPA port ----

def value(rng, depth=3):
    kind = rng.randrange(9 if depth else 6)
    if kind < 6:
        return (None, True, rng.randrange(-2, 70000), rng.getrandbits(62), "0x%x" % rng.getrandbits(64),
                rng.choice(("", "zz", "00ff", "x" * 3000, "\u0000\u001b[2J<b>", "abc")))[kind]
    if kind == 6:
        return [value(rng, depth - 1) for _ in range(rng.randrange(5))]
    return {rng.choice(("ok", "event", "id", "conn", "x", "hex", "agreed")): value(rng, depth - 1)
            for _ in range(rng.randrange(5))}


FEATURES = {"crc": True, "markers": True, "revisions": [0, 1, 2], "rtr": ["write", "read", "send"],
            "max_private": 512, "extensions": True, "switches": True,
            "access": ["local-write", "remote-read", "remote-write", "remote-invalidate", "remote-atomic"]}
AGREED = {"revision": 2, "version": 1, "crc": True, "tx_markers": False, "rx_markers": False, "enhanced": True,
          "peer_to_peer": False, "rtr": "none", "ird": 16, "ord": 16, "peer_ird": 16, "peer_ord": 16}


def answer(request, port):
    """A possible answer of a good agent."""
    verb = request.get("do")
    reply = {"id": request.get("id"), "ok": True}
    if verb == "hello":
        reply.update(agent="x", version="1", schema=1, backend="endpoint", features=FEATURES)
    elif verb == "listen":
        reply.update(listen=1, port=port)
    elif verb == "connect":
        reply.update(conn=2)
    elif verb == "register":
        reply.update(mem=3, stag=77, to="0x1000")
    elif verb == "read":
        reply.update(hex="5a" * max(0, min(int(request.get("length", 0)), 100000)))
    elif verb == "pd":
        reply.update(pd=4)
    return reply


def requests(wire):
    while True:
        try:
            yield json.loads(wire.line())
        except ValueError:
            raise Over from None


def put(wire, obj):
    wire.send(json.dumps(obj).encode() + b"\n")


def agent_silent(wire, rng, port):
    wire.idle()


def agent_unread(wire, rng, port):
    wire.stare()


def agent_gone(wire, rng, port):
    for n, request in enumerate(requests(wire)):
        if n == rng.randrange(8):
            if rng.random() < 0.5:
                wire.reset()
            return
        put(wire, answer(request, port))


def agent_garbage(wire, rng, port):
    good = rng.randrange(4)
    for n, request in enumerate(requests(wire)):
        if n < good:
            put(wire, answer(request, port))
            continue
        wire.send(rng.choice((b"{\n", b"[]\n", b"1\n", b"\n", b"\xff\xfe\n", b"{\"ok\":tru\n", b"null\n",
                              rng.randbytes(300) + b"\n", b"{\"id\":1,\"id\":1}\n", b"{\"ok\":1e999}\n")))


def agent_endless_line(wire, rng, port):
    block = rng.choice((b"{", b"x", b"\"", b"0", b"[", b" ")) * 65536
    while True:
        wire.send(block)


def agent_nested(wire, rng, port):
    opening, closing = rng.choice(((b"[", b"]"), (b"{\"a\":", b"}")))
    for depth in (10, 500, 2000, 20000):
        wire.send(b"{\"id\":1,\"ok\":true,\"features\":" + opening * depth + b"1" + closing * depth + b"}\n")
    wire.idle()


def agent_wrong_replies(wire, rng, port):
    """Well-formed replies, some of whose fields are missing, of another type or out of range."""
    for request in requests(wire):
        reply = answer(request, port)
        for name in [n for n in reply if n not in ("id", "ok")]:
            if rng.random() < 0.3:
                del reply[name]
            elif rng.random() < 0.3:
                reply[name] = value(rng)
        if rng.random() < 0.1:
            reply["ok"] = value(rng)
        if isinstance(reply.get("features"), dict) and rng.random() < 0.5:
            reply["features"] = {n: value(rng) for n in FEATURES}
        if rng.random() < 0.3:
            put(wire, event(rng))
        put(wire, reply)


def event(rng):
    obj = {"event": rng.choice(("established", "completion", "closed", "fault", "request", "terminated",
                                "peer-closed", "rejected", "x")),
           "conn": rng.choice((1, 2, value(rng))), "listen": rng.choice((1, value(rng))), "agreed": AGREED,
           "work": rng.choice((1, 2, value(rng))), "status": rng.choice(("ok", "flushed", value(rng))),
           "private": rng.choice(("", "00", value(rng))), "length": rng.choice((0, 8, value(rng)))}
    if rng.random() < 0.5:
        obj[rng.choice(list(obj))] = value(rng)
    if rng.random() < 0.3:
        obj["agreed"] = {name: rng.choice((old, value(rng))) for name, old in AGREED.items() if rng.random() < 0.8}
    return obj


def agent_events(wire, rng, port):
    """Replies that are right, among events that are not."""
    for request in requests(wire):
        for _ in range(rng.choice((0, 1, 3, 50))):
            put(wire, event(rng))
        put(wire, answer(request, port))
        if request.get("do") in ("listen", "connect"):
            put(wire, {"event": "established", "conn": 2, "listen": 1, "private": "", "agreed": AGREED})


def agent_flood(wire, rng, port):
    wire.line()
    wire.send(b"{\"id\":1,\"ok\":true,\"features\":{}}\n")
    pad = "[0" + ",0" * rng.choice((0, 1000, 100000)) + "]"
    block = ("{\"event\":\"%s\",\"x\":%s}\n" % (rng.choice(("established", "x")), pad)).encode()
    while True:
        wire.send(block)


def agent_refuses(wire, rng, port):
    for n, request in enumerate(requests(wire)):
        if n == 0 and rng.random() < 0.2:
            put(wire, {"event": "refused", "error": value(rng)})
        if request.get("do") in ("hello", "reset") or rng.random() < 0.3:
            put(wire, answer(request, port))
        else:
            put(wire, {"id": request.get("id"), "ok": False,
                       "error": rng.choice(("no", "field x: bad", "verb y: unknown", "a\nb", value(rng)))})


def agent_good(wire, rng, port):
    """A correct control port; the MPA port that it names is hostile."""
    for request in requests(wire):
        put(wire, answer(request, port))
        if request.get("do") in ("listen", "connect") and rng.random() < 0.8:
            put(wire, {"event": "established", "conn": 2, "listen": 1, "private": "", "agreed": AGREED})


class ResetBefore:
    """An MPA port that resets after a good beginning, and an agent that says only then that the connection is established."""

    def __init__(self):
        self.over = threading.Event()

    def port(self, wire, rng, called):
        opened(wire, rng, called)
        try:
            wire.reset()
        finally:
            self.over.set()

    def agent(self, wire, _rng, port):
        for request in requests(wire):
            if request.get("do") in ("listen", "connect"):
                self.over.clear()  # of a connection before this one
            put(wire, answer(request, port))
            if request.get("do") in ("listen", "connect"):
                self.over.wait(60)
                put(wire, {"event": "established", "conn": 2, "listen": 1, "private": "", "agreed": AGREED})


def agent_null_features(wire, rng, port):
    """Lists of its features hold values that are no words."""
    for request in requests(wire):
        reply = answer(request, port)
        if "features" in reply:
            reply["features"] = dict(FEATURES, rtr=[None, {}, 1.5], revisions=["x", None])
        put(wire, reply)


def agent_stale(wire, rng, port):
    """Replies to nothing, without end."""
    put(wire, answer(json.loads(wire.line()), port))
    while True:
        wire.send(b"{\"id\":123456,\"ok\":true}\n" * 2000)


AGENTS = (agent_null_features, agent_stale, agent_silent, agent_unread, agent_gone, agent_garbage, agent_endless_line, agent_nested, agent_wrong_replies,
          agent_wrong_replies, agent_events, agent_events, agent_flood, agent_refuses, agent_good, agent_good)


# ---- running them ----

class Crowd:
    """The threads of one run: listeners that answer every connection, and ends that connect."""

    def __init__(self):
        self.over = threading.Event()
        self.threads, self.listeners = [], []

    def serve(self, sock, act):
        with sock:
            try:
                act(Wire(sock, self.over))
            except (Over, OSError):
                pass

    def begin(self, target, *args):
        thread = threading.Thread(target=target, args=args, daemon=True)
        self.threads.append(thread)
        thread.start()

    def accept(self, listener, act):
        while not self.over.is_set():
            try:
                sock, _ = listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            self.begin(self.serve, sock, act)

    def listen(self, act):
        """A port of 127.0.0.1 where each connection is act(wire)'s."""
        listener = socket.create_server(("127.0.0.1", 0))
        listener.settimeout(0.05)
        self.listeners.append(listener)
        self.begin(self.accept, listener, act)
        return listener.getsockname()[1]

    def connect(self, host, port, act):
        def go():
            try:
                sock = socket.create_connection((host, port), timeout=5)
            except OSError:
                return
            self.serve(sock, act)
        self.begin(go)

    def close(self):
        """From now on nobody listens."""
        for listener in self.listeners:
            with contextlib.suppress(OSError):  # closed before
                listener.shutdown(socket.SHUT_RDWR)  # at once, although a thread waits for it
            listener.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()
        self.close()
