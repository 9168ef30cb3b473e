# SPDX-License-Identifier: BSD-3-Clause
"""Reads the table of steps, steps.toml, and chooses those of a tier and a night."""
import dataclasses
import datetime
import os
import tomllib

from paths import Failed

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "steps.toml")
NIGHTS = 7  # the rotation of the nightly
TIERS = {"test", "nightly", "prove", "coverage", "tidy"}


@dataclasses.dataclass
class Step:
    """One row of the table."""

    name: str
    title: str
    run: str  # a bash script; the environment has JOBS, SEED and NIGHT
    tiers: list
    minutes: float  # its budget on two idle cores
    needs: list = dataclasses.field(default_factory=list)  # steps that have to end well before it
    load: float = 1.0  # the share of the processors that it keeps busy, 0 to 1
    nights: list = dataclasses.field(default_factory=lambda: list(range(NIGHTS)))
    figure: str = ""  # a regular expression: the last match in the log is the figure that is kept
    summary: bool = False  # its log ends the output of the whole run
    log: str = ""

    def __post_init__(self):
        self.log = self.log or f"build/log/{self.name}"


def load(path=TABLE):
    """Returns the steps by name. Raises Failed for a table that makes no sense."""
    with open(path, "rb") as file:
        rows = tomllib.load(file)["step"]
    found = {}
    for row in rows:
        try:
            step = Step(**row)
        except TypeError as error:
            raise Failed(f"{path}: {row.get('name', 'a step without a name')}: {error}") from None
        if not step.tiers or not TIERS.issuperset(step.tiers):
            raise Failed(f"{path}: {step.name}: the tiers are {', '.join(sorted(TIERS))}")
        if step.name in found:
            raise Failed(f"{path}: two steps are named {step.name}")
        for need in step.needs:
            if need not in found:
                raise Failed(f"{path}: {step.name} needs {need}, which no step before it is named")
        found[step.name] = step
    return found


def tonight():
    """Which of the seven nights it is."""
    return datetime.date.today().toordinal() % NIGHTS


def chosen(steps, tier, night=0):
    """Returns the steps of a tier (of nightly, those of the night), with all that they need, in the order of the table."""
    names = set()

    def add(name):
        if name not in names:
            names.add(name)
            for need in steps[name].needs:
                add(need)

    for step in steps.values():
        if tier in step.tiers and (tier != "nightly" or night in step.nights):
            add(step.name)
    return [step for step in steps.values() if step.name in names]
