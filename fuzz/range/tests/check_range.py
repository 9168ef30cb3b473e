#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The practice range: each bug shows by the octets that provoke it, names its function, and does not show without them.

usage: check_range.py PROGRAM
"""
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import harness

GUARD = 120  # seconds, against hanging
STAG = 0x1F5A0000
REQUEST, REPLY = b"MPA ID Req Frame", b"MPA ID Rep Frame"
ENHANCED = REQUEST + bytes.fromhex("5002 0004 0010 0010")
SPINNING = 50  # clock ticks of CPU time that an endless loop has used when it is believed


def crc32c(octets):
    crc = 0xFFFFFFFF
    for octet in octets:
        crc ^= octet
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def fpdu(ulpdu):
    octets = struct.pack(">H", len(ulpdu)) + ulpdu + bytes(-(2 + len(ulpdu)) % 4)
    return octets + struct.pack("<I", crc32c(octets))


def untagged(opcode, qn, msn, payload=b"", mo=0, last=True, stag=0):
    return fpdu(struct.pack(">BBIIII", 0x41 if last else 0x01, 0x40 | opcode, stag, qn, msn, mo) + payload)


def tagged(opcode, stag=0, to=0, payload=b""):
    return fpdu(struct.pack(">BBIQ", 0xC1, 0x40 | opcode, stag, to) + payload)


def send(msn, payload=b"", **more):
    return untagged(3, 0, msn, payload, **more)


def read(msn, size=0, stag=0, to=0):
    return untagged(1, 1, msn, struct.pack(">IQIIQ", 5, 0, size, stag, to))


def atomic(msn, to):
    return untagged(10, 1, msn, struct.pack(">IIIQQQQQ", 0, 1, STAG, to, 1, 0, 0, 2**64 - 1))


# Of each bug by name: a Request (None: the usual one) and what follows the Reply; each list is a connection.
STIMULI = {
    "private-heap": [[REQUEST + bytes.fromhex("4001 0064") + bytes(100)]],
    "revision-assert": [[REQUEST + bytes.fromhex("4003 0000")]],
    "ird-divide": [[REQUEST + bytes.fromhex("5002 0004 0000 0010")]],
    "length-hang": [[None, bytes(8)]],
    "fin-negative": [[None, send(1)[:12]]],
    "marker-room": [[REQUEST + bytes.fromhex("c001 0000"), read(1)]],
    "short-header": [[None, fpdu(bytes.fromhex("4143 0000"))]],
    "opcode-index": [[None, untagged(15, 0, 1)]],
    "qn-index": [[None, untagged(3, 4, 1)]],
    "msn-loop": [[None, send(40)]],
    "mo-wrap": [[None, send(1, bytes(24), mo=0xFFFFFFF0)]],
    "free-twice": [[None, send(1, b"last", mo=16)]],
    "complete-twice": [[None, untagged(5, 0, 1)]],
    "message-leak": [[None, send(1, b"first", last=False)]],
    "three-in-order": [[None, send(1, b"four"), read(1), send(2, bytes(64))]],
    "immediate-stack": [[None, untagged(8, 0, 1, bytes(24))]],
    "terminate-copy": [[None, untagged(7, 2, 1, bytes.fromhex("0205 0000") + bytes(48))]],
    "response-null": [[None, tagged(2)]],
    "write-beyond": [[None, tagged(0, STAG, 255, bytes(16))]],
    "use-invalidated": [[None, untagged(4, 0, 1, b"x", stag=STAG + 2), tagged(0, STAG + 2, 2 << 20, b"late")]],
    "two-connections": [[None, tagged(0)], [None, tagged(0)]],
    "read-wrap": [[None, read(1, 64, STAG, 2**64 - 16)]],
    "gather-stack": [[None, read(1, 128, STAG)]],
    "atomic-align": [[None, atomic(1, 3)]],
}


def ticks(process):
    """CPU time that the process has used."""
    fields = harness.read("/proc/%d/stat" % process.pid).rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def wait_for_end(process, spins):
    """Waits until the process has ended; of one that `spins`, until it has done so for long."""
    guard = time.monotonic() + GUARD
    while process.poll() is None and time.monotonic() < guard:
        if spins and ticks(process) > SPINNING:
            return
        time.sleep(0.01)
    if process.poll() is None:
        sys.exit("%s does not end" % process.args)


def exchange(port, request, *rest):
    """Makes a connection, and waits for its end."""
    try:
        with socket.create_connection(("127.0.0.1", port), GUARD) as conn:
            conn.sendall(request or ENHANCED)
            if rest and len(conn.recv(len(REPLY) + 8)) > 0:
                conn.sendall(b"".join(rest))
            conn.shutdown(socket.SHUT_WR)
            while conn.recv(65536):
                pass
    except (ConnectionError, TimeoutError):
        pass  # it has crashed, or hangs


class Range:
    def __init__(self, program, number, *where):
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([program, *(["--bug", str(number)] if number else []), *where], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=self.log, text=True)

    def port(self):
        return int(self.process.stdout.readline().rsplit(":", 1)[1])

    def end(self):
        """Ends it. Returns its status and what it wrote."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(GUARD)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()
        self.log.seek(0)
        with self.log:
            return self.process.returncode, self.log.read()


def provoke(program, number, name):
    """Plays the stimulus of the bug `name` against the program with bug `number`. Returns its status and what it wrote."""
    one = Range(program, number)
    port = one.port()
    spins = number and name == "length-hang"
    if spins:
        with socket.create_connection(("127.0.0.1", port), GUARD) as conn:
            conn.sendall(ENHANCED)
            conn.recv(100)
            conn.sendall(STIMULI[name][0][1])
            wait_for_end(one.process, True)
        one.process.kill()
        return one.process.wait(), one.end()[1]
    for connection in STIMULI[name]:
        exchange(port, *connection)
    if number and name != "message-leak":
        wait_for_end(one.process, False)
    return one.end()


def answer_badly(program, number):
    """As responder: answers the Request of the program with much private data."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        one = Range(program, number, "--connect", "127.0.0.1:%d" % listener.getsockname()[1])
        listener.settimeout(GUARD)
        with listener.accept()[0] as conn:
            conn.recv(100)
            conn.sendall(REPLY + bytes.fromhex("4001 0064") + bytes(100))
        wait_for_end(one.process, False)
        return one.end()


def look_at(program, number, name, function):
    play = (lambda n: answer_badly(program, n)) if name == "reply-stack" else (lambda n: provoke(program, n, name))
    status, log = play(number)
    if name == "length-hang":
        harness.expect(name, status == -signal.SIGKILL, (status, log))
    else:
        named = re.search(r"\b%s\b" % function, log)
        harness.expect(name, status != 0 and named, (status, log[:4000]))
    status, log = play(0)
    harness.expect("%s, switched off" % name, status == 0 and log == "", (status, log))


def refuses(program):
    for words, said in ((["--bug", "26"], "--bug 26: expected numbers as --list prints them"),
                        (["--bug", "x"], "--bug x: expected numbers as --list prints them"),
                        (["--bug", "1,"], "--bug 1,: expected numbers as --list prints them"),
                        (["--bug", "-1"], "--bug -1: expected numbers as --list prints them"),
                        (["--port", "65536"], "--port 65536: expected 0 to 65535"),
                        (["--port", ""], "--port : expected 0 to 65535"),
                        (["--port", "+1"], "--port +1: expected 0 to 65535"),
                        (["--port", "7x"], "--port 7x: expected 0 to 65535"),
                        (["--connect", "host"], "--connect host: expected an IPv4 address and a port, ADDRESS:PORT"),
                        (["--connect", "127.0.0.1:"], "--connect 127.0.0.1:: expected an IPv4 address and a port, ADDRESS:PORT"),
                        (["--connect", "1000.127.127.127:1"], "--connect 1000.127.127.127:1: expected an IPv4 address and a port, ADDRESS:PORT"),
                        (["--crash-every", "ten"], "--crash-every ten: expected 0 to 4294967295"),
                        (["more"], "argument more: expected options only")):
        done = harness.run(program, *words, status=64)
        harness.equal(words, (done.stdout, done.stderr), ("", "iwarp-range: %s\n" % said))
    harness.expect("an option that there is not", "--nothing" in harness.run(program, "--nothing", status=64).stderr)
    for words in (["--help"], ["-h"]):
        harness.expect(words, harness.run(program, *words).stdout.startswith("usage: iwarp-range [--bug N[,N...]] "))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        done = harness.run(program, "--port", str(port), status=1)
        harness.equal("a port that is taken", (done.stdout, done.stderr), ("", "iwarp-range: port %d: Address already in use\n" % port))
    for where in ("127.0.0.1:%d" % port, "localhost:%d" % port, "127.127.127.127:%d" % port):
        done = harness.run(program, "--connect", where, status=1)
        harness.equal(where, (done.stdout, done.stderr), ("", "iwarp-range: %s: not reached\n" % where))


def read_all(conn):
    octets = b""
    while more := conn.recv(1 << 16):
        octets += more
    return octets


def start_up(port):
    conn = socket.create_connection(("127.0.0.1", port), GUARD)
    conn.sendall(ENHANCED)
    return conn


REPLY_WHOLE = REPLY + bytes.fromhex("5002 0004 0010 0010")


def serves(program):
    """Listens at a given port until a signal ends it."""
    port = harness.free_port()
    one = Range(program, 0, "--port", str(port))
    harness.equal("the port", one.port(), port)
    # More is answered than may wait to be sent: the rest is answered once the peer has read.
    with socket.socket() as conn:
        conn.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        conn.settimeout(GUARD)
        conn.connect(("127.0.0.1", port))
        conn.sendall(ENHANCED)
        harness.equal("the Reply", conn.recv(len(REPLY_WHOLE), socket.MSG_WAITALL), REPLY_WHOLE)
        conn.sendall(b"".join(read(msn, 1000, STAG + 3, 3 << 20) for msn in range(1, 1001)))
        conn.shutdown(socket.SHUT_WR)
        answers = read_all(conn)
        harness.expect("1000 Reads", answers == 1000 * fpdu(struct.pack(">BBIQ", 0xC1, 0x42, 5, 0) + bytes(1000)), len(answers))
    # Those that are more than it serves at once wait.
    conns = [start_up(port) for _ in range(70)]
    for conn in conns[:64]:
        harness.equal("the Reply of many", conn.recv(len(REPLY_WHOLE), socket.MSG_WAITALL), REPLY_WHOLE)
    for conn in conns[:6]:
        conn.close()
    for conn in conns[64:]:
        harness.equal("the Reply of one that has waited", conn.recv(len(REPLY_WHOLE), socket.MSG_WAITALL), REPLY_WHOLE)
    for conn in conns[6:]:
        conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
        conn.close()
    # After its last octet it reads on for a while, and no more than that.
    with start_up(port) as conn:
        conn.recv(len(REPLY_WHOLE), socket.MSG_WAITALL)
        conn.sendall(bytes(8))
        harness.equal("its end", conn.recv(1), b"")
        try:
            for _ in range(1 << 10):
                conn.sendall(bytes(1 << 16))
            harness.complain("it reads on for ever")
        except ConnectionError:
            pass
    one.process.send_signal(signal.SIGINT)
    one.process.wait(GUARD)
    harness.equal("SIGINT", one.end(), (0, ""))


def crashes(program):
    """Every third connection ends it."""
    one = Range(program, 0, "--crash-every", "3")
    port = one.port()
    for _ in range(2):
        with start_up(port) as conn:
            harness.equal("the Reply of one in three", conn.recv(len(REPLY_WHOLE), socket.MSG_WAITALL), REPLY_WHOLE)
    with start_up(port) as conn:
        try:
            harness.equal("no Reply", conn.recv(1), b"")
        except ConnectionError:
            pass
    one.process.wait(GUARD)
    status, log = one.end()
    harness.expect("the third", status != 0 and "range_count_connection" in log, (status, log))


def connects(program):
    """As initiator, once; the greeting follows the Reply."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(GUARD)
        one = Range(program, 0, "--connect", "127.0.0.1:%d" % listener.getsockname()[1])
        with listener.accept()[0] as conn:
            conn.settimeout(GUARD)
            harness.equal("its Request", conn.recv(24, socket.MSG_WAITALL), ENHANCED)
            conn.sendall(REPLY_WHOLE)
            conn.shutdown(socket.SHUT_WR)
            harness.equal("its greeting", read_all(conn), send(1, b"hi\0\0"))
    one.process.wait(GUARD)
    harness.equal("its end", one.end(), (0, ""))


def main(program):
    program = os.path.abspath(program)
    bugs = [re.split(r" {2,}", line.strip(), maxsplit=3) for line in harness.run(program, "--list").stdout.splitlines()]
    harness.equal("each bug has its stimulus", {*STIMULI, "reply-stack"}, {bug[1] for bug in bugs})
    harness.side_by_side([lambda b=b: look_at(program, int(b[0]), b[1], b[2]) for b in bugs], 4)
    for look in (refuses, serves, crashes, connects):
        look(program)
    harness.conclude()


if __name__ == "__main__":
    harness.start(main, __doc__)
