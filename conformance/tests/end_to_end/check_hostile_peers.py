#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whatever a peer does, iwarp-conform ends in time and in bounded memory, with a verdict about the peer.

usage: check_hostile_peers.py IWARP-CONFORM RUNS [FIRST]

First comes what went wrong once. Run number n (FIRST, or 0, and on) is the same each time as far as a network allows. A run plays a few cases drawn at
random; its target is an MPA port, or connects, or is an agent's control port (see hostile.py). No case may be an
ERROR; ANCHORS, which ask for what none of these peers can know, must not pass.
"""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

import harness
import hostile

MEMORY = 320 * 1024  # KiB that a process may ever have had; the log of a case, its capture and 64 MiB of Lua are in it
SLOWER = 5  # the factor that a sanitizer costs
ADDRESSES = 1024 * 1024  # KiB of addresses, where no sanitizer needs them all
# Seconds, from iwarp-conform.1: of a case, of its end (4 patiences and 2), of reaching the target.
CASE, ENDING, REACH = 20, 4 * 3 + 2, 5 + 10
LOAD = 600  # seconds that a busy machine may add to a run
CASES = 6
ANCHORS = {"responder": "mpa-crc-bad", "initiator": "mpa-crc-bad-initiator"}
ROLES = tuple(ANCHORS)

# A target that can be made to connect: its address goes to a port of ours.
CONNECTS = """return {
  class = "rping", %s connect = "bash -c 'echo {host} {port} >/dev/tcp/127.0.0.1/%d'",
}
"""
LISTENS = "address = \"127.0.0.1\", port = %d,"

RESET_BEFORE = hostile.ResetBefore()

# Settings that failed once: an agent or None, the MPA port, the seed of both, cases.
KNOWN = (
    (hostile.agent_null_features, hostile.nothing, 0, ["empa-rtr-chosen-send", "empa-rtr-taken-read"]),
    (hostile.agent_stale, hostile.nothing, 0, ["rdmap-send-basic", "rdmap-send-basic-initiator"]),
    (hostile.agent_flood, hostile.nothing, 0, ["rdmap-send-basic", "rdmap-send-basic-initiator"]),
    (hostile.agent_refuses, hostile.nothing, 1, ["rdmap-send-basic", "ddp-write-both-ends"]),
    (hostile.agent_wrong_replies, hostile.nothing, 1, ["rdmap-send-basic", "ddp-write-both-ends"]),
    (RESET_BEFORE.agent, RESET_BEFORE.port, 1, ["mpa-crc-bad"]),
    (None, hostile.endless_octets, 0, ["mpa-startup-reply", "mpa-startup-rev1"]),
    (None, hostile.fast_drip, 1, ["mpa-startup-reply", "mpa-startup-rev1"]),
    (None, hostile.one_huge_message, 0, ["rdmap-read-basic", "rdmap-rsv-read-request"]),
    (None, hostile.drip, 0, ["mpa-startup-reply", "mpa-startup-rev1"]),
)


class Check:
    def __init__(self, conform, folder):
        self.conform, self.folder = conform, folder
        self.sanitized = harness.sanitized(conform)
        self.verdicts, self.longest = {}, 0
        self.fitting = self.suite()

    def suite(self):
        """The cases that fit: {class: {role: [id]}}. To learn those of rping each is played against a peer that
        closes at once."""
        listed = harness.run(self.conform, "list").stdout
        cases = re.findall(r"^(\S+) +(?:must|should|may) +(responder|initiator) ", listed, re.MULTILINE)
        with hostile.Crowd() as crowd:
            port, door = crowd.listen(lambda wire: None), crowd.listen(lambda wire: wire.line())
            path = harness.write(os.path.join(self.folder, "both.lua"), CONNECTS % (LISTENS % port, door))
            played = self.play("closing at once", path, 0.02, [id for id, _ in cases], 8)
        skipped = {case["id"] for case in played if case["verdict"] == "SKIP"}
        return {"agent": {role: [id for id, r in cases if r == role] for role in ROLES},
                "rping": {role: [id for id, r in cases if r == role and id not in skipped] for role in ROLES}}

    def play(self, name, target, scale, ids, jobs=1):
        """Runs cases against a target and returns their results, or ends everything."""
        scale *= SLOWER if self.sanitized else 1
        results = os.path.join(self.folder, "results")
        report = os.path.join(self.folder, "report.json")
        bound = (REACH + len(ids) * (CASE + ENDING)) * scale + LOAD
        command = [self.conform, "run", "--target", target, "--results", results, "--time-scale", str(scale),
                   "--json", report, "-j%d" % jobs, *ids]
        if not self.sanitized:
            command[:0] = ["bash", "-c", "ulimit -v %d; exec \"$@\"" % ADDRESSES, "-"]
        began = time.monotonic()
        try:
            done = harness.run(*command, status=None, timeout=bound, errors="replace")
        except subprocess.TimeoutExpired:
            sys.exit("%s: no end within %.1f s: %s" % (name, bound, " ".join(command)))
        self.longest = max(self.longest, time.monotonic() - began)
        cases = harness.load(report)["cases"] if done.returncode in (0, 1, 3, 70) else []
        wrong = ["%s %s: %s" % (case["verdict"], case["id"], case.get("reason")) for case in cases
                 if case["verdict"] == "ERROR" or case["verdict"] == "PASS" and case["id"] in ANCHORS.values()]
        if done.returncode not in (0, 1, 3) or wrong or not self.sanitized and harness.peak() > MEMORY:
            sys.exit("%s: exit %d, %d MiB at most\n%s%s\n%s" %
                     (name, done.returncode, harness.peak() // 1024, done.stderr[-3000:],
                      "\n".join(wrong), " ".join(command)[:1000]))
        for case in cases:
            self.verdicts[case["verdict"]] = self.verdicts.get(case["verdict"], 0) + 1
        shutil.rmtree(results)
        return cases

    def known(self, agent, peer, seed, ids):
        with hostile.Crowd() as crowd:
            port = crowd.listen(lambda wire: peer(wire, random.Random(seed), False))
            target = "tcp:127.0.0.1:%d,class=rping" % port
            if agent:
                control = crowd.listen(lambda wire: agent(wire, random.Random(seed), port))
                target = "tcp:127.0.0.1:%d,class=agent" % control
            name = "%s with %s" % (agent.__name__ if agent else "no agent", peer.__name__)
            self.play(name, target, 0.1, ids)

    def target(self, rng, crowd):
        """Name, class and text of one that is drawn, and the roles in which it can be played."""
        def mpa(called):
            peer = rng.choice(hostile.PEERS)
            return peer, lambda wire: peer(wire, random.Random(rng.getrandbits(64)), called)

        kind = rng.randrange(10)
        peer, act = mpa(5 <= kind < 7)
        if kind < 5:
            return peer.__name__, "rping", "tcp:127.0.0.1:%d,class=rping" % crowd.listen(act), ROLES[:1]
        if kind < 7:
            times = rng.choice((1, 1, 5))

            def ring(wire):
                host, port = wire.line().decode().split()
                for _ in range(times):
                    crowd.connect(host, int(port), act)

            path = harness.write(os.path.join(self.folder, "connects.lua"), CONNECTS % ("", crowd.listen(ring)))
            return "%s, %d times" % (peer.__name__, times), "rping", path, ROLES[1:]
        agent = rng.choice(hostile.AGENTS)
        port = crowd.listen(act)
        control = crowd.listen(lambda wire: agent(wire, random.Random(rng.getrandbits(64)), port))
        return ("%s with %s" % (agent.__name__, peer.__name__), "agent", "tcp:127.0.0.1:%d,class=agent" % control,
                ROLES)

    def run(self, number):
        rng = random.Random(number)
        # Mostly in a hurry; now and then there is time for a flood.
        scale = rng.choice((0.02, 0.02, 0.02, 0.02, 0.1, 0.5))
        with hostile.Crowd() as crowd:
            name, fits, target, roles = self.target(rng, crowd)
            ids = [ANCHORS[role] for role in roles]
            for role in roles:
                ids += rng.sample(self.fitting[fits][role], CASES // len(roles))
            self.play("run %d: %s" % (number, name), target, scale, ids)


def main(conform, runs, first=0):
    runs, first = int(runs), int(first)
    with tempfile.TemporaryDirectory() as folder:
        check = Check(conform, folder)
        for case in KNOWN:
            check.known(*case)
        for number in range(first, first + runs):
            check.run(number)
    print("ok - %d runs, %d cases: %s; the longest run %.1f s, at most %d MiB" %
          (runs, sum(check.verdicts.values()), ", ".join("%d %s" % (n, v) for v, n in sorted(check.verdicts.items())),
           check.longest, harness.peak() // 1024))


if __name__ == "__main__":
    harness.start(main, __doc__)
