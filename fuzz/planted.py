#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""planted.py [--limit SECONDS] [--select NAME]... [--without GLOB] FOLDER

Do the fuzzers find what is wrong? Plants each fault of planted_faults.csv, one at a time, in a copy of the tree in FOLDER, and runs the
harnesses named there (libFuzzer, AddressSanitizer, the committed corpora) until one fails, or for SECONDS (600) of processor time.
Prints who noticed and after how much time. What fails without the fault, too, is not counted; it is kept in FOLDER/real.
--without leaves out the committed inputs of such names: with 'class-*' no input is there that was made for a fault like these.
Exit status 1 if fewer than nine in ten were found, or if a harness fails without a fault: also if FOLDER/real has such an input of before.
"""
import argparse
import csv
import fnmatch
import glob
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

from run import ROOT, committed, must

FAILED = re.compile(r"^(fuzz: .*|.*SUMMARY: .*|.*runtime error: .*|==\d+== ?ERROR: .*)$", re.M)
FIRST = 20  # seconds of a harness's first turn; later ones are longer


def copy_tree(folder):
    """Copies the files that git knows, in their present state; unchanged ones keep their time, for the build's sake."""
    names = subprocess.run(["git", "ls-files", "-z", "--", ".", ":!fuzz/corpus", ":!pcaps/golden", ":!pcaps/siw"], cwd=ROOT,
                           check=True, capture_output=True).stdout
    for name in filter(None, os.fsdecode(names).split("\0")):
        there, here = os.path.join(ROOT, name), os.path.join(folder, name)
        if not os.path.isfile(there):
            continue
        os.makedirs(os.path.dirname(here), exist_ok=True)
        with open(there, "rb") as f:
            wanted = f.read()
        if not os.path.exists(here) or open(here, "rb").read() != wanted:
            shutil.copy(there, here)


def build(tree, harnesses):
    if not os.path.exists(os.path.join(tree, "build-asan", "build.ninja")):
        must(["cmake", "--preset", "asan"], tree)
    must(["cmake", "--build", "build-asan", *(word for harness in harnesses for word in ("--target", f"fuzz-{harness}-libfuzzer"))], tree)


def used():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def program(folder, harness):
    return os.path.join(folder, f"fuzz-{harness}-libfuzzer")


def fails_anyway(tree, harness, path):
    """Returns whether the input fails without the fault; then keeps it."""
    done = subprocess.run([program(os.path.join(tree, "baseline"), harness), "-timeout=20", path], capture_output=True, check=False)
    if done.returncode != 0:
        os.makedirs(os.path.join(tree, "real"), exist_ok=True)
        shutil.copy(path, os.path.join(tree, "real", f"{harness}-{os.path.basename(path)}"))
    return done.returncode != 0


def gather(tree, harnesses, without):
    """Puts the committed inputs that a run may begin with into the tree's folder seeds/HARNESS."""
    for harness in harnesses:
        seeds = os.path.join(tree, "seeds", harness)
        shutil.rmtree(seeds, ignore_errors=True)
        os.makedirs(seeds)
        for folder in committed(harness):
            for name in os.listdir(folder):
                if not fnmatch.fnmatch(name, without):
                    os.symlink(os.path.join(folder, name), os.path.join(seeds, name))


def turn(tree, harness, corpus, seconds, replay):
    """Runs a harness for a while. Returns (its message when it failed or None, seconds of processor time)."""
    began = used()
    seeds = os.path.join(tree, "seeds", harness)
    with tempfile.TemporaryDirectory() as artifacts:
        done = subprocess.run([program(os.path.join(tree, "build-asan", "bin", "fuzz"), harness), f"-artifact_prefix={artifacts}/",
                               "-max_len=4096", "-timeout=200", "-rss_limit_mb=2000", f"-dict={os.path.join(ROOT, 'fuzz', 'iwarp.dict')}",
                               *(["-runs=0"] if replay else [f"-max_total_time={seconds}"]), corpus, seeds],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=artifacts, check=False)
        took = used() - began
        written = [os.path.join(artifacts, name) for name in os.listdir(artifacts)]
        if done.returncode == 0 or (not replay and written and fails_anyway(tree, harness, written[0])):
            return None, took
    if done.returncode in (-signal.SIGKILL, -signal.SIGTERM):
        sys.exit(f"{harness} was killed by signal {-done.returncode}")
    said = FAILED.search(done.stderr.decode(errors="replace"))
    return said.group(1) if said else f"exit status {done.returncode}", took


def hunt(tree, harnesses, limit):
    """Returns (harness, its message, seconds), the first two None if nothing was found."""
    with tempfile.TemporaryDirectory() as folder:
        corpora = {harness: os.path.join(folder, harness) for harness in harnesses}
        for corpus in corpora.values():
            os.mkdir(corpus)
        total, seconds = 0, FIRST
        while total < limit:
            for harness, corpus in corpora.items():
                share = max(1, min(seconds, int(limit - total)))
                said, took = turn(tree, harness, corpus, share, False)
                total += took
                if said:
                    return harness, said, total
                if total >= limit:
                    break
            seconds *= 2
        return None, None, total


def text_of(tree, fault):
    """The file that a fault edits, its path and its text."""
    path = os.path.join(tree, "proto", fault["file"])
    with open(path, encoding="utf-8") as f:
        return path, f.read()


def check_rows(rows):
    """Each fault has its columns, and its text is once in its file."""
    for row in rows:
        if None in row or None in row.values():
            sys.exit(f"planted_faults.csv: {row['name']}: expected six columns; a text with a comma needs quotes")
        count = text_of(ROOT, row)[1].count(row["old"])
        if count != 1:
            sys.exit(f"planted_faults.csv: {row['name']}: the text to replace is {count} times in proto/{row['file']}")


def plant(tree, fault):
    """Edits the tree. Returns the earlier text."""
    path, before = text_of(tree, fault)
    with open(path, "w", encoding="utf-8") as f:
        f.write(before.replace(fault["old"], fault["new"]))
    return path, before


def main():
    parser = argparse.ArgumentParser(usage=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, default=600)
    parser.add_argument("--select", action="append", default=[])
    parser.add_argument("--without", default="", metavar="GLOB")
    parser.add_argument("folder")
    options = parser.parse_args()
    with open(os.path.join(ROOT, "fuzz", "planted_faults.csv"), newline="", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    check_rows(rows)
    faults = [row for row in rows if not options.select or row["name"] in options.select]
    tree = os.path.abspath(options.folder)
    copy_tree(tree)
    harnesses = sorted({harness for fault in faults for harness in fault["harnesses"].split()})
    build(tree, harnesses)
    gather(tree, harnesses, options.without)
    with tempfile.TemporaryDirectory() as empty:
        for harness in harnesses:
            said, _ = turn(tree, harness, empty, 0, True)
            if said:
                sys.exit(f"{harness} fails without a fault: {said}")
    os.makedirs(os.path.join(tree, "baseline"), exist_ok=True)
    for harness in harnesses:
        shutil.copy(program(os.path.join(tree, "build-asan", "bin", "fuzz"), harness), program(os.path.join(tree, "baseline"), harness))
    found = 0
    for fault in faults:
        path, before = plant(tree, fault)
        try:
            build(tree, fault["harnesses"].split())
            harness, said, seconds = hunt(tree, fault["harnesses"].split(), options.limit)
        finally:
            with open(path, "w", encoding="utf-8") as f:
                f.write(before)
        found += harness is not None
        print(f"{fault['name']:18} {seconds:6.1f} s  {harness + ': ' + said if harness else 'NOT FOUND'}", flush=True)
    print(f"{found} of {len(faults)} planted faults found")
    real = glob.glob(os.path.join(glob.escape(tree), "real", "*"))
    for name in sorted(real):
        print(f"fails without a fault, too: {name}")
    sys.exit(int(bool(real) or found < 0.9 * len(faults)))


if __name__ == "__main__":
    main()
