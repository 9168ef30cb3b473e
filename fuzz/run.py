#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the fuzzers: see usage() and README.md."""
import argparse
import base64
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FUZZ = os.path.join(ROOT, "fuzz")
DICTIONARY = os.path.join(FUZZ, "iwarp.dict")
FAILED = re.compile(r"^(fuzz: .*|.*SUMMARY: .*|.*runtime error: .*)$", re.M)
STATUS = re.compile(r"cov: (\d+) ft: (\d+) corp: (\d+)")
CORE = ("wire", "stream", "mpa", "ddp", "rdmap", "endpoint", "observer")  # the bar is theirs
BAR_LINES, BAR_BRANCHES = 90, 80
MOST = 4096  # octets of an input that is looked for

USAGE = """tools/dev fuzz [-j N] [-t SECONDS] [--afl] [HARNESS...]
       tools/dev fuzz --coverage [HARNESS...]
       tools/dev fuzz --seeds FOLDER [CAPTURE|FOLDER...]
       tools/dev fuzz --merge [--from FOLDER] [HARNESS...]
       tools/dev fuzz --list"""


def say(text):
    print(text, file=sys.stderr, flush=True)


def must(command, folder=ROOT, **environment):
    """Runs a command quietly. Returns what it printed; ends the program with the end of that if it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, **environment})
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def build(preset, targets):
    """Builds targets of a preset quietly. Returns its folder."""
    folder = os.path.join(ROOT, "build" if preset == "default" else f"build-{preset}")
    must(["cmake", "--preset", preset])
    must(["cmake", "--build", folder, "--parallel", str(os.cpu_count()), *sum((["--target", t] for t in targets), [])])
    return folder


def program(folder, name):
    return os.path.join(folder, "bin", "fuzz", name)


def harnesses(chosen):
    """Lists CMake's harnesses: iw_fuzz(NAME ...) in any CMakeLists.txt, without the empty one."""
    found = set()
    for name in glob.glob(os.path.join(ROOT, "[!b]*", "**", "CMakeLists.txt"), recursive=True):
        with open(name, encoding="utf-8") as f:
            found.update(re.findall(r"^\s*iw_fuzz(?:_\w+)?\(([a-z][\w-]*)\s", f.read(), re.M))
    found.discard("empty")
    unknown = set(chosen) - found
    if unknown:
        sys.exit(f"no harness {', '.join(sorted(unknown))}; there are: {' '.join(sorted(found))}")
    return list(chosen) or sorted(found)


def committed(harness):
    return [path for path in (os.path.join(FUZZ, folder, harness) for folder in ("corpus", "regress")) if os.path.isdir(path)]


class Run:
    """One libFuzzer process."""

    def __init__(self, binary, harness, number, seconds, runs, seed, work):
        self.harness = harness
        corpus = os.path.join(work, "corpus", harness)
        self.crashes = os.path.join(work, "crashes")
        os.makedirs(corpus, exist_ok=True)
        os.makedirs(self.crashes, exist_ok=True)
        self.log = tempfile.TemporaryFile("w+")
        command = [binary, f"-max_len={MOST}", "-timeout=30", "-reload=1", f"-dict={DICTIONARY}", "-print_final_stats=1", f"-seed={number + seed if seed else number + 1 if number or runs else 0}",
                   f"-artifact_prefix={self.crashes}/{harness}-", corpus, *committed(harness)]
        if seconds:
            command.insert(1, f"-max_total_time={seconds}")
        if runs:
            command.insert(1, f"-runs={runs}")
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self.log, cwd=work)
        self.began = time.monotonic()

    def text(self):
        self.log.seek(0)
        return self.log.read()

    def report(self):
        """Returns True if it found nothing."""
        text, seconds = self.text(), time.monotonic() - self.began
        runs = re.findall(r"number_of_executed_units: +(\d+)", text) or re.findall(r"^#(\d+)", text, re.M)
        status = STATUS.findall(text)
        count = int(runs[-1]) if runs else 0
        figures = "cov {} ft {} corpus {}".format(*status[-1]) if status else ""
        line = f"{self.harness:20} {seconds:5.0f} s {count:10} runs {count / max(seconds, 1):8.0f}/s  {figures}"
        if self.process.returncode in (0, -signal.SIGINT, 72):
            print(line, flush=True)
            return True
        said = FAILED.search(text)
        path = re.findall(r"Test unit written to (\S+)", text)
        print(f"{line}\n  FAILED: {said.group(1) if said else text[-500:]}\n  input: {path[-1] if path else 'none was written'}", flush=True)
        if path:
            with open(path[-1], "rb") as f:
                print(f"  base64: {base64.b64encode(f.read()).decode()}", flush=True)
        return False


def fuzz(options):
    names = harnesses(options.harness)
    folder = build("asan", [f"fuzz-{name}-libfuzzer" for name in names])
    queue = [(name, 0) for name in names]
    queue += [(names[i % len(names)], i) for i in range(len(names), options.jobs)]
    running, good = [], True
    try:
        while queue or running:
            while queue and len(running) < options.jobs:
                name, number = queue.pop(0)
                running.append(Run(program(folder, f"fuzz-{name}-libfuzzer"), name, number, options.time, options.runs, options.seed, folder))
            time.sleep(0.2)
            for run in [run for run in running if run.process.poll() is not None]:
                running.remove(run)
                good &= run.report()
    except KeyboardInterrupt:
        pass
    finally:
        for run in running:
            run.process.send_signal(signal.SIGINT)
        for run in running:
            run.process.wait()
            good &= run.report()
    return 0 if good else 1


# ---- AFL++ ----

def instances(jobs, plain, asan, cmplog):
    """Returns (name, program, options, environment) of main and secondaries: the mix that AFL++'s authors advise."""
    mix = [
        ("power-explore", plain, ["-p", "explore"], {"AFL_DISABLE_TRIM": "1"}),
        ("structure", plain, ["-p", "fast"], {"AFL_CUSTOM_MUTATOR_ONLY": "1"}),
        ("old-queue", plain, ["-Z", "-p", "coe"], {}),
        ("power-exploit", plain, ["-p", "exploit"], {"AFL_DISABLE_TRIM": "1"}),
        ("rare", plain, ["-p", "rare"], {"AFL_CUSTOM_MUTATOR_ONLY": "1"}),
        ("seek", plain, ["-p", "seek"], {"AFL_EXPAND_HAVOC_NOW": "1"}),
    ]
    chosen = [("main", plain, ["-M", "main"], {"AFL_FINAL_SYNC": "1"}), ("asan", asan, ["-S", "asan"], {}),
              ("cmplog", plain, ["-S", "cmplog", "-c", cmplog, "-l", "2AT"], {})]
    for i in range(max(0, jobs - len(chosen))):
        name, program, extra, environment = mix[i % len(mix)]
        name = name if i < len(mix) else f"{name}-{i // len(mix)}"
        chosen.append((name, program, ["-S", name, *extra], environment))
    return chosen[:max(1, jobs)]


def afl_build(name, kind, **environment):
    """Makes a separate build without a compiler cache, which does not know AFL++'s variables. Returns the program."""
    folder = os.path.join(ROOT, f"build-fuzz-afl-{kind}")
    must(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_C_COMPILER=afl-clang-fast", "-DCMAKE_C_COMPILER_LAUNCHER=", "-DIW_FUZZ=afl",
          "-DCMAKE_BUILD_TYPE=RelWithDebInfo"], **environment)
    must(["cmake", "--build", folder, "--target", name], **environment)
    return program(folder, name)


def afl(options):
    if len(options.harness) != 1:
        sys.exit("tools/dev fuzz --afl: one harness")
    harness = harnesses(options.harness)[0]
    name = f"fuzz-{harness}-afl"
    plain = program(build("fuzz-afl", [name]), name)
    asan = afl_build(name, "asan", AFL_USE_ASAN="1", AFL_USE_UBSAN="1") if options.jobs > 1 else ""
    cmplog = afl_build(name, "cmplog", AFL_LLVM_CMPLOG="1") if options.jobs > 2 else ""
    default = build("default", ["iwarp-mutator", f"fuzz-{harness}"])
    about = must([program(default, f"fuzz-{harness}"), "-i"]).split()
    out = os.path.join(ROOT, "build-fuzz-afl", "out", harness)
    seeds = os.path.join(ROOT, "build-fuzz-afl", "seeds", harness)
    os.makedirs(os.path.dirname(out), exist_ok=True)
    os.makedirs(seeds, exist_ok=True)
    for folder in committed(harness):
        for path in glob.glob(os.path.join(folder, "*")):
            shutil.copy(path, seeds)
    if not os.listdir(seeds):
        with open(os.path.join(seeds, "empty"), "wb") as f:
            f.write(bytes(4))
    common = {"AFL_NO_UI": "1", "AFL_AUTORESUME": "1", "AFL_SKIP_CPUFREQ": "1", "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES": "1", "AFL_TRY_AFFINITY": "1"}
    if "steps" in about:
        common["AFL_CUSTOM_MUTATOR_LIBRARY"] = program(default, "iwarp-mutator.so")
    for word in ("single", "commands"):
        if word in about:
            common[f"IW_FUZZ_{word.upper()}"] = "1"
    running = []
    try:
        for title, fuzzer, extra, environment in instances(options.jobs, plain, asan, cmplog):
            if "steps" not in about:
                environment = {k: v for k, v in environment.items() if k != "AFL_CUSTOM_MUTATOR_ONLY"}
            log = open(os.path.join(ROOT, "build-fuzz-afl", f"{harness}-{title}.log"), "w", encoding="utf-8")
            command = ["afl-fuzz", "-i", seeds, "-o", out, "-x", DICTIONARY, "-g", "1", "-G", str(MOST), "-t", "1000", *extra, *(["-V", str(options.time)] if options.time else []),
                       "--", fuzzer]
            running.append((title, subprocess.Popen(command, env={**os.environ, **common, **environment}, stdout=log, stderr=subprocess.STDOUT)))
            say(f"{title}: {log.name}")
        for title, process in running:
            process.wait()
    except KeyboardInterrupt:
        pass
    finally:
        for _, process in running:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            process.wait()
    subprocess.run(["afl-whatsup", "-s", "-d", out], check=False)
    crashes = glob.glob(os.path.join(out, "*", "crashes", "id:*"))
    for path in crashes:
        print(f"FAILED: {path}")
    return 1 if crashes or any(process.returncode not in (0, -signal.SIGINT) for _, process in running) else 0


# ---- coverage ----

def room_of(path):
    parts = os.path.relpath(path, os.path.join(ROOT, "proto")).split(os.sep)
    return parts[0] if parts[0] in CORE else None


def of_programs(programs):
    return [programs[0], *sum((["-object", p] for p in programs[1:]), [])]


def write_html(folder, profile, programs):
    must(["llvm-cov-14", "show", "-format=html", f"-output-dir={folder}", "-show-branches=count", f"-instr-profile={profile}", *of_programs(programs)])


def totals(profile, programs):
    """Returns {room: [lines, lines reached, branches, branches reached]}."""
    exported = must(["llvm-cov-14", "export", "-summary-only", f"-instr-profile={profile}", *of_programs(programs)])
    found = {}
    for file in json.loads(exported)["data"][0]["files"]:
        room = room_of(file["filename"])
        if room and not file["filename"].endswith(".h"):
            sums, s = found.setdefault(room, [0, 0, 0, 0]), file["summary"]
            for i, n in enumerate((s["lines"]["count"], s["lines"]["covered"], s["branches"]["count"], s["branches"]["covered"])):
                sums[i] += n
    return found


def percent(part, whole):
    return 100 * part / whole if whole else 100.0


def row(name, s):
    return f"{name:20} {s[1]:6} of {s[0]:6} lines {percent(s[1], s[0]):6.1f} %  {s[3]:6} of {s[2]:6} branches {percent(s[3], s[2]):6.1f} %"


def coverage(options):
    names = harnesses(options.harness)
    folder = build("fuzz-coverage", [f"fuzz-{name}" for name in names])
    html = os.path.join(folder, "html")
    binaries, profiles = {}, []
    for name in names:
        binaries[name] = program(folder, f"fuzz-{name}")
        raw, profile = os.path.join(folder, f"{name}.profraw"), os.path.join(folder, f"{name}.profdata")
        if not committed(name):
            say(f"{name}: no corpus")
            continue
        done = subprocess.run([binaries[name], *committed(name)], env={**os.environ, "LLVM_PROFILE_FILE": raw}, stdout=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            sys.exit(f"{name}: the corpus fails")
        must(["llvm-profdata-14", "merge", "-sparse", raw, "-o", profile])
        os.remove(raw)
        profiles.append(profile)
        write_html(os.path.join(html, name), profile, [binaries[name]])
        found = totals(profile, [binaries[name]])
        print(row(name, [sum(room[i] for room in found.values()) for i in range(4)]), flush=True)
    everything = os.path.join(folder, "all.profdata")
    must(["llvm-profdata-14", "merge", "-sparse", *profiles, "-o", everything])
    reached = [binaries[name] for name in names if committed(name)]
    write_html(os.path.join(html, "all"), everything, reached)
    found = totals(everything, reached)
    print()
    for room in CORE:
        if room in found:
            print(row(f"{room}/", found[room]))
    total = [sum(s[i] for s in found.values()) for i in range(4)]
    print(row("all of them", total))
    say(f"{html}/all/index.html, and HARNESS/index.html beside it")
    good = percent(total[1], total[0]) >= BAR_LINES and percent(total[3], total[2]) >= BAR_BRANCHES
    return 0 if good or options.harness else 1


# ---- corpora ----

def seeds(options):
    """Makes seeds from the golden captures, from those that are named, and from fuzz/seeds/plain."""
    captures = options.harness or [os.path.join(ROOT, "pcaps")]
    return subprocess.run([sys.executable, "-B", os.path.join(FUZZ, "seeds", "seeds.py"), options.seeds, *captures], check=False).returncode


def merge(options):
    """Renews the committed corpus of each harness: of its inputs, fuzzing's finds and those of --from, keeps the fewest that reach as much."""
    names = harnesses(options.harness)
    folder = build("asan", [f"fuzz-{name}-libfuzzer" for name in names])
    for name in names:
        target = os.path.join(FUZZ, "corpus", name)
        sources = [path for path in (target, os.path.join(folder, "corpus", name), *(os.path.join(f, name) for f in options.source)) if os.path.isdir(path)]
        with tempfile.TemporaryDirectory() as fresh:
            must([program(folder, f"fuzz-{name}-libfuzzer"), "-merge=1", "-use_counters=0", f"-max_len={MOST}", "-timeout=10", f"-artifact_prefix={fresh}/../", fresh, *sources],
                 folder)
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(fresh, target)
        sizes = [os.path.getsize(path) for path in glob.glob(os.path.join(target, "*"))]
        print(f"{name:20} {len(sizes):5} files {sum(sizes) / 1024:8.1f} KiB", flush=True)
    return 0


def main():
    parser = argparse.ArgumentParser(usage=USAGE)
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), help="processes at a time (as many as there are CPUs); more than harnesses: several of one harness share its corpus")
    parser.add_argument("-t", "--time", type=int, default=None, help="seconds (30; if harnesses are named, until it is interrupted)")
    parser.add_argument("--runs", type=int, default=0, help="at most N inputs, and always the same ones (if build-asan/corpus is empty)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the random choices: the same inputs each time, as far as the machine gets (if build-asan/corpus is empty)")
    parser.add_argument("--afl", action="store_true", help="AFL++, one harness: a main instance and secondary ones")
    parser.add_argument("--coverage", action="store_true", help="lines and branches that the committed corpora reach; HTML for each harness")
    parser.add_argument("--seeds", metavar="FOLDER", help="makes seeds from captures (those of pcaps/): FOLDER/HARNESS/")
    parser.add_argument("--merge", action="store_true", help="renews fuzz/corpus from itself, what fuzzing has found, and --from")
    parser.add_argument("--from", dest="source", metavar="FOLDER", action="append", default=[], help="a folder that --seeds made")
    parser.add_argument("--list", action="store_true", help="names the harnesses")
    parser.add_argument("harness", nargs="*", metavar="HARNESS")
    options = parser.parse_args()
    if options.time is None:
        options.time = 0 if options.harness else 30
    if options.list:
        print("\n".join(harnesses([])))
        return 0
    if options.seeds:
        return seeds(options)
    return (coverage if options.coverage else merge if options.merge else afl if options.afl else fuzz)(options)


if __name__ == "__main__":
    sys.exit(main())
