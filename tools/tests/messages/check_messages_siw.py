#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Messages between the library's ends on our verbs library and on Linux's siw, both ways, and between two on siw: the same program, short and long messages both ways,
while siw may lock 8 MiB.

usage: check_messages_siw.py IWARP-SIW IWARP-RUN MESSAGE-LOAD [COUNT [LONGEST]]

COUNT messages each way (200), the long ones of at most LONGEST octets (200000). Has a kernel of its own; skipped (77) where none has been built yet or it does not start.
"""
import os
import subprocess
import tempfile

import harness
import message_ends

ADDRESS = "10.7.0.1:0"
CANNOT = 3  # the exit status of iwarp-siw where it cannot do its work


def play(siw, run, load, server_on, client_on, count, longest):
    """A server and a client, each on `ours` or `siw`."""
    name = f"server on {server_on}, client on {client_on}"
    with tempfile.TemporaryDirectory() as folder:
        def where(end):
            return [siw, "exec", "-w", folder, *([run] if end == "ours" else [])]
        words = ["--count", count, "--take", count, "--longest", longest]
        ends = [message_ends.End(where(server_on), load, folder, 2, 2, ADDRESS, ["--to", "1", "--answer", *words])]
        try:
            if ends[0].await_open() is None:
                return
            ends.append(message_ends.End(where(client_on), load, folder, 1, 1, ADDRESS, ["--to", "2", "--at", f"2={ends[0].at}", *words]))
            ends[1].await_open()
            for end in ends:
                end.await_end(10 * message_ends.LIMIT, f"{name}: end {end.run}")
            journals = [end.journal() for end in ends]
            for end, own, other in zip(ends, journals, journals[::-1]):
                harness.complain(*(f"{name}: {text}" for text in message_ends.judge(own, end.run, [other], [])))
                harness.equal(f"{name}: delivered by end {end.run}", len(own.delivered), int(count))
            print(name, *(end.process.stdout.read().strip() for end in ends), sep="; ")
        finally:
            for end in ends:
                end.remove()


def main(siw, run, load, count="200", longest="200000"):
    siw, run, load = (os.path.abspath(path) for path in (siw, run, load))
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["TMPDIR"] = temporary
        tempfile.tempdir = None
        for word in ("cached", "up"):
            if subprocess.run([siw, word], stdin=subprocess.DEVNULL, check=False).returncode == CANNOT:
                harness.skip("there is no kernel, or it does not start")
        try:
            for server_on, client_on in (("ours", "siw"), ("siw", "ours"), ("siw", "siw")):
                play(siw, run, load, server_on, client_on, count, longest)
        finally:
            subprocess.run([siw, "down"], stdin=subprocess.DEVNULL, check=False)
    harness.conclude()


harness.start(main, __doc__)
