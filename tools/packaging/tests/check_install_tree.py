#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `cmake --install` installs: each program of programs.csv with its man page, completions that are named after programs, the
licence; and that the target `uninstall` removes it, all of it and nothing else."""
import csv
import fcntl
import glob
import os
import shutil
import sys
import tempfile

import harness
from harness import check

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
# Programs of the build folder that nobody needs on another machine: a peer with planted memory errors, for tests of the fuzzer.
NOT_INSTALLED = {"iwarp-range"}
COMPLETIONS = {"bash": "bash-completion/completions", "zsh": "zsh/site-functions", "fish": "fish/vendor_completions.d"}


def rows():
    with open(os.path.join(HERE, "..", "programs.csv"), encoding="ascii", newline="") as file:
        return list(csv.DictReader(file))


def files(folder):
    """All files below a folder, by their path from there."""
    return {os.path.relpath(os.path.join(top, name), folder) for top, _, names in os.walk(folder) for name in names}


def check_tree(build, tree):
    found = files(tree)
    programs = {row["program"] for row in rows()}
    for row in rows():
        path = os.path.join(tree, "bin", row["program"])
        check(os.access(path, os.X_OK), f"{row['program']} is installed")
        check(f"share/man/man{row['page'][-1]}/{row['page']}" in found, f"its page {row['page']} is installed")
    built = {name for name in os.listdir(os.path.join(build, "bin")) if name.startswith("iwarp-")}
    check(built - NOT_INSTALLED == programs, "every program that is built has a row", built - NOT_INSTALLED ^ programs)
    pages = {os.path.basename(path) for path in glob.glob(os.path.join(SOURCE, "tools", "man", "*"))}
    check({page for page in pages if page.endswith(".1")} == {row["page"] for row in rows()}, "every page of a program has a row", pages)
    check(all(f"share/man/man{page[-1]}/{page}" in found for page in pages), "every page is installed", pages)
    for shell, folder in COMPLETIONS.items():
        names = {os.path.basename(path) for path in glob.glob(os.path.join(SOURCE, "tools", "completions", shell, "*"))}
        check(all(f"share/{folder}/{name}" in found for name in names), f"completions for {shell} are installed: {len(names)}", names)
    check({"share/doc/iwarp-toolkit/LICENSE", "share/doc/iwarp-toolkit/README.md"} <= found, "LICENSE and README are installed")
    check(not [name for name in found if "__pycache__" in name or name.endswith("~")], "nothing else is in the way")


def check_moved(build, tree):
    """Programs find their data from where they lie."""
    listed = harness.run(os.path.join(tree, "bin", "iwarp-conform"), "list", cwd="/").stdout
    check(listed == harness.run(os.path.join(build, "bin", "iwarp-conform"), "list").stdout and listed.count("\n") > 1000, "iwarp-conform finds its cases elsewhere")
    shown = harness.run(os.path.join(tree, "bin", "iwarp-conform"), "show", "ddp-stag-zero", cwd="/").stdout
    check(os.path.join(tree, "share", "iwarp", "conformance", "cases") in shown, "and not those of the checkout", shown)
    run = os.path.join(tree, "bin", "iwarp-run")
    if os.path.exists(run):
        maps = harness.run(run, "cat", "/proc/self/maps").stdout
        check(os.path.join(tree, "lib") in maps and "libibverbs.so.1" in maps, "iwarp-run finds its library elsewhere", maps)


def main(cmake, build):
    work = tempfile.mkdtemp(dir=build, prefix="tree-")
    try:
        with open(os.path.join(build, "install.lock"), "a", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # the build has one list of what was installed
            environment = {**os.environ, "DESTDIR": os.path.join(work, "root")}
            tree = os.path.join(work, "root", "opt", "iw")
            harness.run(cmake, "--install", build, "--prefix", "/opt/iw", env=environment)
            check_tree(build, tree)
            shutil.copytree(tree, os.path.join(work, "moved"), symlinks=True)
            foreign = {"share/iwarp/conformance/cases/mine.lua", "bin/mine", "include/iwarp/mine.h"}
            for name in foreign:
                harness.write(os.path.join(tree, name), "mine\n")
            done = harness.run(cmake, "--build", build, "--target", "uninstall", env=environment)
            check(files(tree) == foreign, "uninstall leaves what others have put there, and nothing else", files(tree), done.stdout)
            check(not os.path.exists(os.path.join(tree, "share", "iwarp", "pcaps")), "and no empty folders of ours")
            check("0 files removed" in harness.run(cmake, "--build", build, "--target", "uninstall", env=environment).stdout, "a second time does no harm")
        check_moved(build, os.path.join(work, "moved"))
        os.makedirs(os.path.join(work, "empty"))
        done = harness.run(cmake, "-D", f"BUILD={work}/empty", "-P", os.path.join(HERE, "..", "uninstall.cmake"), status=1)
        check("nothing was installed from this build" in done.stderr.replace("\n ", ""), "where nothing was installed it says so", done.stderr)
    finally:
        shutil.rmtree(work)
    return 0


if __name__ == "__main__":
    sys.exit(harness.start(main, "usage: check_install_tree.py CMAKE BUILD"))
