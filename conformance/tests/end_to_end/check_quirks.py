#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A quirk of the target is charged once, and looked through: what it hides is judged on its own.

usage: check_quirks.py IWARP-CONFORM IWARP-AGENT IWARP-LINT PCAPS
"""
import functools
import itertools
import os
import random
import socket
import struct
import tempfile
import zlib

import harness
import hostile
import recordings

# Terminates about tagged and untagged segments, a Read Request, a CRC, and from the start-up; one that compares octets.
CASES = ("ddp-stag-*", "ddp-untagged-qn*", "rdmap-read-stag-*", "mpa-crc-value-*", "empa-ird-short-3ffe")
ABOUT = "octets-terminate-*-stag"
REVERSED = "--violate rdmap-terminate-reversed"


class Bench(harness.Bench):
    def __init__(self, conform, agent, lint, scratch):
        super().__init__(conform, scratch)
        self.agent, self.lint = agent, lint
        self.runs = itertools.count(1)

    def play(self, switches, *words, target=(), status=1):
        """Runs the suite against an agent that is bent by switches. Returns the report; its folder is in `results`."""
        number = next(self.runs)
        results = self.at("r%d" % number)
        report = results + ".json"
        bent = harness.script(self.at("bent%d" % number), "#!/bin/sh\nexec '%s' \"$@\" %s\n" % (self.agent, switches))
        self.run(status, "run", "-j", "4", "--keep", "all", "--results", results, "--json", report, *(target or ("--agent", bent)), *words)
        out = harness.load(report)
        out["results"] = results
        return out

    def lints(self, case, *options):
        """The checks that iwarp-lint finds in the case's capture."""
        rows = harness.lines_of(harness.run(self.lint, "--json", *options, case["pcap"], status=None).stdout)
        return sorted(row["check"] for row in rows if row["type"] == "finding")


def select(*patterns):
    return [word for pattern in patterns for word in ("--select", pattern)]


def rules(report):
    return [finding["rule"] for finding in report["findings"]]


def verdicts(report):
    return {case["id"]: case["verdict"] for case in report["cases"] if case["verdict"] != "SKIP"}


def check_alone(bench):
    """One finding; the cases about something else have nothing else."""
    good = bench.play("", *select(*CASES), status=0)
    bent = bench.play(REVERSED, *select(*CASES, ABOUT))
    harness.equal("one finding", rules(bent), ["RDMAP-4.8-02"])
    finding = bent["findings"][0]
    own = verdicts(bent)
    about = {name for name in own if name.startswith("octets-terminate-")}
    harness.equal("the case about the word fails", {own.pop(name) for name in about}, {"FAIL"})
    harness.expect("as many cases as without it", set(own) == set(verdicts(good)) and len(own) > 20, own)
    harness.equal("others do not", set(own.values()) - {"PASS"}, {"NOTE"})
    noted = {name for name, verdict in own.items() if verdict == "NOTE"}
    harness.equal("the finding counts its cases", set(finding["cases"]), noted | about)
    harness.equal("its verdict", finding["verdict"], "FAIL")
    harness.expect("a Terminate from the start-up, which nothing provoked", "empa-ird-short-3ffe" in noted, noted)
    for case in bent["cases"]:
        if case["id"] not in noted | about:
            continue
        said = harness.octets(case["pcap"])
        harness.expect(case["id"] + ": its capture says so", (b"looked through: " in said) == (case["id"] in noted) and b"reversed bit order" in said)
        if case["id"] in noted:
            found = [check for check in bench.lints(case) if check.startswith("rdmap-terminate-")]
            harness.equal(case["id"] + ": iwarp-lint agrees", set(found), {"rdmap-terminate-reversed"})


def check_switched_off(bench):
    bent = bench.play(REVERSED, "--no-quirks", *select("ddp-stag-unknown*"))
    harness.expect("judged as it is", "RDMAP-4.8-02" not in rules(bent) and "FAIL" in verdicts(bent).values(), rules(bent))
    harness.expect("the command to repeat it says so", all("--no-quirks" in case.get("again", "--no-quirks") for case in bent["cases"]))
    case = next(case for case in bent["cases"] if case["verdict"] == "FAIL")
    harness.expect("iwarp-lint, too", "rdmap-terminate-rsvd" in bench.lints(case, "--no-quirks"), bench.lints(case, "--no-quirks"))
    harness.expect("no comment", b"looked through" not in harness.octets(case["pcap"]))


def check_beside_another(bench):
    """What the quirk would hide."""
    both = bench.play(REVERSED + " --botch ddp-stag=code", *select("ddp-stag-unknown*", "ddp-untagged-qn*"))
    alone = bench.play("--botch ddp-stag=code", *select("ddp-stag-unknown*", "ddp-untagged-qn*"))
    harness.equal("both are found", sorted(rules(both)), sorted(rules(alone) + ["RDMAP-4.8-02"]))
    harness.expect("two of them", len(rules(both)) == 2, rules(both))
    failed = {name for name, verdict in verdicts(alone).items() if verdict == "FAIL"}
    harness.equal("in the same cases", {name for name, verdict in verdicts(both).items() if verdict == "FAIL"}, failed)


def check_msn(bench):
    """MSNs that begin with 2: one finding; what the cases are about is judged."""
    switch = "--violate ddp-msn"
    # Some of these compare MSNs, or whole ULPDUs: they see what is meant.
    report = bench.play(switch, *select("ddp-stag-*", "ddp-untagged-qn*", "rdmap-target-send", "rdmap-terminate-ddp-tagged",
                                        "ext-target-immediate", "empa-rtr-chosen-send", "replay-siw-rdma-server-crcoff"))
    harness.equal("one finding", rules(report), ["DDP-4.3-08"])
    own = verdicts(report)
    harness.equal("of cases about STags", {own[name] for name in own if name.startswith("ddp-stag-")} - {"PASS"}, {"NOTE"})
    case = next(case for case in report["cases"] if case["verdict"] == "NOTE")
    harness.expect("with its explanation", "MSNs begin with another number" in case["reason"], case["reason"])
    harness.expect("in the capture", b"looked through: MSNs begin" in harness.octets(case["pcap"]))
    both = bench.play(switch + " --botch ddp-stag=code", *select("ddp-stag-unknown*"))
    harness.expect("what it would hide", len(rules(both)) == 2 and "DDP-4.3-08" in rules(both), rules(both))


def check_wrong_crc(bench):
    """CRCs that are wrong in no way that is known: one finding, and what stands in the FPDUs is judged."""
    switch = "--violate mpa-crc"
    report = bench.play(switch, *select("ddp-stag-*", "ddp-untagged-qn*", "mpa-crc-value-*"))
    harness.equal("one finding", rules(report), ["MPA-4.4-11"])
    case = next(case for case in report["cases"] if case["verdict"] == "NOTE")
    harness.expect("with its explanation", "no CRC is right" in case["reason"], case["reason"])
    harness.equal("iwarp-lint agrees", bench.lints(case), ["mpa-crc"])
    both = bench.play(switch + " --violate ddp-msn", *select("ddp-stag-*", "ddp-untagged-qn*"))
    harness.equal("MSNs besides", sorted(rules(both)), ["DDP-4.3-08", "MPA-4.4-11"])
    code = bench.play(switch + " --botch ddp-stag=code", *select("ddp-stag-unknown*"))
    harness.expect("what it would hide", len(rules(code)) == 2 and "MPA-4.4-11" in rules(code), rules(code))


def check_markers(bench):
    """Markers left out, sent unasked, or at other places: one finding by the rule that is broken."""
    for switch, rule, text in (("mpa-marker-missing", "MPA-7.1.1-06", b"FPDUs follow each other without Markers"),
                               ("mpa-marker-unasked", "MPA-7.1.1-05", b"Markers stand in the stream all the same"),
                               ("mpa-marker-place", "MPA-4.3-02", b"Markers stand at other places")):
        cases = ("mpa-markers-to-target-*", "mpa-startup-m", "bug-markers-*") + (("mpa-markers-sent",) if switch == "mpa-marker-place" else ())
        report = bench.play("--violate " + switch, *select(*cases))
        harness.equal(switch, rules(report), [rule])
        case = next(case for case in report["cases"] if case["id"] in report["findings"][0]["cases"])
        harness.equal(switch + ": iwarp-lint agrees", bench.lints(case), [switch])
        if switch != "mpa-marker-place":
            harness.expect(switch + ": in the capture", b"looked through: " + text in harness.octets(case["pcap"]))


LATE = """-- SPDX-License-Identifier: BSD-3-Clause
return { case {
  id = "late", purpose = "A Write with an STag that the target never gave out, after Markers of the target", rules = { "DDP-7.1-10" },
  role = "responder",
  run = function(t)
    local conn = t:session { markers = true }
    local buf = t:memory { length = 488, remote = "read" }
    for _ = 1, 2 do conn:read(buf) end
    local sent = conn:send(write { stag = 0x5bad57a6, to = 0x1000, payload = bytes(8, 0xee) })
    conn:expect_terminate { fault.invalid_stag, of = sent }
  end,
} }
"""


def check_behind_markers(bench):
    """Markers at other places that are looked through excuse nothing that comes after them."""
    bench.write("late/late.lua", LATE)
    for switches, expected in (("--violate mpa-marker-place", ["MPA-4.3-02"]),
                               ("--violate mpa-marker-place --ignore ddp-stag", ["DDP-7.1-10", "MPA-4.3-02"])):
        report = bench.play(switches, "--cases", bench.at("late"))
        harness.equal(switches, sorted(rules(report)), expected)
        harness.expect(switches + ": looked through", b"looked through: Markers stand at other places" in harness.octets(report["cases"][0]["pcap"]))


def answers_reads(turn):
    """A responder that answers empty Reads, with fields of its headers turned: turn(stag, to) gives them."""
    def act(wire):
        hostile.startup(wire, random.Random(1))
        while True:
            length = struct.unpack(">H", wire.read(2))[0]
            ulpdu = wire.read(length + -(2 + length) % 4 + 4)[:length]
            if ulpdu[1] & 0xf == 1:
                wire.send(hostile.fpdu(hostile.tagged(2, *turn(*struct.unpack(">IQ", ulpdu[18:30])))))
    return act


def check_order(bench):
    """Fields in the octet order of a little-endian host: a finding for each field, and all answers count."""
    def turned(number, form):
        return struct.unpack(">" + form, struct.pack("<" + form, number))[0]

    for name, expected, turn in (("in order", [], lambda stag, to: (stag, to)),
                                 ("STag", ["RDMAP-4.4-02"], lambda stag, to: (turned(stag, "I"), to)),
                                 ("STag and TO", ["RDMAP-4.4-02", "RDMAP-5.2.1-12"], lambda stag, to: (turned(stag, "I"), turned(to, "Q")))):
        with hostile.Crowd() as crowd:
            target = "tcp:127.0.0.1:%d,can=read" % crowd.listen(answers_reads(turn))
            report = bench.play("", *select("rdmap-read-zero*", "ddp-rsvd-*", "rdmap-rsv-*"), target=("--target", target),
                                status=1 if expected else 0)
        harness.equal(name, sorted(rules(report)), expected)
        own = set(verdicts(report).values())
        case = next(case for case in report["cases"] if case["verdict"] in ("NOTE", "PASS"))
        harness.equal(name + ": iwarp-lint sees the STag", "rdmap-response-stag" in bench.lints(case), bool(expected))
        harness.expect(name + ": cases about something else go on", own == ({"NOTE"} if expected else {"PASS"}) or own == {"NOTE", "FAIL"}, verdicts(report))


def recorded(bench, pcaps, crc):
    """siw's rping with other CRC fields in every FPDU: crc(octets). What iwarp-lint lists, and how many FPDUs there are."""
    recording = recordings.Recording(os.path.join(pcaps, "siw", "uml-rping-crc.pcap"))
    count = 0
    for first, end in recording.frames[1:]:
        octets = recording.octets[first:end]
        if end - first < 20 or octets.startswith(b"MPA ID"):
            continue
        harness.equal("one FPDU", (2 + struct.unpack_from(">H", octets)[0] + 3) // 4 * 4 + 4, len(octets))
        recording.octets[end - 4:end] = crc(bytes(octets[:-4]))
        count += 1
    path = bench.write("recorded.pcap", recording.octets)
    rows = [harness.lines_of(harness.run(bench.lint, "--json", "--messages", *options, path, status=None).stdout) for options in ((), ("--no-quirks",))]
    return rows[0], rows[1], count


def check_crc(bench, pcaps):
    """CRCs that are others: one finding for each side; all messages are listed as if they were right."""
    good = recorded(bench, pcaps, lambda octets: struct.pack("<I", recordings.crc32c(octets)))[0]
    texts = [row["text"] for row in good if row["type"] == "message"]
    harness.equal("the recording is clean", [row for row in good if row["type"] == "finding"], [])
    ways = {
        "crc-order": lambda octets: struct.pack(">I", recordings.crc32c(octets)),
        "crc-polynomial": lambda octets: struct.pack("<I", zlib.crc32(octets)),
    }
    for quirk, crc in ways.items():
        rows, without, count = recorded(bench, pcaps, crc)
        found = [(row["side"], row["check"], row["quirk"]) for row in rows if row["type"] == "finding"]
        harness.equal(quirk, sorted(found), [(side, "mpa-crc", quirk) for side in ("initiator", "responder")])
        harness.equal(quirk + ": messages", [row["text"] for row in rows if row["type"] == "message"], texts)
        harness.expect(quirk + ": without it framing is lost", count > 4 and any(row["type"] == "unknown" for row in without), without)


def answers(crc, bend, pd=">H"):
    """A responder that answers empty Reads with FPDUs that are bent; `crc`: it demands CRCs; `pd`: how it packs its PD_Length."""
    def act(wire):
        request = wire.read(20)
        private = wire.read(struct.unpack(">H", request[18:])[0])
        own = private[:4] if request[16] & 0x10 else b""
        wire.send(b"MPA ID Rep Frame" + bytes([request[16] & 0x10 | (0x40 if crc else 0), request[17]]) + struct.pack(pd, len(own)) + own)
        while True:
            length = struct.unpack(">H", wire.read(2))[0]
            ulpdu = wire.read(length + -(2 + length) % 4 + 4)[:length]
            if ulpdu[1] & 0xf == 1:
                wire.send(bend(hostile.fpdu(hostile.tagged(2, *struct.unpack(">IQ", ulpdu[18:30])))))
    return act


def leave_out(frame):
    return frame[:-4]


def turn_length(frame):
    frame = frame[1::-1] + frame[2:-4]
    return frame + hostile.crc32c(frame)


FRAMING = (("crc-absent", leave_out, "MPA-4.4-10", b"CRC fields are left out"), ("length-order", turn_length, "MPA-4.1-01", b"the ULPDU_Length is in reversed octet order"))
# The peer here is a thread of this test: a busy machine may keep it from answering for seconds.
PATIENT = ("--time-scale", "5")


def frames_otherwise(bench, way, crc, known):
    quirk, bend, rule, text = way
    name = "%s, CRCs %s%s" % (quirk, "on" if crc else "off", ", as the target says" if known else "")
    words = ",quirk=" + quirk if known else ""
    with hostile.Crowd() as crowd:
        target = "tcp:127.0.0.1:%d,can=read,crc=%s%s" % (crowd.listen(answers(crc, bend)), "on" if crc else "off", words)
        report = bench.play("", *PATIENT, *select("rdmap-read-zero*", "ddp-rsvd-*", "rdmap-rsv-*"), target=("--target", target))
    harness.equal(name, rules(report), [rule])
    harness.expect(name + ": cases about something else go on", set(verdicts(report).values()) == {"NOTE"}, verdicts(report))
    case = next(case for case in report["cases"] if case["verdict"] == "NOTE")
    found = [check for check in bench.lints(case) if check != "ddp-rsvd"]  # which the station sends
    harness.equal(name + ": iwarp-lint agrees", found, ["mpa-" + quirk])
    harness.expect(name + ": in the capture", b"looked through: " + text in harness.octets(case["pcap"]))
    harness.expect(name + ": and not without quirks", "mpa-" + quirk not in bench.lints(case, "--no-quirks"))


def check_framing(bench):
    """Other framing: one finding, with CRCs off and on, though each answer is the last thing that comes; and every answer counts."""
    ways = itertools.product(FRAMING, (False, True), (False, True))
    harness.side_by_side([functools.partial(frames_otherwise, bench, *one) for one in ways], 4)  # they mostly wait


def check_pd_length(bench):
    """A PD_Length in reversed octet order: one finding, and the peer is judged as one that is not. Without quirks nothing after it is."""
    for bend, more in ((lambda frame: frame, []), (turn_length, ["MPA-4.1-01"])):
        with hostile.Crowd() as crowd:
            target = "tcp:127.0.0.1:%d,can=read,crc=on" % crowd.listen(answers(True, bend, "<H"))
            words = (*PATIENT, *select("rdmap-read-zero*", "ddp-rsvd-*", "rdmap-rsv-*"))
            report = bench.play("", *words, target=("--target", target))
            without = bench.play("", "--no-quirks", *words, target=("--target", target))
        harness.equal("pd-order", sorted(rules(report)), sorted(["MPA-7.1.1-20", *more]))
        harness.expect("pd-order: its text", any(finding["text"].endswith(": the PD_Length is in reversed octet order") for finding in report["findings"]), report["findings"])
        harness.expect("pd-order: cases about something else go on", set(verdicts(report).values()) == {"NOTE"}, verdicts(report))
        case = next(case for case in report["cases"] if case["verdict"] == "NOTE")
        found = sorted({*bench.lints(case)} - {"ddp-rsvd"})  # which the station sends; on several connections
        harness.equal("pd-order: iwarp-lint agrees", found, sorted(["mpa-pd-order", *(["mpa-length-order"] if more else [])]))
        harness.expect("pd-order: in the capture", b"looked through: the PD_Length is in reversed octet order" in harness.octets(case["pcap"]))
        harness.expect("pd-order: and not without quirks", "mpa-pd-order" not in bench.lints(case, "--no-quirks"))
        harness.expect("pd-order: nor by the suite", "MPA-7.1.1-24" in rules(without) and "MPA-7.1.1-20" not in rules(without), rules(without))


def terminates(wire):
    """A responder that answers the second FPDU with a right Terminate, but for the CRC field, which it leaves out."""
    hostile.startup(wire, random.Random(1))
    wire.read(20)
    ulpdu = wire.read(24)[2:20]
    wire.send(leave_out(hostile.fpdu(hostile.untagged(7, 2, 1, 0, b"\x11\0\xc0\0\0\x12" + ulpdu[:14]))))
    wire.sock.shutdown(socket.SHUT_WR)
    wire.idle()


def check_compared(bench):
    """Where a case compares octets, a CRC field that it waits for in vain is the finding, not what the case is about."""
    with hostile.Crowd() as crowd:
        report = bench.play("", *PATIENT, *select("octets-terminate-tagged-stag"), target=("--target", "tcp:127.0.0.1:%d" % crowd.listen(terminates)))
    harness.equal("octets without their CRC field", rules(report), ["MPA-4.4-10"])


def check_either_way(bench):
    """A word that makes sense either way: other Terminates of the run show what it is."""
    bent = bench.play(REVERSED, *select(*CASES, "empa-rtr-match-all-none"))
    harness.equal("one finding", rules(bent), ["RDMAP-4.8-02"])
    finding = bent["findings"][0]
    harness.expect("of this case, too", "empa-rtr-match-all-none" in finding["cases"], finding)
    harness.equal("shown by a word that makes sense one way", finding["text"], "the control word of a Terminate is in reversed bit order")


def check_named(bench):
    """A target file names the quirk: words that make sense either way are read so, though no other one is seen."""
    words = select("empa-rtr-match-all-none")
    harness.expect("not known", "RDMAP-4.8-02" not in rules(bench.play(REVERSED, *words)))
    with harness.Peer(bench.agent, "--listen", "127.0.0.1:0", *REVERSED.split()) as agent:
        named = "tcp:%s,class=agent,quirk=terminate-reversed" % agent.address
        report = bench.play("", *words, target=("--target", named), status=0)
        harness.equal("known", verdicts(report), {"empa-rtr-match-all-none": "PASS"})


def main(conform, agent, lint, pcaps):
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(conform, agent, lint, scratch)
        check_alone(bench)
        check_switched_off(bench)
        check_beside_another(bench)
        check_msn(bench)
        check_wrong_crc(bench)
        check_markers(bench)
        check_behind_markers(bench)
        check_order(bench)
        check_crc(bench, pcaps)
        check_framing(bench)
        check_pd_length(bench)
        check_compared(bench)
        check_either_way(bench)
        check_named(bench)
    harness.conclude()


harness.start(main, __doc__)
