#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Nobody is accused of a silence or of a connection that stays open before his longest timer has ended, nor of the form in which he ends one.

usage: check_timers.py IWARP-CONFORM

Responders and initiators in Python take their time, or never end a connection. Expectations wait for 0.3 s, the timers are of half
a second: only a target file that states the timer lets the suite judge what they end.
"""
import struct
import tempfile
import time

import harness
import hostile

SCALE = "0.1"  # of 3 s
TIMER = 0.5    # seconds
# Of a key that is wrong, all of the frame is there; or not; or the stream ends inside of a frame that is right.
AT_ONCE, UNFINISHED, CUT = "mpa-startup-key-zeros", "bug-key-checked-after-private-data-request", "mpa-startup-cut-no-private"
PLAIN = "mpa-startup-rev1"
FILE = """return { class = "bare", address = "127.0.0.1", port = %d, crc = "on", markers = "off", can = { "read" }, revision = %d, %s
  cannot = { "extensions", "tcp.crafted" } }
"""
CONNECTS = """return { class = "bare", crc = "on", markers = "off", can = { "read" }, cannot = { "peer_to_peer", "rtr" },
  connect = "bash -c 'echo {host} {port} >/dev/tcp/127.0.0.1/%d'" }
"""
# One that ends in time, however busy the machine is; and one that is waited for in vain.
STATED, BRIEF = "longest_timer = 60,", f"longest_timer = {2 * TIMER},"


# ---- a responder, which gives up a start-up after `seconds` (None: never), and answers a good one after `answers` ----

def serve(wire):
    """Answers empty Reads, and errors with a Terminate."""
    while True:
        length = struct.unpack(">H", wire.read(2))[0]
        rest = wire.read(length + -(2 + length) % 4 + 4)
        if rest[1] & 0xf == 1:
            wire.send(hostile.fpdu(hostile.tagged(2, *struct.unpack(">IQ", rest[18:30]))))
        elif rest[1] & 0xf == 3:
            wire.send(hostile.fpdu(hostile.untagged(7, 2, 1, 0, b"\x12\2\0\0")))
            return


def take(wire, count, until):
    """So many octets, or None if they have not come by then: it takes no notice of a FIN."""
    while len(wire.held) < count:
        wire.check()
        try:
            more = wire.sock.recv(65536)
        except TimeoutError:
            more = b""
        wire.held += more
        if not more and time.monotonic() > until:
            return None
        if not more:
            wire.pause(0.02)
    out, wire.held = wire.held[:count], wire.held[count:]
    return out


def responder(seconds, answers=0):
    def run(wire):
        until = time.monotonic() + (hostile.LONG if seconds is None else seconds)
        head = take(wire, 20, until)
        private = head and take(wire, struct.unpack(">H", head[18:])[0], until)
        if private is None:
            return
        if head[:16] != b"MPA ID Req Frame":
            wire.pause(hostile.LONG if seconds is None else seconds)
            return
        wire.pause(answers)
        enhanced = head[17] == 2 and head[16] & 0x10 != 0
        wire.send(b"MPA ID Rep Frame" + (b"\x50\2\0\4" + private[:4] if enhanced else bytes((0x40, head[17], 0, 0))))
        serve(wire)
    return run


# ---- an initiator, which answers whatever Reply with `end`, and goes ----

def initiator(request, end):
    def run(wire):
        wire.send(b"MPA ID Req Frame" + request)
        wire.read(struct.unpack(">H", wire.read(20)[18:])[0])
        wire.send(end)
    return run


ENHANCED, UNENHANCED = b"\x50\2\0\4\0\x10\0\x10", b"\x40\1\0\0"


def terminate(code):
    return hostile.fpdu(hostile.untagged(7, 2, 1, 0, code + b"\0\0"))


KEY = "mpa-reply-key-octet-3"
ENDS = (  # what it asks for, what it says before it closes, the verdict
    ("closes", ENHANCED, b"", "PASS"),
    ("catastrophic", ENHANCED, terminate(b"\x20\5"), "PASS"),
    ("invalid frame", ENHANCED, terminate(b"\x20\4"), "PASS"),
    ("another error", ENHANCED, terminate(b"\x12\2"), "FAIL"),
    ("unenhanced, closes", UNENHANCED, b"", "PASS"),
    ("unenhanced, catastrophic", UNENHANCED, terminate(b"\x20\5"), "FAIL"),
)


class Suite(harness.Bench):
    def verdicts(self, name, target, *cases):
        self.write(name + ".lua", target)
        self.run((0, 1, 3), "run", "-j4", "--time-scale", SCALE, "--results", name + ".out", "--json", name + ".json",
                 "--target", self.at(name + ".lua"), *[word for one in cases for word in ("--select", one)])
        return {case["id"]: case["verdict"] for case in harness.load(self.at(name + ".json"))["cases"]}


def check_responders(suite, crowd):
    def judged(name, what, stated, **wanted):
        wanted = {{"at_once": AT_ONCE, "unfinished": UNFINISHED, "cut": CUT, "plain": PLAIN}[word]: verdict for word, verdict in wanted.items()}
        harness.equal(name, suite.verdicts(name.replace(" ", "-"), FILE % (crowd.listen(what), 2, stated), *wanted), wanted)

    judged("its timer is not known", responder(None), "", at_once="FAIL", unfinished="INCONCLUSIVE", cut="INCONCLUSIVE")
    judged("its timer is stated", responder(TIMER), STATED, unfinished="PASS", cut="PASS")
    judged("it never ends a connection", responder(None), BRIEF, at_once="FAIL", unfinished="FAIL", cut="FAIL")
    judged("slow by right", responder(0, TIMER), STATED, plain="PASS")


def check_initiators(suite, crowd):
    for name, request, end, wanted in ENDS:
        def ring(wire, request=request, end=end):
            host, port = wire.line().decode().split()
            crowd.connect(host, int(port), initiator(request, end))
        target = CONNECTS % crowd.listen(ring)
        harness.equal(name, suite.verdicts(name.replace(", ", "-").replace(" ", "-"), target, KEY), {KEY: wanted})


def main(conform):
    with tempfile.TemporaryDirectory() as folder, hostile.Crowd() as crowd:
        suite = Suite(conform, folder)
        check_responders(suite, crowd)
        check_initiators(suite, crowd)
    harness.conclude()


if __name__ == "__main__":
    harness.start(main, __doc__)
