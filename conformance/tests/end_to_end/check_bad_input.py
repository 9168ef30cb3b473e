#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every failure around iwarp-conform gets one clear line and the right exit status, in time.

usage: check_bad_input.py IWARP-CONFORM IWARP-PEER IWARP-AGENT
"""
import os
import socket
import sys
import tempfile

import harness
from hostile import Crowd

SECONDS = 600  # nothing here may take longer, whatever the machine's load
MEMORY = 1024 * 1024  # KiB: the most that any of the programs may ever have had in memory


def run(*command):
    return harness.run(*command, status=None, timeout=SECONDS)


def expect(what, done, status, *texts):
    """The status, and in stderr or stdout one line that holds all the texts."""
    statuses = status if isinstance(status, tuple) else (status,)
    lines = (done.stderr + done.stdout).splitlines()
    if done.returncode not in statuses or not any(all(t in line for t in texts) for line in lines):
        sys.exit("%s: exit %d, expected %s and a line with %s\n%s%s" %
                 (what, done.returncode, status, " and ".join(texts), done.stdout, done.stderr))
    print("ok - %s" % what)


CASE = """return case {
  id = "%s", purpose = "p", rules = { "%s" }, role = "responder",
  run = function(t) %s end,
}
"""


def scripts(conform, folder):
    def one(name, text, *options):
        cases = os.path.join(folder, name)
        harness.write(os.path.join(cases, "x.lua"), text)
        return run(conform, "run", "--cases", cases, "--results", folder, *options)

    expect("a syntax error in a script", one("syntax", "return case {\n  id = = 3 }"), 70, "x.lua:2")
    expect("an unknown rule id", one("rule", CASE % ("a-case", "MPA-99.9-01", "")), 70, "x.lua:",
           "MPA-99.9-01")
    expect("a misspelt field", one("field", "return case { idd = 'x' }"), 70, "x.lua:", "idd")
    expect("an error while running", one("error", CASE % ("a-case", "MPA-4.1-01", "nothing()")), 70,
           "x.lua:3")
    expect("a script that loops for ever",
           one("loop", (CASE % ("a-case", "MPA-4.1-01", "while true do end"))
               .replace("role =", "deadline = 1, role =")), 70, "x.lua:")
    expect("a script that eats memory",
           one("memory", CASE % ("a-case", "MPA-4.1-01",
                                 "local x = {} while true do x[#x + 1] = ('y'):rep(1e6) .. #x end")),
           70, "memory")


def options(conform, folder):
    expect("an unknown option", run(conform, "run", "--nonsense"), 64, "nonsense")
    expect("an unknown command", run(conform, "dance"), 64, "dance")
    expect("a selection that matches nothing", run(conform, "run", "--select", "no-such-case"), 64,
           "no-such-case")
    expect("an unknown case to show", run(conform, "show", "no-such-case"), 64, "no-such-case")
    expect("a broken target", run(conform, "run", "--target", "tcp:nowhere"), 64, "tcp:nowhere")
    expect("an unknown target file", run(conform, "run", "--target", "no-such-target"), 64,
           "no-such-target")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))  # held, so that nobody else listens there
        port = s.getsockname()[1]
        expect("an unreachable target",
               run(conform, "run", "--target", "tcp:127.0.0.1:%d" % port, "--results", folder), 3,
               "127.0.0.1:%d" % port)


def programs(peer, agent):
    with socket.create_server(("127.0.0.1", 0)) as s:
        busy = "127.0.0.1:%d" % s.getsockname()[1]
        expect("a busy port (peer)", run(peer, "listen", busy), 69, busy)
        expect("a busy port (agent)", run(agent, "--listen", busy), 69, busy)
    expect("a bad switch", run(peer, "listen", "127.0.0.1:0", "--ignore", "no-such-check"), 64,
           "no-such-check")


def silent(wire):
    wire.idle()


def flood(wire):
    while True:
        wire.send(bytes(65536))


def drip(wire):
    for octet in b"MPA ID Rep Frame\x50\x02\x00\x04\x00\x10\x00\x10" + bytes(1000):
        wire.send(bytes([octet]))
        wire.pause(1)


def garbage(wire):
    wire.send(bytes((i * 7919 >> 3) & 255 for i in range(100000)))
    wire.idle()


def played(conform, folder, select, port):
    return run(conform, "run", "--target", "tcp:127.0.0.1:%d" % port, "--results", folder, "--select", select, "-j", "1")


def hostile(conform, folder):
    for behave, said in ((silent, "speaks no MPA"), (flood, "speaks no MPA"), (drip, "mpa-startup-reply"), (garbage, "speaks no MPA")):
        with Crowd() as crowd:
            done = played(conform, folder, "mpa-startup-reply", crowd.listen(behave))
        expect("a peer that is %s" % behave.__name__, done, (1, 3), said)
    with Crowd() as crowd:
        # Once a Request has come, nobody listens any more.
        port = crowd.listen(lambda wire: wire.recv(1) and crowd.close())
        done = played(conform, folder, "mpa-startup-re*", port)
    # Refused or, where the kernel had already taken the connection, reset: both are failures.
    expect("a peer that ends at the first Request", done, 1, "FAIL mpa-startup-re")


def main(conform, peer, agent):
    with tempfile.TemporaryDirectory() as folder:
        scripts(conform, folder)
        options(conform, folder)
        programs(peer, agent)
        hostile(conform, folder)
    harness.check_memory(conform, MEMORY)


if __name__ == "__main__":
    harness.start(main, __doc__)
