#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that switch their sockets to iWARP in the middle of a TCP connection: one in Python that tries all means to wait, and the
example that puts a file into another machine's memory. What travels is iWARP: iwarp-lint finds FPDUs and nothing wrong.

usage: check_switch.py IWARP-RUN IWARP-LINT PUT_FILE LIBRARY
"""
import os
import subprocess
import sys
import tempfile
import time

import harness
from harness import check

LIMIT = 300  # s; a guard
HERE = os.path.dirname(os.path.abspath(__file__))
DIALOGUE = [sys.executable, os.path.join(HERE, "switched_dialogue.py")]


def preloaded(library):
    return dict(os.environ, LD_PRELOAD=os.path.abspath(library))


def put(words, put_file, folder, sent):
    """Sends a file's octets; returns what came, and the captures of both ends."""
    port = str(harness.free_port("127.0.0.1"))
    source, target = harness.write(os.path.join(folder, "source"), sent), os.path.join(folder, "target")
    captures = [os.path.join(folder, f"{name}.pcapng") for name in ("server", "client")]

    def words_of(capture):
        return [*words, "--capture", capture] if words else []
    with subprocess.Popen([*words_of(captures[0]), put_file, "-l", "127.0.0.1", port, target], stdin=subprocess.DEVNULL) as server:
        try:
            end = time.monotonic() + LIMIT
            while not harness.listens(int(port)):
                check(time.monotonic() < end and server.poll() is None, "the server listens")
                time.sleep(0.01)
            harness.run(*words_of(captures[1]), put_file, "127.0.0.1", port, source, timeout=LIMIT)
            check(server.wait(LIMIT) == 0, "the server ends well")
        finally:
            server.kill()
    return harness.octets(target), captures


def files(run, lint, put_file, folder):
    for more, sizes in (((), (1, 4096, 3_000_001)), (("--markers", "on"), (70_000,)), (("--crc", "off"), (70_000,))):
        for size in sizes:
            sent = bytes(range(256)) * (size // 256) + b"z" * (size % 256)
            got, captures = put([run, "--sockets", *more], put_file, folder, sent)
            check(got == sent, f"{size} octets arrive, with {' '.join(more) or 'no option'}")
            for capture in captures:
                lines = harness.lines_of(harness.run(lint, "--json", "--messages", capture).stdout)
                total = lines[-1]
                check(total["connections"] == 1 and total["findings"] == 0, "iwarp-lint finds a connection, and nothing wrong with it", total)
                check({"write", "send"} <= {line["text"].split()[0] for line in lines if "text" in line}, "of Writes and Sends", lines[:3])


def main(run, lint, put_file, library):
    done = harness.run(*DIALOGUE, "--absent")
    check(done.stdout == "good\n", "without the library setsockopt fails as libc's")
    for what, words, environment in (("iwarp-run --sockets", [run, "--sockets"], None), ("the library alone", [], preloaded(library))):
        done = harness.run(*words, *DIALOGUE, env=environment, timeout=LIMIT)
        check(done.stdout.endswith("good\n") and done.stderr == "", f"a program in Python, with {what}", done.stdout, done.stderr)
    with tempfile.TemporaryDirectory() as folder:
        files(run, lint, put_file, folder)


harness.start(main, "usage: check_switch.py IWARP-RUN IWARP-LINT PUT_FILE LIBRARY")
