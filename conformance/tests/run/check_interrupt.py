#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ctrl-C ends every command that takes its time with status 130, and keeps what there is.

usage: check_interrupt.py IWARP-CONFORM
"""
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time

import harness
from harness import check

CASE = 'return case { id = "%s", purpose = "p", rules = { "MPA-8-02" }, role = "responder", run = function(t) %s end }\n'
PATIENT = ("--time-scale", "900")  # nothing ends by itself in the time of a test


def until(holds):
    while not holds():
        time.sleep(0.01)


class Interrupting(harness.Bench):
    def interrupted(self, what, ready, *words):
        """Ends the command by SIGINT once `ready` says so. Returns what it printed."""
        with subprocess.Popen([self.program, *words], cwd=self.folder, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            until(lambda: ready() or process.poll() is not None)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate()
        check(process.returncode == 130, "%s: exit status 130" % what, process.returncode, out, err)
        check("interrupted" in err and err.count("\n") == 1, "%s: one line says so" % what, err)
        return out, err

    def journaled(self, name):
        path = self.at(name, "journal.jsonl")
        return len(harness.octets(path).splitlines()) if os.path.exists(path) else 0


def a_run(bench):
    bench.write("cases/a.lua", CASE % ("a", "t:connect {}"))
    bench.write("cases/b.lua", CASE % ("b", "t:connect {}:next()"))
    out, err = bench.interrupted("run", lambda: bench.journaled("r") == 2, "run", "--cases", "cases", "--results", "r", "-j1", *PATIENT,
                                 "--junit", "j.xml")
    report = harness.load(bench.at("r", "run.json"))
    check([case["id"] for case in report["cases"]] == ["a"] and report["exit"] == 130, "run: the case that was done is kept", report["cases"])
    check("1 PASS" in out and "run --resume r" in err, "run: it says how to go on", out, err)
    check('name="a"' in harness.read(bench.at("j.xml")), "run: so are the reports")
    bench.refused("run: it cannot be merged so", "merge", "r", says=("this run is not over",))


def a_self_check(bench):
    out, _ = bench.interrupted("self-check", lambda: os.path.exists(bench.at("s", "target-1.log")), "self-check", "--cases", "cases", "-s", "b",
                               "--results", "s", "-j1", "--json", "s.json", "--switch", "ignore=mpa-crc", *PATIENT)
    report = harness.load(bench.at("s", "run.json"))
    check(report.get("interrupted") is True and harness.load(bench.at("s.json")) == report, "self-check: it reports what it has tried")
    check("; interrupted\n" in out, "self-check: so does the last line", out)


def a_probe(bench):
    with socket.create_server(("127.0.0.1", 0)) as server:
        began = threading.Event()

        def serve():
            connections = []  # kept open, and silent
            try:
                while True:
                    connections.append(server.accept()[0])
                    began.set()
            except OSError:
                pass

        thread = threading.Thread(target=serve)
        thread.start()
        bench.interrupted("probe", began.is_set, "probe", "tcp:127.0.0.1:%d" % server.getsockname()[1], "--output", "p.lua", *PATIENT)
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
    check(not os.path.exists(bench.at("p.lua")), "probe: nothing is written")


def a_merge(bench):
    bench.run(0, "run", "--cases", "cases", "--results", "good", "a")
    os.mkfifo(bench.at("pipe"))
    # It waits for who reads the pipe.
    bench.interrupted("merge", lambda: os.path.isdir(bench.at("m")), "merge", "good", "--results", "m", "--json", "pipe")
    check(os.listdir(bench.at("m")) == [], "merge: nothing is written")


def main(conform):
    with tempfile.TemporaryDirectory() as folder:
        bench = Interrupting(conform, folder)
        a_run(bench)
        a_self_check(bench)
        a_probe(bench)
        a_merge(bench)


if __name__ == "__main__":
    harness.start(main, __doc__)
