#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The findings of `iwarp-conform probe` about peers, and whether its files are of use.

usage: check_probe.py IWARP-CONFORM IWARP-PEER

iwarp-peer in many settings is probed, and a selection of cases is run with the target file that came out: no FAIL, nothing
INCONCLUSIVE. Then peers that are none, target files, files that are there already, and peers that connect.
"""
import functools
import os
import re
import socket
import sys
import tempfile

import harness
from hostile import Crowd

CASES = ["mpa-startup-*", "mpa-crc-bad", "rdmap-read-zero", "ddp-stag-unknown", "empa-rtr-first-*", "ext-fetch-add*",
         "rdmap-opcode-8-*", "rping-server-size-*", "replay-*"]

# Options of the peer, and patterns that its file must match (a regular expression each).
SETTINGS = [
    ([], ['revision = 2,', 'crc = "on",', 'markers = "off",', 'class = "bare",', '"read"', '"extensions"', '"ird.16"', '"send"', '"echo"']),
    (["--crc", "off"], ['crc = "off",']),
    (["--markers", "on"], ['markers = "on",']),
    (["--crc", "off", "--markers", "on", "--personality", "rping"], ['crc = "off"', 'markers = "on"', 'class = "rping"']),
    (["--personality", "rping"], ['class = "rping"', '"rping.1048576"', "STags of three connections"]),
    (["--revision", "1"], ['revision = 1,', 'cannot = .*"enhanced"']),
    (["--revision", "1", "--crc", "off", "--markers", "on", "--personality", "rping"], ['revision = 1,', 'class = "rping"']),
    (["--enhanced", "off"], []),
    (["--extensions", "off"], ['cannot = .*"extensions"']),
    (["--rtr", "send"], ['cannot = .*"rtr.write", "rtr.read"', "takes the RTR forms send\n"]),
    (["--ird", "3", "--ord", "2"], ['"ird.3"']),
    (["--ird", "0"], ['cannot = .*"read"']),
]


def fail(*parts):
    sys.exit("\n".join(str(part) for part in parts))


# What a listener without MPA does with a connection.

def silent(wire):
    wire.stare()


def closes(_):
    pass


def resets(wire):
    wire.reset()


def garbage(wire):
    wire.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n" * 20)
    wire.stare()


def flood(wire):
    wire.send(bytes(range(256)) * 40960)
    wire.stare()


class Bench(harness.Bench):
    """A folder with the target file of one peer, and the programs."""

    def __init__(self, conform, peer, folder):
        super().__init__(conform, folder)
        self.peer, self.file = os.path.abspath(peer), self.at("probed.lua")

    def beside(self, name):
        return Bench(self.program, self.peer, self.at(str(name)))

    def probe(self, status, *arguments):
        done = self.run(status, "probe", *arguments)
        if status and (done.stdout or done.stderr.count("\n") != 1):
            fail("probe %s: exit %d" % (arguments, done.returncode), done.stdout, done.stderr)
        return done.stdout + done.stderr

    def play(self, *cases):
        done = self.run(None, "run", "--target", self.file, "--time-scale", "10", "--results", "results", *cases)
        if done.returncode:
            fail(self.text(), done.stdout, done.stderr)
        return harness.load(self.at("results", "run.json"))["summary"]

    def text(self):
        return harness.read(self.file)


def check_setting(bench, options, patterns):
    with harness.listening(bench.peer, *options) as peer:
        bench.probe(0, "tcp:" + peer.address, "--output", bench.file, "--force")
        text = bench.text()
        for pattern in patterns:
            if not re.search(pattern, text):
                fail("%s: expected %s" % (options, pattern), text)
        summary = bench.play(*CASES)
    if summary["PASS"] < 15:
        fail("%s: too few cases" % options, summary, text)
    print("%s: %s" % (" ".join(options) or "as it is", summary))


def check_settings(bench):
    # They mostly wait.
    harness.side_by_side([functools.partial(check_setting, bench.beside(n), *setting) for n, setting in enumerate(SETTINGS)], 4)


def check_strangers(bench):
    for act, pattern in ((silent, "said nothing for 3 s"), (closes, "(closed|reset) the connection"), (resets, "reset the connection|closed"),
                         (garbage, "no MPA Reply"), (flood, "no MPA Reply|reset the connection")):
        with Crowd() as strangers:
            out = bench.probe(3, "tcp:127.0.0.1:%d" % strangers.listen(act), "--output", bench.at("none"), "--time-scale", "0.1")
        # A reset may come so early that there was no connection, the first time or later.
        if not re.search("accepts TCP connections, but no MPA: .*(%s)|no connection.* reset by peer" % pattern, out):
            fail("%s: %s" % (act.__name__, out))
        print(out.strip())
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # held, so that nobody else listens there
        print(bench.probe(3, "tcp:127.0.0.1:%d" % nobody.getsockname()[1]).strip())
    for bad in ("tcp:127.0.0.1:0", "tcp:127.0.0.1:1,class=x", "no-such-file", "embedded", "tcp:127.0.0.1:1,class=agent"):
        bench.probe(64, bad)
    bench.probe(64)
    if os.path.exists(bench.at("none")):
        fail("a file was written")


def check_files(bench):
    """probe completes a target file, and keeps its values."""
    given = bench.write("given.lua", 'return { address = "127.0.0.1", start = [[exec %s listen {host}:{port} --personality rping --crc off]],\n'
                        '  ready = "listening on", crc = "on", cannot = { "extensions" }, can = { "ird.2" } }\n' % bench.peer)
    out = bench.probe(0, given)
    for part in ('start = "exec ', 'ready = "listening on"', '-- seen: crc = "off"', 'class = "rping"', '"ird.2"', '"crc.on"',
                 'cannot = .*"crc.off"', 'cannot = .*"extensions"'):
        if not re.search(part, out):
            fail("a file: expected " + part, out)
    if "ird.16" in out:
        fail("a file: what it said does not stand", out)
    harness.write(bench.file, "precious\n")
    with harness.listening(bench.peer) as peer:
        if "--force" not in bench.probe(64, "tcp:" + peer.address, "--output", bench.file):
            fail("no word of --force")
    if bench.text() != "precious\n":
        fail("the file was written over")
    bench.probe(0, given, "--output", bench.file, "--force")
    print("from a file: %s" % bench.play(*CASES))


def check_connecting(bench):
    for options, patterns in ((["--personality", "rping", "--count", "3"], ['class = "rping"', '"read"', '"ird.16"']),
                              (["--peer-to-peer", "on", "--crc", "off"], ['class = "bare"', 'crc = "off"'])):
        given = bench.write("given.lua", "return { connect = [[exec %s connect {host}:{port} %s]] }\n" % (bench.peer, " ".join(options)))
        bench.probe(0, given, "--output", bench.file, "--force")
        for pattern in patterns:
            if not re.search(pattern, bench.text()):
                fail("%s: expected %s" % (options, pattern), bench.text())
        summary = bench.play("mpa-reply-*", "rping-client-exchange*", "ddp-stag-unknown-initiator", "empa-rtr-chosen*", "ext-*-initiator")
        if summary["PASS"] < 15:
            fail("%s: too few cases" % options, summary, bench.text())
        print("%s: %s" % (" ".join(options), summary))
    print(bench.probe(3, bench.write("given.lua", "return { connect = [[exit 7]] }\n")).strip())


def main(conform, peer):
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(conform, peer, folder)
        check_settings(bench)
        check_strangers(bench)
        check_files(bench)
        check_connecting(bench)


if __name__ == "__main__":
    harness.start(main, __doc__)
