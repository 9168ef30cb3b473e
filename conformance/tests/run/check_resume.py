#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A run that is killed loses no finished case, leaves no process over, and goes on with --resume.

usage: check_resume.py IWARP-CONFORM IWARP-PEER
"""
import json
import os
import random
import select
import shutil
import subprocess
import sys
import tempfile
import time

import harness
from harness import check

SELECT = ["mpa-startup-*", "mpa-reply-*", "ddp-write-*"]
TORN = b'{"verdict":"PASS","seconds":0.00'
END = 60000  # ms that a killed run's processes may take to be gone, on a machine that is busy


def ids_of(report, member="verdict"):
    cases = harness.load(report)["cases"]
    ids = {case["id"]: case.get(member) for case in cases}
    if len(ids) != len(cases):
        sys.exit("%s: a case is there twice" % report)
    return ids


def journaled(out):
    """The ids of the cases in a journal, in order; a last line that was torn does not count."""
    try:
        return [json.loads(line)["id"] for line in harness.octets(out, "journal.jsonl").split(b"\n")[1:-1]]
    except FileNotFoundError:
        return []


def lines(out):
    """How many lines a journal has, its head among them."""
    try:
        return harness.octets(out, "journal.jsonl").count(b"\n")
    except FileNotFoundError:
        return 0


def left_behind(folder):
    """Processes whose working folder is this one: all that a run has started."""
    pids = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink("/proc/%s/cwd" % name) == folder:
                pids.append(int(name))
        except OSError:
            pass
    return pids


def wait_gone(folder):
    pids = left_behind(folder)
    while pids:
        wait_for(pids)
        pids = left_behind(folder)


def wait_for(pids):
    for pid in pids:
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        if not poll.poll(END):
            sys.exit("still there: %s" % harness.octets("/proc/%d/cmdline" % pid))
        os.close(fd)


class Run(harness.Bench):
    def whole(self, *words):
        self.run((0, 1, 3), "run", *words, errors="replace")

    def killed(self, out, count, *words):
        """Kills the run as soon as its journal has `count` cases. Those that it has then."""
        with subprocess.Popen([self.program, "run", *words], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as run:
            while run.poll() is None and lines(out) <= count:
                time.sleep(0.001)
            run.kill()
        wait_gone(self.folder)
        return journaled(out)


def goes_on(run, rng, name, *words):
    """Killed again and again, and gone on with, it ends as a run that nobody has killed."""
    wanted = run.at(name + "-whole")
    out = run.at(name)
    run.whole("--results", wanted, *words)
    all_ids = ids_of(os.path.join(wanted, "run.json"))
    rounds = len(journaled(wanted)) // len(all_ids)
    done, kills = [], 0
    begin = ["--results", out, "--keep", "all", *words]
    while len(done) < len(all_ids) * rounds * 3 // 4:
        ids = run.killed(out, len(done) + rng.choice((1, 2, 10, 40)), *begin)
        check(ids[:len(done)] == done and len(ids) >= len(done), "%s, killed after %d of %d" %
              (name, len(ids), len(all_ids) * rounds))
        done, kills = ids, kills + 1
        if rng.random() < 0.5:
            with open(os.path.join(out, "journal.jsonl"), "ab") as f:
                f.write(TORN[:rng.randrange(1, len(TORN))])
        begin = ["--resume", out]
    run.whole("--resume", out)
    ids = journaled(out)
    check(ids[:len(done)] == done, "%s: nothing that had ended was lost in %d kills" % (name, kills))
    check(sorted(ids) == sorted(list(all_ids) * rounds), "%s: each case was played as often as it should" % name)
    got = ids_of(os.path.join(out, "run.json"))
    check(got == all_ids, "%s: the verdicts are those of a run that was not killed" % name,
          [(i, got.get(i), v) for i, v in all_ids.items() if got.get(i) != v])
    captures = ids_of(os.path.join(out, "run.json"), "pcap")
    missing = [i for i, pcap in captures.items() if got[i] != "SKIP" and not (pcap and os.path.getsize(pcap))]
    check(not missing, "%s: every case has its capture" % name, missing)
    check(not left_behind(run.folder), "%s: no process is left" % name)


def keeps_the_capture(run):
    """The second round of a case had ended, and the first had not: the rounds played now take nothing from it."""
    out = run.at("second")
    journal = os.path.join(out, "journal.jsonl")
    run.whole("--results", out, "--keep", "all", "-j1", "--repeat", "2", "mpa-startup-reset")
    head, first, second = harness.read(journal).splitlines()
    os.rename(json.loads(first)["pcap"], json.loads(second)["pcap"])
    harness.write(journal, "%s\n%s\n" % (head, second))
    run.whole("--resume", out)
    pcap = ids_of(os.path.join(out, "run.json"), "pcap")["mpa-startup-reset"]
    check(pcap == json.loads(second)["pcap"] and os.path.getsize(pcap), "second: its capture is there")
    check(len(journaled(out)) == 2, "second: the first was played as well")
    for wrong in ("2", "-1", "null", '"1"'):
        harness.write(journal, "%s\n%s\n" % (head, second.replace('"round":1', '"round":%s' % wrong)))
        done = run.run(64, "run", "--resume", out)
        check("journal.jsonl:2: expected the result of a case" in done.stderr, "second: no round is %s" % wrong, done)


def ends_at_once(run, peer, rounds=8):
    """Killed as soon as a process that it has started has started another, it leaves none."""
    own, out = run.at("own"), run.at("at-once")
    target = run.write("kills.lua", "return { class = \"bare\", address = \"127.0.0.1\", ready = \"listening on\",\n"
                       "  start = \"(%s listen {host}:{port} & read run <%s; kill -9 $run $PPID; wait)\" }\n" % (peer, own))
    for _ in range(rounds):
        harness.run("sh", "-c", "echo $$ >%s; exec \"$@\"" % own, "sh", run.program, "run", "--results", out, "--target", target, *SELECT,
                    status=-9, cwd=run.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        print("ok - at once: it was killed")
        wait_gone(run.folder)
        shutil.rmtree(out)
    print("ok - at once: no process is left")


def main(conform, peer):
    peer = os.path.abspath(peer)
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        run = Run(conform, folder)
        goes_on(run, rng, "embedded", "-j2", *SELECT)
        goes_on(run, rng, "repeated", "-j2", "--repeat", "3", "mpa-startup-re*")
        goes_on(run, rng, "shard", "-j2", "--shard", "2/3", "--order", "random,4", *SELECT)
        # A command that stays as the parent of the process that it has started.
        target = run.write("started.lua", "return { class = \"bare\", address = \"127.0.0.1\", ready = \"listening on\",\n"
                           "  start = \"(%s listen {host}:{port} & wait)\" }\n" % peer)
        goes_on(run, rng, "started", "--target", target, "mpa-startup-r*")
        keeps_the_capture(run)
        ends_at_once(run, peer)


if __name__ == "__main__":
    harness.start(main, __doc__)
