#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Proves the findings about siw by mending it: which cases change their verdict with which deviation put right.

usage: mend_table.py [--record] [--part K/N] [--jobs N] [--target NAME]... [--way WAY]... [--time-scale X]
    PROGRAMS RESULTS [NUMBER...]

PROGRAMS: the folder of iwarp-conform and iwarp-siw; RESULTS: a folder for the runs' results; NUMBER: only these deviations of
conformance/baselines/siw.md; --part: every N-th from the K-th one on; --jobs: kernels at a time (1); --target, --way: only this one;
--time-scale: as of iwarp-conform.

Of each target's baseline the cases that are not PASS are played to siw with all mended, with all but each deviation mended, and
with it alone. A line of mend_table.csv: the deviation, the target, the way, a case, its verdict before and after. `alone`: the cases of
which the baseline names this deviation only, with it alone mended; before is the verdict of the baseline. `with-1`: those of which it
names this one, and perhaps 1, and which do not pass with it alone, with 1 mended, too. `without`: all cases but those that pass in either way
with other ones; before, all are mended, and after, all but this. What differs from mend_table.csv is played again; --record
writes it down, as it comes.
With all mended, no case may be FAIL but those of mend_rest.csv, which says why.
Exit status: 0 as mend_table.csv and mend_rest.csv say, 1 not so, 3 no kernel, 70 a run failed.
"""
import argparse
import concurrent.futures
import csv
import fcntl
import os
import queue
import re
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
import mend  # noqa: E402
import siw_bench  # noqa: E402

TABLE = os.path.join(HERE, "mend_table.csv")
REST = os.path.join(HERE, "mend_rest.csv")
WAYS = ("alone", "with-1", "without")  # in this order: each needs the lines of those before it
COLUMNS = ("mend", "target", "way", "case", "before", "after")


def give_up(text, status=70):
    print("mend_table: " + text, file=sys.stderr)
    sys.exit(status)


def known_cases(target):
    """Returns the verdict of each case of a baseline, and the deviations that it names."""
    with open(siw_bench.baseline(target), encoding="utf-8") as f:
        of_ours = re.split(r"^for .*\n", f.read(), flags=re.MULTILINE)[:2]  # lines for all versions, and for the first
    lines = [line for line in "".join(of_ours).splitlines() if line.strip() and not line.startswith("#")]
    return {line.split()[0]: (line.split()[1].rstrip("?"), {int(one) for one in re.findall(r"siw\.md (\d+):", line)}) for line in lines}


class Bench:
    """Plays what is asked for on some kernels at a time."""

    def __init__(self, programs, results, scale, jobs):
        self.scale = scale
        self.instances = [siw_bench.Instance(programs, results, "iwarp-siw-mends-") for _ in range(jobs)]
        self.free = queue.SimpleQueue()
        for one in self.instances:
            self.free.put(one)

    def play(self, target, mends, name, cases):
        """Returns the verdicts of the cases, by their ids. `mends`: a list as tools/siw takes it, `none` or `all`."""
        quirks = ["--no-quirks"] if mend.mask(mends) & 1 << 1 else []  # the reversed control word
        instance = self.free.get()
        try:
            found = instance.run({"IW_SIW_MEND": mends}, target, name, [*quirks, "--time-scale", self.scale, *cases])
            return {case: one["verdict"] for case, one in found.items()}
        finally:
            self.free.put(instance)

    def close(self):
        for one in self.instances:
            one.close()


def without(number):
    return ",".join(str(one) for one in mend.numbers() if one != number)


def changes(number, target, way, before, after):
    return [(str(number), target, way, case, before[case], after[case])
            for case in before if case in after and before[case] != after[case]]


def read(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", newline="") as f:
        fcntl.flock(f, fcntl.LOCK_SH)
        return list(csv.DictReader(f))


def known_lines(number, target, way):
    return {tuple(line[key] for key in COLUMNS) for line in read(TABLE)
            if (line["mend"], line["target"], line["way"]) == (str(number), target, way)}


def concerned(ends, key):
    """Returns what to play, as a list of mends and of cases, and the verdicts before."""
    number, target, way = key
    known = known_cases(target)
    before = {case: verdict for case, (verdict, _) in known.items()}
    passed = {(line["mend"], line["way"], line["case"]) for line in read(TABLE) if (line["target"], line["after"]) == (target, "PASS")}
    if way == "alone":
        return str(number), [case for case in known if known[case][1] == {number}], before
    if way == "with-1":
        return "1,%d" % number, [case for case in known if number != 1 and known[case][1] | {1} == {1, number} and
                                 number in known[case][1] and (str(number), "alone", case) not in passed], before
    done = {case for mended, how, case in passed if mended != str(number) and (how == "alone" or how == "with-1" and number != 1)}
    return without(number), [case for case, verdict in ends[target].items() if verdict == "PASS" and case not in done], ends[target]


def settle(bench, ends, key):
    """Plays one line of work: a deviation, alone or left. Returns the changed cases; what is not as before is played again."""
    number, target, way = key
    mends, cases, before = concerned(ends, key)
    if not cases:
        return set()
    name = "%s-%d" % (way, number)
    lines = set(changes(number, target, way, before, bench.play(target, mends, name, cases)))
    unexpected = sorted({line[3] for line in lines ^ known_lines(*key)})
    if unexpected:
        again = bench.play(target, mends, name + "-again", unexpected)
        lines = {line for line in lines if line[3] not in again}
        lines |= set(changes(number, target, way, {case: before[case] for case in again if case in before}, again))
    return lines


def record(number, target, way, lines):
    """Replaces the lines of what has been played."""
    with open(TABLE, "a+", encoding="utf-8", newline="") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        f.seek(0)
        kept = {tuple(line[key] for key in COLUMNS) for line in csv.DictReader(f)
                if (line["mend"], line["target"], line["way"]) != (str(number), target, way)}
        f.seek(0)
        f.truncate()
        writer = csv.writer(f, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(sorted(kept | lines, key=lambda line: (int(line[0]),) + line[1:]))


def check_rest(ends, targets):
    """With all mended nothing fails but what mend_rest.csv has; it has nothing else. Returns whether that is so."""
    known = {(line["target"], line["case"], line["verdict"]) for line in read(REST) if line["target"] in targets}
    seen = {(target, case, verdict) for target in targets for case, verdict in ends[target].items()
            if verdict not in ("PASS", "SKIP")}
    for target, case, verdict in sorted(seen - known):
        print("all mended, %s: %s is %s, and mend_rest.csv has no reason" % (target, case, verdict))
    for target, case, verdict in sorted(known - seen):
        print("all mended, %s: %s is not %s, as mend_rest.csv says" % (target, case, verdict))
    return seen == known


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--target", action="append", choices=list(siw_bench.BASELINE))
    parser.add_argument("--way", action="append", choices=WAYS)
    parser.add_argument("--time-scale", dest="scale", default="1")
    parser.add_argument("programs")
    parser.add_argument("results")
    parser.add_argument("numbers", nargs="*", type=int)
    wanted = parser.parse_args()
    first, parts = (int(one) for one in wanted.part.split("/"))
    numbers = [one for one in mend.numbers() if not wanted.numbers or one in wanted.numbers][first - 1::parts]
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda n, _: sys.exit(128 + n))
    if subprocess.run([siw_bench.SIW, "build", "--mend", "all"], stdin=subprocess.DEVNULL, check=False).returncode:
        give_up("there is no kernel", 3)
    bench = Bench(wanted.programs, wanted.results, wanted.scale, wanted.jobs)
    targets = wanted.target or list(siw_bench.BASELINE)
    keys = [(number, target, way) for way in WAYS if way in (wanted.way or WAYS) for number in numbers for target in targets]

    def end(target):
        return bench.play(target, "all", "all", list(known_cases(target)))

    def one(key):
        known, lines = known_lines(*key), settle(bench, ends, key)
        print("%d %s %s: %d cases" % (*key, len(lines)), flush=True)
        if wanted.record:
            record(*key, lines)
        return known, lines
    pool = concurrent.futures.ThreadPoolExecutor(wanted.jobs)
    try:
        ends = dict(zip(targets, pool.map(end, targets)))
        good = check_rest(ends, targets)
        found = [line for way in WAYS for line in pool.map(one, [key for key in keys if key[2] == way])]
    except siw_bench.RunFailed as error:
        give_up(str(error), error.status)
    finally:
        pool.shutdown(cancel_futures=True)
        bench.close()
    for known, lines in found:
        for line in sorted(lines - known):
            print("%s %s %s: %s is %s after %s, which mend_table.csv does not have" % (*line[:4], line[5], line[4]))
        for line in sorted(known - lines):
            print("%s %s %s: %s is not %s, as mend_table.csv says" % (*line[:4], line[5]))
        good = good and lines == known
    changed = {key[0] for key, (_, lines) in zip(keys, found) if lines}
    print("%d of %d deviations change a verdict" % (len(changed), len(numbers)))
    sys.exit(0 if good or wanted.record else 1)


if __name__ == "__main__":
    main()
