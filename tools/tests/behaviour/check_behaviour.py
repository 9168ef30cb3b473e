#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What all programs have in common: help, version, exit statuses, one clear line for each bad input, how an interrupt ends them.

usage: check_behaviour.py FOLDER-OF-PROGRAMS FOLDER-OF-MAN-PAGES
"""
import csv
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile

import harness
from harness import equal, expect

PROGRAMS = harness.installed_programs()
STATUSES = {"0", "1", "2", "3", "64", "69", "70", "73", "130"}
REFERS = {"iwarp-agent": "iwarp-peer"}  # pages that refer to another one for some of the options
TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bad_inputs.csv")


class Programs:
    def __init__(self, folder):
        self.folder = folder
        self.present = [p for p in PROGRAMS if os.path.exists(self.path(p))]

    def path(self, program):
        return os.path.join(self.folder, program)

    def run(self, program, *words, **more):
        return harness.run(self.path(program), *words, status=None, timeout=600, **more)


def asked(programs):
    """-h, --help, -V and --version."""
    versions = set()
    for program in programs.present:
        helps = [programs.run(program, word) for word in ("-h", "--help")]
        equal(f"{program} --help: status and complaints", [(h.returncode, h.stderr) for h in helps], [(0, "")] * 2)
        equal(f"{program} -h is --help", helps[0].stdout, helps[1].stdout)
        expect(f"{program} --help begins with its usage", helps[0].stdout.startswith("usage: "), helps[0].stdout[:200])
        for word in ("-V", "--version"):
            done = programs.run(program, word)
            expect(f"{program} {word}", done.returncode == 0 and done.stderr == "" and
                   re.fullmatch(re.escape(program) + r" \d+\.\d+\.\d+\n", done.stdout), done)
            versions.add(done.stdout.split()[-1])
    equal("all programs have one version", len(versions), 1)


def bad_inputs(programs):
    with open(TABLE, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    expect("at least 40 bad inputs", len(rows) >= 40, len(rows))
    equal("every program has some", sorted({row["program"] for row in rows}), PROGRAMS)
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as busy, socket.socket() as dead:
        dead.bind(("127.0.0.1", 0))  # held, and nobody listens
        ports = {"{busy}": "127.0.0.1:%d" % busy.getsockname()[1], "{dead}": str(dead.getsockname()[1])}
        env = {**os.environ, "TMPDIR": folder}
        for row in rows:
            program, words = row["program"], row["arguments"]
            if program not in programs.present:
                continue
            for name, port in ports.items():
                words = words.replace(name, port)
            if row["setup"]:
                harness.run("sh", "-c", row["setup"], cwd=folder)
            done = programs.run(program, *shlex.split(words), cwd=folder, env=env)
            what = f"{program} {row['arguments']}"
            equal(f"{what}: status", done.returncode, int(row["status"]))
            begin = "siw: " if program == "iwarp-siw" else program + ": "
            expect(f"{what}: one line that says it", re.fullmatch(begin + row["line"] + r"\n", done.stderr) and
                   len(done.stderr.splitlines()) == 1, (row["line"], done.stderr))
            expect(f"{what}: no line of Lua", ".lua:" not in done.stderr, done.stderr)


def interrupts(programs):
    """Ctrl-C keeps what there is, and is status 130; SIGTERM is the regular end of what serves."""
    for program, *words in (("iwarp-peer", "listen", "127.0.0.1:0"), ("iwarp-agent",)):
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 0)):
            harness.Peer(programs.path(program), *words).end(number, status)
    harness.Peer(programs.path("iwarp-perf"), "server", "127.0.0.1:0").end(signal.SIGINT, 130)
    with tempfile.TemporaryDirectory() as folder:
        perf_figures(programs, folder)
        perf_recording(programs, folder)
        lint_reads_on(programs, folder)
        fuzz_reports(programs, folder)
        peer_traces(programs, folder)


def perf_figures(programs, folder):
    path = os.path.join(folder, "perf.json")
    perf = harness.Peer(programs.path("iwarp-perf"), "local", "--test", "send-lat,send-bw", "--size", "8", "--rounds", "2", "--slice", "1",
                        "--all-sizes", "--json", path, says=".*\n.*\n.*\n.*", stderr=subprocess.PIPE)
    equal("iwarp-perf, interrupted", perf.end(signal.SIGINT, 130), "iwarp-perf: interrupted: what was measured is kept\n")
    report = harness.load(path)
    expect("and has written what it has", report["interrupted"] and report["results"], report)


def perf_recording(programs, folder):
    path = os.path.join(folder, "long.pcapng")
    with subprocess.Popen([programs.path("iwarp-perf"), "loop", "--pcap", path, "--total", str(1 << 38), "--size", "64"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not os.path.exists(path) or os.path.getsize(path) < 100000:
            expect("a recording grows", process.poll() is None)
        harness.end(process, signal.SIGINT, 130)
    equal("the capture is whole", programs.run("iwarp-lint", path).returncode, 0)


def lint_reads_on(programs, folder):
    """From a pipe that has no end."""
    octets = harness.octets(folder, "long.pcapng")[:60000]
    with subprocess.Popen([programs.path("iwarp-lint"), "--json", "--messages", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        process.stdin.write(octets)
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        lines = harness.lines_of(process.stdout.read())
        process.stdin.close()
        equal("iwarp-lint, interrupted", process.wait(600), 130)
    expect("and has summed up", lines[-1]["type"] == "total" and lines[-1]["connections"] == 1, lines[-1:])


def fuzz_reports(programs, folder):
    path, results = os.path.join(folder, "fuzz.json"), os.path.join(folder, "fuzz")
    with subprocess.Popen([programs.path("iwarp-fuzz"), "--results", results, "--json", path, "--time", "600"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        while not os.path.exists(os.path.join(results, "target.log")):
            expect("a hunt begins", process.poll() is None)
        harness.end(process, signal.SIGINT, 130)
    expect("and has written its report", "sequences" in harness.load(path))


def peer_traces(programs, folder):
    path = os.path.join(folder, "trace")
    with harness.listening(programs.path("iwarp-peer"), strict=False) as listener, \
            subprocess.Popen([programs.path("iwarp-peer"), "connect", listener.address, "--count", "4000000000", "--trace-file", path],
                             stderr=subprocess.PIPE, text=True) as process:
        while not os.path.exists(path) or os.path.getsize(path) == 0:
            expect("a trace grows", process.poll() is None)
        equal("iwarp-peer connect, interrupted", harness.end(process, signal.SIGINT, 130),
              f"iwarp-peer: connection 0 with {listener.address}: interrupted before everything was done\n")
    expect("and has kept the trace", harness.lines_of(harness.read(path))[0]["connection"] == 0)


def statuses_of(page):
    """The numbers that the section EXIT STATUS of a man page explains."""
    section = re.search(r"^\.SH EXIT STATUS\n(.*?)(?=^\.SH |\Z)", page, re.M | re.S)
    return set(re.findall(r"^\.B (\d+)$", section.group(1), re.M)) if section else set()


def pages(programs, man):
    """The table of iwarp(7) and the page of each program agree."""
    table = {}
    for status, said in re.findall(r"^(\d+)\tT\{\n.*\nT\}\tT\{\n(.*)\nT\}$", harness.read(man, "iwarp.7"), re.M):
        names = set(PROGRAMS) if said == "all" else {"iwarp-" + name for name in said.split(", ")}
        table[status] = table.get(status, set()) | names
    equal("iwarp(7) has the common statuses", sorted(STATUSES - set(table)), [])
    for program in PROGRAMS:
        page = harness.read(man, program + ".1")
        here = statuses_of(page)
        equal(f"{program}(1) and iwarp(7)", sorted(here), sorted(s for s, names in table.items() if program in names))
        expect(f"{program}(1) names iwarp(7)", "iwarp (7)" in page, "SEE ALSO")
    if shutil.which("mandoc"):
        for name in ["iwarp.7", "iwarp_sockets.3"] + [program + ".1" for program in PROGRAMS]:
            said = harness.run("mandoc", "-Tlint", "-Wwarning", os.path.join(man, name), status=None).stdout.splitlines()
            equal(f"mandoc on {name}", [line for line in said if "missing date" not in line], [])
    for row in csv.DictReader(harness.read(TABLE).splitlines()):
        expect(f"{row['program']}: status {row['status']} is in its page", row["status"] in statuses_of(harness.read(man, row["program"] + ".1")))


def without_others(text, program):
    """The lines of a text up to the name of another program, whose options come after it."""
    other = r"iwarp\\?-(?!%s\b)" % program.removeprefix("iwarp-")
    return "\n".join(re.split(other, line)[0] for line in text.splitlines())


def options_in_help(programs, program):
    """The long options that --help names, that of the program or that of one of its commands (those that it offers to a shell)."""
    offered = programs.run(program, "", env={**os.environ, "IWARP_COMPLETE": "1"}).stdout
    texts = [programs.run(program, *command, "--help").stdout for command in [(), *zip(re.findall(r"^(\S+)\t", offered, re.M))]]
    return set(re.findall(r"(?<![\w-])--([a-z][a-z-]*)", without_others("".join(texts), program)))


def options_in_page(man, program):
    """The long options that a man page names."""
    page = without_others(harness.read(man, program + ".1"), program)
    return {option.replace("\\", "") for option in re.findall(r"\\-\\-([a-z](?:[a-z]|\\-)*)", page)}


def options_are_explained(programs, man):
    """The page of each program names the long options of its --help, and no others."""
    for program in programs.present:
        known, named = options_in_help(programs, program), options_in_page(man, program)
        elsewhere = options_in_page(man, REFERS[program]) - {"help", "version"} if program in REFERS else set()
        equal(f"options of {program} --help that {program}(1) does not name", sorted(known - named - elsewhere), [])
        equal(f"options that {program}(1) names and {program} --help does not", sorted(named - known), [])


def main(folder, man):
    programs = Programs(folder)
    asked(programs)
    bad_inputs(programs)
    interrupts(programs)
    pages(programs, man)
    options_are_explained(programs, man)
    harness.conclude("%d programs" % len(programs.present))


if __name__ == "__main__":
    harness.start(main, __doc__)
