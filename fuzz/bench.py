#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: fuzz/bench.py [HARNESS...]

Executions a second of libFuzzer on one core, inputs of at most 4 KiB made from the committed corpus: without sanitizers, and with
AddressSanitizer and UndefinedBehaviorSanitizer, both without traced comparisons; the former also as a ratio to a harness that does nothing. Seconds are those of the
processor, so that what else the machine does does not count, and what comes before the first input is left out: two runs are compared.
"""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import run

SECONDS = 1  # of processor time for one measurement
MORE = 100  # executions of the run that is subtracted, beyond the committed inputs, which each run executes


def processor(binary, harness, runs):
    """Returns the seconds of processor time that the executions take."""
    with tempfile.TemporaryDirectory() as work:
        inputs = os.path.join(work, "inputs")
        with open(inputs, "w", encoding="utf-8") as f:
            f.write(",".join(os.path.join(folder, name) for folder in run.committed(harness) for name in sorted(os.listdir(folder))))
        # Named in this way nothing that is new is written to a disk.
        command = [binary, f"-runs={runs}", "-seed=1", f"-max_len={run.MOST}", "-len_control=0", "-entropic=0", "-reload=0", "-timeout=60",
                   "-verbosity=0", "-detect_leaks=0", *([f"-seed_inputs=@{inputs}"] if os.path.getsize(inputs) else [])]
        before = os.times()
        done = subprocess.run(command, cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        after = os.times()
        if done.returncode != 0:
            sys.exit(f"{harness}: {done.stderr[-1000:]}")
    return after.children_user + after.children_system - before.children_user - before.children_system


def rate(binary, harness):
    first = runs = MORE + sum(len(os.listdir(folder)) for folder in run.committed(harness))
    base = processor(binary, harness, first)
    while True:
        runs *= 2
        spent = processor(binary, harness, first + runs) - base
        if spent >= SECONDS:
            return runs / spent


def main():
    if any(name.startswith("-") for name in sys.argv[1:]):
        sys.exit(__doc__)
    names = run.harnesses(sys.argv[1:])
    targets = [f"fuzz-{name}-libfuzzer" for name in ["empty", *names]]
    fast = os.path.join(run.build("fuzz-fast", targets), "bin", "fuzz")
    checked = os.path.join(run.build("fuzz-asan", targets), "bin", "fuzz")
    print(f"{'harness':20} {'a second':>10} {'of empty':>9} {'with ASan':>10} {'share':>7}")
    empty = None
    for name in ["empty", *names]:
        plain, sanitized = (rate(os.path.join(folder, f"fuzz-{name}-libfuzzer"), name) for folder in (fast, checked))
        empty = empty or plain
        print(f"{name:20} {plain:10.0f} {plain / empty:9.3f} {sanitized:10.0f} {sanitized / plain:7.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
