#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs perftest's PROGRAM over siw, or the device named, inside the user-mode kernel, COUNT messages of SIZE octets. Prints
how many octets per second TCP carried on lo, which nothing else uses, in the middle of them. perftest itself needs the CPU's clock rate to
measure time, and cannot measure that beside other load (it says "inf" or 0).

With "calls", prints instead of the rate the system calls of the client and of the server that write, read or control, which
post and wait; subtract the number for another COUNT.

perftest that does not end well within PATIENCE seconds (IW_RATE_PATIENCE) is ended: siw may stand still, and librdmacm crash in its client.

usage: rate.py PROGRAM SIZE COUNT CRC (Y or N) [calls | siw0 | iw0]
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

PATIENCE = int(os.environ.get("IW_RATE_PATIENCE", "120"))
SWITCHES = {"siw0": "siw/parameters/mpa_crc_required", "iw0": "iwarp/parameters/crc"}  # whether CRCs are asked for
HEADERS = 66  # Ethernet, IPv4 and TCP with time stamps; in bytes of lo


def carried():
    octets, packets = (int(pathlib.Path("/sys/class/net/lo/statistics/rx_" + name).read_text()) for name in ("bytes", "packets"))
    return octets - HEADERS * packets


def calls_in(summary):
    found = re.findall(r"^ *[\d.]+ +[\d.]+ +\d+ +(\d+) +(?:\d+ +)?(?:read|write|ioctl|poll)$", summary, re.MULTILINE)
    return sum(map(int, found))


def address_of(device):
    """Where tools/siw has it: siw0 is at the second address if there is iw0."""
    return "10.7.1.1" if device == "siw0" and os.path.exists("/sys/class/infiniband/iw0") else "10.7.0.1"


def main(program, size, count, crc, calls=False, device="siw0"):
    # However it ends, they must not stay.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("rate.py: ended by SIGTERM"))
    (pathlib.Path("/sys/module") / SWITCHES[device]).write_text(crc)
    # siw counts registered memory against the limit of locked memory, also root's.
    words = ["bash", "-c", 'ulimit -l unlimited; exec "$@"', "sh"]
    words += ["strace", "-f", "-c"] if calls else []
    words += [program, "-d", device, "-R", "-F", "-s", size, "-n", count]
    # Two processes that poll on the only processor would wait for each other's time slices to end.
    words += ["-e"] if program.endswith("_lat") else []
    how = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE if calls else subprocess.DEVNULL, "text": True,
           "start_new_session": True}
    pair = [subprocess.Popen(words, **how)]
    until = time.monotonic() + PATIENCE
    try:
        while not subprocess.run(["ss", "-Hltn", "sport = :18515"], check=True, capture_output=True).stdout:
            if pair[0].poll() is not None:
                sys.exit("rate.py: %s ended with status %d before it listened" % (program, pair[0].returncode))
            if time.monotonic() >= until:
                sys.exit("rate.py: %s does not listen" % program)
            time.sleep(0.05)
        pair.append(subprocess.Popen([*words, address_of(device)], **how))
        seen = [(time.monotonic(), carried())]
        while pair[1].poll() is None and time.monotonic() < until:
            time.sleep(0.02)
            seen.append((time.monotonic(), carried()))
        if pair[1].returncode != 0:
            sys.exit("rate.py: the client of %s %s" % (program, "stands still" if pair[1].returncode is None else
                                                       "ended with status %d" % pair[1].returncode))
        traces = [p.communicate(timeout=PATIENCE)[1] for p in (pair[1], pair[0])]
    except subprocess.TimeoutExpired:
        sys.exit("rate.py: the server of %s stands still" % program)
    finally:
        for one in pair:
            if one.poll() is None:
                os.killpg(one.pid, signal.SIGKILL)
                one.wait()
    if calls:
        print(*map(calls_in, traces))
        return
    first, last = seen[0][1], seen[-1][1]
    part = [s for s in seen if first + (last - first) * 0.15 <= s[1] <= first + (last - first) * 0.85]
    if len(part) < 2:
        sys.exit("rate.py: %s took too short a time" % program)
    print((part[-1][1] - part[0][1]) / (part[-1][0] - part[0][0]))


if __name__ == "__main__":
    if len(sys.argv) not in (5, 6) or sys.argv[5:] not in ([], ["calls"], *([device] for device in SWITCHES)):
        sys.exit(__doc__)
    if sys.argv[5:6] and sys.argv[5] in SWITCHES:
        main(*sys.argv[1:5], device=sys.argv[5])
    else:
        main(*sys.argv[1:5], *map(bool, sys.argv[5:]))
