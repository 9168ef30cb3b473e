# SPDX-License-Identifier: BSD-3-Clause
"""The synthetic golden captures: what their tests and tools/dev captures share."""
import csv
import os

import harness

PCAPS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GOLDEN = os.path.join(PCAPS, "golden")


def rebuild(builder, folder):
    """Builds all captures and their manifest below `folder`."""
    library = os.path.join(os.path.dirname(PCAPS), "conformance", "lib")
    harness.run(builder, library, os.path.join(PCAPS, "scripts"), folder)


def files(folder):
    """Every file below, by its path from there."""
    found = set()
    for where, _, names in os.walk(folder):
        found.update(os.path.relpath(os.path.join(where, name), folder) for name in names)
    return found


def manifest(folder=GOLDEN):
    return harness.load(folder, "manifest.json")


def lint(program, path, *options):
    """The lines of iwarp-lint --json about a capture. A capture that it cannot read is an error."""
    return harness.lines_of(harness.run(program, "--json", *options, path, status=(0, 1), encoding="utf-8").stdout)


def findings(lines):
    """Findings, and directions of which no more can be said, as sorted lists of texts."""
    found = sorted(f'{x["check"]} ({x["rule"]}) of the {x["side"]} in frame {x["frame"]}' for x in lines if x["type"] == "finding")
    unknown = sorted(f'the {x["side"]} from frame {x["frame"]} on' for x in lines if x["type"] == "unknown")
    return found, unknown


def unfit(rules, lines):
    """What is wrong with the findings by themselves: a rule that does not bind the side, values that do not differ, frames out of order."""
    wrong, last = [], 0
    for x in (x for x in lines if x["type"] == "finding"):
        subject = rules[x["rule"]]
        if subject in ("initiator", "responder") and subject != x["side"]:
            wrong.append(f'{x["rule"]} of the {x["side"]} in frame {x["frame"]} is a rule of the {subject}')
        if ("got" in x) != ("want" in x) or x.get("got", "found") == x.get("want", "expected"):
            wrong.append(f'{x["check"]} in frame {x["frame"]}: found {x.get("got")}, expected {x.get("want")}')
        if x["frame"] < last:
            wrong.append(f'{x["check"]} in frame {x["frame"]} comes after a finding in frame {last}')
        last = x["frame"]
    return wrong


def subjects():
    """By rule of the catalogue: whom it binds."""
    with open(os.path.join(os.path.dirname(PCAPS), "proto", "rules", "requirements.csv"), encoding="ascii", newline="") as file:
        return {row["id"]: row["subject"] for row in csv.DictReader(file)}


def expected(capture):
    found = sorted(f'{x["check"]} ({x["rule"]}) of the {x["side"]} in frame {x["frame"]}' for x in capture["findings"])
    unknown = sorted(f'the {x["side"]} from frame {x["frame"]} on' for x in capture.get("unknown", []))
    return found, unknown
