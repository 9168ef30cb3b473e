# SPDX-License-Identifier: BSD-3-Clause
"""An iwarp-agent behind a proxy of its control connection, for check_mishaps.py.

usage: hanging_agent.py IWARP-AGENT PORT

Once the agent reports a Request with the private data "hangs", nothing passes any more.
"""
import socket
import sys
import threading
import time

import harness

WORD = b"hangs".hex().encode()


def forward(source, sink):
    for line in source.makefile("rb"):
        if WORD in line.lower():
            time.sleep(60)
        sink.sendall(line)
    sink.shutdown(socket.SHUT_WR)


def main(program, port):
    listener = socket.create_server(("127.0.0.1", port))
    with harness.Peer(program, "--listen", "127.0.0.1:0", "--no-token", stderr=None) as agent:
        print("listening on %d" % port, flush=True)
        while True:
            client, server = listener.accept()[0], socket.create_connection(("127.0.0.1", agent.port))
            for ends in ((client, server), (server, client)):
                threading.Thread(target=forward, args=ends, daemon=True).start()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
