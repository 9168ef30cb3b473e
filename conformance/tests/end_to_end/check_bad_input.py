#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every failure around iwarp-conform gets one clear line and the right exit status, in time.

usage: check_bad_input.py IWARP-CONFORM IWARP-PEER IWARP-AGENT
"""
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

import memory

SECONDS = 600  # nothing here may take longer, whatever the machine's load
MEMORY = 1024 * 1024  # KiB: the most that any of the programs may ever have had in memory


def run(*command, cwd=None):
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, cwd=cwd,
                          stdin=subprocess.DEVNULL)


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
        os.makedirs(cases)
        with open(os.path.join(cases, "x.lua"), "w", encoding="utf-8") as f:
            f.write(text)
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


class Hostile:
    """A TCP peer that answers every connection with `behave` in a thread of its own."""

    def __init__(self, behave):
        self.behave, self.over = behave, False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(0.1)
        self.threads = [threading.Thread(target=self.accept)]
        self.threads[0].start()

    def accept(self):
        while not self.over:
            try:
                s, _ = self.listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return  # closed by `behave`
            thread = threading.Thread(target=self.serve, args=(s,))
            self.threads.append(thread)
            thread.start()

    def serve(self, s):
        with s:
            s.settimeout(0.1)
            try:
                self.behave(self, s)
            except OSError:
                pass

    def wait(self, s, seconds):
        """Waits, but no longer than the tester's side of the connection lives."""
        end = time.monotonic() + seconds
        while not self.over and time.monotonic() < end:
            try:
                if s.recv(65536) == b"":
                    return False
            except TimeoutError:
                pass
        return not self.over

    def __enter__(self):
        return self.listener.getsockname()[1]

    def __exit__(self, *_):
        self.over = True
        for thread in self.threads:
            thread.join()
        self.listener.close()


def silent(self, s):
    self.wait(s, 1000)


def flood(self, s):
    block = bytes(65536)
    while not self.over:
        try:
            s.send(block)
        except TimeoutError:
            pass


def drip(self, s):
    for octet in b"MPA ID Rep Frame\x50\x02\x00\x04\x00\x10\x00\x10" + bytes(1000):
        s.send(bytes([octet]))
        if not self.wait(s, 1):
            return


def garbage(self, s):
    s.sendall(bytes((i * 7919 >> 3) & 255 for i in range(100000)))
    self.wait(s, 1000)


def crash(self, s):
    """Once a Request has come, nobody listens any more."""
    if s.recv(1):
        self.listener.close()
        self.over = True


def hostile(conform, folder):
    for behave in (silent, flood, drip, garbage):
        with Hostile(behave) as port:
            done = run(conform, "run", "--target", "tcp:127.0.0.1:%d" % port, "--results", folder,
                       "--select", "mpa-startup-reply", "-j", "1")
        expect("a peer that is %s" % behave.__name__, done, (1, 3), "mpa-startup-reply")
    with Hostile(crash) as port:
        done = run(conform, "run", "--target", "tcp:127.0.0.1:%d" % port, "--results", folder,
                   "--select", "mpa-startup-re*", "-j", "1")
    # Refused or, where the kernel had already taken the connection, reset: both are failures.
    expect("a peer that ends at the first Request", done, 1, "FAIL mpa-startup-re")


def main(conform, peer, agent):
    with tempfile.TemporaryDirectory() as folder:
        scripts(conform, folder)
        options(conform, folder)
        programs(peer, agent)
        hostile(conform, folder)
    memory.check(conform, MEMORY)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
