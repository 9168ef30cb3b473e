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
    ("--violate ddp-deliver-once", ("ddp-send-delivered-once*", "ddp-send-tiny-*", "replay-siw-ib-send-lat-64b-crcon", "ext-immediate-with-*", "tcp-crc-bad-behind-gap"), ["DDP-5.3-07"], 1),
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


def main(conform, agent):
    with tempfile.TemporaryDirectory() as scratch:
        check_terminates(conform, scratch)
        for i, (switch, cases, rules, status) in enumerate(BENT):
            bent = harness.script(os.path.join(scratch, "bent%d" % i), "#!/bin/sh\nexec '%s' \"$@\" %s\n" % (agent, switch))
            report = os.path.join(scratch, "%d.json" % i)
            harness.run(conform, "run", "-j", "4", "--agent", bent, "--results", os.path.join(scratch, "r%d" % i), "--json", report,
                        *[word for case in cases for word in ("--select", case)], status=status)
            harness.equal(switch, [finding["rule"] for finding in harness.load(report)["findings"]], rules)
    harness.conclude()


harness.start(main, __doc__)
