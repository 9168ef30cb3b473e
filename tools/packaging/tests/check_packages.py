#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The Debian packages in a bare Debian 12: lintian has nothing to say, they install from files alone, every program works, they
are upgraded and removed, and after purging nothing of them is left. Needs root, mmdebstrap, lintian and Debian's archive."""
import csv
import glob
import os
import re
import shutil
import subprocess
import sys

import harness
from harness import check

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
ROOT_SH = os.path.join(TOP, "tools", "debian-root.sh")
CAPTURE = "pcaps/golden/violations/ddp-msn-gap-broken.pcapng"
# What apt, dpkg and ldconfig keep for themselves.
VOLATILE = re.compile(r"^/(proc|dev|run|tmp|debs|var/(cache|log|lib/apt)|var/lib/dpkg/[^/]*-old|etc/ld\.so\.cache|root/\.[a-z_]+)(/|$)")


class Root:
    """A bare Debian in a folder."""

    def __init__(self, folder):
        self.folder = folder
        harness.run(ROOT_SH, "make", folder)

    def run(self, *words, **more):
        """Runs a program there. Returns its output."""
        return harness.run(ROOT_SH, "run", self.folder, *words, **more).stdout

    def apt(self, *words):
        return self.run("apt-get", "-y", "-q", "--no-install-recommends", "-o", "Acquire::Retries=3", "-o", "DPkg::Options::=--force-unsafe-io", *words)

    def files(self):
        """All that is there, by name."""
        found = self.run("find", "/", "-xdev", "-path", "/proc", "-prune", "-o", "-print").splitlines()
        return {path for path in found if not VOLATILE.match(path)}

    def versions(self):
        """The packages of ours that dpkg knows, even those whose settings only are left."""
        rows = self.run("dpkg-query", "-W", "-f=${Package} ${Version}\n").splitlines()
        return {package: version for package, version in map(str.split, rows) if "iwarp" in package}

    def releases(self):
        return {version.split("-")[1] for version in self.versions().values()}


def build(release, where):
    """Builds the packages and copies them. Returns their paths."""
    paths = harness.run(os.path.join(HERE, "..", "build_packages.sh"), str(release)).stdout.split()
    os.makedirs(where, exist_ok=True)
    return [shutil.copy(os.path.join(TOP, path), where) for path in paths]


def check_files(paths):
    """What is in the packages, before any is installed."""
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0", *paths], stdout=subprocess.PIPE, text=True, check=False)
    check(done.returncode == 0 and not done.stdout.strip(), "lintian has no error and no warning", done.stdout)
    for path in glob.glob(os.path.join(HERE, "..", "overrides", "*")):
        lines = harness.read(path).splitlines()
        check(all(line.startswith("#") or above.startswith("#") for above, line in zip(["", *lines], lines)), f"overrides/{os.path.basename(path)} gives reasons")
    for path in paths:
        octets = harness.run("dpkg-deb", "--fsys-tarfile", path, text=False).stdout
        check(TOP.encode() not in octets, f"{os.path.basename(path)} does not name the folder that it was built in")


def check_programs(root):
    """Every program works from /usr, and finds its data there."""
    with open(os.path.join(HERE, "..", "programs.csv"), encoding="ascii", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        check(row["package"] == root.run("dpkg-query", "-S", f"/usr/bin/{row['program']}").split(":")[0], f"{row['program']} is in {row['package']}")
        check(root.run("dpkg-query", "-S", f"/usr/share/man/man1/{row['page']}.gz").startswith(row["package"] + ":"), f"and so is {row['page']}")
        said = harness.run(ROOT_SH, "run", root.folder, row["program"], "--help", status=(0, 64))
        check("usage" in said.stdout + said.stderr, f"{row['program']} starts", said.stdout, said.stderr)

    root.run("iwarp-conform", "run", "--results", "/root/results")
    report = harness.load(root.folder, "root", "results", "run.json")
    verdicts = [case["verdict"] for case in report["cases"]]
    check(verdicts.count("PASS") > 2000 and set(verdicts) <= {"PASS", "SKIP"}, f"iwarp-conform run: {verdicts.count('PASS')} PASS", sorted(set(verdicts)))
    shutil.copy(os.path.join(TOP, CAPTURE), os.path.join(root.folder, "root", "broken.pcapng"))
    said = harness.run(ROOT_SH, "run", root.folder, "iwarp-lint", "/root/broken.pcapng", status=1).stdout
    check("DDP-4.3-08" in said, "iwarp-lint reads a capture and names the rule", said)
    check("iwarp.so" in root.run("tshark", "-G", "plugins"), "tshark loads the plugin")
    rules = root.run("tshark", "-r", "/root/broken.pcapng", "-Y", "iwarp.rule", "-T", "fields", "-e", "iwarp.rule").split()
    check(rules and all(rule in said for rule in rules), "which names the same rules", rules, said)
    root.run("iwarp-golden", "/usr/share/iwarp/conformance/lib", "/usr/share/iwarp/pcaps/scripts", "/root/golden")
    check(harness.octets(root.folder, "root/golden/violations/ddp-msn-gap-broken.pcapng") == harness.octets(TOP, CAPTURE), "iwarp-golden writes the committed captures")
    maps = root.run("iwarp-run", "cat", "/proc/self/maps")
    check(re.search("/usr/lib/[^/]+/iwarp/libibverbs.so.1", maps), "iwarp-run finds its library", maps)
    harness.run(ROOT_SH, "run", root.folder, "iwarp-siw", "status", status=3)
    # gcc has come with iwarp-siw.
    shutil.copy(os.path.join(TOP, "proto/tests/library/consumer.c"), os.path.join(root.folder, "root"))
    root.run("gcc", "-o", "/root/consumer", "/root/consumer.c", "-liwarp_host", "-liwarp")
    check("RDMA Write" in root.run("/root/consumer"), "a program of libiwarp0 is built and runs")
    check("libiwarp_host.so.0" in root.run("ldd", "/root/consumer"), "with the shared library")
    shutil.rmtree(os.path.join(root.folder, "root"))
    os.mkdir(os.path.join(root.folder, "root"))


def main(folder):
    if os.geteuid() != 0 or not all(map(shutil.which, ("mmdebstrap", "lintian", "dpkg-shlibdeps"))):
        harness.skip("needs root, mmdebstrap, lintian and dpkg-dev (tools/dev setup packages)")
    folder = os.path.abspath(folder)
    root = Root(os.path.join(folder, "root"))
    try:
        first = build(1, os.path.join(root.folder, "debs", "1"))
        second = build(2, os.path.join(root.folder, "debs", "2"))
        check_files(first)
        root.apt("update")
        inside = ["/" + os.path.relpath(path, root.folder) for path in first]
        root.apt("install", "tshark", *inside)
        ours = set(root.versions())
        check(len(ours) == len(first) and root.releases() == {"1"}, f"{len(first)} packages install from files", root.versions())
        root.run("dpkg", "--purge", *ours)
        before = root.files()

        root.apt("install", *inside)
        check_programs(root)
        root.apt("install", *("/" + os.path.relpath(path, root.folder) for path in second))
        check(root.releases() == {"2"}, "they are upgraded", root.versions())
        check(root.run("iwarp-conform", "list").count("\n") > 2000, "and work")
        root.apt("remove", *ours)
        check(not root.versions(), "removed, they have no settings left", root.versions())
        root.run("dpkg", "--purge", *ours)
        check(root.files() == before, "purged, nothing is left of them", sorted(root.files() ^ before)[:20])
        left = {path for path in root.files() if "iwarp" in path.lower()}
        check(not left, "not even by name", left)
        print(f"{len(first)} packages, {sum(map(os.path.getsize, first)) // 1024} KiB, in a bare Debian 12: good")
    finally:
        shutil.rmtree(root.folder)
    return 0


if __name__ == "__main__":
    sys.exit(harness.start(main, "usage: check_packages.py FOLDER"))
