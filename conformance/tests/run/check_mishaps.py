#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A peer that dies, hangs, leaks or is gone for a moment: it is found once, and charged to the case whose doing it is.

usage: check_mishaps.py IWARP-CONFORM IWARP-AGENT
"""
import os
import sys
import tempfile

import harness

HERE = os.path.dirname(os.path.abspath(__file__))
PEER, AGENT = os.path.join(HERE, "mishap_peer.py"), os.path.join(HERE, "hanging_agent.py")
CASES = """
local words = { %s }
local list = {}
for i, word in ipairs(words) do
  list[i] = case {
    id = ("case-%%d-%%s"):format(i, word), purpose = "p", rules = { "MPA-8-02" }, role = "responder",
    run = function(t)
      t:connect { private = word }
      if word == "now-shuts" then t:connect {} end
    end,
  }
end
return list
"""
GOOD = "fine"
MANY = 30  # cases in which the peer rests: together they outlast mishap_peer.LATE
SEGV = "was killed by signal 11 (Segmentation fault)"


class Check(harness.Bench):
    def play(self, what, words, start="exec {program}", status=1, scale="0.3", peer="bare", **fields):
        """Plays a case for each word against a peer that was started in this way. Returns the report."""
        self.write("cases/all.lua", CASES % ", ".join('"%s"' % word for word in words))
        command = start.replace("{program}", "%s -B %s {port}" % (sys.executable, PEER))
        more = "".join(", %s = %s" % field for field in fields.items())
        target = self.write("peer.lua", "return { class = '%s', address = '127.0.0.1', ready = 'listening on', start = [[%s]]%s }\n"
                            % (peer, command, more))
        done = self.run(None, "run", "--target", target, "--cases", self.at("cases"), "--results", self.at("results"), "--time-scale", scale)
        report = harness.load(self.at("results", "run.json"))
        print("%5.1f s: %s" % (report["seconds"], what))
        harness.equal(what + ": exit status", done.returncode, status)
        again = self.run(None, "run", "--resume", self.at("results"))
        harness.equal(what + ": the journal can be read", (again.returncode, again.stderr.count("expected")), (status, 0))
        return report

    def expect(self, what, words, charged, text, **more):
        """One finding, of the cases with the numbers `charged`; all others pass. Returns it."""
        report = self.play(what, words, **more)
        ids = ["case-%d-%s" % (i + 1, word) for i, word in enumerate(words)]
        harness.equal(what + ": verdicts", {case["id"]: case["verdict"] for case in report["cases"]},
                      {one: "FAIL" if i in charged else "PASS" for i, one in enumerate(ids, 1)})
        harness.equal(what + ": findings", [finding["cases"] for finding in report["findings"]], [[ids[i - 1] for i in charged]] if charged else [])
        for finding in report["findings"]:
            harness.expect(what + ": no rule, and what happened", finding["rule"] is None and text in finding["text"], finding)
        return report


def check_deaths(check):
    check.expect("at once", [GOOD, "now-exits", GOOD], [2], "ended with status 3")
    many = ["rests"] * MANY
    check.expect("late", [GOOD, "dies", *many], [2], SEGV)
    check.expect("late, two cases", ["dies", *many, "dies", *many], [1, MANY + 2], SEGV)
    check.expect("late, the last one", [GOOD, "exits"], [2], "ended with status 3")
    check.expect("a report, and it goes on", [GOOD, "odd", GOOD, GOOD], [2], "UndefinedBehaviorSanitizer: shift exponent")


def check_names(check):
    """The program is named, not its shell."""
    name = os.path.basename(sys.executable)
    for start in ("exec {program}", "{program}", "true; {program}; exit $?", "{program} & wait $!"):
        check.expect(start, [GOOD, "crashes", GOOD], [2], "%s %s" % (name, SEGV), start=start)


def check_hangs(check):
    text = " answered nothing on two connections in a row, each for 1 s"
    check.expect("hangs at once", [GOOD, "now-hangs", GOOD], [2], text, longest_timer=1)
    check.expect("hangs later", [GOOD, GOOD, "hangs", GOOD, GOOD], [3], text, longest_timer=1)
    check.expect("two cases, one hang", ["now-hangs", GOOD, "now-hangs", GOOD], [1, 3], text, longest_timer=1)
    check.expect("a report, and it hangs", [GOOD, "now-stuck", GOOD], [2], "UndefinedBehaviorSanitizer: shift exponent", longest_timer=1)
    check.expect("slow", [GOOD, "slow", GOOD], [], "", status=0, scale="1", longest_timer=4)


def check_agent(check, program):
    """An agent that no longer answers its calls."""
    port = harness.free_port()
    check.expect("an agent hangs", [GOOD, "hangs", GOOD], [2], " answered no two calls of its agent in a row, each for 1 s", peer="agent",
                 start="exec %s -B %s %s %d" % (sys.executable, AGENT, program, port), agent="'127.0.0.1:%d'" % port, longest_timer=1)


def check_from_outside(check):
    """A peer that somebody else has started, and that nobody starts again."""
    check.write("cases/all.lua", CASES % ", ".join('"%s"' % word for word in [GOOD, "hangs", GOOD, GOOD, GOOD, GOOD]))
    target = check.write("outside.lua", "return { class = 'bare', address = '127.0.0.1', port = %d, longest_timer = 1 }\n")
    with harness.Peer(sys.executable, "-B", PEER, "0", says=r"listening on (?P<port>\d+)", strict=False, stderr=None) as peer:
        harness.write(target, harness.read(target) % peer.port)
        done = check.run(None, "run", "--target", target, "--cases", check.at("cases"), "--results", check.at("results"), "--time-scale", "0.3")
    report = harness.load(check.at("results", "run.json"))
    harness.equal("outside: exit status", done.returncode, 1)
    harness.equal("outside: verdicts", [case["verdict"] for case in report["cases"]], ["PASS", "FAIL"] + ["INCONCLUSIVE"] * 4)
    harness.equal("outside: findings", [(finding["rule"], finding["cases"], finding["text"]) for finding in report["findings"]],
                  [(None, ["case-2-hangs"], "the target hangs: it answered nothing on two connections in a row, each for 1 s")])


def check_moments(check):
    check.expect("no listener for a moment", [GOOD, "deaf", GOOD, GOOD], [], "", status=0)


def check_ends(check):
    """A peer that ends after each connection: by design, or not."""
    once = "exec {program} once"
    check.expect("ends by design", [GOOD, GOOD, GOOD], [], "", status=0, start=once, ends="'connection'")
    check.expect("crashes none the less", [GOOD, "crashes", GOOD], [2], SEGV, start=once, ends="'connection'")
    findings = check.play("not by design", [GOOD, GOOD], start=once)["findings"]
    harness.expect("not by design", len(findings) == 1 and "ended with status 1" in findings[0]["text"], findings)
    peer = "%s -B %s {port}" % (sys.executable, PEER)
    for words, found in ((" once", True), ("", False)):
        target = check.write("raw.lua", "return { address = '127.0.0.1', ready = 'listening on', start = [[exec %s]] }\n" % (peer + words))
        written = check.run(0, "probe", target, "--time-scale", "0.1").stdout
        harness.equal("probe%s" % words, 'ends = "connection"' in written, found)


def check_leaks(check):
    check.expect("a leak", [GOOD, GOOD, GOOD, "leaks", GOOD, GOOD], [4], "LeakSanitizer: leak in keep_request (peer.c:7)")
    check.expect("a leak of a target that ends", [GOOD, "clings", GOOD], [2], "LeakSanitizer: leak in keep_request", start="exec {program} once",
                 ends="'connection'")
    check.expect("a leak in a case that still runs", [GOOD, "now-shuts", GOOD], [2], "LeakSanitizer: leak in keep_request")
    check.expect("a leak in a shell's program", [GOOD, "leaks", GOOD], [2], "LeakSanitizer: leak in keep_request", start="{program}; true")


def main(conform, agent):
    with tempfile.TemporaryDirectory() as folder:
        check = Check(conform, folder)
        check_deaths(check)
        check_names(check)
        check_hangs(check)
        check_agent(check, agent)
        check_from_outside(check)
        check_moments(check)
        check_ends(check)
        check_leaks(check)
    harness.conclude()


if __name__ == "__main__":
    harness.start(main, __doc__)
