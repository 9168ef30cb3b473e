# SPDX-License-Identifier: BSD-3-Clause
"""The tests that can notice an edit: those whose programs hold the edited source, the likely and cheap ones first."""

import json
import math
import os
import pathlib
import re
import subprocess

import guard

SUITE = "suite"
# Need the kernel of siw, a browser, or say nothing about a program's behaviour.
LEFT_OUT = re.compile(r"suite_against_|tools_check_siw|conformance_check_html$|install$|headers_|freestanding_|rules_planted|mutate_")
NOT_OK = re.compile(rb"^not ok \d+ - (\S+)", re.M)
FAILED = re.compile(rb"^\[  FAILED  \] ([a-z]\w*)", re.M)
BEGUN = re.compile(rb"^\[ RUN      \] (\w+)", re.M)
LINK = 0.2  # seconds that a program takes to be linked, about
MEMORY_ONLY = 0.3  # how likely a sanitizer is to notice what the same test without one did not, compared to another test
DEFAULT = guard.Limits()


class Test:
    def __init__(self, build, name, command, cwd, env, targets, files, unit, skips):
        self.build = build
        self.name = name
        self.command = command
        self.cwd = cwd
        self.env = env
        self.targets = targets
        self.files = files
        self.unit = unit
        self.skips = skips  # the exit status that says that it asked nothing, or None

    @property
    def key(self):
        return self.name if self.build == "plain" else f"{self.build}:{self.name}"


def programs(graph):
    """The programs and modules of a build: what is linked from objects."""
    return [o for o, inputs in graph.made.items()
            if any(i.endswith(".o") for i in inputs) and not o.endswith((".a", ".o")) and "CMakeFiles" not in o]


def _read(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _named(paths):
    """The programs that scripts name, and the modules beside them that they import."""
    found, seen, left = set(), set(), list(paths)
    while left:
        path = left.pop()
        if path in seen:
            continue
        seen.add(path)
        text = _read(path)
        found |= {"bin/" + name for name in re.findall(r"\biwarp-[a-z]+\b", text)}
        for module in re.findall(r"^\s*(?:import|from)\s+(\w+)", text, re.M):
            near = pathlib.Path(path).parent / f"{module}.py"
            if near.exists():
                left.append(str(near))
    return found


def listed(tree, build):
    """The tests of a build as ctest knows them, and the conformance suite."""
    folder = tree.build_folder(build)
    graph = tree.graphs[build]
    known = set(programs(graph))
    run = subprocess.run(["ctest", "--test-dir", str(folder), "--show-only=json-v1"], check=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)
    found = []
    for entry in json.loads(run.stdout)["tests"]:
        command = entry.get("command")
        properties = {p["name"]: p["value"] for p in entry["properties"]}
        # What another test would have to leave first cannot be asked alone.
        if not command or LEFT_OUT.match(entry["name"]) or "FIXTURES_REQUIRED" in properties:
            continue
        targets, scripts = set(), []
        for word in command:
            inside = os.path.relpath(word, folder) if os.path.isabs(word) else None
            if inside in known:
                targets.add(inside)
            elif inside and inside not in (".", "..") and os.path.isdir(word):
                targets |= {name for name in known if name.startswith(inside + "/") and not name.startswith("bin/tests/")}
            elif word.endswith((".py", ".sh", ".lua")):
                scripts.append(word)
        unit = not scripts and len(targets) == 1
        for target in list(targets):
            if target.startswith("bin/tests/"):
                scripts += [str(tree.tree / f) for f in map(lambda f: os.path.relpath(f, tree.tree), graph.files(target))
                            if "tests/" in f and f.endswith((".c", ".h"))]
        targets |= _named(scripts) & known
        found.append(_test(tree, build, entry["name"], command, properties, targets, unit))
    if "bin/iwarp-conform" in known:
        # What it says is read while it runs, and its verdicts at the end.
        results = tree.work / "suite"
        command = [str(folder / "bin/iwarp-conform"), "run", "--tap", "--jobs", "4", "--results", str(results), "--json",
                   str(tree.work / "suite.json")]
        found.append(_test(tree, build, SUITE, command, {}, {"bin/iwarp-conform"}, False))
    return [test for test in found if test.targets and (build == "plain" or sanitized(test))]


def sanitized(test):
    """Whether a test is asked under a sanitizer, too: scripts take minutes there, and their programs come up in the suite."""
    return test.unit or test.name == SUITE


def _test(tree, build, name, command, properties, targets, unit):
    graph = tree.graphs[build]
    if "bin/iwarp-conform" in targets:
        targets = targets | {"bin/iwarp-agent"}
    files = set()
    for target in targets:
        files |= {os.path.relpath(f, tree.tree) for f in graph.files(target) if f.startswith(str(tree.tree))}
    scripts = [word for word in command if word.startswith(f"{tree.tree}/") and not word.startswith(f"{tree.build_folder(build)}/")]
    files |= {os.path.relpath(script, tree.tree) for script in scripts}
    env = dict(pair.split("=", 1) for pair in properties.get("ENVIRONMENT", []))
    return Test(build, name, command, properties.get("WORKING_DIRECTORY", str(tree.build_folder(build))), env, sorted(targets), files,
                unit, properties.get("SKIP_RETURN_CODE"))


def room(file):
    return os.path.dirname(file)


class History:
    """What tests took and killed, so that the next run asks the right ones first."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.cost, self.cpu, self.idle, self.asked, self.killed = {}, {}, {}, {}, {}
        try:
            self.__dict__.update(json.loads(self.path.read_text(encoding="ascii")), path=self.path)
        except (OSError, ValueError):
            pass

    def save(self):
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps({k: v for k, v in self.__dict__.items() if k != "path"}), encoding="ascii")
        new.replace(self.path)

    def record(self, file, key, outcome, killed):
        at = f"{room(file)} {key}"
        self.asked[at] = self.asked.get(at, 0) + 1
        if killed:
            self.killed[at] = self.killed.get(at, 0) + 1
        elif outcome is not None:
            wall, cpu, idle = outcome
            self.cost[key] = 0.7 * self.cost.get(key, wall) + 0.3 * wall
            self.cpu[key] = max(self.cpu.get(key, 0), cpu)
            self.idle[key] = max(self.idle.get(key, 0), idle)

    def limits(self, test):
        """Guards from what the test took before: far more than it ever needed."""
        if test.key in self.cpu:
            cpu, idle = self.cpu[test.key], self.idle[test.key]
        elif test.name in self.cpu:
            cpu, idle = 4 * self.cpu[test.name], self.idle[test.name]  # sanitized
        else:
            return DEFAULT
        return guard.Limits(cpu=max(20.0, 10 * cpu), idle=max(30.0, 4 * idle),
                            memory=guard.MEMORY if test.build == "plain" else 2 * guard.MEMORY)

    def learn(self, key, facts):
        """Takes over what a test did without an edit."""
        self.cost[key], self.cpu[key], self.idle[key] = facts["wall"], facts["cpu"], facts["idle"]

    def first(self, keys, units, hurry):
        """The order in which tests are run without an edit: the dear ones first, which others would have to wait for; in a hurry unit
        tests, the suite and scripts, of each the cheap ones first."""

        def rank(key):
            if key in units:
                return 0, self.cost.get(key, 0)
            return (1, 0) if key == SUITE else (2, self.cost.get(key, math.inf))

        return sorted(keys, key=rank if hurry else lambda key: -self.cost.get(key, 0))

    def order(self, file, tests):
        """By how likely they are to notice an edit of this file, for each second."""
        here = room(file)
        words = {w for w in re.split(r"[/_.-]", file) if len(w) > 2} - {"proto", "tools", "runner", "conformance", "main"}

        def score(test):
            at = f"{here} {test.key}"
            like = len(words & set(re.split(r"[_-]", test.name)))
            prior = 0.5 if like else 0.2 if file.split("/")[0] in test.name else 0.05
            prior *= 1 if test.build == "plain" else MEMORY_ONLY
            chance = (self.killed.get(at, 0) + prior) / (self.asked.get(at, 0) + 1)
            guess = 1.0 if test.unit else 15.0
            slower = 1.0 if test.build == "plain" else 3.0
            cost = self.cost.get(test.key, self.cost.get(test.name, guess) * slower)
            return -chance / (cost + LINK * len(test.targets))

        return sorted(tests, key=score)
