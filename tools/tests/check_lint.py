#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""iwarp-lint over the recordings, against what their manifest says, and over files that are none.

usage: check_lint.py IWARP-LINT PCAPS
"""
import json
import os
import subprocess
import sys
import tempfile

# What the manifest's findings are to the observer.
CHECKS = {"header": ("mpa-pad", "MPA-4.1-02"), "order": ("mpa-responder-early", "MPA-7.1.2-15")}
SIDES = {"I>R": "initiator", "R>I": "responder"}
NAMES = {"Send": "send", "Read Request": "read-request", "Read Response": "read-response", "RDMA Write": "write",
         "Write": "write", "Terminate": "terminate"}


def check(condition, what, *context):
    if not condition:
        sys.exit("not so: %s\n%s" % (what, "\n".join(str(c) for c in context)))
    print("ok - %s" % what)


def lint(program, status, *words, **more):
    done = subprocess.run([program, *words], capture_output=True, **more)
    if done.returncode != status:
        sys.exit("%s: exit %d, expected %d\n%s%s" % (" ".join(words), done.returncode, status, done.stdout.decode()[-2000:],
                                                     done.stderr.decode()))
    return done


def objects(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def recordings(program, pcaps):
    with open(os.path.join(pcaps, "manifest.json"), encoding="utf-8") as f:
        manifest = json.load(f)
    for capture in manifest["captures"]:
        path = os.path.join(pcaps, capture["file"])
        wanted = [(f["frame"], SIDES[f["dir"]], *CHECKS[f["kind"]]) for f in capture.get("findings", [])]
        out = objects(lint(program, 1 if wanted else 0, "--json", "--summary", path))
        got = [(o["frame"], o["side"], o["check"], o["rule"]) for o in out if o["type"] == "finding"]
        check(sorted(got) == sorted(wanted), "%s: %d findings" % (capture["file"], len(wanted)), got, wanted)
        check(not [o for o in out if o["type"] == "unknown"], "%s is followed to its end" % capture["file"], out)
        text = lint(program, 1 if wanted else 0, path).stdout.decode().splitlines()
        check([line.startswith("%s:%d: %s (MUST): " % (path, w[0], w[3])) for line, w in zip(text, wanted)] == [True] * len(wanted)
              and len(text) == len(wanted), "as text, too", text)
        connections = {o["initiator_address"]: o for o in out if o["type"] == "connection"}
        check(len(connections) == len(capture["connections"]), "%s: every connection is told" % capture["file"], connections)
        for one in capture["connections"]:
            for direction, side in SIDES.items():
                told = connections[one["initiator"]][side]["messages"]
                wanted = {NAMES[k]: v for k, v in one["directions"][direction]["messages"].items()}
                check({k: v["messages"] for k, v in told.items()} == wanted, "%s %s: messages" % (one["initiator"], direction),
                      told, wanted)


def messages(program, pcaps):
    path = os.path.join(pcaps, "siw", "siw-rping-64B-crcoff.pcap")
    lines = lint(program, 0, "--messages", path).stdout.decode().splitlines()
    check("initiator 10.9.0.2:" in lines[0] and ": mpa request rev 2 S pd " in lines[0], "messages are listed", lines[0])
    check(any(": read-request msn 1 " in line for line in lines) and any(line.endswith(": fin") for line in lines),
          "in the one-line syntax", lines)


def faults(program, pcaps):
    path = os.path.join(pcaps, "siw", "siw-ib_send_lat-64B-crcon.pcap")
    with open(path, "rb") as f:
        octets = f.read()
    done = lint(program, 1, "-", input=octets)
    check(done.stdout.count(b"MPA-4.1-02") == 2, "the standard input is read", done.stdout)
    with tempfile.TemporaryDirectory() as folder:
        cut = os.path.join(folder, "cut.pcap")
        with open(cut, "wb") as f:
            f.write(octets[:9000])
        done = lint(program, 2, cut)
        check(done.stdout.count(b"MPA-4.1-02") == 2 and done.stderr.startswith(b"iwarp-lint: " + cut.encode()),
              "what stands before a cut is told, and the cut", done.stdout, done.stderr)
        with open(cut, "wb") as f:
            f.write(b"this is no capture at all")
        check(cut.encode() in lint(program, 2, cut).stderr, "what is no capture is refused")
        # The fourth octet of the responder's first Send, which its CRC covers.
        at = octets.index(b"\x00\x22\x41\x43", 400)
        with open(cut, "wb") as f:
            f.write(octets[:at + 24] + bytes([octets[at + 24] ^ 1]) + octets[at + 25:])
        done = lint(program, 1, "--level", "must", cut)
        check(b"MPA-8-02 (MUST): the CRC of an FPDU does not match its octets" in done.stdout, "a flipped bit is found", done.stdout)
        # Without its first three packets and the start-up frames nobody knows that it is iWARP.
        late = octets[:24]
        rest, n = octets[24:], 0
        while rest:
            length = 16 + int.from_bytes(rest[8:12], "little")
            if n >= 8:
                late += rest[:length]
            rest, n = rest[length:], n + 1
        with open(cut, "wb") as f:
            f.write(late)
        out = objects(lint(program, 0, "--json", "--summary", cut))
        check([o["initiator_address"] for o in out if o["type"] == "connection"] == ["10.9.0.2:59182"],
              "only the connection that opens is followed", out)
    for words, said in ((["--level", "no", path], b"expected must or all"), (["--decode-as", "0", path], b"expected a port"),
                        (["--connections", "0", path], b"expected a number"), ([], b"expected one capture"),
                        ([path, path], b"expected one capture"), (["--nonsense", path], b"unrecognized option")):
        check(said in lint(program, 64, *words).stderr, "64: %s" % " ".join(words[:2]))
    check(b"No such file" in lint(program, 2, "/nonexistent.pcap").stderr, "a file that is not there")
    check(b"usage: iwarp-lint" in lint(program, 0, "--help").stdout, "--help helps")


def main(program, pcaps):
    recordings(program, pcaps)
    messages(program, pcaps)
    faults(program, pcaps)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
