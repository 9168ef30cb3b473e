# SPDX-License-Identifier: BSD-3-Clause
"""An iwarp-agent behind a proxy of its control connection, for check_mishaps.py.

usage: hanging_agent.py IWARP-AGENT PORT

Once the agent reports a Request with the private data "hangs", nothing passes any more.
"""
import socket
import subprocess
import sys
import threading
import time

WORD = b"hangs".hex().encode()


def forward(source, sink):
    for line in source.makefile("rb"):
        if WORD in line.lower():
            time.sleep(60)
        sink.sendall(line)
    sink.shutdown(socket.SHUT_WR)


def main(program, port):
    listener = socket.create_server(("127.0.0.1", port))
    with subprocess.Popen([program, "--listen", "127.0.0.1:0", "--no-token"], stdout=subprocess.PIPE, text=True) as agent:
        own = int(agent.stdout.readline().rsplit(":", 1)[1])
        print("listening on %d" % port, flush=True)
        while True:
            client, server = listener.accept()[0], socket.create_connection(("127.0.0.1", own))
            for ends in ((client, server), (server, client)):
                threading.Thread(target=forward, args=ends, daemon=True).start()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
