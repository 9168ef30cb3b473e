#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: share.py TOTAL -- COMMAND...

Runs COMMAND once for each processor at the same time. In its words {count} becomes its share of TOTAL, {first} the first
number of the share (another one each day), {seed} the same for a command that takes 1,000 a seed.
"""
import datetime
import os
import re
import subprocess
import sys


def main(arguments):
    if len(arguments) < 3 or not arguments[0].isdigit() or arguments[1] != "--":
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 64
    total, command = int(arguments[0]), arguments[2:]
    shares = int(os.environ.get("IW_JOBS") or len(os.sched_getaffinity(0)))
    day = int(datetime.date.today().strftime("%Y%m%d"))
    count = -(-total // shares)
    running = []
    for i in range(shares):
        words = {"{count}": count, "{first}": day * 100000 + i * count, "{seed}": day * 10000 + i * count // 1000}
        running.append(subprocess.Popen([re.sub(r"\{\w+\}", lambda m: str(words.get(m[0], m[0])), word) for word in command]))
    return max(abs(process.wait()) for process in running)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
