#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that the suite notices faults in siw: plants those of faults.csv in its source, one at a time.

usage: faults.py [--all] [--source DIR] [--select PATTERN] PROGRAMS RESULTS [NAME...]

PROGRAMS: the folder of iwarp-conform and iwarp-siw; RESULTS: a folder for the runs' results; NAME: only these faults.
--all: also the other targets once a fault is caught; --source: where the kernel was built before, or is to be;
--select: play these cases only ('effect-*': those that ask what an error does, whatever the form of the Terminate).

A line of faults.csv: the targets to try, in this order, and a text that occurs once in a file of drivers/infiniband/sw/siw
with its replacement. A fault is caught by the cases whose verdict, or record of the peer, differs from that against siw
without the fault, in the run of the whole suite and again when only they are played. CI would have reported those whose
verdict differs from the baseline, too.
Exit status: 0 all caught, 1 not all, 3 no kernel, 70 a line no longer fits or a run failed.
"""
import argparse
import csv
import functools
import os
import pathlib
import shutil
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
import siw_bench  # noqa: E402

RECORDED = ("verdict", "rule", "reason", "actual", "observed")  # what `iwarp-conform diff` compares
LISTED = 12  # cases that are printed for each fault


def give_up(text, status=70):
    print("faults: " + text, file=sys.stderr)
    sys.exit(status)


class Bench:
    """Holds the sources, once unpacked, and a place for the kernels and a separate instance of tools/siw."""

    def __init__(self, programs, results, source, select):
        self.select = [select] if select else []
        self.siw = siw_bench.Instance(programs, results, "iwarp-siw-faults-")
        self.results, self.folder, self.close = self.siw.results, self.siw.folder, self.siw.close
        self.source = os.path.abspath(source) if source else os.path.join(self.folder, "source")
        self.clean_run = functools.cache(lambda target: self.run(target, None, "clean"))  # siw as it is

    def unpack(self):
        if os.path.exists(os.path.join(self.source, ".config")):
            return
        os.makedirs(self.source, exist_ok=True)
        with open(os.path.join(self.results, "build.log"), "w", encoding="utf-8") as log:
            status = subprocess.run([siw_bench.SIW, "source", self.source], stdout=log, check=False).returncode
        if status:
            give_up("no sources: tools/siw source ended with status %d" % status, 3)

    def build(self, fault):
        """Returns the kernel with this fault. After the first one, only siw's file is compiled again."""
        path = pathlib.Path(self.source, "drivers/infiniband/sw/siw", fault["file"])
        text = path.read_text(encoding="utf-8")
        if text.count(fault["old"]) != 1:
            give_up("%s: '%s' occurs %d times in %s" % (fault["name"], fault["old"], text.count(fault["old"]), path))
        kernel = os.path.join(self.folder, "linux-" + fault["name"])
        path.write_text(text.replace(fault["old"], fault["new"]), encoding="utf-8")
        with open(os.path.join(self.results, "build.log"), "a", encoding="utf-8") as log:
            status = subprocess.run(["make", "-C", self.source, "ARCH=um", "-j%d" % os.cpu_count(), "linux"],
                                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False).returncode
        path.write_text(text, encoding="utf-8")
        if status:
            give_up("%s: the kernel does not build; all of it: %s/build.log" % (fault["name"], self.results))
        shutil.copy(os.path.join(self.source, "linux"), kernel)
        return kernel

    def run(self, target, kernel, name, cases=()):
        """Runs the suite. Returns its cases by id. None: the kernel without a fault."""
        return self.siw.run({"IW_SIW_KERNEL": kernel} if kernel else {}, target, name + ("-again" if cases else ""),
                            ["--baseline", siw_bench.baseline(target), *(cases or self.select)])


def differ(clean, bent):
    """Returns the cases that record something else."""
    return [name for name, case in bent.items() if any(case.get(key) != clean[name].get(key) for key in RECORDED)]


def verdict_of(case):
    text = " ".join(str(case[key]) for key in ("reason", "actual") if case.get(key))
    return case["verdict"] + (": " + text if text else "")


def try_fault(bench, fault, everywhere):
    """Returns True if some case noticed."""
    kernel, caught = bench.build(fault), False
    for target in fault["targets"].split():
        clean, bent = bench.clean_run(target), bench.run(target, kernel, fault["name"])
        noticed = differ(clean, bent)
        if noticed:
            before = bench.run(target, None, fault["name"] + "-without", noticed)
            after = bench.run(target, kernel, fault["name"], noticed)
            noticed = [name for name in differ(before, after) if name in noticed]
        in_ci = [name for name in noticed if bent[name].get("baseline") in ("new", "stale")]
        print("%-9s %s: %s by %d cases of %s, the verdict of %d is not that of the baseline" % (
            fault["name"], fault["what"], "caught" if noticed else "NOT caught", len(noticed), target, len(in_ci)), flush=True)
        for name in (in_ci + [name for name in noticed if name not in in_ci])[:LISTED]:
            print("          %s (%s)\n              %s\n              %s" % (
                name, " ".join(bent[name]["rules"][:3]), verdict_of(clean[name]), verdict_of(bent[name])), flush=True)
        caught = caught or bool(noticed)
        if caught and not everywhere:
            break
    return caught


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--source")
    parser.add_argument("--select")
    parser.add_argument("programs")
    parser.add_argument("results")
    parser.add_argument("names", nargs="*")
    wanted = parser.parse_args()
    with open(os.path.join(HERE, "faults.csv"), encoding="utf-8", newline="") as f:
        faults = list(csv.DictReader(f))
    unknown = set(wanted.names) - {fault["name"] for fault in faults}
    if unknown:
        give_up("no such fault: " + " ".join(sorted(unknown)), 64)
    faults = [fault for fault in faults if not wanted.names or fault["name"] in wanted.names]
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda n, _: sys.exit(128 + n))
    bench = Bench(wanted.programs, wanted.results, wanted.source, wanted.select)
    try:
        bench.unpack()
        missed = [fault["name"] for fault in faults if not try_fault(bench, fault, wanted.all)]
    except siw_bench.RunFailed as error:
        give_up(str(error), error.status)
    finally:
        bench.close()
    print("%d of %d faults caught%s" % (len(faults) - len(missed), len(faults),
                                        "; not: " + " ".join(missed) if missed else ""))
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
