#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""iwarp-msg's ping, serve and get, each end a process under iwarp-run: octets are compared, and iwarp-lint finds nothing in a capture.

usage: check_messages.py IWARP-RUN IWARP-MSG IWARP-LINT
"""
import json
import os
import random
import re
import signal
import subprocess
import tempfile

import harness
from harness import check

LIMIT = 300  # s; a guard
NUMBER = "4711"


def main(run, msg, lint):
    with tempfile.TemporaryDirectory() as folder:
        files = {"empty": b"", "short": b"hello\n", "long": random.Random(1).randbytes(3000001)}
        os.mkdir(os.path.join(folder, "served"))
        os.mkdir(os.path.join(folder, "served", "below"))
        for name, octets in files.items():
            with open(os.path.join(folder, "served", "below", name), "wb") as file:
                file.write(octets)
        os.symlink("/etc/passwd", os.path.join(folder, "served", "link"))
        server = subprocess.Popen([run, msg, "serve", NUMBER, os.path.join(folder, "served"), "--listen", "127.0.0.1:0", "--no-resolver"],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        try:
            line = server.stdout.readline()
            found = re.fullmatch(r"serving 4711 at (127\.0\.0\.1:\d+)\n", line)
            check(found, "the server says where it is", line)
            place = ["--no-resolver", "--at", f"{NUMBER}={found[1]}"]

            def client(*words, status=0, captured=None, number=NUMBER):
                capture = ["--capture", captured] if captured else []
                return harness.run(run, *capture, msg, words[0], number, *words[1:], *place, status=status, timeout=LIMIT)

            for size in ("1", "50", "4096", "4097", "1000000"):
                capture = os.path.join(folder, f"{size}.pcapng")
                seen = json.loads(client("ping", "--size", size, "--count", "20", "--warm-up", "0", "--json", captured=capture).stdout)
                check(seen["octets"] == int(size) and seen["round_trips"] == 20, "all came back", seen)
                check(0 < seen["us_least"] <= seen["us_p50"] <= seen["us_p99"] <= seen["us_most"], "times are in order", seen)
                harness.run(lint, capture)
            for name, octets in files.items():
                out = os.path.join(folder, name)
                capture = os.path.join(folder, f"{name}.pcapng")
                client("get", f"below/{name}", "--output", out, captured=capture)
                with open(out, "rb") as file:
                    check(file.read() == octets, f"{name} is what was served")
                harness.run(lint, capture)
            for path, why in (("no", "No such file or directory"), ("../served/below/short", "not below the folder"), ("below", "not a file"),
                              ("link", "Too many levels of symbolic links"), ("/etc/passwd", "not below the folder")):
                seen = client("get", path, status=1).stderr
                check(seen == f"iwarp-msg: {NUMBER}: {path}: {why}\n", f"{path} is refused", seen)
            seen = client("ping", "--timeout", "200", status=3, number="4712").stderr
            check(seen == "iwarp-msg: 4712: nobody was found who has it\n", "a number that nobody has", seen)
        finally:
            server.send_signal(signal.SIGINT)
            status = server.wait(LIMIT)
            server.stdout.close()
        check(status == 130, "the server ends when it is interrupted", status)
        seen = harness.run(run, msg, "ping", NUMBER, *place, "--timeout", "500", status=3, timeout=LIMIT).stderr
        check(seen == f"iwarp-msg: {NUMBER}: nobody was found who has it\n", "nobody listens there", seen)


harness.start(main, __doc__)
