#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""iwarp-fuzz finds a planted fault, shows it by a case, and finds none where there is none.

usage: check_fuzz.py BIN PCAPS [PART]...
"""
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import harness

TARGET = """return {
  name = "%s", class = "bare", address = "127.0.0.1", start = "exec %s listen {host}:{port} --size 4096 --buffers 8",
  ready = "listening on", crc = "on", markers = "off", can = { "extensions" },
}
"""
# Surroundings that end as a whole when the peer does, as a kernel would.
INSIDE = """return {
  name = "kernel", class = "bare", address = "127.0.0.1",
  inside = "test ! -e %(dead)s || exit 3; echo $$ >%(pid)s; exec {command}", restart = "rm %(dead)s",
  start = "%(peer)s listen {host}:{port} --size 4096 --buffers 8 || { echo panic: 0x$$abc >%(dead)s; kill -9 $(cat %(pid)s); }",
  console = "echo noise; sed 's/panic: /Kernel panic - not syncing: planted at /' %(dead)s",
  ready = "listening on", crc = "on", markers = "off", can = { "extensions" },
}
"""
# The hunt inside is killed once, and its surroundings live on. Its peer reports its coverage in a file.
KILLED = """return {
  name = "kernel", class = "bare", address = "127.0.0.1",
  inside = "echo $$ >%(pid)s; exec {command}", restart = "true", coverage = "%(map)s",
  start = "test -e %(once)s || { touch %(once)s; kill -9 $(cat %(pid)s); }; exec %(peer)s listen {host}:{port} --size 4096 --buffers 8",
  ready = "listening on", crc = "on", markers = "off", can = { "extensions" },
}
"""
# An agent between, that changes what it says of memory from that look on.
BETWEEN = """#!%s
import re, socket, subprocess, sys, threading
own, other = socket.socketpair()
subprocess.Popen([%r, "--control-fd", str(other.fileno()), *sys.argv[3:]], pass_fds=[other.fileno()])
other.close()
fuzzer, looks = socket.socket(fileno=int(sys.argv[2])), 0
threading.Thread(target=lambda: [own.sendall(data) for data in iter(lambda: fuzzer.recv(65536), b"")] and own.shutdown(socket.SHUT_WR)).start()
for line in own.makefile("rb"):
    looks += b'"hex"' in line
    fuzzer.sendall(re.sub(rb'"hex": *"[0-9a-f]*"', %r, line) if looks >= %d else line)
"""
CALLING = """return {
  class = "rping", crc = "on", markers = "off", can = { "extensions" },
  connect = "exec %s connect {host}:{port} --personality rping --count 3 --startup-timeout 5000",
}
"""
WRONG = (
    (["--target", "nowhere:1"], "--target nowhere:1: "),
    (["--target", "tcp:192.0.2.1:7"], "--target tcp:192.0.2.1:7: a peer on another host that is not started from here"),
    (["--count", "0"], "--count 0: expected a number from 1 to"),
    (["--time", "soon"], "--time soon: expected a number above 0"),
    (["--seed", "-1"], "--seed -1: expected a number from 0 to"),
    (["--rate", "0"], "--rate 0: expected a number above 0"),
    (["--jobs", "33"], "--jobs 33: expected a number from 1 to 32"),
    (["--targets", "17"], "--targets 17: expected a number from 1 to 16"),
    (["--minimise", "0"], "--minimise 0: expected a number above 0"),
    (["--targets", "2", "--target", "tcp:127.0.0.1:1"], "--targets: expected a target that is started from here, at a port that is free"),
    (["--findings", "x"], "--findings x: expected a number from 1 to"),
    (["--time-scale", "0"], "--time-scale 0: expected a number above 0, at most 1000"),
    (["--seeds", "/dev/null"], "--seeds /dev/null"),
    (["--suppress", "/nowhere"], "--suppress /nowhere: No such file or directory"),
    (["--suppress", "/"], "--suppress /: Is a directory"),
    (["--count"], "--count: expected a value"),
    (["--frob"], "--frob: unknown option; see --help"),
    (["-xy"], ": -x: unknown option; see --help"),
    (["--blind", "-xy"], ": -x: unknown option; see --help"),
    (["--blind=1"], ": --blind=1: takes no value"),
    (["word"], "word: unexpected argument; see --help"),
)


class Check:
    def __init__(self, folder, scratch, pcaps):
        self.bin, self.scratch, self.pcaps = os.path.abspath(folder), scratch, pcaps

    def at(self, *names):
        return os.path.join(self.scratch, *names)

    def program(self, name):
        return os.path.join(self.bin, name)

    def target(self, name, environment=""):
        """A target file; the peer gets a path of its own, so that the test can distinguish it from others."""
        own = self.at(os.path.basename(name))
        if not os.path.exists(own):
            os.symlink(self.program(name), own)
        return harness.write(self.at(os.path.basename(name) + ".lua"), TARGET % (os.path.basename(name), environment + own))

    def run(self, *arguments, results="r"):
        results = self.at(results)
        report = results + ".json"
        done = harness.run(self.program("iwarp-fuzz"), "--results", results, "--json", report, *arguments, status=None)
        whole = None
        if os.path.exists(report):
            whole = harness.load(report)
            os.remove(report)
        self.no_leftovers()
        return done, whole

    def leftovers(self):
        """The command lines of other processes that name a peer of ours."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                line = harness.octets("/proc", pid, "cmdline")
            except OSError:
                continue
            if int(pid) != os.getpid() and (self.scratch + "/iwarp-peer").encode() in line:
                yield line

    def no_leftovers(self):
        """What was signalled ends; on a busy machine that takes a while."""
        until = time.monotonic() + 300
        while left := list(self.leftovers()):
            assert time.monotonic() < until, "left behind: %r" % left
            time.sleep(0.02)

    def finds_what_was_planted(self):
        target = self.target("tests/iwarp-peer-planted")
        done, report = self.run("--target", target, "--seed", "1", "--findings", "1", "--count", "100000",
                                "--minimise", "120", results="planted")
        assert done.returncode == 1, done
        finding = report["findings"][0]
        assert finding["kind"] == "crash" and "signal 6" in finding["text"], finding
        assert finding["connections"] == 1 and finding["steps"] <= 16, finding
        assert finding["verdict"].startswith("FAIL"), finding
        assert os.path.exists(finding["pcap"]), finding
        print("planted fault: sequence %d, %.1f s, %d steps" %
              (finding["sequence"], finding["seconds"], finding["steps"]))
        played = self.play(target, finding["case"])
        assert played.returncode == 1 and "\nFAIL fuzz-1-crash" in "\n" + played.stdout, played
        # A clean peer passes.
        played = self.play(self.target("iwarp-peer"), finding["case"])
        assert played.returncode == 0 and "\n1 PASS" in "\n" + played.stdout, played
        self.is_told_what_is_known(target, finding)

    def is_told_what_is_known(self, target, finding):
        known = self.at("known")
        harness.write(known, '# of this peer\n*%s* "planted"\n' % finding["key"].split(",")[0])
        done, report = self.run("--target", target, "--seed", "1", "--count", "%d" % (finding["sequence"] + 50),
                                "--suppress", known, results="suppressed")
        assert done.returncode == 0, done
        assert all(f["known"] == "planted" for f in report["findings"]), report
        harness.write(known, "rule mpa-crc without a reason\n")
        done, _ = self.run("--suppress", known)
        assert done.returncode == 64 and done.stderr == 'iwarp-fuzz: %s:1: expected GLOB "reason"\n' % known, done

    def finds_what_hangs(self):
        # Each try that hangs takes its 1.5 s: those that it has are too few to get always as small.
        self.finds_what_answers_no_more("hang", "hang", "a right Request is not answered any more", 32)

    def finds_what_refuses(self):
        self.finds_what_answers_no_more("refuse", "refusal", "connections are not accepted any more", 16)

    def finds_what_answers_no_more(self, how, kind, text, steps):
        target = self.target("tests/iwarp-peer-planted", "env IW_PLANTED=%s " % how)
        done, report = self.run("--target", target, "--seed", "1", "--findings", "1", "--count", "100000",
                                "--time-scale", "0.5", "--minimise", "120", results=kind)
        assert done.returncode == 1, done
        finding = report["findings"][0]
        assert (finding["kind"], finding["text"]) == (kind, text), finding
        assert finding["connections"] == 1 and finding["steps"] <= steps, finding
        assert finding["verdict"].startswith("FAIL"), finding
        print("planted %s: sequence %d, %.1f s, %d steps, %s" %
              (kind, finding["sequence"], finding["seconds"], finding["steps"], finding["verdict"]))

    def outlives_what_it_is_in(self):
        self.target("tests/iwarp-peer-planted")
        path = self.at("kernel.lua")
        harness.write(path, INSIDE % {"dead": self.scratch + "/dead", "pid": self.scratch + "/pid",
                                      "peer": self.scratch + "/iwarp-peer-planted"})
        done, report = self.run("--target", path, "--seed", "1", "--findings", "1", "--count", "100000",
                                "--minimise", "120", results="kernel")
        assert done.returncode == 1, done
        finding = report["findings"][0]
        assert finding["kind"] == "crash" and finding["key"].startswith(
            "crash the target's kernel ended: Kernel panic - not syncing: planted at X, after"), finding
        assert (finding["verdict"] or "").startswith("FAIL"), (finding, done)
        assert finding["steps"] <= 16 and len(finding["pattern"]) > 4, finding
        assert report["restarts"] > 2 and report["sequences"] > 0, report
        # Another hunt that puts its results there begins anew.
        if os.path.exists(self.scratch + "/dead"):
            os.remove(self.scratch + "/dead")
        again, other = self.run("--target", path, "--seed", "1", "--count", "1", results="kernel")
        assert again.returncode == 0 and other["findings"] == [], (again, other)
        print("in a kernel: %d restarts, %d steps" % (report["restarts"], finding["steps"]))

    def outlives_its_own_end(self):
        self.target("tests/iwarp-peer-traced")
        path, reached = self.at("killed.lua"), self.at("map")
        harness.write(path, KILLED % {"once": self.scratch + "/once", "pid": self.scratch + "/pid", "map": reached,
                                      "peer": self.scratch + "/iwarp-peer-traced"})
        done, report = self.run("--target", path, "--seed", "1", "--count", "200", "--coverage", results="killed")
        assert done.returncode == 70 and "--coverage: %s: No such file or directory\n" % reached in done.stderr, done
        harness.write(reached, "")
        done, report = self.run("--target", path, "--seed", "1", "--count", "200", "--coverage", results="killed")
        assert done.returncode == 0 and report["findings"] == [], (done, report)
        assert "the hunt inside ended with status 137; everything is started again\n" in done.stderr, done
        assert report["restarts"] == 1 and report["sequences"] >= 200 and report["places"] > 200, report
        assert os.path.getsize(reached) == 1 << 16
        harness.write(path, "return { address = '::1', port = 1, inside = '{command}' }")
        done, _ = self.run("--target", path, "--coverage")
        assert done.returncode == 64 and done.stderr == (
            "iwarp-fuzz: --coverage: expected a target file that says where it is told (coverage)\n"), done

    def has_it_connect(self):
        path = self.at("calling.lua")
        self.target("tests/iwarp-peer-planted")
        harness.write(path, CALLING % (self.scratch + "/iwarp-peer-planted"))
        done, report = self.run("--target", path, "--seed", "1", "--findings", "1", "--count", "100000",
                                results="calling")
        assert done.returncode == 1, done
        finding = report["findings"][0]
        assert finding["kind"] == "crash" and "signal 6" in finding["text"], finding
        assert (finding["verdict"] or "").startswith("FAIL"), finding
        played = self.play(path, finding["case"])
        assert played.returncode == 1 and played.stdout.startswith("FAIL fuzz-1-crash"), played
        print("a peer that connects: sequence %d, %d steps" % (finding["sequence"], finding["steps"]))
        self.target("iwarp-peer")
        harness.write(path, CALLING % (self.scratch + "/iwarp-peer"))
        played = self.play(path, finding["case"])
        assert played.returncode == 0 and played.stdout.startswith("1 PASS"), played
        capture = os.path.join(self.pcaps, "siw", "siw-rping-64B-crcon.pcap")
        done, report = self.run("--target", path, "--seed", "2", "--count", "200", "--seeds", capture, results="clean")
        assert done.returncode == 0 and report["findings"] == [] and report["sequences"] == 200, (done, report)

    def play(self, target, case):
        return harness.run(self.program("iwarp-conform"), "run", "--target", target, "--cases", case, "--results", self.at("played"), status=None)

    def finds_what_is_bent(self):
        for switch, kind, text in (("--ignore=ddp-to-bounds", "stray", "memory 0 (read write atomic) has changed"),
                                   ("--violate=ddp-rsvd", "rule", "ddp-rsvd (DDP-4.1-09)")):
            bent = harness.script(self.at("bent"), '#!/bin/sh\nexec %s "$@" %s\n' % (self.program("iwarp-agent"), switch))
            done, report = self.run("--agent", bent, "--seed", "1", "--findings", "1", "--count", "100000",
                                    results=kind)
            finding = report["findings"][0]
            assert done.returncode == 1 and finding["kind"] == kind and finding["text"].startswith(text), finding
            assert finding["verdict"].startswith("FAIL") and finding["connections"] == 1, finding
            print("%s: sequence %d, %d steps" % (kind, finding["sequence"], finding["steps"]))

    def finds_nothing_else(self):
        for target, count in ((self.target("iwarp-peer"), 3000), ("embedded", 1500)):
            graph = self.at("graph")
            for end in (".json", ".dot"):
                done, report = self.run("--target", target, "--seed", "2", "--count", str(count), "--graph",
                                        graph + end)
                assert done.returncode == 0 and report["findings"] == [], (done, report)
                assert report["sequences"] >= count and report["states"] > 10 and report["starts"] == 1, report
            states = harness.load(graph + ".json")
            assert {"connected", "fin", "read-response"} <= {s["answer"] for s in states["states"]}
            assert all(e["to"] < len(states["states"]) for e in states["edges"])
            assert harness.read(graph + ".dot").startswith("digraph states {\n")

    def hunts_with_several_targets(self):
        done, report = self.run("--target", self.target("iwarp-peer"), "--targets", "2", "--seed", "3", "--count", "2000", results="two")
        assert done.returncode == 0 and report["findings"] == [] and report["starts"] == 2, (done, report)
        assert report["sequences"] >= 2000, report

    def goes_on_while_peers_die(self):
        """Each tenth connection ends its peer: what shows that is a row of them, or is marked as not shown again."""
        target = self.target("tests/iwarp-peer-planted", "env IW_PLANTED_EVERY=10 ")
        done, report = self.run("--target", target, "--targets", "2", "--seed", "1", "--count", "600", "--minimise", "1", results="dying")
        assert done.returncode == 1 and report["starts"] > 4 and report["sequences"] >= 600, (done, report)
        keys = [finding["key"] for finding in report["findings"]]
        assert keys and len(set(keys)) == len(keys), keys
        for finding in report["findings"]:
            assert finding["kind"] == "crash" and os.path.exists(finding["case"]), finding
            if finding["key"].startswith("unexplained "):
                assert finding["verdict"] is None and " octets:" in harness.read(finding["row"]), finding
            else:
                assert finding["verdict"].startswith("FAIL the target ended: ") and os.path.exists(finding["pcap"]), finding

    def repeats_itself(self):
        """Without learning, the seed alone decides what is sent."""
        digests = []
        for seed in ("3", "3", "4"):
            done, report = self.run("--target", self.target("iwarp-peer"), "--seed", seed, "--blind", "--count", "300",
                                    "--jobs", "1")
            assert done.returncode == 0, done
            digests.append(report["digest"])
        assert digests[0] == digests[1] != digests[2], digests

    def takes_recordings(self):
        folder = os.path.join(self.pcaps, "siw")
        capture = os.path.join(folder, sorted(n for n in os.listdir(folder) if n.endswith(".pcap"))[0])
        done, report = self.run("--target", "embedded", "--seed", "5", "--count", "400", "--seeds", capture)
        assert done.returncode == 0 and report["findings"] == [], (done, report)

    def sees_what_was_reached(self):
        done, report = self.run("--target", self.target("tests/iwarp-peer-traced"), "--seed", "6", "--count", "500",
                                "--coverage")
        assert done.returncode == 0 and report["places"] > 200, (done, report)

    def keeps_to_its_rate(self):
        done, report = self.run("--target", self.target("iwarp-peer"), "--seed", "7", "--count", "50", "--rate", "50")
        assert done.returncode == 0 and report["sequences"] == 50, (done, report)
        assert report["sequences"] <= 50 * report["seconds"] + 2, report

    def refuses(self):
        for arguments, line in WRONG:
            done, _ = self.run(*arguments)
            assert done.returncode == 64 and done.stdout == "", (arguments, done)
            assert re.fullmatch(r"iwarp-fuzz: .*\n", done.stderr) and line in done.stderr, (arguments, done)
        # Nobody there.
        done, _ = self.run("--target", "tcp:127.0.0.1:1")
        assert done.returncode == 3 and done.stderr.count("\n") == 1, done
        path = self.at("nobody.lua")
        for command, line in (("exit 7", "its command (sh ended with status 7) made no connection"),
                              ("exit 0", "nothing connected within 0.2 s; its command ended: sh ended with status 0")):
            harness.write(path, "return { connect = '%s', connect_within = 0.2 }" % command)
            done, _ = self.run("--target", path)
            assert done.returncode == 3 and done.stderr.count("\n") == 1 and line in done.stderr, done

    def goes_on_with_what_was_kept(self):
        corpus = self.at("resumed", "corpus")
        kept = bytes([4, 0, 0, 0]) + bytes(4)  # nothing is said
        harness.write(os.path.join(corpus, "00000"), kept)
        for _ in range(2):
            done, _ = self.run("--resume", "--seed", "8", "--count", "5", results="resumed")
            assert done.returncode == 0, done
            there = [harness.octets(corpus, name) for name in os.listdir(corpus)]
            assert kept in there and 1 < len(there) == len(set(there)), there

    def tells_what_is_no_text(self):
        """Names and what a peer prints may be any octets: a report is UTF-8."""
        self.target("tests/iwarp-peer-planted")
        path = os.path.join(os.fsencode(self.scratch), b"\xff.lua")
        harness.write(path, TARGET.replace("exec ", "").replace("--buffers 8", "--buffers 8 || { printf 'x.c:1: runtime error: \\\\377odd'; exit 134; }")
                      % ("odd", self.scratch + "/iwarp-peer-planted"))
        report, results = self.scratch + "/odd.json", os.path.join(os.fsencode(self.scratch), b"odd\xff")
        harness.run(self.program("iwarp-fuzz"), "--target", path, "--results", results, "--json", report, "--seed", "1", "--findings", "1",
                    "--count", "100000", status=1, text=False)
        whole = harness.load(report)
        finding = whole["findings"][0]
        assert finding["key"] == "UndefinedBehaviorSanitizer: \ufffdodd (x.c:1)", finding
        assert len(finding["text"].encode()) < 640 and finding["case"].endswith("/odd\ufffd/findings/fuzz-1-crash.lua"), finding
        assert whole["target"].endswith("\ufffd.lua"), whole

    def says_at_once_what_it_cannot_write(self):
        for arguments, line in ((["--json", "/nowhere/x"], "/nowhere/x: No such file or directory"),
                                (["--graph", "/"], "/: Is a directory")):
            done, _ = self.run("--count", "1", *arguments)
            assert (done.returncode, done.stdout, done.stderr) == (73, "", "iwarp-fuzz: cannot write %s\n" % line), done
        done, report = self.run("--target", "tcp:127.0.0.1:1")
        assert done.returncode == 3 and report is None, done

    def has_a_folder_of_its_own(self):
        """Also if several begin within one second."""
        command = [self.program("iwarp-fuzz"), "--target", "tcp:127.0.0.1:1"]
        for running in [subprocess.Popen(command, cwd=self.scratch, stderr=subprocess.DEVNULL) for _ in range(4)]:
            assert running.wait() == 3
        assert len(os.listdir(self.scratch + "/iwarp-fuzz-results")) == 4, os.listdir(self.scratch + "/iwarp-fuzz-results")

    def looks_again_into_what_could_not_be_shown(self):
        """A sequence that breaks a rule by chance does not stand in for one that always does."""
        finding = {"kind": "rule", "key": "unexplained rule ddp-rsvd", "check": "ddp-rsvd", "text": "", "times": 1}
        harness.write(self.at("again", "findings.jsonl"), json.dumps(finding) + "\n")
        bent = harness.script(self.at("again.sh"), '#!/bin/sh\nexec %s "$@" --violate=ddp-rsvd\n' % self.program("iwarp-agent"))
        _, report = self.run("--resume", "--agent", bent, "--seed", "1", "--count", "1000", results="again")
        assert [f["key"] for f in report["findings"]] == ["unexplained rule ddp-rsvd", "rule ddp-rsvd"], report

    def knows_all_of_what_is_under_way(self):
        """Also for a long sequence, should the surroundings end during it."""
        sequence = bytes(4) + 5 * (bytes([0]) + (4000).to_bytes(2, "little") + 4000 * b"Z")
        harness.write(self.at("long", "corpus", "long"), len(sequence).to_bytes(4, "little") + sequence)
        self.run("--resume", "--seed", "1", "--count", "80", "--jobs", "1", results="long")
        assert sequence in harness.octets(self.at("long", "started"))

    def believes_no_agent_blindly(self):
        """Octets that the agent does not report do not count as changed."""
        path = self.at("between")
        for said, since, status, text in ((b'"hex":"00"', 1, 3, "iwarp-fuzz: the agent: read: expected 384 octets\n"),
                                          (b'"other":1', 1, 3, "iwarp-fuzz: the agent: read: expected 384 octets\n"),
                                          (b'"hex":"00"', 4, 0, "")):
            harness.script(path, BETWEEN % (sys.executable, self.program("iwarp-agent"), said, since))
            done, report = self.run("--agent", path, "--seed", "1", "--count", "20")
            assert (done.returncode, done.stderr) == (status, text) and (status or report["findings"] == []), (done, report)

    def keeps_the_case_of_a_peer_that_is_gone(self):
        self.target("tests/iwarp-peer-planted")
        path = self.at("gone.lua")
        start = "test $(echo >>%s/starts; wc -l <%s/starts) -le 2 && exec %s/iwarp-peer-planted" % (3 * (self.scratch,))
        harness.write(path, (TARGET % ("gone", start)).replace('"exec test', '"test'))
        done, report = self.run("--target", path, "--seed", "1", "--count", "100000", "--time-scale", "0.2", results="gone")
        finding = report["findings"][0]
        assert done.returncode == 1 and os.path.exists(finding["case"]), (done, report)
        assert "cannot write" not in done.stderr, done

    def asks_for_consent_where_the_agent_is(self):
        path = self.at("agent.lua")
        for fields, status in (("agent = '127.0.0.1:1'", 3), ("agent = '192.0.2.1:1', address = '127.0.0.1'", 64),
                               ("agent = '127.0.0.1:1', address = '192.0.2.1'", 64)):
            harness.write(path, "return { class = 'agent', %s }" % fields)
            environment = dict(os.environ, IWARP_AGENT_TOKEN="x" * 32)
            done = harness.run(self.program("iwarp-fuzz"), "--target", path, "--results", self.at("agent"), "--time", "1", status=status,
                               env=environment)
            assert ("expected --allow-hazard" in done.stderr) == (status == 64), (fields, done)

    PARTS = {
        "planted": (refuses, finds_what_was_planted, tells_what_is_no_text, says_at_once_what_it_cannot_write, has_a_folder_of_its_own, keeps_the_case_of_a_peer_that_is_gone, asks_for_consent_where_the_agent_is),
        "silent": (finds_what_hangs, finds_what_refuses),
        "dying": (hunts_with_several_targets, goes_on_while_peers_die),
        "inside": (outlives_what_it_is_in, outlives_its_own_end),
        "calling": (has_it_connect,),
        "bent": (finds_what_is_bent, keeps_to_its_rate, looks_again_into_what_could_not_be_shown, believes_no_agent_blindly),
        "clean": (finds_nothing_else, repeats_itself, takes_recordings, sees_what_was_reached, goes_on_with_what_was_kept, knows_all_of_what_is_under_way),
    }


def timed(check, step):
    began = time.monotonic()
    step(check)
    print("%-40s %5.1f s" % (step.__name__, time.monotonic() - began), flush=True)


def main(folder, pcaps, *parts):
    """The steps of a part side by side: each has a folder of its own, and most of them wait."""
    for part in parts or Check.PARTS:
        with tempfile.TemporaryDirectory() as scratch:
            steps = []
            for n, step in enumerate(Check.PARTS[part]):
                own = os.path.join(scratch, str(n))
                os.mkdir(own)
                steps.append(functools.partial(timed, Check(folder, own, pcaps), step))
            harness.side_by_side(steps, 3)


if __name__ == "__main__":
    harness.start(main, __doc__)
