#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""iwarp-fuzz watches a hunt elsewhere: checks its reaction to each way in which the hunt, or its kernel, can end.

usage: check_watch.py BIN [CHECK]...
"""
import os
import signal
import tempfile

import harness

TARGET = """return { name = "kernel", class = "bare", address = "127.0.0.1", port = 1,
  inside = "exec sh %(inside)s {command}", restart = "%(restart)s", console = "cat %(results)s/console 2>/dev/null" }
"""
# What stands for everything inside: a session of the hunt, one try, and `true`.
INSIDE = """cd %(results)s
echo "$*" >>commands
case "$*" in
true) test ! -e dead ;;
*--try*) %(try)s ;;
*--resume*) %(session)s ;;
esac
"""
DIES = "echo 'BUG: it has ended' >console; touch dead; exit 9"
# One sequence under way, without any steps.
STARTED = r"printf '\001\000\000\000\000\000\000\000\004\000\000\000\000\000\000\000' >started"
NOTHING = """echo '{"kind": "nothing", "text": "", "requested": []}' >try.json"""


def whole(sequences):
    return """echo '{"sequences": %d}' >progress.json; echo '{}' >session.json; exit 0""" % sequences


class Check:
    def __init__(self, folder, scratch):
        self.bin, self.scratch, self.number = os.path.abspath(folder), scratch, 0

    def run(self, session, *arguments, attempt=NOTHING, restart="", before=""):
        """Runs a hunt for 10 sequences. Returns its output, its report, and the commands that were run inside."""
        self.number += 1
        folder = os.path.join(self.scratch, str(self.number))
        results = os.path.join(folder, "r")
        words = {"inside": folder + "/inside", "results": results, "session": session, "try": attempt,
                 "restart": restart or "rm -f %s/dead" % results}
        for name, text in (("inside", before + INSIDE), ("kernel.lua", TARGET)):
            harness.write(os.path.join(folder, name), text % words)
        os.makedirs(results)
        done = harness.run(os.path.join(self.bin, "iwarp-fuzz"), "--target", folder + "/kernel.lua", "--results", results,
                           "--json", folder + "/report", *(arguments or ("--count", "10")), status=None,
                           preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))  # nohup has it ignored
        report = harness.load(folder, "report") if os.path.exists(folder + "/report") else None
        commands = harness.read(results, "commands").splitlines() if os.path.exists(results + "/commands") else []
        return done, report, commands

    def takes_no_other_end_for_it(self):
        """Alone, the sequence ends the peer, but not the kernel: that is something else."""
        once = "test -e once && { %s; }; touch once; %s; %s" % (whole(10), STARTED, DIES)
        ends = """echo '{"kind": "crash", "text": "sh ended with status 139", "requested": []}' >try.json"""
        done, report, _ = self.run(once, attempt=ends)
        assert [f["key"] for f in report["findings"]] == ["unexplained crash the target's kernel ended: BUG: it has ended"], report
        assert done.returncode == 1, done

    def sees_an_end_after_the_last_session(self):
        """The last sequences of the hunt inside may take effect after it has reported its result."""
        once = "test -e once || { touch once; %s; echo 'BUG: too late' >console; touch dead; %s; }; %s" % (STARTED, whole(10), whole(10))
        done, report, _ = self.run(once)
        assert [f["key"] for f in report["findings"]] == ["unexplained crash the target's kernel ended: BUG: too late"], report
        assert done.returncode == 1 and report["restarts"] == 1, (done, report)

    def tells_the_most_of_all_sessions(self):
        """A session that soon ends knows of little."""
        session = ("""test -e once && { echo '{"sequences": 4, "states": 2, "edges": 5}' >progress.json; echo '{}' >session.json; exit 0; }; """
                   """touch once; echo '{"sequences": 6, "states": 7, "edges": 3, "kept": 8}' >progress.json; """ + DIES)
        _, report, _ = self.run(session)
        assert [report[k] for k in ("sequences", "states", "edges", "kept")] == [10, 7, 5, 8], report

    def says_that_it_gives_up(self):
        done, report, commands = self.run("echo '{\"sequences\": 1}' >progress.json; " + DIES, "--count", "1000")
        assert done.returncode == 70 and report["sequences"] == report["restarts"] == 200, (done, report)
        assert done.stderr.endswith("iwarp-fuzz: everything has been started again 200 times for 200 sequences: that is enough\n"), done

    def goes_on_as_long_as_it_gets_on(self):
        """Hours bring many ends."""
        done, report, _ = self.run("echo '{\"sequences\": 10}' >progress.json; " + DIES, "--count", "2100")
        assert done.returncode == 1 and report["sequences"] == 2100 and report["restarts"] == 210, (done, report)

    def is_interrupted_while_it_starts_again(self):
        done, report, _ = self.run(DIES, restart="kill -INT $PPID; exit 130")
        assert done.returncode == 130 and report["restarts"] == 1 and len(report["findings"]) == 1, (done, report)
        assert done.stderr.count("\n") == 1 and "it is started again" in done.stderr, done

    def is_interrupted_at_once(self):
        done, _, _ = self.run("", before="kill -INT $PPID; exit 1\n")
        assert done.returncode == 130 and done.stderr == "", done

    def has_a_graph_or_says_why_not(self):
        graph = "echo graph >graph.json; " + whole(10)
        path = os.path.join(self.scratch, "graph.json")
        done, _, _ = self.run(graph, "--count", "10", "--graph", path)
        assert done.returncode == 0 and harness.read(path) == "graph\n", done
        done, _, _ = self.run(graph, "--count", "10", "--graph", "/nowhere/graph.json")
        assert done.returncode == 73 and "/nowhere/graph.json" in done.stderr, done

    def may_try_what_it_may_hunt(self):
        """Each try inside asks for consent once more."""
        once = "test -e once && { %s; }; touch once; %s; %s" % (whole(10), STARTED, DIES)
        for consent in (["--allow-hazard"], []):
            _, _, commands = self.run(once, "--count", "10", *consent)
            tries = [line for line in commands if "--try" in line]
            assert tries and all(("--allow-hazard" in line) == bool(consent) for line in tries), commands

    def has_a_little_time_left(self):
        done, _, commands = self.run("exit 64", "--time", "0.045")
        sessions = [line for line in commands if "--resume" in line]
        assert not any("--time 0.0 " in line + " " or "--time -" in line for line in sessions), commands

    def misses_a_finding(self):
        """The hunt inside has found something, and could not write it down."""
        done, report, _ = self.run("echo '{\"sequences\": 10}' >progress.json; echo '{}' >session.json; exit 1")
        assert done.returncode == 70 and report["findings"] == [], (done, report)
        assert done.stderr == "iwarp-fuzz: the hunt inside has found something, but it is not in %s\n" % (
            self.scratch + "/%d/r/findings.jsonl" % self.number), done

    def tells_what_cannot_be_tried(self):
        """The kernel does not come back: its end is reported, with what was under way."""
        done, report, _ = self.run("%s; %s" % (STARTED, DIES), restart="exit 1")
        assert done.returncode == 70 and len(report["findings"]) == 1, (done, report)
        finding = report["findings"][0]
        assert finding["key"] == "unexplained crash the target's kernel ended: BUG: it has ended", finding
        assert finding["connections"] == 1 and os.path.exists(finding["case"]), finding

    def is_interrupted_while_it_tries(self):
        """The cause is unknown, but the suspects are not lost."""
        done, report, _ = self.run("%s; %s" % (STARTED, DIES), attempt="kill -INT $PPID; exit 1")
        assert done.returncode == 130 and len(report["findings"]) == 1, (done, report)
        finding = report["findings"][0]
        assert finding["connections"] == 1 and os.path.exists(finding["case"]), finding
        assert "how       not shown again: " in done.stdout, done

    def knows_an_end_again(self):
        """Though it names another process each time."""
        ends = "echo 1 >>ends; echo \"BUG: scheduling while atomic: rping/$$/0x2\" >console; touch dead; exit 9"
        once = "test -e once && { %s; }; touch once; %s; %s" % (whole(10), STARTED, ends)
        done, report, _ = self.run(once, attempt=ends)
        finding = report["findings"][0]
        assert finding["key"] == "crash the target's kernel ended: BUG: scheduling while atomic: rping/N/X", report
        assert done.returncode == 1 and len(report["findings"]) == 1 and finding["connections"] == 1, report

    def takes_no_known_one_for_another(self):
        """Three times the known end, then one that only begins in the same way."""
        files = {}
        for name, octets in (("odd", b"zz"), ("request", b"MPA ID Req Frame\x00\x01\x00\x00")):
            files[name] = os.path.join(self.scratch, name)
            body = bytes(5) + len(octets).to_bytes(2, "little") + octets
            harness.write(files[name], (1).to_bytes(8, "little") + len(body).to_bytes(4, "little") + body)
        known = os.path.join(self.scratch, "known")
        for glob, status in ((", after odd octets", 1), ("*", 0)):
            harness.write(known, "crash the target's kernel ended: BUG: it has ended%s \"known\"\n" % glob)
            session = "echo >>n; test $(wc -l <n) -le 4 || { %s; }; cp %s started; test $(wc -l <n) -le 3 || cp %s started; %s" % (
                whole(10), files["odd"], files["request"], DIES)
            attempt = "if grep -qa -e zz -e MPA try; then %s; fi; %s" % (DIES, NOTHING)
            done, report, _ = self.run(session, "--count", "10", "--suppress", known, attempt=attempt)
            keys = [f["key"].partition(", after ")[2] for f in report["findings"]]
            assert done.returncode == status and keys == ["odd octets", "a Request"][:1 + status], (done, report)

    def leaves_nothing_behind(self):
        """After a hangup it ends as with ^C; if killed, the hunt that it watches ends as well: that has our end of its output."""
        done, report, _ = self.run("kill -HUP $PPID; exit 0")
        assert done.returncode == 0 and report["findings"] == [], done
        held = "trap 'echo >ended; exit 1' TERM; kill -KILL $PPID; n=0; while test $n -lt 3000000; do n=$((n+1)); done"
        done, _, _ = self.run(held)
        assert done.returncode == -9 and os.path.exists("%s/%d/r/ended" % (self.scratch, self.number)), done


def main(folder, *chosen):
    """Side by side: each has a folder of its own, and most of them wait."""
    names = [n for n in vars(Check) if not n.startswith("_") and n != "run" and (not chosen or n in chosen)]
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            os.mkdir(os.path.join(scratch, name))
        harness.side_by_side([getattr(Check(folder, os.path.join(scratch, name)), name) for name in names], 4)


if __name__ == "__main__":
    harness.start(main, __doc__)
