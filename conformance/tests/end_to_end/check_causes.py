#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a target does wrong is one finding by the rule that it breaks, whatever the cases that see it are about.

usage: check_causes.py IWARP-CONFORM IWARP-AGENT

Each agent is bent by one switch; the cases are of several families, in literal octets, too.
"""
import os
import random
import socket
import struct
import tempfile

import harness
import hostile

# A switch, cases that see it, the rules of the findings in their order, and the exit status.
BENT = (
    # Octets that are compared differ where the observer has found something: they are no finding of their own.
    ("--violate mpa-req-r", ("octets-reply-*", "octets-target-request-*", "octets-private-length*", "octets-enhanced-initiator-*"), ["MPA-7.1.1-11"], 0),
    # What comes before the end of the stream, and is no FPDU, no case has caused.
    ("--violate mpa-fin-inside", ("octets-reply-*", "octets-msn", "octets-immediate*", "rdmap-send-*"), ["MPA-4.1-01"], 1),
    # It refuses what is right: the error that it reports is the one it takes it for.
    ("--overstrict rdmap-send-se", ("octets-send-*", "rdmap-rsv-sends*", "rdmap-send-*", "ddp-msn-*"), ["RDMAP-7.2-02"], 1),
    ("--overstrict rdmap-send-empty", ("octets-msn", "octets-pad-*", "ddp-send-*", "rdmap-send-*"), ["RDMAP-5.3-11"], 1),
    ("--overstrict ddp-fit", ("ddp-send-*", "ddp-long-send*", "rdmap-size-send-to-target-*"), ["DDP-7.1-08"], 1),
    ("--overstrict rdmap-write-empty", ("octets-tagged-*", "octets-atomics-*", "octets-ddp-*", "rdmap-write-*"), ["DDP-5.2-11"], 1),
    # Who leaves out the headers of a Terminate states no part left in them.
    ("--violate rdmap-terminate-headers", ("rdmap-read-revoked-under-way", "rdmap-terminate-ddp-*"), ["RDMAP-4.8-05"], 0),
    # A message that is delivered twice is in the buffer of the next one.
    ("--violate ddp-deliver-once", ("ddp-send-delivered-once*", "ddp-send-tiny-*", "replay-siw-ib-send-lat-64b-crcon", "ext-immediate-with-*", "tcp-crc-bad-after-gap"), ["DDP-5.3-07"], 1),
)

# A case that does not judge the form of the Terminate.
ONLY_THE_END = """-- SPDX-License-Identifier: BSD-3-Clause
local seen = use "seen"
return { case {
  id = "only-the-end", purpose = "A Read Request of a source that is not there has no effect", rules = { "RDMAP-7.2-09" }, role = "responder",
  run = function(t)
    local conn = t:session {}
    conn:send(read_request { source_stag = 0x5bad57a6, source_to = 0, size = 1, sink_stag = 0x77, sink_to = 0 })
    seen.only_the_end(t, conn)
  end,
} }
"""


def refuses_reads(body):
    """A responder that answers empty Reads, and others with a Terminate: body(Read Request) is what follows its DDP header."""
    def act(wire):
        hostile.startup(wire, random.Random(1))
        while True:
            length = struct.unpack(">H", wire.read(2))[0]
            ulpdu = wire.read(length + -(2 + length) % 4 + 4)[:length]
            if ulpdu[30:34] != bytes(4):
                wire.send(hostile.fpdu(hostile.untagged(7, 2, 1, 0, body(ulpdu))))
                wire.sock.shutdown(socket.SHUT_WR)
                return wire.idle()
            wire.send(hostile.fpdu(hostile.tagged(2, *struct.unpack(">IQ", ulpdu[18:30]))))
    return act


def no_body(request):
    return b""


def longer(request):
    return b"\1\0\xe0\0" + struct.pack(">H", len(request)) + request + bytes(4)


def check_terminates(conform, scratch):
    """Octets after the fields of a Terminate do not change those; where its form is not judged, it may have none."""
    cases = os.path.join(scratch, "cases")
    harness.write(os.path.join(cases, "end.lua"), ONLY_THE_END)
    for body, words in ((longer, ("--select", "rdmap-read-stag-5bad57a6")), (no_body, ("--cases", cases))):
        with hostile.Crowd() as crowd:
            port = crowd.listen(refuses_reads(body))
            report = os.path.join(scratch, body.__name__ + ".json")
            harness.run(conform, "run", "--target", "tcp:127.0.0.1:%d,can=read" % port, "--results", report[:-5], "--json", report, *words, status=0)
        harness.equal(body.__name__, [case["verdict"] for case in harness.load(report)["cases"]], ["PASS"])


def error_of(ulpdu):
    """The error of a ULPDU for whoever knows no STag and three queues: layer, type and code; None: it is a Read of nothing."""
    ddp, rdmap = ulpdu[:2]
    tagged, opcode = ddp & 0x80, rdmap & 0xf
    if ddp & 3 != 1:
        return (1, 1, 4) if tagged else (1, 2, 6)
    if rdmap >> 6 != 1:
        return (0, 2, 5)
    if tagged:
        return (1, 1, 0) if opcode == 0 else (0, 2, 6)
    queue = struct.unpack(">I", ulpdu[6:10])[0]
    if queue > 2:
        return (1, 2, 1)
    if opcode != 1 or queue != 1:
        return (0, 2, 6)
    return (0, 1, 0) if ulpdu[30:34] != bytes(4) else None


def reports(bend, headers=lambda flags: flags):
    """A responder that answers Reads of nothing, and errors with Terminates; bend(layer, type, code) is what they say, and headers(MDR). None: it
    closes instead."""
    def act(wire):
        hostile.startup(wire, random.Random(1))
        while True:
            length = struct.unpack(">H", wire.read(2))[0]
            ulpdu = wire.read(length + -(2 + length) % 4 + 4)[:length]
            error = error_of(ulpdu)
            if error:
                said = bend(*error)
                if said is None:
                    wire.sock.shutdown(socket.SHUT_WR)
                    return wire.idle()
                layer, kind, code = said
                header = ulpdu[:14 if ulpdu[0] & 0x80 else 18]
                flags = 0xc0
                if error[:2] == (0, 1):
                    header, flags = ulpdu[:46], 0xe0
                wire.send(hostile.fpdu(hostile.untagged(7, 2, 1, 0, bytes((layer << 4 | kind, code, headers(flags), 0)) + struct.pack(">H", length) + header)))
                wire.sock.shutdown(socket.SHUT_WR)
                return wire.idle()
            wire.send(hostile.fpdu(hostile.tagged(2, *struct.unpack(">IQ", ulpdu[18:30]))))
    return act


# What a target does to layer, type and code of all its Terminates, and the rules of the findings.
HABITS = (
    ("nothing", lambda layer, kind, code: (layer, kind, code), []),
    ("code 0", lambda layer, kind, code: (layer, kind, 0), ["RDMAP-4.8-03"]),
    ("all 0", lambda layer, kind, code: (0, 0, 0), ["RDMAP-4.8-03"]),
    ("exchanged", lambda layer, kind, code: (kind, layer, code), ["RDMAP-4.8-02"]),
    ("none", lambda layer, kind, code: None, ["RDMAP-7.1-03"]),
    # One error that is reported as another one is no habit.
    ("one code", lambda layer, kind, code: (layer, kind, 6 if code == 5 else code), ["RDMAP-7.2-03"]),
)
OF_ALL_KINDS = ("ddp-stag-*", "ddp-version-*", "rdmap-version-*", "rdmap-read-stag-*", "ddp-untagged-qn*")


def turned(flags):
    """M, D and R the other way round."""
    return flags & 0x40 | (flags & 0x80) >> 2 | (flags & 0x20) << 2


def check_habits(conform, scratch):
    """What all Terminates of a target have wrong alike is one finding: it has detected the errors."""
    bent = [(name, reports(bend), rules) for name, bend, rules in HABITS]
    bent.append(("R D M", reports(lambda *error: error, turned), ["RDMAP-4.8-01"]))
    for name, act, rules in bent:
        with hostile.Crowd() as crowd:
            target = "tcp:127.0.0.1:%d,can=read" % crowd.listen(act)
            report = os.path.join(scratch, name.replace(" ", "-") + ".json")
            harness.run(conform, "run", "--time-scale", "5", "--target", target, "--results", report[:-5], "--json", report,
                        *[word for case in OF_ALL_KINDS for word in ("--select", case)], status=1 if rules else 0)
        report = harness.load(report)
        harness.equal(name, [finding["rule"] for finding in report["findings"]], rules)
        silent = "terminate" in [fact["name"] for fact in report["facts"]]
        harness.expect(name + ": whether the target reports errors is known", silent == (name == "none"), report["facts"])


def main(conform, agent):
    with tempfile.TemporaryDirectory() as scratch:
        check_terminates(conform, scratch)
        check_habits(conform, scratch)
        for i, (switch, cases, rules, status) in enumerate(BENT):
            bent = harness.script(os.path.join(scratch, "bent%d" % i), "#!/bin/sh\nexec '%s' \"$@\" %s\n" % (agent, switch))
            report = os.path.join(scratch, "%d.json" % i)
            harness.run(conform, "run", "-j", "4", "--agent", bent, "--results", os.path.join(scratch, "r%d" % i), "--json", report,
                        *[word for case in cases for word in ("--select", case)], status=status)
            harness.equal(switch, [finding["rule"] for finding in harness.load(report)["findings"]], rules)
    harness.conclude()


harness.start(main, __doc__)
