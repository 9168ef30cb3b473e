#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""iwarp-conform replay: recorded conversations in both roles, and the reports about changed ones.

usage: check_replay.py IWARP-CONFORM PCAPS [few|all]      few: each synthetic capture in one role

Recordings that were not changed give no difference, with an agent, with rping's part of the reference peer, and with the
program itself on both sides. A changed octet of the peer's payload is exactly one difference, a changed header field is the
first that is named. Wrong words on the command line are one line and exit status 64.
"""
import os
import pathlib
import re
import socket
import sys
import tempfile

import harness
from recordings import Recording

BOTH = ["rping-64B-crcoff", "rping-64B-crcon", "rping-16K-crcon", "rping-p2p-crcon", "rdma_server-crcoff", "rdma_server-crcon",
        "ib_send_lat-64B-crcon", "ib_write_bw-32K-crcon", "ib_read_bw-32K-crcon"]
UCMATOSE = "ucmatose-responder-first-crcon"
RPING = "rping-64B-crcon"
CLIENT = "exec iwarp-peer connect {host}:{port} --personality rping --count %d --verify"
# Changed bits of the peer's recorded FPDUs: frame, octet of the ULPDU (from its end if negative), mask, the field. The recorded
# peer breaks a rule by most of them: then the live one is not accused. It is by the frames and octets of ACCUSED.
SERVER = [(9, 0, 0x80, "t"), (9, 0, 0x40, "l"), (9, 0, 4, "rsvd"), (9, 0, 2, "dv"), (9, 1, 0x40, "rv"), (9, 1, 0x10, "rsv"),
          (9, 1, 2, "op"), (9, 5, 1, "invalidate"), (9, 9, 4, "qn"), (9, 13, 4, "msn"), (9, 17, 4, "mo"), (9, 21, 1, "sink stag"),
          (9, 29, 1, "sink to"), (9, 33, 1, "size"), (9, 37, 1, "source stag"), (9, 45, 1, "source to"),
          (11, 0, 0x40, "l"), (11, 1, 6, "op"), (11, 9, 4, "qn"), (11, 13, 4, "msn"), (13, 0, 0x80, "t"), (13, 0, 0x40, "l"),
          (13, 1, 3, "op"), (13, 5, 1, "stag"), (13, 13, 4, "to")]
OTHERS = [(10, 0, 4, "rsvd"), (10, 1, 3, "op"), (10, 5, 1, "stag"), (10, 13, 4, "to"), (8, 1, 6, "op"), (8, 13, 4, "msn")]
ACCUSED = {(8, 1), (9, 33), (9, 37), (9, 45), (11, 1), (13, 5), (13, 13)}
# Payload octets: of go-ahead, Write, Read Response, and the places that the client advertises, which come into use next.
SERVER_DATA = [(11, -1, 1), (11, 20, 0x80), (13, -1, 1), (13, 40, 1), (23, 14, 0x20)]
CLIENT_DATA = [(10, -1, 1), (10, 40, 1), (8, -1, 1), (8, 20, 1), (8, 25, 1), (8, 28, 1), (12, 25, 1)]
MISUSE = [
    (["--as", "client"], "--as client: expected initiator or responder"),
    ([], "--as: expected the side to play"),
    (["--as", "initiator", "--stream", "-1"], "--stream -1: expected the number of a connection, from 0"),
    (["--as", "initiator", "--stream", "7"], "has no connection 7, it has 1"),
    (["--as", "initiator", "--stream", "1,"], "--stream 1,: expected the number of a connection"),
    (["--as", "initiator", "--time", "soon"], "--time soon: expected drop, keep or scale=X"),
    (["--as", "initiator", "--private", "abc"], "--private abc: expected hexadecimal digits"),
    (["--as", "initiator", "--map", "rpingg"], "'rpingg' is none of"),
    (["--as", "initiator", "--map", "./nothing.lua"], "--map ./nothing.lua: No such file"),
]


class Bench(harness.Bench):
    def __init__(self, conform, pcaps, folder, few):
        super().__init__(conform, folder)
        self.pcaps, self.few, self.count = pcaps, few, 0

    def path(self, name):
        return os.path.join(self.pcaps, "siw", "siw-%s.pcap" % name)

    def file(self, text, name="file"):
        self.count += 1
        return self.write("%s-%d.lua" % (name, self.count), text)

    def replay(self, *arguments, status=None):
        return self.run(status, "replay", "--results", "results", *arguments)

    def refuse(self, text, *arguments):
        """Exit 64, and one line with this pattern."""
        done = self.replay(*arguments)
        if done.returncode != 64 or not re.search(text, done.stderr) or done.stderr.count("\n") != 1:
            sys.exit("%s: exit %d\n%s%s" % (arguments, done.returncode, done.stdout, done.stderr))

    def differences(self, capture, side, target, *more):
        """The reported [(message, field)], and the whole output."""
        done = self.replay(capture, "--as", side, "--target", target, *more)
        found = re.findall(r"difference \d+: message (\d+) of \d+ \(.*?, frame (\d+)\), \S+ of the \S+: ([a-z ]+): recorded ", done.stdout)
        innocent = done.stdout.count("the difference is no fault of this target")
        unclear = "INCONCLUSIVE replay" in done.stdout
        if done.returncode != (3 if unclear else len(found) > innocent):
            sys.exit("%s as %s: exit %d\n%s%s" % (capture, side, done.returncode, done.stdout, done.stderr))
        return [(int(frame), field) for _, frame, field in found], done.stdout

    def expect(self, wanted, *arguments):
        found, text = self.differences(*arguments)
        if found != wanted:
            sys.exit("%s: %s instead of %s\n%s" % (arguments, found, wanted, text))

    def client(self, count):
        return self.file('return { class = "rping", connect = "%s" }\n' % (CLIENT % count), "client")


def unchanged(b):
    for name in BOTH:
        b.expect([], b.path(name), "initiator", "embedded")
        b.expect([], b.path(name), "responder", "embedded")
    b.expect([(7, "missing")], b.path(UCMATOSE), "initiator", "embedded")
    b.expect([], b.path(UCMATOSE), "responder", "embedded")
    for name in BOTH[:4]:
        b.expect([], b.path(name), "initiator", "rping-peer")
    for name in BOTH[:2]:
        b.expect([], b.path(name), "responder", b.client(5))
    print("unchanged: none but ucmatose's one")


GOLDEN = ["operations", "tcp"]  # folders of synthetic captures
CUT = ("tcp/late-start", "tcp/lost", "tcp/snap")  # which cannot be played
# Refused as recorded, since the agent lacks the same as the recorded peer.
REFUSED = ["0-1-00", "0-1-01", "0-1-02", "0-1-04", "0-1-09", "1-1-00", "1-1-01", "1-1-03", "1-2-02", "1-2-05", "2-0-02",
           "atomic-0-1-00", "atomic-0-1-02", "atomic-0-2-07", "immediate-0-2-ff"]


def synthetic(b):
    golden = pathlib.Path(b.pcaps, "golden")
    files = [p for folder in GOLDEN for p in sorted(golden.glob(folder + "/*.pcapng"))]
    cut = [p for p in files if p.relative_to(golden).as_posix().startswith(CUT)]
    for path in cut:
        b.refuse("cannot be followed|does not begin with", str(path), "--as", "initiator")
    whole = [p for p in files if p not in cut]
    if len(cut) < 20 or len(whole) < 60:
        sys.exit("%d and %d golden captures" % (len(cut), len(whole)))
    for k, path in enumerate(whole):
        for side, role in enumerate(("initiator", "responder")):
            if not b.few or k % 2 == side:
                b.expect([], str(path), role, "embedded")
    for name in REFUSED:
        b.expect([], str(golden / "terminates" / (name + ".pcapng")), "initiator", "embedded")
    print("synthetic: %d captures, %d refused as recorded, %d cannot be played" % (len(whole), len(REFUSED), len(cut)))


def bent(b):
    """Recordings in which a side breaks a rule, and the like without: who is right is not accused, whichever side is played. In those that
    are left out a side gives up by itself, or closes."""
    more = ("mpa-rev-request-0-broken", "rdmap-terminate-last-", "rdmap-terminate-once-", "rdmap-terminate-headers-llp-clean")
    files = sorted(p for p in pathlib.Path(b.pcaps, "golden", "violations").glob("*.pcapng") if not p.stem.startswith(more))
    unclear = 0
    for i, path in enumerate(files):
        if i % (17 if b.few else 3):
            continue
        for side in ("initiator", "responder"):
            done = b.replay(str(path), "--as", side, "--target", "embedded", "--time-scale", "0.2")
            if done.returncode not in (0, 3, 64):
                sys.exit("%s as %s: exit %d\n%s%s" % (path, side, done.returncode, done.stdout, done.stderr))
            unclear += done.returncode == 3
    if unclear < 5:
        sys.exit("only %d bent recordings came to a difference" % unclear)
    print("bent, and not: nobody is accused, %d are inconclusive" % unclear)


def both_sides(b):
    """The program against itself: each side compares the other one's messages. Only the outer one's verdict counts."""
    program = "exec %s replay %s --as initiator --target tcp:{host}:{port},class=bare --results %s/inner"
    for name in BOTH + [UCMATOSE]:
        target = b.file('return { class = "bare", connect = "%s" }\n' % (program % (b.program, b.path(name), b.folder)))
        b.expect([], b.path(name), "responder", target)
    # The played side's recording has another octet here.
    for name, frame, octet in (("rdma_server-crcon", 8, -1), ("rdma_server-crcon", 8, 25), ("ib_send_lat-64B-crcon", 16, 20)):
        target = b.file('return { class = "bare", connect = "%s" }\n' % (program % (b.program, b.path(name), b.folder)))
        b.expect([(frame, "payload")], change(b, name, frame, octet, 1), "responder", target)
    print("both sides: none, and one for an octet")


def change(b, name, frame, octet, mask):
    recording = Recording(b.path(name))
    recording.change(frame, octet, mask)
    return b.write("changed.pcap", recording.octets)


def changed(b):
    sides = (("initiator", "rping-peer", SERVER, SERVER_DATA), ("responder", b.client(5), OTHERS, CLIENT_DATA))
    for side, target, fields, data in sides:
        for frame, octet, mask, field in fields:
            found, text = b.differences(change(b, RPING, frame, octet, mask), side, target)
            if not found or found[0] != (frame, field):
                sys.exit("octet %d of frame %d: %s, %s was changed\n%s" % (octet, frame, found, field, text))
            if ("FAIL replay" in text) != ((frame, octet) in ACCUSED):
                sys.exit("octet %d of frame %d: the live peer is accused, or not\n%s" % (octet, frame, text))
        for frame, octet, mask in data:
            b.expect([(frame, "payload")], change(b, RPING, frame, octet, mask), side, target)
    print("changed: %d fields and %d octets" % (len(SERVER + OTHERS), len(SERVER_DATA + CLIENT_DATA)))


def negotiated(b):
    """The RTR in another form than the recorded Write, which moves MSNs, or where none was recorded; and fields in which a Reply must not differ."""
    for form in ("write", "read", "send"):
        for recorded, count in (("rping-p2p-crcon", 3), (RPING, 5)):
            connect = CLIENT % count + " --peer-to-peer on --rtr " + form
            b.expect([], b.path(recorded), "responder", b.file('return { class = "rping", connect = "%s" }\n' % connect))
    listen = 'return { class = "rping", address = "127.0.0.1", ready = "listening on",\n' \
             'start = "exec iwarp-peer listen {host}:{port} --personality rping %s" }\n'
    b.expect([], b.path("rping-p2p-crcon"), "initiator", b.file(listen % "--rtr read"))
    b.expect([(6, "private")], b.path(RPING), "initiator", b.file(listen % "--private 0102"))
    b.expect([(6, "revision"), (6, "enhanced")], b.path(RPING), "initiator", b.file(listen % "--violate mpa-rev --violate mpa-rep-s"))


def as_recorded(b):
    """siw does not set its pad to zero: that another peer does not either is no news, that it breaks something else is."""
    for rule, wanted in (("mpa-pad", 0), ("rdmap-rsv", 1)):
        agent = harness.script(b.at("agent"), '#!/bin/sh\nexec iwarp-agent "$@" --violate %s\n' % rule)
        done = b.replay(b.path("ib_send_lat-64B-crcon"), "--as", "initiator", "--agent", agent)
        reported = "finding mpa-pad (MPA-4.1-02), as in the recording: pad octets are not zero" in done.stdout
        if done.returncode != wanted or reported == bool(wanted):
            sys.exit("a peer that breaks %s: exit %d\n%s%s" % (rule, done.returncode, done.stdout, done.stderr))


def patience(b):
    """A peer that takes the connection and sends nothing: the report names the awaited message, and its recorded place."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        target = "tcp:127.0.0.1:%d" % silent.getsockname()[1]
        found, text = b.differences(b.path(RPING), "initiator", target, "--time-scale", "0.1")
    if found != [(6, "missing")] or not re.search(r"expected  mpa reply .*, frame 6\)\n *actual    nothing within", text):
        sys.exit("a silent peer: %s\n%s" % (found, text))


def others(b):
    listed = b.replay("--list", b.path("ib_write_bw-32K-crcon")).stdout
    for part in ("0  10.9.0.2:38624 > 10.9.0.1:9106  perftest\n", "1  10.9.0.2:45726 > 10.9.0.1:9106  with perftest, connection 0\n",
                 "   > 20 write, 1 fin\n"):
        if part not in listed:
            sys.exit("--list: no %r in\n%s" % (part, listed))
    # A client that makes fewer exchanges: the report names the awaited message, and its recorded place.
    found, text = b.differences(b.path(RPING), "responder", b.client(4))
    if found != [(50, "op")] or "send L msn 9 mo 0 len 16" not in text or "actual    fin" not in text:
        sys.exit("four exchanges instead of five: %s\n%s" % (found, text))
    # A map of the user's own, as good as the known one; and none at all.
    own = b.file('return { name = "mine", advertisements = { { op = "send", side = "initiator", octets = 16, stag = { at = 8 },\n'
                 'to = { at = 0, size = 8, endian = "big" } } } }\n', "map")
    b.expect([], b.path(RPING), "responder", b.client(5), "--map", own, "--time", "scale=0.01")
    nothing = b.file("return {}\n", "map")
    if b.differences(b.path(RPING), "responder", b.client(5), "--map", nothing)[0][0] != (8, "payload"):
        sys.exit("without a map the first reported place is another one")
    done = b.replay(b.path(RPING), "--as", "responder", "--map", b.file("return { advertisments = {} }\n", "map"))
    if done.returncode != 64 or "did you mean 'advertisements'?" not in done.stderr:
        sys.exit("a misspelt map: exit %d, %s" % (done.returncode, done.stderr))
    verbose = b.replay(b.path(RPING), "--as", "initiator", "-v", "--private", "0102")
    for part in ("0 > mpa request rev 2 C S pd 6 ird 1 ord 1 data 0102", "0 < write L stag 800bc000 to 55a8207f9550 len 64"):
        if part not in verbose.stderr:
            sys.exit("-v: no %r in\n%s" % (part, verbose.stderr))
    negotiated(b)
    as_recorded(b)
    patience(b)
    for arguments, text in MISUSE:
        b.refuse(re.escape(text), b.path(RPING), *arguments)
    b.refuse("", "--list", own)
    print("list, map, time, private, verbose, misuse: as they should be")


def main(conform, pcaps, amount="all"):
    if amount not in ("few", "all"):
        sys.exit(__doc__)
    os.environ["PATH"] = os.path.dirname(os.path.abspath(conform)) + ":" + os.environ["PATH"]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(conform, os.path.abspath(pcaps), folder, amount == "few")
        for part in (unchanged, synthetic, bent, both_sides, changed, others):
            part(bench)


if __name__ == "__main__":
    harness.start(main, __doc__)
