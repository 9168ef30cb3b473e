#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Who cannot do what cases take for granted is charged with that, once, and with nothing else.

usage: check_instruments.py IWARP-CONFORM IWARP-AGENT STUBBORN-AGENT

Agents, and a stranger in Python without one, do not answer empty Reads, or Reads, or anything in full operation. Each
finding must be the expected one; every other case passes with another instrument, or is INCONCLUSIVE and names the finding.
"""
import os
import random
import socket
import struct
import sys
import tempfile
import threading

import harness
import hostile

# Cases in which fences, Reads and what goes on beside them meet: reserved bits, revisions, replays, literal octets, order.
SELECTED = ("rdmap-read-*", "rdmap-size-read-of-target*", "rdmap-rsv-*", "ddp-rsvd-*", "mpa-startup-rev*", "replay-siw-rping-64b-crcon*",
            "ext-order-*", "ext-ird-exceeded*", "octets-read-*", "empa-half-fpdus", "mpa-markers-sent-phases*", "rdmap-close-*",
            "bug-crc-field-left-out*", "rdmap-send-basic*")
STARTED = '#!/bin/sh\nIW_STUBBORN=%s exec "%s" "$@" %s\n'
# A name, IW_STUBBORN and switches of the agent, the rules of the findings, and whether most cases can be judged all the same.
AGENTS = (
    ("silent-about-empty-reads", "empty", "", ["RDMAP-5.2.1-16"], True),
    ("ends-at-empty-reads", "", "--overstrict=rdmap-read-empty", ["RDMAP-5.2.1-16"], True),
    ("answers-no-read", "", "--violate=rdmap-response-missing", ["RDMAP-5.2.1-12"], True),
    ("deaf", "deaf", "", ["RDMAP-5.2.1-12"], False),
    ("ends-at-everything", "ends", "", ["RDMAP-5.2.1-12"], False),
)


class Deaf:
    """A stranger that takes part in the start-up and takes nothing after it."""

    def __init__(self):
        self.over = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            sock, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(sock,), daemon=True).start()

    def serve(self, sock):
        wire = hostile.Wire(sock, self.over)
        try:
            hostile.startup(wire, random.Random(1))
            wire.idle()
        except (hostile.Over, OSError):
            pass
        sock.close()


CONNECTS = """return {
  class = "bare", crc = "on", markers = "off", can = { "read" }, cannot = { "peer_to_peer", "rtr" },
  connect = "bash -c 'echo {host} {port} >/dev/tcp/127.0.0.1/%d'",
}
"""
HASTE = ("--time-scale", "0.3")  # where much is waited for in vain
FIRST = ("mpa-reply-and-fpdu-read", "mpa-reply-and-fpdu-write")


def begins_with_empty_send(wire):
    """An initiator whose ULP's first message is an empty Send, and which answers empty Reads."""
    wire.send(b"MPA ID Req Frame\x50\2\0\4\0\x10\0\x10")
    wire.read(struct.unpack(">H", wire.read(20)[18:])[0])
    wire.send(hostile.fpdu(hostile.untagged(3, 0, 1)))
    while True:
        length = struct.unpack(">H", wire.read(2))[0]
        rest = wire.read(length + -(2 + length) % 4 + 4)
        if rest[-4:] != hostile.crc32c(struct.pack(">H", length) + rest[:-4]):
            return wire.send(hostile.fpdu(hostile.untagged(7, 2, 1, 0, b"\x20\2\0\0")))
        if rest[1] & 0xf == 1:
            wire.send(hostile.fpdu(hostile.tagged(2, *struct.unpack(">IQ", rest[18:30]))))


def check_own_message(suite):
    """What the ULP of an initiator sends first is no answer, empty or not."""
    with hostile.Crowd() as crowd:
        def ring(wire):
            host, port = wire.line().decode().split()
            crowd.connect(host, int(port), begins_with_empty_send)
        suite.write("own.lua", CONNECTS % crowd.listen(ring))
        result = suite.play("own", "--target", suite.at("own.lua"), *[word for one in FIRST for word in ("--select", one)])
    harness.equal("an empty Send of its own", {case["id"]: case["verdict"] for case in result["cases"]}, dict.fromkeys(FIRST, "PASS"))


def takes_no_reads_without_depths(wire):
    """A responder whose ULP has no room for Reads unless the start-up agrees on some."""
    head = wire.read(20)
    private = wire.read(struct.unpack(">H", head[18:])[0])
    enhanced = head[17] == 2 and head[16] & 0x10 != 0
    wire.send(b"MPA ID Rep Frame" + (b"\x50\2\0\4" + private[:4] if enhanced else b"\x40\1\0\0"))
    while True:
        length = struct.unpack(">H", wire.read(2))[0]
        rest = wire.read(length + -(2 + length) % 4 + 4)
        if rest[1] & 0xf == 1 and enhanced:
            wire.send(hostile.fpdu(hostile.tagged(2, *struct.unpack(">IQ", rest[18:30]))))
        elif rest[1] & 0xf == 1:
            return wire.send(hostile.fpdu(hostile.untagged(7, 2, 1, 0, b"\x12\2\0\0")))


UNENHANCED = ("mpa-startup-rev1", "mpa-startup-private-?-rev1", "mpa-startup-rev2-unenhanced", "bug-revision-of-reply-differs")


def check_depths(suite):
    """Who takes no Reads where no depths were agreed breaks no rule."""
    with hostile.Crowd() as crowd:
        port = crowd.listen(takes_no_reads_without_depths)
        result = suite.play("depths", "--target", f"tcp:127.0.0.1:{port},can=read", *[word for one in UNENHANCED for word in ("--select", one)])
    harness.equal("no depths: verdicts", {case["verdict"] for case in result["cases"]}, {"PASS"})
    harness.expect("no depths: cases", len(result["cases"]) >= len(UNENHANCED))
    harness.equal("no depths: facts", [fact["name"] for fact in result["facts"]], ["plain-read", "terminate"])


class Suite(harness.Bench):
    def play(self, name, *words):
        done = self.run((0, 1, 3), "run", "-j4", "--results", name + ".out", "--json", name + ".json",
                        "--junit", name + ".xml", "--html", name + ".html", *words)
        self.write(name + ".console", done.stdout)
        return harness.load(self.at(name + ".json"))

    def agent(self, name, agent, how="", switches="", more=()):
        program = harness.script(self.at(name), STARTED % (how, os.path.abspath(agent), switches))
        return self.play(name, *more, "--agent", program, *[word for one in SELECTED for word in ("--select", one)])


def judge(suite, name, result, rules):
    """The findings, and what every case that is blocked says of them."""
    harness.equal(f"{name}: the rules of the findings", [one["rule"] for one in result["findings"]], rules)
    blocked = [case for case in result["cases"] if "blocked" in case]
    for case in blocked:
        harness.expect(f"{name}: {case['id']} points to its finding",
                       case["verdict"] == "INCONCLUSIVE" and case.get("blocked_by") == 1
                       and case["reason"].startswith("blocked by finding 1: the target does not "), case)
    harness.equal(f"{name}: the cases that finding 1 blocks", result["findings"][0]["blocks"], len(blocked))
    for form in ("console", "xml", "html"):
        wanted = f"blocks    {len(blocked)} INCONCLUSIVE" if form == "console" else "blocked by finding 1"
        harness.expect(f"{name}: {form} says what is blocked", not blocked or wanted in harness.report_text(suite.at(name + "." + form)))
    return {case["id"] for case in blocked}


def main(conform, agent, stubborn):
    with tempfile.TemporaryDirectory() as folder:
        suite = Suite(conform, folder)
        clean = suite.agent("clean", agent)
        harness.equal("clean: verdicts", clean["summary"]["PASS"], len(clean["cases"]))
        harness.equal("clean: findings", clean["findings"], [])
        for name, how, switches, rules, most in AGENTS:
            result = suite.agent(name, stubborn if how else agent, how, switches, HASTE)
            blocked = judge(suite, name, result, rules)
            harness.expect(f"{name}: the cases that can be judged are", (len(blocked) < len(clean["cases"]) / 2) == most,
                           f"{len(blocked)} of {len(clean['cases'])} are blocked")
            print(f"ok - {name}: {len(result['findings'])} finding, {len(blocked)} blocked of {len(result['cases'])}")
        stranger = Deaf()
        result = suite.play("stranger", *HASTE, "--target", f"tcp:127.0.0.1:{stranger.port},can=read", "--select", "rdmap-read-zero*",
                            "--select", "rdmap-rsv-*", "--select", "ddp-rsvd-*", "--select", "mpa-crc-bad*")
        blocked = judge(suite, "stranger", result, ["RDMAP-5.2.1-16"])
        harness.expect("stranger: something is blocked", blocked)
        stranger.over.set()
        print(f"ok - a stranger that is deaf: 1 finding, {len(blocked)} blocked")
        check_own_message(suite)
        check_depths(suite)
    harness.conclude()


if __name__ == "__main__":
    harness.start(main, __doc__)
