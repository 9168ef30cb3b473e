# SPDX-License-Identifier: BSD-3-Clause
"""tools/dev: sets up, builds, tests. The steps of the tiers are data, in steps.toml."""
import datetime
import functools
import inspect
import os
import shutil
import subprocess
import sys
import tempfile
import time

import check
import packages
import results
import scheduler
import steps
from paths import ROOT, Failed, build_folder, jobs
from scheduler import say

USAGE = """usage: tools/dev COMMAND

  conform [ARG...]  build, then run the conformance suite (iwarp-conform run ARG...)
  test              what CI runs: a gcc build and a clang build with ASan, UBSan and fuzzers, warnings as errors; all tests,
                    the corpora of the fuzzers, self-check, the suite against the kernel's siw (skipped where its kernel
                    cannot be built or started)
  check [ROOM]      the loop while you edit: build what changed, run the unit tests of ROOM (default: the rooms that changed
                    since the last commit but one) and of what stands on it, then the suite against the embedded peer
  build             build the default preset into build/
  nightly [NIGHT]   test, then what takes longer: mutants, sanitizers, valgrind, soaks, other machines. What does not fit
                    into one night rotates over seven; NIGHT (0 to 6) chooses one. Appends to tools/results/runs.csv
  steps [TIER]      list the steps of a tier (test, nightly), what they need, their budgets and nights
  step NAME...      run single steps of the table, with what they need
  bench             measure the release build
  mutate [N] [SEED] edit the C of the project at random and see whether a test notices (mutate --help)
  captures          rebuild the synthetic golden captures (pcaps/golden); with --table: which of them shows
                    each rule that can be judged by watching
  wireshark FILE [ARG...]
                    show a capture with the plugin of dissector/: in Wireshark if there is a display, else in tshark
  fuzz [ARG...]     the fuzzers of fuzz/, each for 30 s; fuzz --help: longer, on many cores, AFL++, coverage
  prove             does a unit test notice when a check is left out, a reaction is wrong or a rule is broken?
  coverage          lines and branches of proto/ that its own tests reach, by room; less than 97 % of the
                    lines or 90 % of the branches in total is a failure
  tidy              clang-tidy, clang-format and shellcheck; changes nothing
  format            reformat the C sources
  packages          build the Debian packages into build-packages/deb (tools/packaging/README.md)
  setup [TIER]      install the Debian packages of a tier: build, test, nightly (default), siw (for tools/siw),
                    record (for pcaps/record-siw.sh and tools/bench_siw.py), or packages (for the command `packages`)
  help              this text

Builds lie in build/ and build-PRESET/, with ccache and lld where they are installed. Logs lie in build/log; the end of a
failed step's log is printed. IW_JOBS sets how many processes run at a time (default: one for each processor)."""
USAGE_STATUS = 64


def call(*words):
    """Runs a command in the top folder. Returns its exit status."""
    return subprocess.run(words, cwd=ROOT, check=False).returncode


def environment(night):
    """What the scripts of the steps find in their environment."""
    return {"JOBS": str(jobs()), "SEED": datetime.date.today().strftime("%Y%m%d"), "NIGHT": str(night), "IW_JOBS": str(jobs()),
            "PYTHONPATH": os.path.join(ROOT, "tools")}  # of tests in Python: harness.py


def run_steps(chosen, keep_going=True, night=0):
    """Runs steps; prints the summary of the one whose log ends the output. Returns the results, and the exit status."""
    found = scheduler.Scheduler(chosen, keep_going, environment(night)).run()
    verdicts = {step.name: found[step.name][0] if step.name in found else "NOT RUN" for step in chosen}
    bad = [step for step in chosen if verdicts[step.name] in ("FAILED", "NOT RUN")]
    for step in chosen:
        if verdicts[step.name] == "SKIPPED":
            say(f"SKIPPED  {step.title}")
    for step in chosen:
        if step.summary and verdicts[step.name] in ("ok", "FAILED"):
            print_log(step, 12)
    for step in bad:
        say(f"{verdicts[step.name]}  {step.title}: {step.log}")
        if verdicts[step.name] == "FAILED":
            for name, lines in scheduler.failed_tests(os.path.join(ROOT, step.log)).items():
                say(f"    {name}: {lines[-1].strip() if lines else 'no output'}")
    return found, 1 if bad else 0


def print_log(step, lines):
    sys.stdout.writelines(scheduler.tail(os.path.join(ROOT, step.log), lines))
    sys.stdout.flush()


def build_preset(preset):
    """Configures and builds, quietly. Raises Failed with the log's end if that fails."""
    row = steps.Step(f"build-{preset}", f"build ({preset})", f"cmake --preset {preset} && cmake --build --preset {preset} --parallel $JOBS", [], 10)
    if run_steps([row], keep_going=False)[1]:
        raise Failed(f"the build of preset {preset} failed")


def cmd_setup(tier="nightly"):
    if tier not in packages.TIERS:
        raise Failed(f"setup: '{tier}' is none of {', '.join(packages.TIERS)}")
    packages.setup(tier)
    return 0


def cmd_build():
    packages.setup("build")
    build_preset("default")
    return 0


def cmd_packages():
    packages.setup("packages")
    return call("tools/packaging/build_packages.sh")


def cmd_conform(*arguments):
    cmd_build()
    program = os.path.join(ROOT, "build", "bin", "iwarp-conform")
    os.execv(program, [program, "run", *arguments])


def cmd_check(room=None):
    packages.setup("build")
    return check.run(room)


def cmd_test():
    packages.setup("test")
    return run_steps(steps.chosen(steps.load(), "test"))[1]


def cmd_nightly(night=None):
    if night is not None and night not in list("0123456"):
        raise Failed(f"nightly: '{night}' is no night; they are 0 to {steps.NIGHTS - 1}")
    night = steps.tonight() if night is None else int(night)
    packages.setup("nightly")
    table = steps.load()
    chosen = steps.chosen(table, "test")
    chosen += [step for step in steps.chosen(table, "nightly", night) if step not in chosen]
    began = time.monotonic()
    found, status = run_steps(chosen, night=night)
    results.record(results.rows(chosen, found, f"tools/dev nightly {night}", jobs()))
    minutes = (time.monotonic() - began) / 60
    print(f"nightly {night}: {'FAILED' if status else 'all good'} in {minutes:.0f} minutes, commit {results.commit()}")
    return status


def cmd_steps(tier=None):
    table = steps.load()
    known = {name for step in table.values() for name in step.tiers}
    if tier is not None and tier not in known:
        raise Failed(f"steps: '{tier}' is none of {', '.join(sorted(known))}")
    for step in table.values():
        if tier is None or tier in step.tiers:
            nights = "" if "nightly" not in step.tiers else " every night" if len(step.nights) == steps.NIGHTS else f" nights {','.join(map(str, step.nights))}"
            print(f"{step.name:<20} {step.minutes:>3g} min {'+'.join(step.tiers)}{nights}{' after ' + ', '.join(step.needs) if step.needs else ''}: {step.title}")
    return 0


def cmd_step(*names):
    table = steps.load()
    for name in names:
        if name not in table:
            raise Failed(f"step: no step '{name}'; tools/dev steps lists them")
    if not names:
        raise Failed("step: which? tools/dev steps lists them")
    packages.setup("nightly")
    for name in names:
        table[name].tiers.append("asked")
    return run_steps(steps.chosen(table, "asked"), night=steps.tonight())[1]


def run_tier(tier):
    packages.setup("nightly")
    chosen = steps.chosen(steps.load(), tier)
    _, status = run_steps(chosen)
    for step in chosen:
        print_log(step, 20)
    return status


def cmd_bench():
    packages.setup("test")
    build_preset("release")
    bars = [["tools/bench_perf.py", "build-release/bin/iwarp-perf"], ["tools/bench_scale.py", "build-release/bin"]]
    if os.path.exists(os.path.join(ROOT, "build-release", "bin", "iwarp-run")):
        bars.append(["tools/bench_verbs.py", "build-release/bin"])
        bars.append(["tools/bench_sockets.py", "build-release/bin"])
    if all(os.path.exists(os.path.join(ROOT, "build-release", "bin", name)) for name in ("iwarp-run", "iwarp-msg")):
        bars.append(["tools/bench_messages.py", "build-release/bin"])
    # Printed only: the machine's other work decides, too.
    figures = [["tools/bench_hostile.py", "build-release/bin/iwarp-peer"], ["tools/bench_lint.py", "build-release/bin/iwarp-lint", "build-release/bin/iwarp-perf"], ["fuzz/bench.py"]]
    if os.path.isdir(os.path.join(ROOT, "build-release", "wireshark")) and shutil.which("tshark"):
        figures.append(["tools/bench_dissector.py", "build-release/wireshark", "build-release/bin/iwarp-perf"])
    if subprocess.run(["tools/siw", "cached"], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0:
        packages.setup("record")
        bars.append(["tools/bench_siw.py", "build-release/bin", "build-release/siw"])
    else:
        print("SKIPPED: against siw: there is no kernel with it (tools/siw build)")
    failed = [command[0] for command in bars + figures if call(*command) != 0 and command[0] != "tools/bench_hostile.py"]
    if failed:
        raise Failed(f"bench: a bar was missed, or a figure not measured: {' '.join(failed)}")
    return 0


def cmd_captures(option=None):
    if option == "--table":
        return call(sys.executable, "-B", "pcaps/table.py")
    if option is not None:
        raise Failed(f"captures: '{option}' is not --table")
    cmd_build()
    golden = os.path.join(ROOT, "pcaps", "golden")
    shutil.rmtree(golden)
    os.mkdir(golden)
    return call("build/bin/iwarp-golden", "conformance/lib", "pcaps/scripts", "pcaps/golden")


def cmd_wireshark(file=None, *arguments):
    """The plugin as it was built, not installed. Run by root, Wireshark loads only what is installed."""
    if file is None:
        raise Failed("wireshark: which capture?")
    file = os.path.abspath(file)
    if not os.access(file, os.R_OK):
        raise Failed(f"wireshark: cannot read {file}")
    build_preset("default")
    plugins = os.path.join(build_folder("default"), "wireshark")
    if not os.path.isdir(plugins):
        raise Failed("wireshark: the plugin was not built; tools/dev setup test, then rm -r build")
    display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    program = "wireshark" if display and shutil.which("wireshark") else "tshark"
    if os.geteuid() != 0:
        os.execvpe(program, [program, "-r", file, *arguments], {**os.environ, "WIRESHARK_PLUGIN_DIR": plugins})
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(plugins, os.path.join(folder, "plugins"))
        shutil.copy(file, folder)
        subprocess.run(["chown", "-R", "nobody", folder], check=True)
        command = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", program, "-r", os.path.basename(file), *arguments]
        return subprocess.run(command, cwd=folder, check=False, env={**os.environ, "HOME": folder, "WIRESHARK_PLUGIN_DIR": os.path.join(folder, "plugins")}).returncode


def cmd_format():
    packages.setup("nightly")
    return call("tools/dev.d/format.sh", "--fix")


def cmd_fuzz(*arguments):
    os.execv(os.path.join(ROOT, "fuzz", "run.py"), ["fuzz/run.py", *arguments])


def cmd_mutate(*arguments):
    packages.setup("test")
    os.execv(os.path.join(ROOT, "tools", "mutate", "main.py"), ["tools/mutate/main.py", *arguments])


COMMANDS = {name.removeprefix("cmd_"): function for name, function in globals().items() if name.startswith("cmd_")}
COMMANDS.update((tier, functools.partial(run_tier, tier)) for tier in ("prove", "coverage", "tidy"))


def main(arguments):
    command, *arguments = arguments or ["help"]
    if command in ("help", "-h", "--help"):
        print(USAGE)
        return 0
    if command not in COMMANDS:
        print(USAGE, file=sys.stderr)
        return USAGE_STATUS
    try:
        inspect.signature(COMMANDS[command]).bind(*arguments)
    except TypeError:
        say(f"tools/dev: {command} takes {'one argument at most' if inspect.signature(COMMANDS[command]).parameters else 'no arguments'}")
        return USAGE_STATUS
    try:
        return COMMANDS[command](*arguments)
    except Failed as failed:
        say(f"tools/dev: {failed}")
        return 1
    except scheduler.Ended as ended:
        return 128 + ended.args[0]
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
