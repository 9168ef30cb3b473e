#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks what fuzz-minimise makes of inputs; a script plays the replay program.

usage: check_minimise.py FUZZ-MINIMISE
"""
import os
import sys
import tempfile

import harness

PROGRAM = sys.argv[1]
SEND_2 = "001441430000000000000000000000020000000064650000e8fef5a0"
SEND_3 = "001341430000000000000000000000030000000066000000d1e0c5ba"
STEPS = "01000000 001c00 %s 001c00 %s" % (SEND_2, SEND_3)
ONE = "01000000 001c00 001341430000000000000000000000010000000066000000b03a5457"


def minimise(folder, text, octets, *form, status=0):
    """What it writes, and its output; `text` is the replay program, to which $1 is the input."""
    replay = harness.script(folder + "/replay", "#!/bin/sh\necho \"$1\" >%s/path\necho said\n%s" % (folder, text))
    out = folder + "/out"
    if os.path.exists(out):
        os.unlink(out)
    with open(folder + "/in", "wb") as f:
        f.write(octets)
    done = harness.run(PROGRAM, *form, replay, folder + "/in", out, status=status)
    with open(folder + "/path", encoding="ascii") as f:
        path = f.read().strip()
    harness.expect("the scratch file is gone", path.startswith("/tmp/fuzz-minimise-") and not os.path.exists(path), path)
    if not os.path.exists(out):
        return None, done
    with open(out, "rb") as f:
        return f.read(), done


HAS_X_AND_Y = "grep -q X \"$1\" && grep -q Y \"$1\" || exit 0\n"


def rows_of_octets_are_left_out(folder):
    made, done = minimise(folder, HAS_X_AND_Y + "exit 3", b"aaXbbYccc", "--plain")
    harness.equal("the least octets", made, b"XY")
    harness.equal("what it says", done.stdout, "9 -> 2 octets in 12 runs\n")


def failures_are_compared(folder):
    """Numbers aside, the first line of an oracle or a sanitizer, and the status."""
    for fails, least in (("echo \"fuzz: octet $(wc -c <\"$1\") is wrong\" >&2; exit 3", b"XY"),
                         ("echo \"fuzz: octet $(cat \"$1\") is wrong\" >&2; exit 3", b"aXbbYc"),
                         ("echo \"seen: $(cat \"$1\")\" >&2; exit 3", b"XY"),
                         ("echo \"==1== SUMMARY: $(cat \"$1\")\" >&2; exit 3", b"aXbbYc"),
                         ("echo \"$(cat \"$1\") SUMMARY: bad\" >&2; exit 3", b"XY"),
                         ("echo \"no fuzz: $(cat \"$1\")\" >&2; exit 3", b"XY"),
                         ("echo \"fuzz: first\nfuzz: $(cat \"$1\")\" >&2; exit 3", b"XY"),
                         ("echo \"fuzz: %s$(cat \"$1\")\" >&2; exit 3" % ("x" * 248), b"aXY"),
                         ("echo \"fuzz: %s$(cat \"$1\")\" >&2; exit 3" % ("x" * 249), b"XY"),
                         ("exit \"$(wc -c <\"$1\")\"", b"aXbbYc"),
                         ("kill -KILL $$", b"XY")):
        made, _ = minimise(folder, HAS_X_AND_Y + fails, b"aXbbYc", "--plain")
        harness.equal(fails, made, least)


HAS_F = "grep -q f \"$1\" || exit 0\nexit 3"


def steps_are_trimmed(folder):
    made, done = minimise(folder, HAS_F, bytes.fromhex(STEPS))
    harness.equal("one FPDU", made.hex(), ONE.replace(" ", ""))
    harness.equal("what it says", done.stdout, "66 -> 35 octets in 9 runs\n")
    made, _ = minimise(folder, "exit 3", bytes.fromhex(STEPS))
    harness.equal("nothing but settings", made.hex(), "01000000")
    made, _ = minimise(folder, "[ \"$(wc -c <\"$1\")\" -ge 66 ] || exit 0\nexit 3", bytes.fromhex(STEPS))
    shorter = "001341430000000000000000000000020000000064000000" + "18159cf1"  # with pad, as many octets
    harness.equal("all of it", made.hex(), (STEPS.replace(SEND_2, shorter)).replace(" ", ""))


def forms_are_told(folder):
    """Two steps of one stream are joined to one FPDU; as commands they are none."""
    octets = bytes.fromhex("01000000 001000 00134143000000000000000000000003 010c00 0000000066000000d1e0c5ba")
    for form, least in (((), "01000000 010500 0000000066"), (("--single",), "01000000 001c00" + SEND_3), (("--commands",), "01000000 010500 0000000066")):
        made, _ = minimise(folder, HAS_F, octets, *form)
        harness.equal("form %s" % (form,), made.hex(), least.replace(" ", ""))


def what_does_not_fail_is_refused(folder):
    made, done = minimise(folder, "exit 0", b"abc", "--plain", status=1)
    harness.equal("nothing is written", made, None)
    harness.equal("why", done.stderr, "fuzz-minimise: %s/replay does not fail on %s/in\n" % (folder, folder))


def files_are_needed(folder):
    done = harness.run(PROGRAM, "/bin/false", folder + "/none", folder + "/out", status=2)
    harness.equal("no input", done.stderr, "fuzz-minimise: %s/none: No such file or directory\n" % folder)
    harness.write(folder + "/in", "abc")
    done = harness.run(PROGRAM, "--plain", "/bin/false", folder + "/in", folder + "/none/out", status=2)
    harness.equal("no output", done.stderr, "fuzz-minimise: %s/none/out: No such file or directory\n" % folder)


def words_are_checked(_):
    for words in ((), ("a", "b"), ("a", "b", "c", "d"), ("--other", "a", "b", "c"), ("--plain", "a", "b", "c", "d")):
        done = harness.run(PROGRAM, *words, status=64)
        harness.expect("usage", done.stderr.startswith("usage: fuzz-minimise [--single|--commands|--plain] REPLAY-PROGRAM INPUT OUTPUT\n"), done.stderr)


def main():
    for check in (rows_of_octets_are_left_out, failures_are_compared, steps_are_trimmed, forms_are_told, what_does_not_fail_is_refused,
                  files_are_needed, words_are_checked):
        with tempfile.TemporaryDirectory() as folder:
            check(folder)
    harness.conclude()


main()
