# SPDX-License-Identifier: BSD-3-Clause
"""A private copy of the sources with builds of its own, and what its build files say: which source is in which program."""

import fcntl
import hashlib
import itertools
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess

import reach

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILDS = {
    # Code as users have it would be compiled twice as long.
    "plain": ["-O1 -g0"],
    "asan": ["-O1 -g1", "-DCMAKE_C_COMPILER=clang", "-DIW_SANITIZE=address,undefined"],
}
NO_PART = ("tools/mutate/", "tools/results/")  # no program is made of these, and no test that is asked reads them


class Bad(Exception):
    """What ends the whole run, in words for its user."""


def sources():
    """The files of the project as they are now, also those not yet committed."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=TOP, check=True,
                            stdout=subprocess.PIPE).stdout
    return [name for name in listed.decode().split("\0") if name and os.path.lexists(TOP / name)]


def _tests(name):
    """The folder of tests that a file is in, "" if it is in none."""
    head, tests, _ = f"/{name}".partition("/tests/")
    return head + tests if tests else ""


class Graph:
    """build.ninja: which files each target is made from."""

    def __init__(self, folder):
        self.folder = folder
        self.made = {}  # output -> inputs
        text = pathlib.Path(folder, "build.ninja").read_text(encoding="utf-8")
        text = text.replace("$\n", "")
        for line in re.findall(r"^build (.*)$", text, re.M):
            parts = re.split(r"(?<!\$): ", line, 1)
            if len(parts) != 2:
                continue
            outputs = [o for o in self._words(parts[0]) if o != "|"]
            inputs = self._words(parts[1].split(" || ")[0])[1:]
            for output in outputs:
                self.made[output] = [i for i in inputs if i != "|"]
        self.memory = {}

    @staticmethod
    def _words(text):
        return [re.sub(r"\$(.)", r"\1", word) for word in re.findall(r"(?:\$.|[^\s$])+", text)]

    def files(self, target):
        """All files, made or not, that go into a target."""
        if target not in self.memory:
            found = set()
            left = [target]
            while left:
                for name in self.made.get(left.pop(), ()):
                    if name not in found:
                        found.add(name)
                        left.append(name)
            self.memory[target] = found
        return self.memory[target]

    def objects(self, source):
        """The objects compiled from a source, given by its whole path."""
        return [o for o, inputs in self.made.items() if o.endswith(".o") and inputs[:1] == [str(source)]]


class Tree:
    """build-mutate/NUMBER: tree/ and its builds."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.tree = self.folder / "tree"
        self.work = self.folder / "work"
        self.reached = self.work / "reached"
        self.names = []  # its files
        self.graphs = {}
        self.commands = {}

    @classmethod
    def free(cls, folder):
        """The first tree in a folder that no other process uses; it is ours while this process lives."""
        for number in itertools.count():
            found = cls(pathlib.Path(folder, str(number)))
            found.folder.mkdir(parents=True, exist_ok=True)
            found.lock = open(found.folder / "lock", "wb")
            try:
                fcntl.flock(found.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return found
            except BlockingIOError:
                found.lock.close()

    def copy(self, texts):
        """Brings the tree up to date with the sources, of which some have another text; what has not changed keeps its time."""
        self.names = wanted = sources()
        for name in wanted:
            source, target = TOP / name, self.tree / name
            if source.is_symlink():
                if not target.is_symlink() or os.readlink(source) != os.readlink(target):
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.unlink(missing_ok=True)
                    target.symlink_to(os.readlink(source))
                continue
            data = texts[name].encode() if name in texts else source.read_bytes()
            if not target.is_file() or target.is_symlink() or target.read_bytes() != data:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
            target.chmod(source.stat().st_mode)
        known = set(wanted)
        for folder, folders, files in os.walk(self.tree):
            here = os.path.relpath(folder, self.tree)
            if here == ".":
                folders[:] = [f for f in folders if f != ".git" and not f.startswith("build")]
            for name in files:
                if os.path.normpath(os.path.join(here, name)) not in known and "__pycache__" not in here:
                    os.unlink(os.path.join(folder, name))
        # Scripts of the tests ask git which files there are.
        if not (self.tree / ".git").exists():
            subprocess.run(["git", "init", "-q"], cwd=self.tree, check=True)
        subprocess.run(["git", "add", "-A"], cwd=self.tree, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def states(self, wanted):
        """A name for what each test is made of, from (key, files of its programs).

        A C file matters to the programs that it is in, another file in ROOM/tests/ to the tests that are made of one from there,
        any other file to every test; prose and the data of results to none."""
        digests, rooms, common = {}, {}, hashlib.sha256()
        for name in self.names:
            path = self.tree / name
            if name.startswith(NO_PART) or name.endswith(".md"):
                continue
            digest = hashlib.sha256(os.readlink(path).encode() if path.is_symlink() else path.read_bytes()).digest()
            if name.endswith(".c"):
                digests[name] = digest
            else:
                (rooms.setdefault(_tests(name), hashlib.sha256()) if _tests(name) else common).update(name.encode() + b"\0" + digest)
        states = {}
        for key, files in wanted:
            state = common.copy()
            for name in sorted(files & digests.keys()):
                state.update(name.encode() + b"\0" + digests[name])
            for room in sorted(rooms.keys() & {_tests(name) for name in files}):
                state.update(rooms[room].digest())
            states[key] = state.hexdigest()[:16]
        return states

    def build_folder(self, build):
        return self.tree / ("build" if build == "plain" else f"build-{build}")

    def probe(self):
        """Makes what the probes of the sources need."""
        folder = self.tree / "build-reach"
        folder.mkdir(parents=True, exist_ok=True)
        reach.write_runtime(folder, self.reached)
        subprocess.run(["cc", "-O1", "-fPIC", "-c", "reach.c", "-o", "reach.o"], cwd=folder, check=True)

    def configure(self, build):
        folder = self.build_folder(build)
        if not (folder / "build.ninja").exists():
            found = lambda name: shutil.which(name) is not None
            flags, *settings = BUILDS[build]
            command = ["cmake", "-G", "Ninja", "-S", str(self.tree), "-B", str(folder), *settings, "-DCMAKE_BUILD_TYPE=None",
                       f"-DCMAKE_C_FLAGS={flags} -DNDEBUG -include {self.tree}/build-reach/reach.h",
                       f"-DCMAKE_C_STANDARD_LIBRARIES={self.tree}/build-reach/reach.o"]
            if found("ccache"):
                command.append("-DCMAKE_C_COMPILER_LAUNCHER=ccache")
            if found("ld.lld"):
                command += [f"-DCMAKE_{kind}_LINKER_FLAGS=-fuse-ld=lld" for kind in ("EXE", "SHARED", "MODULE")]
            self._must(command, self.folder / f"configure-{build}.log")

    def _must(self, command, log):
        with open(log, "wb") as file:
            status = subprocess.run(command, cwd=self.tree, stdout=file, stderr=subprocess.STDOUT, check=False,
                                    env=self.environment()).returncode
        if status != 0:
            raise Bad(f"{shlex.join(command[:4])} ...: exit status {status}; see {log}")

    def environment(self):
        """Caches are for what can come again; for the sake of hits paths are relative to the tree."""
        return {**os.environ, "CCACHE_BASEDIR": str(self.tree), "CCACHE_NOHASHDIR": "1"}

    def build(self, build):
        folder = self.build_folder(build)
        # One tree after the other, each on all processors: what the first one compiles the others take from ccache.
        with open(self.folder.parent / "building", "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.configure(build)
            self._must(["ninja", "-C", str(folder)], self.folder / f"build-{build}.log")
        self.graphs[build] = Graph(folder)
        with open(folder / "compile_commands.json", encoding="utf-8") as file:
            entries = json.load(file)
        self.commands[build] = {}
        for entry in entries:
            self.commands[build].setdefault(os.path.relpath(entry["file"], self.tree), []).append(entry)

    def make(self, build, targets):
        """Builds some targets; whether that worked."""
        return subprocess.run(["ninja", "-C", str(self.build_folder(build)), *targets], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env={**self.environment(), "CCACHE_READONLY": "1"}, check=False).returncode == 0

    def users(self, build, *headers):
        """The sources that include one of the headers."""
        wanted = {str(self.tree / header) for header in headers}
        listed = subprocess.run(["ninja", "-C", str(self.build_folder(build)), "-t", "deps"], stdout=subprocess.PIPE, check=True,
                                text=True).stdout
        found = set()
        for block in listed.split("\n\n"):
            names = [os.path.normpath(os.path.join(self.build_folder(build), line.strip())) for line in block.splitlines()[1:]]
            if not wanted.isdisjoint(names):
                found.add(os.path.relpath(names[0], self.tree))
        return sorted(found)

    def code(self, file, compiler):
        """What an optimising compiler makes of a source wherever it is compiled; None if it does not take it.

        That depends on nothing but the source: names and folders are the same each time, and there is no debugging information."""
        made = []
        for entry in self.commands["plain"].get(file, ()):
            words = shlex.split(entry["command"])
            words = words[2 if words[0].endswith("ccache") else 1:words.index("-o")]
            out = self.work / "code.o"
            run = subprocess.run([compiler, *words, "-O2", "-g0", "-w", "-c", entry["file"], "-o", str(out)], cwd=entry["directory"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            if run.returncode != 0:
                return None
            made.append(out.read_bytes())
        return made
