#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `iwarp-conform run` finds out about a peer before it plays the cases, and what it makes of that.

usage: check_base_facts.py IWARP-CONFORM IWARP-PEER

Ports that speak no MPA: the run ends with that sentence and status 3. Ports of which that is not proved: the cases are played. Peers
that take only some Requests (iwarp-peer behind a relay that is particular): what does not fit them is skipped, and they are charged
with nothing but what they break. All reports have the facts.
"""
import functools
import os
import re
import socket
import struct
import sys
import tempfile
import threading

import harness
from hostile import Crowd, Over

KEY, REQUEST = b"MPA ID Rep Frame", b"MPA ID Req Frame"
M, C, R, S = 0x80, 0x40, 0x20, 0x10


# ---- ports that speak no MPA ----

def http(wire):
    """Answers once it has read a line, or our end."""
    while b"\n" not in wire.held:
        more = wire.recv()
        if not more:
            break
        wire.held += more
    wire.send(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")


def http_at_once(wire):
    wire.recv()
    wire.send(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")


def greets(wire):
    wire.send(b"SSH-2.0-OpenSSH_9.2\r\n")
    wire.idle()


def silent(wire):
    wire.idle()


def flood(wire):
    while True:
        wire.send(bytes(range(256)) * 256)


# ---- ports that may ----

def closes(wire):
    wire.recv()


def silent_but_closes_once(numbers):
    def act(wire):
        wire.read(20)
        if next(numbers) == 3:
            return
        wire.idle()
    return act


def like_key(wire):
    wire.recv()
    wire.send(b"MPA ID Reply follows: none\r\n")
    wire.idle()


def half(wire):
    wire.recv()
    wire.send(KEY[:10] + bytes(10))
    wire.idle()


def refuses(wire):
    frame = wire.read(20)
    wire.send(KEY + bytes((C | R | frame[16] & S, frame[17])) + (b"\0\4\0\0\0\0" if frame[16] & S else b"\0\0"))
    wire.idle()


def no_crc_field(wire):
    """Takes Reads, and leaves the CRC field out."""
    frame = wire.read(20)
    wire.read(struct.unpack(">H", frame[18:])[0])
    wire.send(KEY + bytes((frame[16] & C, 1, 0, 0)))
    if not frame[16] & C:
        for _ in range(2):
            ulpdu = wire.read(52)[2:48]
            wire.send(b"\0\x0e\xc1\x42" + ulpdu[18:30])
    wire.idle()


# ---- peers that take only some Requests ----

def pump(source, sink):
    try:
        while octets := source.recv(65536):
            sink.sendall(octets)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for sock in (source, sink):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def relay(port, change):
    """iwarp-peer behind a door: change(flags, revision, private data) is what the Request becomes, None if it is not taken."""
    def act(wire):
        frame = wire.read(20)
        size = struct.unpack(">H", frame[18:])[0]
        if frame[:16] == REQUEST and size <= 512:
            changed = change(frame[16], frame[17], wire.read(size))
            if changed is None:
                return
            frame = REQUEST + bytes(changed[:2]) + struct.pack(">H", len(changed[2])) + changed[2]
        with socket.create_connection(("127.0.0.1", port)) as peer:
            peer.sendall(frame + wire.held)
            wire.sock.settimeout(None)
            back = threading.Thread(target=pump, args=(peer, wire.sock), daemon=True)
            back.start()
            pump(wire.sock, peer)
            back.join()
    return act


def old(flags, revision, private):
    """A peer that answers every revision with 1."""
    return flags & ~S, 1, private[4:] if flags & S else private


def closing(flags, revision, private):
    """A peer that closes on every other revision."""
    return (flags, revision, private) if revision == 1 else None


def with_markers(flags, revision, private):
    return (flags, revision, private) if flags & M else None


def without_crc(flags, revision, private):
    return None if flags & C else (flags, revision, private)


def plain(flags, revision, private):
    return None if flags & S else (flags, revision, private)


class Bench(harness.Bench):
    def play(self, name, target, status, *words, scale="1"):
        done = self.run(status, "run", "--target", target, "--time-scale", scale, "--results", self.at(name), "--json",
                        self.at(name + ".json"), "-j4", *words)
        report = harness.load(self.at(name + ".json"))
        if report["exit"] != done.returncode:
            sys.exit("%s: the report has another exit status" % name)
        return done.stdout, report


def rules(report):
    return sorted(f["rule"] for f in report["findings"])


def names(report):
    return [f["name"] for f in report["facts"]]


def check_nothing(bench, act, pattern):
    """A port that speaks no MPA."""
    with Crowd() as crowd:
        out, report = bench.play(act.__name__, "tcp:127.0.0.1:%d" % crowd.listen(act), 3, "--select", "mpa-startup-*", scale="0.2")
    first = out.splitlines()[0]
    harness.check(re.match("target: speaks no MPA: .*" + pattern, first), act.__name__ + ": the first line", out)
    harness.check("FAIL mpa" not in out and out.count("the target speaks no MPA") == 1, act.__name__ + ": once", out)
    harness.check(not report["findings"] and {c["verdict"] for c in report["cases"]} == {"INCONCLUSIVE"}, act.__name__, report["summary"])
    harness.check(names(report) == ["start-up"], act.__name__ + ": facts", report["facts"])
    print(first)


def check_judged(bench, act, fact, name=None):
    """A port that is judged whatever it does."""
    name = name or act.__name__
    with Crowd() as crowd:
        out, report = bench.play(name, "tcp:127.0.0.1:%d" % crowd.listen(act), None, "--select", "mpa-startup-rev1", scale="0.2")
    verdict = report["cases"][0]
    harness.check("speaks no MPA" not in out + str(verdict) and verdict["verdict"] == "FAIL" and report["exit"] == 1, name, out)
    harness.check(len(report["findings"]) == 1 and re.search(fact, report["facts"][0]["text"]), name, report["facts"])
    print("%s: %s" % (name, report["facts"][0]["text"]))


def check_closing(bench, selection, shown):
    """A port that reads a Request and closes, whatever it is: one finding, of the Reply that is due."""
    with Crowd() as crowd:
        target = "tcp:127.0.0.1:%d" % crowd.listen(lambda wire: wire.read(20))
        out, report = bench.play("closing-" + shown, target, 1, *(word for one in selection for word in ("--select", one)), scale="0.2")
    harness.check(rules(report) == ["MPA-7.1.2-08"], "closing: findings", report["findings"])
    harness.check(report["findings"][0]["exhibit"]["case"] == shown, "closing: the exhibit", report["findings"])
    harness.check("no longer" not in out and "a connection on a Request that is in order" in out, "closing: still accepts connections", out)
    harness.check(report["summary"]["FAIL"] >= 3, "closing", report["summary"])


def check_refusing(bench):
    """A port that refuses whatever it is asked: one finding, too, and no rule of what is special in a Request."""
    with Crowd() as crowd:
        out, report = bench.play("refusing", "tcp:127.0.0.1:%d" % crowd.listen(refuses), 1, *(word for one in (
            "mpa-startup-rev1", "mpa-startup-reserved-*", "empa-rtr-unasked-*", "octets-request-reserved") for word in ("--select", one)), scale="0.2")
    harness.check(rules(report) == ["MPA-7.1.2-08"] and report["summary"]["FAIL"] >= 10, "refusing: findings", report["findings"], report["summary"], out)


def check_particular(bench, peer, change, facts, accused, least):
    """A peer that takes only some Requests: its facts, and the rules that it is charged with, in the whole suite."""
    with harness.listening(peer) as real, Crowd() as crowd:
        port = crowd.listen(relay(int(real.address.rsplit(":", 1)[1]), change))
        out, report = bench.play(change.__name__, "tcp:127.0.0.1:%d,can=read" % port, 1 if accused else 3 if change is without_crc else 0, scale="3")
    harness.check(names(report) == facts, change.__name__ + ": facts", report["facts"])
    harness.check(rules(report) == accused, change.__name__ + ": findings", out)
    harness.check(report["summary"]["PASS"] >= least and (report["summary"]["INCONCLUSIVE"] == 0 or change is without_crc), change.__name__, report["summary"], out)
    for fact in report["facts"]:
        harness.check("target: " + fact["text"] in out.splitlines(), change.__name__ + ": the console", out)
    print("%s: %s; %s" % (change.__name__, report["summary"], [f["text"] for f in report["facts"]]))


def check_gone(bench):
    """A peer that ends at the first Request has failed: one finding."""
    with Crowd() as crowd:
        port = crowd.listen(lambda wire: wire.recv(1) and crowd.close())
        out, report = bench.play("gone", "tcp:127.0.0.1:%d" % port, 1, "--select", "mpa-startup-*", scale="0.2")
    harness.check(len(report["findings"]) == 1 and report["summary"]["FAIL"] == 1, "gone", out)


def check_crc_field(bench):
    with Crowd() as crowd:
        _, report = bench.play("no_crc_field", "tcp:127.0.0.1:%d,crc=off" % crowd.listen(no_crc_field), None, "mpa-startup-reply")
    harness.check(names(report)[:3] == ["revision", "read", "crc-field"], "no CRC field", report["facts"])


def check_reports(bench, peer):
    """Every report has the facts, and what the user has said is neither advised nor overruled."""
    with harness.listening(peer, "--revision", "1", "--crc", "off") as real:
        target = "tcp:" + real.address
        done = bench.run(0, "run", "--target", target, "--results", bench.at("reports"), "--tap", "--junit", bench.at("r.xml"), "--html",
                         bench.at("r.html"), "--select", "mpa-startup-rev*")
        fact = "takes revision 1, but to an enhanced Request of revision 2 it closed the connection"
        harness.check("# fact revision: " + fact in done.stdout and "# fact crc: does without" in done.stdout, "TAP", done.stdout)
        harness.check('<property name="fact" value="revision: %s' % fact in harness.read(bench.at("r.xml")), "JUnit")
        harness.check(fact in str(harness.page_data(bench.at("r.html"))["report"]["facts"]), "HTML")
        harness.check(done.stderr.startswith("target: %s\n  judged as with revision=1" % fact), "the console", done.stderr)
        _, report = bench.play("said", target + ",rev=1,crc=off,can=read", 0, "--select", "mpa-startup-rev1*")
        harness.check(report["facts"] == [], "all is said", report["facts"])
        _, report = bench.play("wrongly-said", target + ",rev=2,crc=off,can=read", None, "--select", "mpa-startup-rev2-unenhanced")
        harness.check(report["facts"] == [{"name": "revision", "text": fact, "advice": None}] and
                      report["cases"][0]["verdict"] == "FAIL", "said otherwise", report)
        _, report = bench.play("once", target + ",cannot=reconnect", None, "--select", "mpa-startup-rev1")
        harness.check(report["facts"] == [], "one connection only", report["facts"])


def main(conform, peer):
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(conform, folder)
        numbers = iter(range(1000))
        calls = [functools.partial(check_nothing, bench, *one) for one in (
            (http, "octets that are no MPA: \"HTTP/1.1 400 Bad Re"), (http_at_once, "octets that are no MPA: \"HTTP/1.1 400 Bad Re"),
            (greets, "octets that are no MPA: \"SSH-2.0-"), (silent, "said nothing for"), (flood, "octets that are no MPA"))]
        calls += [functools.partial(check_judged, bench, *one) for one in (
            (closes, "accepts no Request of MPA.* closed the connection"), (like_key, 'no Reply: "MPA ID Reply follo" ...|no Reply: "MPA ID Reply'),
            (half, 'no Reply: "MPA ID Rep[?]+"'), (refuses, "refuses every Request"),
            (silent_but_closes_once(numbers), "accepts no Request of MPA.* closed the connection", "closes_once"))]
        calls += [functools.partial(check_closing, bench, *one) for one in (
            (("mpa-startup-rev1", "mpa-startup-key-*", "mpa-startup-pd-length-*"), "mpa-startup-rev1"),
            (("empa-startup-s-pd-length-*",), "empa-startup-s-pd-length-0"))]
        calls += [functools.partial(check_refusing, bench)]
        calls += [functools.partial(check_particular, bench, peer, *one) for one in (
            (old, ["revision"], ["MPA-7.1.1-18"], 200), (closing, ["revision"], [], 200),
            (plain, ["revision"], [], 200), (with_markers, ["request"], [], 250), (without_crc, ["request"], [], 250))]
        harness.side_by_side(calls, 4)
        check_crc_field(bench)
        check_gone(bench)
        check_reports(bench, peer)


if __name__ == "__main__":
    harness.start(main, __doc__)
