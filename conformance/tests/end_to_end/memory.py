# SPDX-License-Identifier: BSD-3-Clause
"""Bounds the memory of a test's programs. A sanitizer's memory is not theirs: with one, nothing is bounded."""
import re
import resource
import sys


def sanitized(program):
    """True if the program was built with a sanitizer that has memory of its own."""
    with open(program, "rb") as file:
        return re.search(rb"__[amt]san_init", file.read()) is not None


def peak():
    """The most KiB that one process of those that this one has waited for ever had in memory."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss


def check(program, most):
    """Ends the test if a process had more than `most` KiB in memory."""
    if not sanitized(program):
        if peak() > most:
            sys.exit("a program took %d KiB of memory, expected at most %d" % (peak(), most))
        print("ok - at most %d MiB of memory" % (most // 1024))
