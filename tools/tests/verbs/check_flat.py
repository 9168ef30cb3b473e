#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Has one rping server serve many clients, one after the other: its descriptors and its memory must stay as they are after the first round.

usage: check_flat.py IWARP-RUN [ROUNDS [CLIENTS]]

ROUNDS is 10, of 1000 clients each. Less than one allocation for each connection may be left: LEAST octets.
"""
import os
import shutil
import subprocess

import harness
from check_kill import await_true

LEAST = 24  # octets: malloc's smallest block
# rping ends beside a thread of its own that may ask for the next event just then, and finds its channel closed.
OWN_END = "rdma_get_cm_event: Bad file descriptor"


def resident(pid):
    """kB of memory of a process."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


def run_client(words):
    """What went wrong with it, or None."""
    done = subprocess.run(words, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode == 0 or OWN_END in done.stdout:
        return None
    return f"status {done.returncode}: {done.stdout.strip()}"


def main(run, rounds="10", clients="1000"):
    if shutil.which("rping") is None:
        harness.skip("rping is not installed")
    rounds, clients, port = int(rounds), int(clients), harness.free_port()
    where = ["-a", "127.0.0.1", "-p", str(port)]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen([run, "rping", "-s", "-P", *where], **quiet)
    try:
        await_true("the server listens", lambda: harness.listens(port) or server.poll() is not None)
        seen, failed = [], []
        for n in range(rounds):
            for _ in range(clients):
                wrong = run_client([run, "rping", "-c", "-C", "1", *where])
                failed += [wrong] if wrong else []
            most = seen[0][0] if seen else 99
            await_true("the server has closed all connections", lambda: len(os.listdir(f"/proc/{server.pid}/fd")) <= most)
            seen.append((len(os.listdir(f"/proc/{server.pid}/fd")), resident(server.pid)))
            print(f"{(n + 1) * clients} clients: {seen[-1][0]} descriptors, {seen[-1][1]} kB", flush=True)
        harness.equal("clients that failed", failed, [])
        harness.equal("descriptors", seen[-1][0], seen[0][0])
        grown, most = (seen[-1][1] - seen[0][1]) * 1024, (rounds - 1) * clients * LEAST
        harness.expect(f"memory grew by no more than {most} octets", grown <= most, f"{grown} octets")
        harness.equal("the server", server.poll(), None)
    finally:
        server.kill()
        server.wait()
    harness.conclude()


if __name__ == "__main__":
    harness.start(main, __doc__)
