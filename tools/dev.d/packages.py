# SPDX-License-Identifier: BSD-3-Clause
"""Installs the Debian packages of a tier, which tools/packages.txt lists."""
import os
import shutil
import subprocess
import sys

import scheduler
from paths import ROOT, Failed

# Each tier needs the packages of these tiers.
TIERS = {
    "build": {"build"},
    "test": {"build", "test"},
    "nightly": {"build", "test", "nightly"},
    "packages": {"build", "packages"},
    "siw": {"build", "siw"},
    "record": {"build", "siw", "record"},
}


def wanted(tier):
    with open(os.path.join(ROOT, "tools", "packages.txt"), encoding="ascii") as file:
        rows = [line.split() for line in file if not line.startswith("#")]
    return [package for row_tier, package in rows if row_tier in TIERS[tier]]


def missing(packages):
    done = subprocess.run(["dpkg-query", "-W", "-f=${Package} ${db:Status-Status}\n", *packages], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    installed = {line.split()[0] for line in done.stdout.splitlines() if line.endswith(" installed")}
    return [package for package in packages if package not in installed]


def as_root(packages):
    if os.geteuid() == 0:
        return []
    if not shutil.which("sudo"):
        raise Failed(f"setup: neither root nor sudo; install: {' '.join(packages)}")
    if subprocess.run(["sudo", "-v"], check=False).returncode != 0:
        raise Failed(f"setup: no root rights to install: {' '.join(packages)}")
    return ["sudo"]


def setup(tier):
    """Installs what is missing of a tier. Raises Failed with the names of the packages if it cannot."""
    packages = wanted(tier)
    if not shutil.which("dpkg-query"):
        raise Failed(f"setup: this is no Debian; install: {' '.join(packages)}")
    packages = missing(packages)
    if not packages:
        return
    apt = [*as_root(packages), "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "Acquire::Retries=3", "-o", "DPkg::Lock::Timeout=300"]
    print(f"installing {' '.join(packages)}", file=sys.stderr, flush=True)
    folder = os.path.join(ROOT, "build", "log")
    os.makedirs(folder, exist_ok=True)
    for name, words in (("apt-update", ["update"]), ("apt-install", ["install", "-y", "--no-install-recommends", *packages])):
        log = os.path.join(folder, name)
        with open(log, "wb") as file:
            status = subprocess.run([*apt, *words], stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, check=False).returncode
        if status != 0:
            sys.stderr.writelines(scheduler.tail(log, scheduler.TAIL))
            raise Failed(f"setup: {' '.join(apt)} {words[0]} failed; its log: {log}")
