#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What matrix.py makes of programs that end, stay, die and say nothing.

usage: test_matrix.py
"""
import os
import subprocess
import sys
import tempfile

import harness

HERE = os.path.dirname(os.path.abspath(__file__))
# Listens, serves one client, then ends with a status or, if there is none, stays. The kernel closes the connection, when a signal can no longer
# change the status.
SERVER = """import os, signal, socket, sys
s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
c = s.accept()[0]
c.recv(1)
print("served", flush=True)
os._exit(int(sys.argv[2])) if len(sys.argv) > 2 else signal.pause()
"""
# Connects, waits until the server has closed the connection if it is to end, and ends with a status.
CLIENT = """import socket, sys
c = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
c.sendall(b"x")
if len(sys.argv) > 3: c.recv(1)
sys.exit(int(sys.argv[2]))
"""
ROWS = [
    ("both-end", "", "{p} 0", "{p} 0", None),
    ("server-fails", "", "{p} 3", "{p} 0", "server ended with 3: served"),
    ("client-fails", "", "{p} 0", "{p} 4", "client ended with 4: nothing said"),
    ("server-stays", "stays", "{p}", "{p} 0", None),
    ("server-dies", "stays", "{p} 5", "{p} 0 waits", "server does not stay: it ended with 5: served"),
    ("server-leaves", "stays", "{p} 0", "{p} 0 waits", "server does not stay: it ended with 0: served"),
]


def main():
    with tempfile.TemporaryDirectory() as folder:
        server, client, table = (os.path.join(folder, n) for n in ("server.py", "client.py", "table.csv"))
        harness.write(server, SERVER)
        harness.write(client, CLIENT)
        lines = [f"{name},{kind},{sys.executable} {server} {s},{sys.executable} {client} {c}" for name, kind, s, c, _ in ROWS]
        harness.write(table, "\n".join(["id,kind,server,client", *lines, "absent,,no-such-program {p},true", ""]))
        # env stands for iwarp-run: it runs what follows.
        matrix = [sys.executable, "-B", os.path.join(HERE, "matrix.py"), "/usr/bin/env", "--table", table]
        out = subprocess.run(matrix, capture_output=True, text=True, check=False)
        seen = out.stdout.splitlines()
        for (name, _, _, _, wrong), line in zip(ROWS, seen):
            words = line.split(None, 4)
            harness.equal(name, words[:2], ["FAIL" if wrong else "pass", name])
            harness.equal(f"reason of {name}", words[4] if len(words) > 4 else None, wrong)
        harness.expect("a program that is absent", seen[-2].startswith("skip  absent"), seen[-2])
        harness.equal("the sum", seen[-1], "2 pass, 4 FAIL, 1 skip")
        harness.equal("status", out.returncode, 1)
        harness.equal("status of good rows", subprocess.run([*matrix, "both-*"], capture_output=True, check=False).returncode, 0)
        marked = subprocess.run([*matrix, "--under", "env --split-string='A=1 B=2'", "both-*", "server-fails"], capture_output=True, text=True, check=False)
        harness.equal("under another program", [line[:4] for line in marked.stdout.splitlines()[:2]], ["pass", "FAIL"])
        harness.expect("the other program is absent", "no-such-program is" in subprocess.run(
            [*matrix, "--under", "no-such-program", "both-*"], capture_output=True, text=True, check=False).stdout, "")
        harness.equal("status of none", subprocess.run([*matrix, "absent"], capture_output=True, check=False).returncode, 77)
    harness.conclude()


if __name__ == "__main__":
    harness.start(main, __doc__)
