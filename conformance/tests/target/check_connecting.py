#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How a target without an agent is made to connect: by a command, or by a person at a terminal.

usage: check_connecting.py IWARP-CONFORM IWARP-PEER

Commands that fail, end, hang, connect twice or leave processes over; a command in the manner of ssh; a person who is
asked on a pseudo-terminal, and nobody to ask.
"""
import os
import pty
import re
import select
import subprocess
import sys
import tempfile

import harness

CASE = "rdmap-read-zero-initiator"

# A connection that says nothing, and a second one.
TWICE = """
import os, socket, sys
host, port, peer = sys.argv[1:]
first = socket.create_connection((host, int(port)))
first.set_inheritable(True)
os.execl(peer, peer, "connect", host + ":" + port, "--peer-to-peer", "on")
"""


class Bench(harness.Bench):
    def __init__(self, conform, peer, folder):
        super().__init__(conform, folder)
        self.peer = os.path.abspath(peer)

    def arguments(self, fields):
        """The words of a run against a target with these fields."""
        target = self.write("target.lua", 'return { class = "bare", %s }\n' % fields)
        return ["run", CASE, "--target", target, "--results", self.at("results")]

    def reason(self):
        one = harness.load(self.at("results", "run.json"))["cases"][0]
        return one["verdict"], one.get("reason") or ""

    def expect(self, fields, verdict, reason, status):
        done = self.run(status, *self.arguments(fields))
        got = self.reason()
        if got[0] != verdict or not re.search(reason, got[1]):
            sys.exit("%s: %s: %s\n%s" % (fields, *got, done.stderr))
        print("%-12s %s" % (verdict, got[1] or "connected"))


def gone(pid):
    """Whether the process has ended, or does so: it may have been killed only just now."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([fd], [], [], 10)[0])
    finally:
        os.close(fd)


def check_leftovers(bench, command, status):
    note = bench.write("pids", "")
    bench.expect("connect = [[%s]], connect_within = 0.3" % command.replace("NOTE", note),
                 "INCONCLUSIVE", status, 3)
    pids = [int(line) for line in harness.read(note).split()]
    if not pids or not all(gone(pid) for pid in pids):
        sys.exit("%s: processes left over: %s" % (command, pids))


def check_commands(bench):
    connect = "%s connect {host}:{port} --peer-to-peer on" % bench.peer
    bench.expect("connect = [[exec %s]]" % connect, "PASS", "", 0)
    bench.expect("connect = [[echo no such card; exit 7]]", "INCONCLUSIVE",
                 "did not connect: its command \\(sh ended with status 7\\) made no connection; its output: ", 3)
    bench.expect("connect = [[kill -9 $$]]", "INCONCLUSIVE", "sh was killed by signal 9", 3)
    # One that crashes has failed, whatever it said before.
    bench.expect("connect = [[bash -c 'exec 3<>/dev/tcp/{host}/{port}; kill -SEGV $$']]", "FAIL",
                 "the target ended: sh ended with status 139|the target ended: .* signal 11", 1)
    bench.expect("connect = [[exit 0]], connect_within = 0.3", "INCONCLUSIVE",
                 "nothing connected within 0.3 s; its command ended: sh ended with status 0", 3)
    check_leftovers(bench, "echo $$ >> NOTE; exec tail -f /dev/null", "0.3 s; its command is still running")
    check_leftovers(bench, "tail -f /dev/null & echo $! >> NOTE; exit 7", "sh ended with status 7")
    check_leftovers(bench, "tail -f /dev/null & echo $! >> NOTE; exit 0", "0.3 s; its command ended")
    # In the background, as ssh -f does.
    bench.expect("connect = [[%s & exit 0]]" % connect, "PASS", "", 0)
    script = bench.write("twice.py", TWICE)
    bench.expect("connect = [[exec %s %s {host} {port} %s]]" % (sys.executable, script, bench.peer), "INCONCLUSIVE",
                 "connected more than once", 3)
    # ssh reads its input and asks for a password on the terminal: it finds neither.
    bench.expect("connect = [[cat; if true < /dev/tty; then exit 9; fi 2> /dev/null; exec %s]]" % connect, "PASS", "", 0)


def check_person(bench):
    fields = "ask = [[make it connect to {host}:{port}]], connect_within = 60"
    print(bench.refused("nobody to ask", *bench.arguments(fields), says=["standard input is no terminal"]).strip())
    ours, theirs = pty.openpty()
    with subprocess.Popen([bench.program, *bench.arguments(fields)], stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        os.close(theirs)
        line = run.stderr.readline()
        asked = re.fullmatch(r"iwarp-conform: please do within 60 s: make it connect to (\S+)\n", line)
        if not asked:
            run.kill()
            sys.exit("asked: " + line + run.stderr.read())
        harness.run(bench.peer, "connect", asked[1], "--peer-to-peer", "on", status=None)
        rest = run.stderr.read()
        run.stdout.read()
    os.close(ours)
    if run.returncode != 0 or rest or bench.reason()[0] != "PASS":
        sys.exit("a person: exit %d, %s\n%s" % (run.returncode, bench.reason(), rest))
    print(line.strip())
    ours, theirs = pty.openpty()
    bench.run(None, *bench.arguments("ask = 'do nothing', connect_within = 0.3"), stdin=theirs)
    os.close(theirs)
    os.close(ours)
    if bench.reason() != ("INCONCLUSIVE", "the target did not connect: nothing connected within 0.3 s"):
        sys.exit("a person who does nothing: %s %s" % bench.reason())


def check_bad_files(bench):
    for fields, text in (("ask = 'x', connect = 'y'", "ask: a target that has a command to connect needs no person"),
                         ("connect = 'x', connect_within = 0", "connect_within: expected seconds"),
                         ("address = 'h', port = 1, connect_within = 5", "connect_within: of use only with connect or ask"),
                         ("ask = ''", "ask: expected a text")):
        bench.refused(fields, *bench.arguments(fields), says=[text])


def main(conform, peer):
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(conform, peer, folder)
        check_commands(bench)
        check_person(bench)
        check_bad_files(bench)


if __name__ == "__main__":
    harness.start(main, __doc__)
