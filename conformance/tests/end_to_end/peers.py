# SPDX-License-Identifier: BSD-3-Clause
"""iwarp-peer in a process of its own, for tests that drive it over TCP."""
import subprocess
import sys


class Peer:
    """iwarp-peer on a port that the system chooses. Ends on leaving, and has to end well."""

    def __init__(self, program, *options, host="127.0.0.1"):
        self.process = subprocess.Popen([program, "listen", host + ":0", *options], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            self.process.kill()
            sys.exit("iwarp-peer said: " + line)
        self.address = line.split()[2]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.stdout.close()
        if self.process.wait() != 0:
            sys.exit("iwarp-peer ended with %d" % self.process.returncode)
