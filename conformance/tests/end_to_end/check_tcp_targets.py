#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the suite against iwarp-peer in another process, over plain TCP.

usage: check_tcp_targets.py IWARP-CONFORM IWARP-PEER [LUA DECODE-DIR]

For the four combinations of CRC and Markers, on IPv4 and IPv6: no FAIL, ERROR or INCONCLUSIVE, and
the cases that are skipped differ only by those whose needs name CRC, Markers or memory. The second decoder follows the captures.
"""
import concurrent.futures
import itertools
import json
import os
import subprocess
import sys
import tempfile

from peers import Peer


def run(conform, folder, spec):
    report = os.path.join(folder, "run.json")
    done = subprocess.run([conform, "run", "--target", spec, "--time-scale", "10", "--results", folder, "--json", report,
                           "--pcap-dir", os.path.join(folder, "pcaps")], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("%s: exit %d\n%s%s" % (spec, done.returncode, done.stdout, done.stderr))
    with open(report, encoding="utf-8") as f:
        return json.load(f)


def decoded(decoder, folder):
    """Runs the second decoder on the captures in a folder. Ends the test if it finds a problem."""
    if not decoder:
        return ""
    done = subprocess.run([*decoder, folder], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("second decoder: exit %d\n%s%s" % (done.returncode, done.stdout, done.stderr))
    return done.stdout.strip()


def needs_of(conform, ident):
    """The names in a case's needs, as `show` prints them."""
    out = subprocess.run([conform, "show", ident], check=True, capture_output=True,
                         text=True).stdout
    for line in out.splitlines():
        if line.strip().startswith("needs"):
            return line
    return ""


def play(conform, peer, decoder, folder, combination):
    """The name of the combination, and the cases that are skipped."""
    host, crc, markers = combination
    name = "%s crc %s markers %s" % combination
    results = os.path.join(folder, name)
    with Peer(peer, "--crc", crc, "--markers", markers, host=host) as p:
        result = run(conform, results, "tcp:%s,crc=%s,markers=%s,can=extensions" % (p.address, crc, markers))
    verdicts = [c["verdict"] for c in result["cases"]]
    bad = [v for v in verdicts if v in ("FAIL", "ERROR", "INCONCLUSIVE")]
    passed = verdicts.count("PASS")
    if bad or passed < 30:
        sys.exit("%s: not what a right peer shows: %s" % (name, result["summary"]))
    print("%s: %d PASS, %d NOTE, %d SKIP; %s" %
          (name, passed, verdicts.count("NOTE"), verdicts.count("SKIP"), decoded(decoder, os.path.join(results, "pcaps"))))
    return name, {c["id"] for c in result["cases"] if c["verdict"] == "SKIP"}


def main(conform, peer, *decoder):
    combinations = itertools.product(("127.0.0.1", "[::1]"), ("on", "off"), ("on", "off"))
    # They mostly wait.
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(8) as pool:
        skipped = dict(pool.map(lambda one: play(conform, peer, decoder, folder, one), combinations))
    everywhere = set.intersection(*skipped.values())
    for ident in sorted(set.union(*skipped.values()) - everywhere):
        needs = needs_of(conform, ident)
        if not any(word in needs for word in ("crc", "markers", "memory")):
            sys.exit("%s: skipped in some combinations, but its needs are: %s" %
                     (ident, needs or "none"))
    print("the cases skipped differ only by crc, markers or memory")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:])
