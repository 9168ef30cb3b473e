#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What depth.py makes of what a fuzzer says; a script stands for the fuzzer.

usage: check_scripts.py
"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import depth


def fuzzer(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)
    return path


def depth_is_found_by_its_trap(folder):
    """A function that is reached for the first time is told, too."""
    new = "echo 'NEW_FUNC[1/2]: 0x1 in receive_send' >&2; echo 'stat::number_of_executed_units: 7' >&2; "
    for status, found in ((0, False), (77, True)):
        assert depth.hunt(fuzzer(folder + "/fuzzer", new + "exit %d\n" % status), 1, True) == (found, 7), status


def main():
    for check in (depth_is_found_by_its_trap,):
        if len(sys.argv) < 2 or check.__name__ in sys.argv[1:]:
            with tempfile.TemporaryDirectory() as folder:
                check(folder)


main()
