#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Plays the example sessions of PROTOCOL.md against iwarp-agent: check_protocol.py AGENT PROTOCOL.md [--show]

A block of lines "> ..." (the client's) and "< ..." (the agent's) is one session. What the agent says must be what stands
there, but for values that no document can know: ports, STags, TOs, versions. The first time such a value appears it stands
for the agent's own, also in later requests. Events of different connections may come in another order than they are written.
Every verb that the agent offers and every event must be in a table and in an example."""

import json
import os
import re
import socket
import subprocess
import sys
import tempfile

import harness

PATIENCE = 60
UNKNOWN = {"port", "stag", "to", "version", "kernel", "remote_stag", "remote_to", "invalidate_stag", "invalidated"}


def sessions(text):
    block = []
    for line in text.splitlines() + [""]:
        match = re.match(r"    ([<>]) (.*)$", line)
        if match:
            block.append((match.group(1), match.group(2)))
        elif block and not line.startswith("    "):
            yield block
            block = []


class Fail(Exception):
    pass


class Player:
    def __init__(self, agent, show):
        self.agent, self.show = agent, show
        self.verbs, self.events = set(), set()

    def real(self, value, key=None):
        """A value as written, with the agent's own in place of those that stand for them."""
        if isinstance(value, dict):
            return {k: self.real(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [self.real(v, key) for v in value]
        if key in UNKNOWN and str(value) in self.names:
            return self.names[str(value)]
        return value

    def same(self, written, said, names, key=None):
        if isinstance(written, dict) and isinstance(said, dict):
            return list(written) == list(said) and all(self.same(written[k], said[k], names, k) for k in written)
        if key in UNKNOWN and type(written) is type(said):
            return names.setdefault(str(written), said) == said
        return written == said

    def expect(self, line, waiting):
        """Finds what the agent said among the lines that may come now, and takes it away."""
        said = json.loads(line)
        conns = set()
        for i, text in enumerate(waiting):
            written = json.loads(text)
            lane = written.get("conn") if "event" in written else "reply"
            names = dict(self.names)
            if lane not in conns and self.same(written, said, names):
                self.names = names
                self.events.add(said.get("event"))
                del waiting[i]
                return
            conns.add(lane)
        raise Fail("the agent said\n  %s\nexpected one of\n  %s" % (line, "\n  ".join(waiting)))

    def settle(self, waiting):
        while waiting:
            line = self.stream.readline()
            if not line:
                raise Fail("the agent closed the connection; expected\n  %s" % "\n  ".join(waiting))
            if self.show:
                print("<", line.rstrip())
            self.expect(line.rstrip("\n"), waiting)

    def play(self, block):
        with tempfile.NamedTemporaryFile("w", suffix=".token") as token:
            first = block[0][1]
            secret = None if first.startswith("{") else first
            arguments = [self.agent]
            if secret:
                token.write(secret if secret != "wrong-token-0123" else "another-token-0123")
                token.flush()
                arguments += ["--token-file", token.name]
            with harness.Peer(*arguments) as peer:
                self.talk(block, peer.port)

    def talk(self, block, port):
        self.names = {}
        waiting = []
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as s, s.makefile("r") as self.stream:
            for who, text in block:
                if who == "<":
                    waiting.append(text)
                    continue
                self.settle(waiting)
                line = text
                if text.startswith("{"):
                    request = json.loads(text)
                    self.verbs.add(request["do"])
                    line = json.dumps(self.real(request))
                if self.show:
                    print(">", line)
                s.sendall(line.encode() + b"\n")
            self.settle(waiting)


def main(agent, path, show=""):
    text = harness.read(path)
    player = Player(agent, show == "--show")
    count = 0
    for block in sessions(text):
        count += 1
        try:
            player.play(block)
        except (Fail, ValueError, OSError) as e:
            sys.exit("not ok - session %d (%s): %s" % (count, block[0][1], e))
        print("ok - session %d" % count)
    events = set(re.findall(r"^\| `([a-z-]+)` \| .*$", text.split("## Events")[1].split("## ")[0], re.M))
    verbs = set(re.findall(r"^\| `([a-z_]+)` \| .*$", text.split("## Verbs")[1].split("| field |")[0], re.M))
    offered = offers(agent)
    for what, missing in (("verbs that the agent offers and no table has", offered - verbs),
                          ("verbs of the table that the agent does not offer", verbs - offered),
                          ("verbs in no example", verbs - player.verbs), ("events in no example", events - player.events),
                          ("events in no table", player.events - events - {None})):
        if missing:
            sys.exit("not ok - %s: %s" % (what, " ".join(sorted(missing))))
    print("ok - %d verbs and %d events" % (len(verbs), len(events)))


def offers(agent):
    ours, its = socket.socketpair()
    with ours, its:
        process = subprocess.Popen([agent, "--control-fd", str(its.fileno())], pass_fds=[its.fileno()])
        its.close()
        ours.sendall(b'{"id":1,"do":"hello"}\n')
        reply = json.loads(ours.makefile().readline())
        ours.close()
        process.wait(PATIENCE)
    return set(reply["features"]["verbs"])


if __name__ == "__main__":
    os.environ.pop("IWARP_AGENT_TOKEN", None)
    harness.start(main, __doc__)
