#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""iwarp-lint over the recordings, against what their manifest says, and over files that are none.

usage: check_lint.py IWARP-LINT PCAPS
"""
import json
import os
import re
import shutil
import struct
import tempfile

import harness
from harness import check, lines_of, octets, write

# What the manifest's findings are to the observer, if they do not say it.
CHECKS = {"header": ("mpa-pad", "MPA-4.1-02"), "order": ("mpa-responder-early", "MPA-7.1.2-15")}
SIDES = {"I>R": "initiator", "R>I": "responder"}
NAMES = {"Send": "send", "Read Request": "read-request", "Read Response": "read-response", "RDMA Write": "write",
         "Write": "write", "Terminate": "terminate"}


def lint(program, status, *words, **more):
    return harness.run(program, *words, status=status, text=False, **more)


def objects(done):
    return lines_of(done.stdout)


def recordings(program, pcaps):
    for capture in harness.load(pcaps, "manifest.json")["captures"]:
        path = os.path.join(pcaps, capture["file"])
        wanted = [(f["frame"], SIDES[f["dir"]], *((f["check"], f["rule"]) if "check" in f else CHECKS[f["kind"]]))
                  for f in capture.get("findings", [])]
        out = objects(lint(program, 1 if wanted else 0, "--json", "--summary", path))
        got = [(o["frame"], o["side"], o["check"], o["rule"]) for o in out if o["type"] == "finding"]
        check(sorted(got) == sorted(wanted), "%s: %d findings" % (capture["file"], len(wanted)), got, wanted)
        check(not [o for o in out if o["type"] == "unknown"], "%s is followed to its end" % capture["file"], out)
        text = lint(program, 1 if wanted else 0, path).stdout.decode().splitlines()
        check([line.startswith("%s:%d: %s (" % (path, w[0], w[3])) for line, w in zip(text, wanted)] == [True] * len(wanted)
              and len(text) == len(wanted), "as text, too", text)
        connections = {o["initiator_address"]: o for o in out if o["type"] == "connection"}
        check(len(connections) == len(capture["connections"]), "%s: every connection is reported" % capture["file"], connections)
        for one in capture["connections"]:
            for direction, side in SIDES.items():
                found = connections[one["initiator"]][side]["messages"]
                wanted = {NAMES[k]: v for k, v in one["directions"][direction]["messages"].items()}
                check({k: v["messages"] for k, v in found.items()} == wanted, "%s %s: messages" % (one["initiator"], direction),
                      found, wanted)


def messages(program, pcaps):
    path = os.path.join(pcaps, "siw", "siw-rping-64B-crcoff.pcap")
    lines = lint(program, 0, "--messages", path).stdout.decode().splitlines()
    check("initiator 10.9.0.2:" in lines[0] and ": mpa request rev 2 S pd " in lines[0], "messages are listed", lines[0])
    check(any(": read-request msn 1 " in line for line in lines) and any(line.endswith(": fin") for line in lines),
          "in the one-line syntax", lines)


def blocks(path):
    """The packets of a little-endian pcapng file: (captured octets, length on the link, comments)."""
    data = octets(path)
    packets = []
    while data:
        kind, size = struct.unpack("<II", data[:8])
        if kind == 6:
            captured, original = struct.unpack("<II", data[20:28])
            at, comments = 28 + (captured + 3) // 4 * 4, []
            while at + 4 < size - 4:
                option, length = struct.unpack("<HH", data[at:at + 4])
                if option == 1:
                    comments.append(data[at + 4:at + 4 + length].decode())
                at += 4 + (length + 3) // 4 * 4
            packets.append((data[28:28 + captured], original, comments))
        data = data[size:]
    return packets


def annotated(program, pcaps):
    path = os.path.join(pcaps, "siw", "siw-ib_send_lat-64B-crcon.pcap")
    frames = []
    rest = octets(path)[24:]
    while rest:
        captured, original = struct.unpack("<II", rest[8:16])
        frames.append((rest[16:16 + captured], original))
        rest = rest[16 + captured:]
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "copy.pcapng")
        lint(program, 1, "--annotate", copy, path)
        packets = blocks(copy)
        check([p[:2] for p in packets] == frames, "the copy has the same packets")
        check({i + 1: [c.split(": ")[0] for c in p[2]] for i, p in enumerate(packets) if p[2]} ==
              {14: ["MPA-4.1-02 (MUST)"], 15: ["MPA-4.1-02 (MUST)"]}, "the findings are comments on their packets", packets)
        check(len(objects(lint(program, 1, "--json", copy))) == 3, "the copy is a capture with the same findings")
        cut = write(os.path.join(folder, "cut.pcap"), octets(path)[:9000])
        lint(program, 2, "--annotate", copy, cut)
        check(0 < len(blocks(copy)) < len(frames), "a capture that is cut short is copied up to the cut")
        check(b"another file" in lint(program, 64, "--annotate", cut, cut).stderr, "the capture is not written over")
    check(b"expected a file" in lint(program, 64, "--annotate", "x", "-").stderr, "the standard input cannot be read twice")
    check(b"cannot be created" in lint(program, 73, "--annotate", "/nonexistent/x", path).stderr, "a copy that cannot be written")


def sarif(program, pcaps):
    with tempfile.TemporaryDirectory() as folder:
        path = write(os.path.join(folder, "a b%\u00e9.pcap"), octets(pcaps, "siw", "siw-ib_send_lat-64B-crcon.pcap"))
        run, = json.loads(lint(program, 1, "--sarif", path).stdout)["runs"]
    first = run["results"][0]
    place = first["locations"][0]
    check(len(run["results"]) == 2 and first["ruleId"] == "MPA-4.1-02" and first["level"] == "error", "SARIF results", run["results"])
    check(place["physicalLocation"]["artifactLocation"]["uri"].endswith("/a%20b%25%C3%A9.pcap") and
          place["physicalLocation"]["region"] == {"startLine": 14} and
          place["logicalLocations"][0]["name"] == "frame 14" and first["properties"]["check"] == "mpa-pad", "say where", first)
    rules = [r["id"] for r in run["tool"]["driver"]["rules"]]
    check(rules == ["MPA-4.1-02"] and all(rules[r["ruleIndex"]] == r["ruleId"] for r in run["results"]), "with the rules that occur", rules)
    marks = [r["partialFingerprints"]["primaryLocationLineHash"] for r in run["results"]]
    check(len(set(marks)) == 2 and all(m.startswith("mpa-pad/") for m in marks), "and fingerprints", marks)
    clean = json.loads(lint(program, 0, "--sarif", os.path.join(pcaps, "siw", "siw-rping-64B-crcoff.pcap")).stdout)
    check(clean["version"] == "2.1.0" and clean["runs"][0]["results"] == [], "a clean capture has none", clean["version"])
    check(b"did not expect" in lint(program, 64, "--sarif", "--summary", "x").stderr, "64: --sarif --summary")


def several(program, pcaps):
    """Captures one after the other, also by a pattern; one without iWARP; JSON lines beside another format."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("mpa-pad", "mpa-crc"):
            for end in ("broken", "clean"):
                shutil.copy(os.path.join(pcaps, "golden", "violations", f"{name}-{end}.pcapng"), folder)
        head = octets(pcaps, "siw", "siw-rping-64B-crcoff.pcap")[:24]
        write(os.path.join(folder, "[empty].pcap"), head)

        def here(status, *words):
            return lint(program, status, *words, cwd=folder)

        one = here(1, "mpa-crc-broken.pcapng").stdout + here(1, "mpa-pad-broken.pcapng").stdout
        check(here(1, "*.pcapng").stdout == one, "a pattern stands for its files, in order", one)
        lines = objects(here(1, "--json", "mpa-pad-clean.pcapng", "mpa-crc-broken.pcapng"))
        check([(o["type"], o["capture"]) for o in lines] == [("total", "mpa-pad-clean.pcapng"), ("finding", "mpa-crc-broken.pcapng"),
                                                             ("total", "mpa-crc-broken.pcapng")], "JSON says which capture", lines)
        run, = json.loads(here(1, "--sarif", "--json-lines", "lines", "*.pcapng").stdout)["runs"]
        uris = [r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in run["results"]]
        check(uris == ["mpa-crc-broken.pcapng", "mpa-pad-broken.pcapng"], "SARIF is one document, its paths are relative", run)
        beside = [json.loads(line) for line in octets(folder, "lines").splitlines()]
        check([o["type"] for o in beside] == ["finding", "total", "total", "finding", "total", "total"], "JSON lines beside it", beside)
        said = here(0, "[empty].pcap")
        check(said.stdout == b"" and said.stderr == b"iwarp-lint: [empty].pcap: no iWARP connection in 0 frames "
              b"(--decode-as PORT takes one whose beginning is missing)\n", "a capture without iWARP says so", said)
        here(3, "--require", "[empty].pcap")
        here(3, "--require", "mpa-pad-broken.pcapng", "[empty].pcap")
        here(0, "--require", "mpa-pad-clean.pcapng")
        said = here(2, "nothing*", "mpa-pad-broken.pcapng", "gone.pcap")
        check(b"mpa-pad-broken" in said.stdout and said.stderr == b"iwarp-lint: nothing*: no file fits this pattern\n"
              b"iwarp-lint: gone.pcap: cannot be opened: No such file or directory\n", "what cannot be read does not hide the rest", said)
        here(73, "--json-lines", "none/lines", "mpa-pad-clean.pcapng")
        here(73, "--json-lines", "/dev/full", "mpa-pad-clean.pcapng")


def accused(program, pcaps):
    """Findings name the rule that the sender broke; values only where there are any; frames in order."""
    def golden(status, name, *words):
        return lint(program, status, *words, os.path.join(pcaps, "golden", name + ".pcapng")).stdout

    found = golden(1, "violations/ddp-version-untagged-broken", "--level", "must")
    check(b"DDP-4.1-11 (MUST): the DDP version of an untagged segment is not the agreed one [ddp-version-untagged; initiator" in found,
          "a wrong DV is a MUST of its sender", found)
    check(b": 0x0, expected 0x1]\n" in found, "DV 0", found)
    found = golden(1, "violations/mpa-rev-request-0-broken", "--level", "must")
    check(b"MPA-7.1.1-16 (MUST): the revision of a start-up frame is not one that this end supports [mpa-rev; initiator" in found and
          found.count(b"\n") == 1, "a Request of revision 0 before segments of version 1", found)
    found = golden(1, "violations/rdmap-terminate-last-broken")
    check(re.search(rb", octet \d+\]\n$", found), "octets that come too late have no value", found)
    found = golden(1, "violations/ddp-msn-gap-broken")
    check(b": 0x3, expected 0x2]\n" in found, "an MSN has one", found)
    one = objects(lint(program, 1, "--json", os.path.join(pcaps, "golden", "violations", "rdmap-terminate-last-broken.pcapng")))[0]
    check("got" not in one and "want" not in one, "nor in JSON", one)
    path = os.path.join(pcaps, "golden", "tcp", "findings-out-of-order.pcapng")
    frames = [[x["frame"] for x in objects(lint(program, 1, "--json", path)) if x["type"] == "finding"]]
    run, = json.loads(lint(program, 1, "--sarif", path).stdout)["runs"]
    frames.append([x["properties"]["frame"] for x in run["results"]])
    frames.append([int(line.split(b":")[1]) for line in lint(program, 1, path).stdout.splitlines()])
    check(frames == 3 * [[7, 8, 9, 10]], "findings are in the order of frames", frames)
    done = lint(program, 1, "-", input=octets(path))
    check([line.split(b":")[1] for line in done.stdout.splitlines()] == [b"10", b"7", b"9", b"8"],
          "from the standard input they come as they are found", done.stdout)


def faults(program, pcaps):
    path = os.path.join(pcaps, "siw", "siw-ib_send_lat-64B-crcon.pcap")
    whole = octets(path)
    done = lint(program, 1, "-", input=whole)
    check(done.stdout.count(b"MPA-4.1-02") == 2, "the standard input is read", done.stdout)
    with tempfile.TemporaryDirectory() as folder:
        cut = write(os.path.join(folder, "cut.pcap"), whole[:9000])
        done = lint(program, 2, cut)
        check(done.stdout.count(b"MPA-4.1-02") == 2 and done.stderr.startswith(b"iwarp-lint: " + cut.encode()),
              "everything before a cut is reported, and the cut", done.stdout, done.stderr)
        write(cut, b"this is no capture at all")
        check(cut.encode() in lint(program, 2, cut).stderr, "what is no capture is refused")
        # The fourth octet of the responder's first Send, which its CRC covers.
        at = whole.index(b"\x00\x22\x41\x43", 400)
        write(cut, whole[:at + 24] + bytes([whole[at + 24] ^ 1]) + whole[at + 25:])
        done = lint(program, 1, "--level", "must", cut)
        check(b"MPA-4.4-11 (MUST): the CRC of an FPDU does not match its octets" in done.stdout, "a flipped bit is found", done.stdout)
        # Without its first three packets and the start-up frames nobody knows that it is iWARP.
        late = whole[:24]
        rest, n = whole[24:], 0
        while rest:
            length = 16 + int.from_bytes(rest[8:12], "little")
            if n >= 8:
                late += rest[:length]
            rest, n = rest[length:], n + 1
        write(cut, late)
        out = objects(lint(program, 0, "--json", "--summary", cut))
        check([o["initiator_address"] for o in out if o["type"] == "connection"] == ["10.9.0.2:59182"],
              "only the connection that opens is followed", out)
    for words, said in ((["--level", "no", path], b"expected must or all"), (["--decode-as", "0", path], b"expected a port"),
                        (["--mss", "127", path], b"expected a number from 128"), (["--assume", "x", path], b"expected default-config"),
                        (["--connections", "0", path], b"expected a number"), ([], b"expected a capture"),
                        (["--annotate", "x", path, path], b"expected one capture"), (["--nonsense", path], b"unknown option")):
        check(said in lint(program, 64, *words).stderr, "64: %s" % " ".join(words[:2]))
    check(b"No such file" in lint(program, 2, "/nonexistent.pcap").stderr, "a file that is not there")
    check(b"usage: iwarp-lint" in lint(program, 0, "--help").stdout, "--help helps")


def main(program, pcaps):
    recordings(program, pcaps)
    messages(program, pcaps)
    annotated(program, pcaps)
    sarif(program, pcaps)
    several(program, pcaps)
    accused(program, pcaps)
    faults(program, pcaps)


if __name__ == "__main__":
    harness.start(main, __doc__)
