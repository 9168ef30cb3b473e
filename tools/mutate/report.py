# SPDX-License-Identifier: BSD-3-Clause
"""What became of the edits: the committed list of survivors, the summary by room, the result as data."""

import csv
import difflib
import json
import os

import suite
from tree import Bad

COLUMNS = ["file", "function", "old", "new", "state", "why"]
STATES = ("equal", "open")
KEY = ("file", "line", "function", "kind", "old", "new")
KILLED_BAR, EQUAL_BAR = 0.95, 0.03


def read_list(path):
    """survivors.csv: (file, function, old, new) to its row."""
    found = {}
    try:
        with open(path, encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            if reader.fieldnames != COLUMNS:
                raise Bad(f"{path}: the columns must be {','.join(COLUMNS)}")
            for row in reader:
                if row["state"] not in STATES or not row["why"]:
                    raise Bad(f"{path}:{reader.line_num}: state must be one of {', '.join(STATES)}, and why must be said")
                found[tuple(row[c] for c in COLUMNS[:4])] = row
    except FileNotFoundError:
        pass
    return found


def resume(path, head):
    """The edits that a run has tried, each with its result, and its minutes, from the result so far."""
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        edits, minutes = data["list"], data["minutes"]
    except OSError as error:
        raise Bad(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise Bad(f"{path}: expected the result of tools/dev mutate") from None
    for name in ("commit", "seed"):
        if data.get(name) != head[name]:
            raise Bad(f"{path}: its {name} is {data.get(name)}, this is {head[name]}: other edits would be drawn")
    found = {}
    for edit in edits:
        if edit["state"] == "equal":
            edit["state"] = "survived"  # whether it is listed is asked anew
        found[tuple(edit[c] for c in KEY)] = {c: edit[c] for c in ("state", "killer", "why", "seconds", "asked", "spent")}
    return found, minutes


class Report:
    def __init__(self, texts, known):
        self.texts = texts
        self.known = known
        self.counted = []  # (edit, result)
        self.uncompiled = 0
        self.same = 0
        self.unfinished = 0
        self.unsound = set()
        self.spent = {}  # kind of work -> seconds, of all workers

    def add(self, edit, result):
        """Notes a result; whether it counts."""
        for work, seconds in result.get("spent", {}).items():
            self.spent[work] = self.spent.get(work, 0) + seconds
        if result["state"] == "uncompiled":
            self.uncompiled += 1
            return False
        if result["state"] == "same":
            self.same += 1
            return False
        if result["state"] == "unfinished":
            self.unfinished += 1
            return False
        if result["state"] == "survived" and (row := self.row(edit)) and row["state"] == "equal":
            result["state"] = "equal"
        self.counted.append((edit, result))
        return True

    def row(self, edit):
        return self.known.get((edit.file, edit.function, *edit.lines(self.texts[edit.file])))

    def key(self, edit):
        return (edit.file, edit.line, edit.function, edit.kind, *edit.lines(self.texts[edit.file]))

    def count(self, state):
        return sum(result["state"] == state for _, result in self.counted)

    def rate(self):
        """Killed, of those that were not found to be equal."""
        judged = len(self.counted) - self.count("equal")
        return self.count("killed") / judged if judged else 1.0

    def good(self):
        return bool(self.counted) and self.rate() >= KILLED_BAR and self.count("equal") <= EQUAL_BAR * len(self.counted)

    def line(self, edit, result):
        """One line about one edit, with the rate so far."""
        old, new = edit.lines(self.texts[edit.file])
        what = {"killed": f"killed by {result.get('killer')} ({result.get('why')})", "survived": "SURVIVED",
                "equal": "listed as equal"}[result["state"]]
        return (f"{len(self.counted):4} {100 * self.rate():5.1f} % {edit.file}:{edit.line} {edit.kind} {result.get('seconds', 0):.0f} s: "
                f"{what}\n{'':13}{_differ(old, new)}")

    def diff(self, edit):
        text = self.texts[edit.file]
        return "".join(difflib.unified_diff(text.splitlines(True), edit.apply(text).splitlines(True), f"a/{edit.file}",
                                            f"b/{edit.file}"))

    def block(self, edit):
        """A survivor as a person triages it: where, and the row for survivors.csv."""
        old, new = edit.lines(self.texts[edit.file])
        row = self.row(edit)
        state = f" [listed as open: {row['why']}]" if row else ""
        return f"{edit.file}:{edit.line} {edit.function}: {edit.kind}{state}\n  - {old}\n  + {new}\n{self.diff(edit)}"

    def survivors(self):
        return [edit for edit, result in self.counted if result["state"] == "survived"]

    def rooms(self):
        """Room to (edits, killed, equal, survived)."""
        found = {}
        for edit, result in self.counted:
            row = found.setdefault(suite.room(edit.file), {"edits": 0, "killed": 0, "equal": 0, "survived": 0})
            row["edits"] += 1
            row[result["state"]] += 1
        return dict(sorted(found.items()))

    def summary(self):
        lines = [f"{'room':24} {'edits':>6} {'killed':>6} {'equal':>6} {'alive':>6}"]
        for name, row in self.rooms().items():
            lines.append(f"{name:24} {row['edits']:6} {row['killed']:6} {row['equal']:6} {row['survived']:6}")
        lines.append(f"{len(self.counted)} edits, {self.count('killed')} killed, {self.count('equal')} equal, "
                     f"{self.count('survived')} alive: {f'{100 * self.rate():.1f} %' if self.counted else 'no edit was finished'}; "
                     f"besides, {self.uncompiled} did not compile, {self.same} changed no code and {self.unfinished} were not finished")
        if self.spent:
            lines.append("minutes of all workers: " + ", ".join(f"{work} {seconds / 60:.1f}" for work, seconds in sorted(self.spent.items())))
        if self.unsound:
            lines.append(f"not asked, as they fail without an edit: {' '.join(sorted(self.unsound))}")
        return "\n".join(lines)

    def write(self, path, head):
        """The result as data."""
        edits = []
        for edit, result in self.counted:
            edits.append({**dict(zip(KEY, self.key(edit))), "state": result["state"], "killer": result.get("killer", ""), "why": result.get("why", ""),
                          "seconds": round(result.get("seconds", 0), 1), "asked": result.get("asked", 0),
                          "spent": {work: round(seconds, 1) for work, seconds in result.get("spent", {}).items()}})
        data = {**head, "edits": len(self.counted), "killed": self.count("killed"), "equal": self.count("equal"),
                "survived": self.count("survived"), "uncompiled": self.uncompiled, "same_code": self.same, "unfinished": self.unfinished,
                "rate": round(self.rate(), 4), "good": self.good(), "spent": {work: round(seconds) for work, seconds in self.spent.items()},
                "unsound": sorted(self.unsound), "rooms": self.rooms(), "list": edits}
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            json.dump(data, file, indent=1)
            file.write("\n")
        os.replace(f"{path}.new", path)


def _differ(old, new):
    """Where two lines differ, with a little around it."""
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    begin = max(0, first - 30)
    return f"{old[begin:len(old) - last + 12 if last else None][:90]}  ->  {new[begin:len(new) - last + 12 if last else None][:90]}"
