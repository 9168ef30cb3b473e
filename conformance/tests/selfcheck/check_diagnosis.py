#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""self-check --diagnose: what the findings accuse when the reference peer is bent, with a few cases of the suite.

usage: check_diagnosis.py IWARP-CONFORM
"""
import os
import tempfile

import harness
from harness import check, read, write

CASES = ("ddp-untagged-*", "mpa-crc-*")
# Each with cases that see it in several ways.
ONE_CAUSE = (
    ("violate=rdmap-atomic-opcode", "ext-target-fetch-add ext-target-queues octets-fetch-add-sent", "EXT-5.2.1-20"),
    ("violate=ddp-to-order", "octets-tagged-sent", "DDP-5.3-04"),
    # The TO of a Read Response looks like a Marker there: 12, in its fourth word.
    ("violate=mpa-crc", "rping-client-markers* ddp-stag-* mpa-crc-value-*", "MPA-4.4-11"),
    ("violate=rdmap-atomic-done", "ext-cmp-swap-match ext-fetch-add-one ext-order-* ext-atomic-after-* ext-atomics-streams octets-atomics-*",
     "EXT-5.1.1-06"),
    ("violate=rdmap-atomic-response-value", "ext-atomic-response-octets ext-probe ext-order-* octets-atomics-*", "EXT-5.1.1-08"),
    ("overstrict=mpa-pd-none", "mpa-startup-reply* mpa-reply-incomplete octets-enhanced-initiator-* replay-siw-r* replay-siw-ucmatose-responder-first",
     "MPA-7.1.2-08"),
    ("overstrict=mpa-ird-above", "empa-* octets-enhanced-*", "EMPA-9.1-03"),
    ("overstrict=mpa-fpdu-packed", "tcp-sends-reversed rule:MPA-4.3-13", "MPA-4.3-13"),
    ("violate=ddp-stag", "octets-tagged-sent octets-enhanced-responder-* replay-siw-rping-64b-crcon bug-wrong-count-at-page-edge-write", "DDP-4.2-05"),
    ("violate=ddp-header-short", "bug-length-sum-wraps", "DDP-4.4-01"),
    ("violate=rdmap-atomic-rsvd", "ext-target-queues ext-target-fetch-add octets-cmp-swap-sent", "EXT-5.2.1-01"),
    ("violate=rdmap-atomic-unused", "ext-target-fetch-add octets-fetch-add-sent", "EXT-5.2.1-07"),
    ("violate=rdmap-atomic-align", "ext-target-fetch-add ext-target-cmp-swap", "EXT-5.2.1-06"),
    ("violate=rdmap-atomic-length", "ext-atomic-response-id ext-atomic-response-dv-0 octets-fetch-add-sent", "EXT-5.2.1-20"),
    ("violate=ddp-last", "octets-tagged-sent octets-untagged-sent rdmap-target-messages-whole octets-pad-0 octets-terminate-tagged-stag"
     " rdmap-terminate-ddp-tagged bug-empty-read-after-another bug-opcode-after-refused-invalidate-8-initiator", "DDP-4.1-03"),
    ("violate=rdmap-terminate-headers", "ext-fetch-add-misaligned-5 octets-terminate-tagged-stag bug-opcode-after-refused-invalidate-9",
     "RDMAP-4.8-05"),
    ("overstrict=mpa-rev-older", "mpa-startup-cut-reported bug-revision-of-reply-differs rule:EMPA-6-07", "EMPA-6-07"),
    ("violate=rdmap-atomic-compare", "ext-cmp-swap-mismatch octets-atomics-received", "EXT-5.1.2-01"),
)
# Accuses a rule that says nothing of CRCs.
WRONG = """return case {
  id = "crc-wrong", purpose = "A bad CRC ends the stream", rules = { "DDP-7.1-10" }, role = "responder",
  run = function(t)
    local conn = t:connect {}
    local sent = conn:send(send { payload = bytes(8) }, { crc = "bad" })
    conn:expect_terminate { "2/0/02", of = sent }
  end,
}
"""


class Runner:
    def __init__(self, conform, folder):
        self.conform, self.folder = conform, folder
        self.report = os.path.join(folder, "report.json")

    def diagnose(self, status, *options):
        done = harness.run(self.conform, "self-check", "--diagnose", "--results", os.path.join(self.folder, "results"),
                           "--json", self.report, *options, status=status)
        return done.stdout, harness.load(self.report)

    def refused(self, *options):
        harness.run(self.conform, "self-check", *options, status=64)


def selected():
    return [word for pattern in CASES for word in ("--select", pattern)]


def the_suite(run):
    """Cases of the suite: a sender's fault is charged with the sender's rule, two at once with both."""
    out, report = run.diagnose(0, *selected(), "--switch", "violate=mpa-pad+violate=ddp-msn")
    one = report["switches"][0]
    check(one["first"] == "right" and len(one["findings"]) == 2 and all(f["belongs"] for f in one["findings"]),
          "two rules broken at once are two findings", out)
    check(sorted(f["rule"] for f in one["findings"]) == ["DDP-4.3-08", "MPA-4.1-02"], "named by the sender's rules", out)
    out, report = run.diagnose(0, "--select", "ddp-edge-*", "--switch", "overstrict=ddp-to-fit")
    found = report["switches"][0]["findings"]
    check([f["rule"] for f in found] == ["DDP-7.1-13"] and found[0]["belongs"],
          "who refuses what is right is accused of the rule of that error, once", out)
    out, report = run.diagnose(0, "--select", "ddp-send-sizes", "--select", "ddp-edge-*", "--switch", "violate=ddp-place-exact")
    check([f["rule"] for f in report["switches"][0]["findings"]] == ["DDP-5.2-05"], "who places wrongly, of that only", out)
    out, report = run.diagnose(0, "--select", "ddp-untagged-*", "--switch", "violate=mpa-initiator-early")
    check([f["rule"] for f in report["switches"][0]["findings"]] == ["MPA-7.1.2-11"],
          "octets that displace all FPDUs after them are one finding", out)
    out, report = run.diagnose(0, "--select", "replay-siw-*", "--switch", "violate=rdmap-opcode-queue")
    check([f["rule"] for f in report["switches"][0]["findings"]] == ["RDMAP-4.1-07"],
          "a difference from a recording follows from what the target did wrong before", out)
    for switch, cases, rules in ONE_CAUSE:
        out, report = run.diagnose(0, *(word for case in cases.split() for word in ("--select", case)), "--switch", switch)
        check(sorted(f["rule"] for f in report["switches"][0]["findings"]) == rules.split(), f"{switch} has one cause: {rules}", out)
    out, report = run.diagnose(0, *selected(), "--switch", "ignore=mpa-crc")
    one = report["switches"][0]
    check(one["first"] == "right" and one["failed"] > 0, "a check that is left out is found", out)
    check("first finding is right in 1 (100.0 %)" in out, "a summary ends it", out)


def the_record(run):
    """What is recorded, and that a right diagnosis must not turn wrong."""
    cases, table = os.path.join(run.folder, "cases"), os.path.join(run.folder, "diagnosis.csv")
    write(os.path.join(cases, "wrong.lua"), WRONG)
    mine = ("--cases", cases, "--diagnosis", table, "--switch", "ignore=mpa-crc")
    head = "switch,first,findings,rules,innocent,seconds"
    write(table, head + "\nviolate=ddp-msn,right,1,DDP-4.3-08,,7\nignore=mpa-crc,wrong,2,DDP-7.1-09 DDP-7.1-10,DDP-7.1-09 DDP-7.1-10,100\n")
    out, report = run.diagnose(0, *mine, "--record")
    lines = read(table).splitlines()
    check(lines[0] == head and lines[1].startswith("ignore=mpa-crc,wrong,1,DDP-7.1-10,DDP-7.1-10,") and
          lines[2:] == ["violate=ddp-msn,right,1,DDP-4.3-08,,7"], "a switch's line is recorded, the others' stay", *lines)
    check("1 FAIL DDP-7.1-10 is innocent, 1 case (crc-wrong)" in out, "who accuses an innocent rule is named", out)
    run.diagnose(0, *mine)
    print("ok - what was wrong before may be wrong")
    write(table, head + "\nignore=mpa-crc,right,1,MPA-8-02,,1\n")
    out, _ = run.diagnose(1, *mine)
    check("(was better)" in out, "what was right must stay right", out)
    check(read(table).splitlines()[1] == "ignore=mpa-crc,right,1,MPA-8-02,,1", "nothing is recorded unless asked for", out)
    write(table, head + "\nignore=mpa-crc,wrong,2,DDP-7.1-09 MPA-8-02,DDP-7.1-09,1\n")
    out, _ = run.diagnose(1, *mine)
    check("(was better)" in out, "nor may another innocent rule be accused than before", out)
    write(os.path.join(cases, "wrong.lua"), WRONG.replace("local conn", 't:fail("always")\n    local conn'))
    out, report = run.diagnose(1, *mine[:2], *mine[4:])
    check(report["summary"]["unclean"] == 1 and not report["switches"][0]["findings"],
          "a finding of the clean run is the switch's no more", out)


def main(conform):
    with tempfile.TemporaryDirectory() as folder:
        run = Runner(conform, folder)
        the_suite(run)
        the_record(run)
        for options in (["--record"], ["--part", "1/2"], ["--diagnosis", "x"], ["--diagnose", "--full", "--matrix", "x"], ["--diagnose", "--part", "3/2"],
                        ["--diagnose", "--record", "--select", "mpa-*"], ["--diagnose", "--switch", "ignore=nothing"]):
            run.refused(*options)
        print("ok - options that make no sense are refused")


if __name__ == "__main__":
    harness.start(main, __doc__)
