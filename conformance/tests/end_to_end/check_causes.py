#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a target does wrong is one finding by the rule that it breaks, whatever the cases that see it are about.

usage: check_causes.py IWARP-CONFORM IWARP-AGENT

Each agent is bent by one switch; the cases are of several families, in literal octets, too.
"""
import os
import tempfile

import harness

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
    # A Terminate that lacks the headers that its control word names is looked at no further.
    ("--violate rdmap-terminate-headers", ("rdmap-read-revoked-under-way",), ["RDMAP-4.8-05"], 0),
    # A message that is delivered twice is in the buffer of the next one.
    ("--violate ddp-deliver-once", ("ddp-send-delivered-once*", "ddp-send-tiny-*", "replay-siw-ib-send-lat-64b-crcon", "ext-immediate-with-*", "tcp-crc-bad-behind-gap"), ["DDP-5.3-07"], 1),
)


def main(conform, agent):
    with tempfile.TemporaryDirectory() as scratch:
        for i, (switch, cases, rules, status) in enumerate(BENT):
            bent = harness.script(os.path.join(scratch, "bent%d" % i), "#!/bin/sh\nexec '%s' \"$@\" %s\n" % (agent, switch))
            report = os.path.join(scratch, "%d.json" % i)
            harness.run(conform, "run", "-j", "4", "--agent", bent, "--results", os.path.join(scratch, "r%d" % i), "--json", report,
                        *[word for case in cases for word in ("--select", case)], status=status)
            harness.equal(switch, [finding["rule"] for finding in harness.load(report)["findings"]], rules)
    harness.conclude()


harness.start(main, __doc__)
