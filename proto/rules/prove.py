#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the unit tests against mutants of the library and records which test notices.

usage: prove.py RULES_DIR BUILD_DIR [MUTANT...]

BUILD_DIR is one of preset "prove". The mutants of the checks are chosen at run time (hosted/prove.c); those
of rules without a check are edits of one source file (edits.csv), linked to the tests that rows.csv names. A
mutant is killed by a test that fails, crashes or does not end. Without MUTANT all are run and RULES_DIR/proof.csv is
written; with it only those are run, and their results are printed.
"""

import concurrent.futures
import csv
import json
import os
import pathlib
import re
import resource
import shlex
import subprocess
import sys
import time

import generate
import rows

# Programs that a mutant can reach. test_rules asks the switches themselves, so it would notice everything.
PROGRAMS = re.compile(r"test_(mpa|ddp|rdmap|endpoint|observer|captures|transport)\w*")
TIME_LIMIT = 30  # seconds; the slowest program needs a few
FAULT_STRIDE = "997"  # test_transport_faults: of so many places, one is tried
MEMORY_LIMIT = 4 << 30
USAGE = 64


class Tests:
    """The unit tests: the one that killed a mutant the last time first, then the cheap ones."""

    def __init__(self, build, last):
        self.folder = pathlib.Path(build, "bin", "tests").absolute()
        self.work = pathlib.Path(build, "proto", "tests")
        self.last = last
        names = sorted(path.name for path in self.folder.glob("test_*") if PROGRAMS.fullmatch(path.name))
        if not names:
            raise generate.Bad(f"{self.folder}: no tests; build the preset 'prove'")
        seconds = {}
        for name in names:
            began = time.monotonic()
            if failed := self.failed(self.folder / name):
                raise generate.Bad(f"{failed[0]} fails without a mutant")
            seconds[name] = time.monotonic() - began
        self.names = sorted(names, key=lambda name: seconds[name])

    def failed(self, program, mutant=""):
        """The tests of a program that fail, each as PROGRAM:TEST."""
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
        try:
            run = subprocess.run([program], cwd=self.work, timeout=TIME_LIMIT, check=False,
                                 env={**os.environ, "IW_MUTANT": mutant, "IW_STRIDE": FAULT_STRIDE}, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=limit)
            status, output = run.returncode, run.stdout
        except subprocess.TimeoutExpired as late:
            status, output = None, late.stdout or b""
        output = output.decode("utf-8", "replace")
        if status == USAGE and mutant:
            raise generate.Bad(output.strip())
        if status == 0:
            return []
        found = re.findall(r"\[  FAILED  \] ([a-z]\w*)", output)
        if not found:  # it crashed or did not end
            found = re.findall(r"\[ RUN      \] (\w+)", output)[-1:] or ["main"]
        return [f"{program.name}:{function}" for function in dict.fromkeys(found)]

    def mutants(self):
        """All that hosted/prove.c knows."""
        run = subprocess.run([self.folder / self.names[0]], check=True, text=True, stdout=subprocess.PIPE,
                             env={**os.environ, "IW_MUTANT": "list"})
        return run.stdout.split()

    def kill(self, mutant):
        first = self.last.get(mutant, "").partition(":")[0]
        for name in sorted(self.names, key=lambda name: name != first):
            if failed := self.failed(self.folder / name, mutant):
                return [(mutant, failed[0])]
        return [(mutant, "")]


class Edits:
    """Compiles one edited source and links it, in place of the library's, to some test programs."""

    def __init__(self, folder, build, reasons, tests):
        self.proto = pathlib.Path(folder).absolute().parent
        self.build = pathlib.Path(build).absolute()
        self.reasons = reasons
        self.tests = tests
        with open(self.build / "compile_commands.json", encoding="utf-8") as file:
            entries = json.load(file)
        # The library's own objects: doubles of programs compile some of its sources again.
        self.compile = {entry["file"]: entry for entry in entries if " -o proto/CMakeFiles/iwarp" in entry["command"]}

    def shell(self, place, command, cwd):
        run = subprocess.run(command, cwd=cwd, shell=True, check=False, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if run.returncode != 0:
            raise generate.Bad(f"{place}: {command}\n{run.stdout}")
        return run.stdout

    def compiled(self, edit, work):
        source = self.proto / edit["file"]
        edited, result = work / source.name, work / "edited.o"
        text = source.read_text(encoding="utf-8").replace(edit["old"], edit["new"])
        edited.write_text(text, encoding="utf-8")
        entry = self.compile[str(source)]
        words = shlex.split(entry["command"])
        words[words.index("-o") + 1] = str(result)
        words[words.index(str(source))] = str(edited)
        self.shell(edit["place"], shlex.join(words + ["-w", "-iquote", str(source.parent)]), entry["directory"])
        return result

    def failed(self, edit, program, edited, work):
        commands = self.shell(edit["place"], f"ninja -t commands bin/tests/{program}", self.build)
        link = commands.strip().splitlines()[-1]
        output = f"-o bin/tests/{program} "
        self.shell(edit["place"], link.replace(output, f"{edited} -o {work / program} "), self.build)
        return self.tests.failed(work / program)

    def kill(self, edit):
        work = self.build / "edits" / edit["place"].rpartition(":")[2]
        work.mkdir(parents=True, exist_ok=True)
        edited = self.compiled(edit, work)
        named = {rule: self.reasons[rule]["tests"] for rule in edit["mutants"]}
        programs = {test.partition(":")[0] for tests in named.values() for test in tests}
        failed = {test for program in sorted(programs) for test in self.failed(edit, program, edited, work)}
        for program in programs:
            (work / program).unlink()
        return [(mutant, next((test for test in named[rule] if test in failed), ""))
                for rule, mutant in edit["mutants"].items()]


def run_all(folder, build, wanted):
    rules, _ = rows.read_checks(folder)
    reasons = rows.read_reasons(folder, rules)
    edits = [edit for edit in rows.read_edits(folder, reasons)
             if not wanted or set(edit["mutants"].values()) & set(wanted)]
    tests = Tests(build, rows.read_results(f"{folder}/proof.csv"))
    mutants = [mutant for mutant in wanted or tests.mutants() if not mutant.startswith("edit:")]
    edited = Edits(folder, build, reasons, tests)
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("IW_JOBS", "2"))) as pool:
        jobs = [pool.submit(tests.kill, mutant) for mutant in mutants]
        jobs += [pool.submit(edited.kill, edit) for edit in edits]
        results, bad = [], []
        for job in jobs:
            try:
                results += job.result()
            except generate.Bad as error:
                bad.append(str(error))
    return results, bad


def main(arguments):
    if len(arguments) < 2:
        print(__doc__.strip().splitlines()[2], file=sys.stderr)
        return USAGE
    folder, build, *wanted = arguments
    try:
        results, bad = run_all(folder, build, wanted)
    except generate.Bad as error:
        print(f"prove: {error}", file=sys.stderr)
        return 1
    for error in bad:
        print(f"prove: {error}", file=sys.stderr)
    if not wanted:
        with open(f"{folder}/proof.csv", "w", encoding="ascii", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(rows.RESULT_COLUMNS)
            writer.writerows(results)
    for mutant, killer in results:
        if wanted or not killer:
            print(f"{mutant:48} {killer or 'SURVIVES'}")
    alive = sum(not killer for _, killer in results)
    print(f"{len(results)} mutants, {len(results) - alive} killed, {alive} alive")
    return 1 if alive or bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
