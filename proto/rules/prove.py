#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the unit tests against every mutant of the library and records which test notices.

usage: prove.py RULES_DIR BUILD_DIR RESULTS.csv [MUTANT...]

BUILD_DIR is one of preset "prove". A mutant (rules/hosted/prove.c) is killed by the first test that
fails, crashes or does not end; one that survives shows a check that no test needs. Without names all
mutants of checks.csv are run and RESULTS.csv is written, else the named ones are only told about.
"""

import concurrent.futures
import csv
import os
import pathlib
import re
import resource
import subprocess
import sys
import time

import generate

# Programs that a mutant can reach. test_rules asks the switches themselves, so it would notice everything.
PROGRAMS = re.compile(r"test_(mpa|ddp|rdmap|endpoint|observer|captures|transport)\w*")
REACTIONS = ["layer", "type", "code", "place", "close", "silent", "again"]
RESULT_COLUMNS = ["mutant", "killed_by"]
TIME_LIMIT = 30  # seconds; the slowest program needs less than one
MEMORY_LIMIT = 4 << 30
USAGE = 64


def mutants_of(check):
    """The mutants of a row of checks.csv, the rule's first, then those of its switches."""
    name, kinds = check["check"], set(check["kinds"])
    reaction = check["reaction_fields"][0]
    rule, switch = [], []
    if kinds == {"-"} and reaction == "IW_REACTION_TERMINATE":  # no switches; our own lack of something
        rule += [f"ignore:{name}"] + [f"botch:{name}={botch}" for botch in REACTIONS if botch != "place"]
    if "e" in kinds:
        rule.append(f"ignore:{name}")
        switch.append(f"enforce:{name}")
        botches = {"IW_REACTION_TERMINATE": REACTIONS, "IW_REACTION_CLOSE": ["silent"]}.get(reaction, [])
        rule += [f"botch:{name}={botch}" for botch in botches]
        if botches:
            switch.append(f"able:{name}")
    if "o" in kinds:
        rule.append(f"blind:{name}")
    if "s" in kinds:
        rule.append(f"strict:{name}")
        switch.append(f"lax:{name}")
    if "v" in kinds:
        rule.append(f"violate:{name}")
        switch.append(f"obedient:{name}")
    return rule + switch


def read_checks(folder):
    rules, index = generate.read_rules(f"{folder}/requirements.csv")
    return rules, generate.read_checks(f"{folder}/checks.csv", rules, index)


def read_results(path):
    """Who killed which mutant, as recorded; nothing if there is no record."""
    if not os.path.exists(path):
        return {}
    return {row["mutant"]: row["killed_by"] for _, row in generate.rows(path, RESULT_COLUMNS)}


class Tests:
    """The unit tests: the one that killed a mutant the last time first, then the cheap ones."""

    def __init__(self, build, last):
        self.folder = pathlib.Path(build, "bin", "tests")
        self.work = pathlib.Path(build, "proto", "tests")
        names = sorted(path.name for path in self.folder.glob("test_*") if PROGRAMS.fullmatch(path.name))
        if not names:
            raise generate.Bad(f"{self.folder}: no tests; build the preset 'prove'")
        seconds = {}
        for name in names:
            began = time.monotonic()
            if failure := self.failure(name, ""):
                raise generate.Bad(f"{failure} fails without a mutant")
            seconds[name] = time.monotonic() - began
        self.names = sorted(names, key=lambda name: seconds[name])
        self.last = last

    def failure(self, name, mutant):
        """The first test of a program that fails, as PROGRAM:TEST; None if it passes."""
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
        try:
            run = subprocess.run([self.folder.absolute() / name], cwd=self.work, timeout=TIME_LIMIT, check=False,
                                 env={**os.environ, "IW_MUTANT": mutant}, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=limit)
        except subprocess.TimeoutExpired:
            return f"{name}:(no end)"
        if run.returncode == 0:
            return None
        output = run.stdout.decode("utf-8", "replace")
        if run.returncode == USAGE:
            raise generate.Bad(output.strip())
        failed = re.search(r"\[  FAILED  \] ([a-z]\w*)", output)
        return f"{name}:{failed[1] if failed else '(crash)'}"

    def killer(self, mutant):
        first = self.last.get(mutant, "").partition(":")[0]
        for name in sorted(self.names, key=lambda name: name != first):
            if failure := self.failure(name, mutant):
                return failure
        return ""


def main(arguments):
    if len(arguments) < 3:
        print(__doc__.strip().splitlines()[2], file=sys.stderr)
        return USAGE
    folder, build, results, *wanted = arguments
    try:
        _, checks = read_checks(folder)
        mutants = wanted or [mutant for check in checks for mutant in mutants_of(check)]
        tests = Tests(build, read_results(results))
        with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("IW_JOBS", "2"))) as pool:
            killers = list(pool.map(tests.killer, mutants))
    except generate.Bad as error:
        print(f"prove: {error}", file=sys.stderr)
        return 1
    if wanted:
        for mutant, killer in zip(mutants, killers):
            print(f"{mutant:48} {killer or 'SURVIVES'}")
    else:
        with open(results, "w", encoding="ascii", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(RESULT_COLUMNS)
            writer.writerows(zip(mutants, killers))
    alive = sum(not killer for killer in killers)
    print(f"{len(mutants)} mutants, {len(mutants) - alive} killed, {alive} alive")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
