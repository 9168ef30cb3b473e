#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the suite against iwarp-peer in another process, over plain TCP.

usage: check_tcp_targets.py IWARP-CONFORM IWARP-PEER [LUA DECODE-DIR]

For the four combinations of CRC and Markers, on IPv4 and IPv6: no FAIL, ERROR or INCONCLUSIVE, and
the cases that are skipped differ only by those whose needs name CRC, Markers or memory. The second decoder follows the captures.
"""
import functools
import itertools
import os
import sys
import tempfile

import harness


def needs_of(conform, ident):
    """The names in a case's needs, as `show` prints them."""
    for line in harness.run(conform, "show", ident).stdout.splitlines():
        if line.strip().startswith("needs"):
            return line
    return ""


def play(conform, peer, decoder, folder, combination):
    """The name of the combination, and the cases that are skipped."""
    host, crc, markers = combination
    name = "%s crc %s markers %s" % combination
    results = os.path.join(folder, name)
    pcaps = os.path.join(results, "pcaps")
    with harness.listening(peer, "--crc", crc, "--markers", markers, host=host) as p:
        spec = "tcp:%s,crc=%s,markers=%s,can=extensions" % (p.address, crc, markers)
        result = harness.suite(conform, results, "--target", spec, "--time-scale", "10", "--pcap-dir", pcaps)
    verdicts = [c["verdict"] for c in result["cases"]]
    bad = [v for v in verdicts if v in ("FAIL", "ERROR", "INCONCLUSIVE")]
    passed = verdicts.count("PASS")
    if bad or passed < 30:
        sys.exit("%s: not what a right peer shows: %s" % (name, result["summary"]))
    print("%s: %d PASS, %d NOTE, %d SKIP; %s" %
          (name, passed, verdicts.count("NOTE"), verdicts.count("SKIP"), harness.run(*decoder, pcaps).stdout.strip() if decoder else ""))
    return name, {c["id"] for c in result["cases"] if c["verdict"] == "SKIP"}


def main(conform, peer, *decoder):
    combinations = itertools.product(("127.0.0.1", "[::1]"), ("on", "off"), ("on", "off"))
    # They mostly wait.
    with tempfile.TemporaryDirectory() as folder:
        skipped = dict(harness.side_by_side([functools.partial(play, conform, peer, decoder, folder, one) for one in combinations], 8))
    everywhere = set.intersection(*skipped.values())
    for ident in sorted(set.union(*skipped.values()) - everywhere):
        needs = needs_of(conform, ident)
        if not any(word in needs for word in ("crc", "markers", "memory")):
            sys.exit("%s: skipped in some combinations, but its needs are: %s" %
                     (ident, needs or "none"))
    print("the cases skipped differ only by crc, markers or memory")


if __name__ == "__main__":
    harness.start(main, __doc__)
