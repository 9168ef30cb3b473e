#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the suite against iwarp-peer in another process, over plain TCP.

usage: check_tcp_targets.py IWARP-CONFORM IWARP-PEER

For the four combinations of CRC and Markers, on IPv4 and IPv6: no FAIL, ERROR or INCONCLUSIVE, and
the cases that are skipped differ only by those whose needs name CRC, Markers or memory.
"""
import json
import os
import subprocess
import sys
import tempfile


class Peer:
    """iwarp-peer on a port of the system's choice; ended on leaving."""

    def __init__(self, program, host, *options):
        self.process = subprocess.Popen([program, "listen", host + ":0", *options],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True)
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


def run(conform, folder, spec):
    report = os.path.join(folder, "run.json")
    done = subprocess.run([conform, "run", "--target", spec, "--results", folder, "--json", report],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("%s: exit %d\n%s%s" % (spec, done.returncode, done.stdout, done.stderr))
    with open(report, encoding="utf-8") as f:
        return json.load(f)


def needs_of(conform, ident):
    """The names in a case's needs, as `show` prints them."""
    out = subprocess.run([conform, "show", ident], check=True, capture_output=True,
                         text=True).stdout
    for line in out.splitlines():
        if line.strip().startswith("needs"):
            return line
    return ""


def main(conform, peer):
    skipped = {}
    with tempfile.TemporaryDirectory() as folder:
        for host in ("127.0.0.1", "[::1]"):
            for crc in ("on", "off"):
                for markers in ("on", "off"):
                    name = "%s crc %s markers %s" % (host, crc, markers)
                    with Peer(peer, host, "--crc", crc, "--markers", markers) as p:
                        spec = "tcp:%s,crc=%s,markers=%s,can=extensions" % (p.address, crc, markers)
                        result = run(conform, os.path.join(folder, name), spec)
                    verdicts = [c["verdict"] for c in result["cases"]]
                    bad = [v for v in verdicts if v in ("FAIL", "ERROR", "INCONCLUSIVE")]
                    passed = verdicts.count("PASS")
                    print("%s: %d PASS, %d NOTE, %d SKIP, %d else" %
                          (name, passed, verdicts.count("NOTE"), verdicts.count("SKIP"), len(bad)))
                    if bad or passed < 30:
                        sys.exit("%s: not what a right peer shows" % name)
                    skipped[name] = {c["id"] for c in result["cases"] if c["verdict"] == "SKIP"}
        everywhere = set.intersection(*skipped.values())
        for ident in sorted(set.union(*skipped.values()) - everywhere):
            needs = needs_of(conform, ident)
            if not any(word in needs for word in ("crc", "markers", "memory")):
                sys.exit("%s: skipped in some combinations, but its needs are: %s" %
                         (ident, needs or "none"))
    print("the cases skipped differ only by crc, markers or memory")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
