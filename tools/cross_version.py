#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the suite across versions: the station of an earlier revision against today's agent, and the reverse.

Station, observer and stack share proto/wire, so that a change of both sides at once looks right to every test of one
version. Each station runs its own cases against its own agent first; a case counts if its verdict against the other agent
differs, again when it is asked once more by itself. Differences that are meant are rows of tools/cross_version.csv.

The other revision is built in RESULTS/base, once: --base, else the last tag, else the commit that this comparison last
passed at (tools/results/runs.csv), else that of the last figure there. Exit: 0 no difference that is not known, 1 there is one, 64 usage, 70 something could not be built or run,
77 there is no earlier revision here.
"""
import argparse
import csv
import fnmatch
import json
import os
import pathlib
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
KNOWN = TOP / "tools" / "cross_version.csv"
COLUMNS = ["since", "station", "cases", "reason"]
PROGRAMS = ("iwarp-conform", "iwarp-agent")
MOST = 400  # cases that are asked once more; above that something is wrong altogether


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(64, f"{self.prog}: {message}\n")


class Bad(Exception):
    """Something could not be built or run."""


def parse(words):
    p = Parser(prog="tools/cross_version.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("programs", metavar="PROGRAMS", type=pathlib.Path, help="folder of today's iwarp-conform and iwarp-agent")
    p.add_argument("results", metavar="RESULTS", type=pathlib.Path, help="folder for the other revision and the runs' results")
    p.add_argument("--base", metavar="REV", help="the other revision")
    p.add_argument("--jobs", "-j", type=int, default=len(os.sched_getaffinity(0)), metavar="N", help="of the build and of each run (CPUs)")
    p.add_argument("--select", metavar="PATTERN", action="append", default=[], help="only these cases: as of iwarp-conform run")
    return p.parse_args(words)


def git(*words):
    """The output of git, or None."""
    done = subprocess.run(["git", "-C", TOP, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


# ---- the other revision ----

def recorded(folder):
    """Returns the commits of recorded runs, the latest first: those that this comparison has seen, then the others."""
    found = []
    for name, wanted in (("runs.csv", ("step", "cross-version")), ("figures.csv", None)):
        path = folder / name
        if not path.exists():
            continue
        with open(path, encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if wanted is None or row[wanted[0]] == wanted[1] and row["verdict"] == "ok"]
        found += [row["commit"].removesuffix("-dirty") for row in reversed(rows)]
    return found


def base_revision(said):
    """Returns the full hash of the revision to compare with; None if there is none. Comparing HEAD with itself shows nothing."""
    tag = git("describe", "--tags", "--abbrev=0", "HEAD^")
    for name in [said] if said else [tag, *recorded(TOP / "tools" / "results")]:
        full = git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}") if name else None
        if full and (said or full != git("rev-parse", "HEAD")) and git("merge-base", "--is-ancestor", full, "HEAD") is not None:
            return full
    return None


def build(revision, folder, jobs):
    """Returns the programs of a revision; builds them unless they are there."""
    mark = folder / "revision"
    if mark.exists() and mark.read_text(encoding="ascii") == revision:
        return folder / "build" / "bin"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    archive = subprocess.Popen(["git", "-C", TOP, "archive", revision], stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", folder], stdin=archive.stdout, check=True)
    if archive.wait() != 0:
        raise Bad(f"git archive {revision}: exit {archive.returncode}")
    log = folder / "build.log"
    with open(log, "w", encoding="utf-8") as file:
        for words in (["cmake", "--preset", "default"], ["cmake", "--build", "build", f"-j{jobs}", "--target", *PROGRAMS]):
            if subprocess.run(words, cwd=folder, stdout=file, stderr=subprocess.STDOUT, check=False).returncode != 0:
                raise Bad(f"{' '.join(words)}: see {log}")
    mark.write_text(revision, encoding="ascii")
    return folder / "build" / "bin"


# ---- runs ----

class Station:
    """A version's runner with its own cases, and its agent."""

    def __init__(self, name, programs, folder, jobs):
        self.name, self.folder, self.jobs = name, folder, jobs
        self.conform, self.agent = (programs.resolve() / p for p in PROGRAMS)
        for path in (self.conform, self.agent):
            if not os.access(path, os.X_OK):
                raise Bad(f"{path}: not there")

    def run(self, agent, what, patterns, again=False):
        """Runs cases against this agent. Returns them by their names."""
        out = self.folder / f"{self.name}-station-{what}{'-again' if again else ''}"
        shutil.rmtree(out, ignore_errors=True)
        words = [self.conform, "run", "--agent", agent, "--results", out, "--json", out / "run.json"]
        words += ["-j1", "--time-scale", "5"] if again else [f"-j{self.jobs}"]
        for pattern in patterns:
            words += ["--select", pattern]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        try:
            cases = json.loads((out / "run.json").read_text(encoding="utf-8"))["cases"]
        except (OSError, ValueError, KeyError) as error:
            raise Bad(f"{self.name} station, {what}: exit {done.returncode}, {error}\n{done.stdout}") from None
        return {case["id"]: case for case in cases}


def different(own, other):
    """Returns the names of the cases whose verdicts differ."""
    return sorted(name for name in own.keys() | other.keys()
                  if own.get(name, {}).get("verdict") != other.get(name, {}).get("verdict"))


def cross(station, agent, patterns):
    """Returns the differences when a station meets another agent than its own: (case, own result, crossed result)."""
    own, other = station.run(station.agent, "own-agent", patterns), station.run(agent, "other-agent", patterns)
    names = different(own, other)
    if names and len(names) <= MOST:
        own_again, other_again = (station.run(a, w, names, again=True) for a, w in ((station.agent, "own-agent"), (agent, "other-agent")))
        own.update(own_again)
        other.update(other_again)
        names = [name for name in names if name in different(own_again, other_again)]
    return len(own), [(name, own.get(name), other.get(name)) for name in names]


# ---- what is known ----

def read_known(path):
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames != COLUMNS:
            raise Bad(f"{path}: the columns must be {','.join(COLUMNS)}")
        rows = list(reader)
    for row in rows:
        if row["station"] not in ("old", "new", "both") or not row["reason"] or not row["cases"]:
            raise Bad(f"{path}: station is old, new or both, and cases and reason are not empty: {row}")
    return rows


def in_force(rows, revision):
    """The rows of changes that the revision does not have."""
    return [row for row in rows if not (row["since"] and git("merge-base", "--is-ancestor", row["since"], revision) is not None)]


def reason(rows, station, case):
    """Returns why this difference is intended; empty if no reason is known."""
    for row in rows:
        if row["station"] in (station, "both") and any(fnmatch.fnmatch(case, pattern) for pattern in row["cases"].split()):
            row["met"] = True
            return row["reason"]
    return ""


def verdict_of(case):
    if case is None:
        return "not there"
    return case["verdict"] + (": " + case["reason"] if case.get("reason") else "")


def judge(station, found, known, output):
    """Prints the differences. Returns the number of unknown ones."""
    unknown = 0
    for name, own, other in found:
        why = reason(known, station, name)
        unknown += not why
        output(f"{'known  ' if why else 'DIFFERS'} {station} station, {name}\n"
               f"          own agent    {verdict_of(own)}\n          other agent  {verdict_of(other)}" + (f"\n          {why}" if why else ""))
    return unknown


def main(words):
    options = parse(words)
    revision = base_revision(options.base)
    if not revision:
        print(f"{options.base or 'no tag, and no night of tools/results'}: no earlier revision in this clone")
        return 64 if options.base else 77
    known = in_force(read_known(KNOWN), revision)
    options.results.mkdir(parents=True, exist_ok=True)
    results = options.results.resolve()
    print(f"base: {git('log', '-1', '--format=%h of %ad, %s', '--date=short', revision)}", flush=True)
    old = Station("old", build(revision, results / "base", options.jobs), results, options.jobs)
    new = Station("new", options.programs, results, options.jobs)
    unknown = 0
    for station, agent in ((old, new.agent), (new, old.agent)):
        count, found = cross(station, agent, options.select)
        here = judge(station.name, found, known, print)
        print(f"{station.name} station: {count} cases, {len(found)} differ with the other agent, {here} of them unknown", flush=True)
        unknown += here
    for row in known:
        if "met" not in row and not options.select:
            print(f"not met: {row['station']} {row['cases']}: {row['reason']}")
    return 1 if unknown else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Bad as error:
        print(f"cross_version: {error}", file=sys.stderr)
        sys.exit(70)
