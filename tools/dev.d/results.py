# SPDX-License-Identifier: BSD-3-Clause
"""Keeps what the steps of a run showed, as data: tools/results/runs.csv."""
import csv
import datetime
import os
import re
import subprocess

from paths import ROOT

PATH = os.path.join(ROOT, "tools", "results", "runs.csv")
COLUMNS = ("date", "commit", "command", "cores", "step", "verdict", "seconds", "processor_seconds", "figure")


def figure(step):
    """The last match of the step's expression in its log."""
    log = os.path.join(ROOT, step.log)
    if not step.figure or not os.path.exists(log):
        return ""
    with open(log, encoding="utf-8", errors="replace") as file:
        found = [match.group(0) for match in re.finditer(step.figure, file.read(), re.M)]
    return " ".join(found[-1].split()) if found else ""


def commit():
    done = subprocess.run(["git", "describe", "--always", "--dirty", "--exclude", "*"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout.strip()


def rows(steps, results, command, cores):
    """One row for each step that has a result."""
    today, head = datetime.date.today().isoformat(), commit()
    found = []
    for step in steps:
        if step.name in results:
            verdict, seconds, processor = results[step.name]
            shown = figure(step) if verdict in ("ok", "FAILED") else ""  # else the log is another night's
            found.append((today, head, command, cores, step.name, verdict, f"{seconds:.0f}", f"{processor:.0f}", shown))
    return found


def record(found, path=PATH):
    """Appends rows to the committed table; a person commits it."""
    new = not os.path.exists(path)
    with open(path, "a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(COLUMNS)
        writer.writerows(found)
