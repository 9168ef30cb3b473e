#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A run inside something that ends, or hangs, under a case: that case has failed, and the run goes on.

usage: check_other_kernel.py IWARP-CONFORM IWARP-PEER
"""
import os
import sys
import tempfile

import harness
from harness import check, write

CASE = """return case { id = "%s", purpose = "p", rules = { "MPA-4.1-02" }, role = "responder", deadline = 100, run = function(t)
  %s
end }
"""
TARGET = """return { class = "bare", address = "127.0.0.1", start = "exec %(peer)s listen {host}:{port} 2>/dev/null",
  inside = "exec %(python)s -B %(folder)s/kernel.py %(how)s {command}",
  console = "cat %(folder)s/console 2>/dev/null; test ! -e %(folder)s/endless || exec tail -f /dev/null",
  restart = "echo again >>%(folder)s/restarts; kill -KILL -$(cat %(folder)s/group) 2>/dev/null; true" }
"""
# A stand-in for a kernel: it ends, or stops, as soon as the case that is its end has begun.
KERNEL = """import os, signal, subprocess, sys, time
inside = subprocess.Popen(sys.argv[2:], start_new_session=True)
with open("%(folder)s/group", "w") as f:
    f.write(str(inside.pid))
journal = "%(folder)s/results/journal.jsonl"
while inside.poll() is None:
    with open(journal, "a+") as f:
        f.seek(0)
        if f.read().splitlines()[-1:] == ['{"begun":"m-ends","deadline":100.0}']:
            if sys.argv[1] == "hang":
                os.killpg(inside.pid, signal.SIGSTOP)
                signal.pause()
            os.killpg(inside.pid, signal.SIGKILL)
            inside.wait()
            sys.exit(3)
    time.sleep(0.01)
sys.exit(inside.returncode)
"""


# Its last message.
CONSOLE = """[   13.370000] siw: crc error. in: eb4d9203, own 0363e4d2, op 0
[   13.380000] BUG: failure at f.c:7/f+0x12/0x340, address 0x60a3f018!
[   13.390000] BUG: KASAN: use-after-free in g+0x1f/0x80
[   13.400000] Kernel panic - not syncing: BUG!
"""


def run(conform, folder, status, *words):
    done = harness.run(conform, "run", "--target", os.path.join(folder, "target.lua"), "--cases", os.path.join(folder, "cases"),
                       "--results", os.path.join(folder, "results"), *words, status=status, cwd=folder)
    return done, {c["id"]: (c["verdict"], c.get("reason")) for c in harness.load(folder, "results", "run.json")["cases"]}


def main(conform, peer):
    conform, peer = map(os.path.abspath, (conform, peer))
    with tempfile.TemporaryDirectory() as folder:
        names = {"folder": folder, "peer": peer, "python": sys.executable, "how": "end"}
        for name, body in (("a-fails", 't:fail("first")'), ("m-ends", "t:connect { raw = true }:next(90)"),
                           ("z-good", "t:connect {}")):
            write(os.path.join(folder, "cases", name + ".lua"), CASE % (name, body))
        write(os.path.join(folder, "kernel.py"), KERNEL % names)
        write(os.path.join(folder, "target.lua"), TARGET % names)
        restarts = os.path.join(folder, "restarts")

        done, verdicts = run(conform, folder, 1)
        check(verdicts == {"a-fails": ("FAIL", "first"), "m-ends": ("FAIL", "the target's kernel ended"),
                           "z-good": ("PASS", None)}, "the case under way has failed, and the run goes on", verdicts)
        check(os.path.getsize(restarts) == len("again\n"), "the target was brought back once")
        check(done.stdout.count("FAIL a-fails") == 1 and done.stdout.count("FAIL m-ends") == 1,
              "each case is reported once", done.stdout)

        console = os.path.join(folder, "console")
        for said, words in ((CONSOLE, "BUG: KASAN: use-after-free in g+0x1f/0x80"),
                            (CONSOLE.replace("KASAN: ", ""), "BUG: failure at f.c:7/f+0x12/0x340, address 0x60a3f018!"),
                            (CONSOLE.replace("BUG: ", ""), "KASAN: use-after-free in g+0x1f/0x80"),
                            ("KASAN:\n" + "x" * 300 + "\nKernel panic - \x01" + "y" * 300, "Kernel panic - \ufffd" + "y" * 239)):
            write(console, said)
            done, verdicts = run(conform, folder, 1)
            check(verdicts["m-ends"] == ("FAIL", "the target's kernel ended: " + words), "the reason quotes its last words", verdicts)
            check("m-ends: the target's kernel ended: %s; it is started again\n" % words in done.stderr, "at once", done.stderr)

        write(console, CONSOLE)
        write(os.path.join(folder, "endless"), "")
        done, verdicts = run(conform, folder, 1)
        check(verdicts["m-ends"][1].endswith("in g+0x1f/0x80"), "a console that does not end is not waited for", verdicts)
        os.remove(os.path.join(folder, "endless"))

        write(os.path.join(folder, "known"), 'a-fails FAIL "known"\nm-ends FAIL "known, too"\n')
        run(conform, folder, 0, "--baseline", os.path.join(folder, "known"))
        print("ok - a baseline covers both")

        done, _ = run(conform, folder, 1, "--tap")
        lines = [line.split(" ")[:2] for line in done.stdout.splitlines() if not line.startswith(" ")]
        lines = [" ".join(line) for line in lines if line[0] in ("ok", "not", "1..3")]
        check([line for line in lines if line.startswith("1..3")] == ["1..3"] and
              sum(line.startswith(("ok", "not")) for line in lines) == 3, "TAP has one plan and three lines", done.stdout)

        write(os.path.join(folder, "target.lua"), (TARGET % names).replace('inside = "', 'inside = "echo {writable} >>%s/writable; ' % folder))
        written = ("csv", "html", "json", "junit", "write-baseline")
        for option in written:
            write(os.path.join(folder, "of-" + option, "file"), "")
            run(conform, folder, (0, 1), "--select", "z-good", "--" + option, "of-%s/file" % option)
        run(conform, folder, (0, 1), "--select", "z-good", "--pcap-dir", "of-pcap-dir")
        seen = harness.read(folder, "writable")
        check(all(os.path.join(folder, "of-" + option) in seen for option in (*written, "pcap-dir")),
              "what is written to is writable inside", seen)

        write(os.path.join(folder, "target.lua"), TARGET % dict(names, how="hang"))
        done, verdicts = run(conform, folder, 1, "--time-scale", "0.2")  # z-good answers in time, on a busy machine, too
        check(verdicts["m-ends"][0] == "FAIL" and "stuck" in verdicts["m-ends"][1] and verdicts["z-good"][0] == "PASS",
              "one that hangs is brought back as well", verdicts)


if __name__ == "__main__":
    harness.start(main, __doc__)
