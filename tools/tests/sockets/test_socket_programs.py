#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What socket_programs.py makes of programs that end well, fail, transfer something else, and leave something.

usage: test_socket_programs.py
"""
import os
import shlex
import subprocess
import sys
import tempfile

import harness

HERE = os.path.dirname(os.path.abspath(__file__))
# Copies what one client sends to a file, then does what is said.
SERVER = """import socket, subprocess, sys
s = socket.create_server((sys.argv[1], int(sys.argv[2])), family=socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
c = s.accept()[0]
with open("copy", "wb") as f:
    while octets := c.recv(65536):
        f.write(octets[:int(sys.argv[3])])
c.close()
if sys.argv[4] == "leaves":
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
sys.exit(int(sys.argv[4]) if sys.argv[4].isdigit() else 0)
"""
CLIENT = """import socket, sys
c = socket.create_connection((sys.argv[1], int(sys.argv[2])))
c.sendall(open("source", "rb").read())
c.shutdown(socket.SHUT_WR)
c.recv(1)
sys.exit(int(sys.argv[3]))
"""
PAIR = "source=copy"
# id, how many octets of each piece the server keeps, how it ends, the client's status, what is compared, what is said
ROWS = [
    ("good", 65536, "0", 0, PAIR, None),
    ("good-6", 65536, "0", 0, PAIR, None),
    ("prefix", 65536, "0", 0, "source^copy", None),
    ("server-fails", 65536, "3", 0, PAIR, "server ended with 3: nothing said"),
    ("client-fails", 65536, "0", 4, PAIR, "client ended with 4: nothing said; server: nothing said"),
    ("shorter", 0, "0", 0, PAIR, "source=copy differ: 50000 and 0 octets"),
    ("nothing", 0, "0", 0, "source^copy", "source^copy differ"),
    ("no-copy", 65536, "0", 0, "source=other", "source=other: no such file"),
    ("leaves", 65536, "leaves", 0, PAIR, "processes are left"),
]


def main():
    with tempfile.TemporaryDirectory() as folder:
        server, client, table = (os.path.join(folder, n) for n in ("server.py", "client.py", "table.csv"))
        harness.write(server, SERVER)
        harness.write(client, CLIENT)
        python = shlex.quote(sys.executable)
        lines = [f"{name},ci,source=50000,serve {python} {server} {{a}} {{p}} {kept} {ends},run {python} {client} {{a}} {{p}} {status},{compare},"
                 for name, kept, ends, status, compare, _ in ROWS]
        lines += ["silent,ci,,serve false,run true,,", "twice,ci,source=10," + lines[0].split(",")[3] + ',"run false; run true",,', "large,nightly,,serve false,run true,,"]
        harness.write(table, "\n".join(["id,tier,files,server,client,compare,known", *lines, ""]))
        programs = [sys.executable, "-B", os.path.join(HERE, "socket_programs.py"), folder, "--over", "tcp", "--ending", "2", "--table", table]
        out = subprocess.run([*programs, "--tier", "ci"], capture_output=True, text=True, check=False)
        seen = out.stdout.splitlines()
        for (name, *_, wrong), line in zip(ROWS, seen):
            words = line.split(None, 4)
            harness.equal(name, words[:2], ["FAIL" if wrong else "pass", name])
            harness.equal(f"reason of {name}", words[4] if len(words) > 4 else None, wrong)
        harness.expect("a server that does not listen", "server ended with 1 before it listened: nothing said" in seen[-3], seen[-3])
        harness.expect("a command that fails before the last one", "client ended with 1" in seen[-2], seen[-2])
        harness.equal("the sum", seen[-1], "3 pass, 8 FAIL, 0 known, 0 skip")
        harness.equal("status", out.returncode, 1)
        harness.equal("status of good rows", subprocess.run([*programs, "good*", "prefix"], capture_output=True, check=False).returncode, 0)
        harness.equal("status of none", subprocess.run([*programs, "absent"], capture_output=True, check=False).returncode, 77)
    harness.conclude()


if __name__ == "__main__":
    harness.start(main, __doc__)
