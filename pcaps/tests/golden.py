# SPDX-License-Identifier: BSD-3-Clause
"""The synthetic golden captures: what their tests and tools/dev captures share."""
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


def expected(capture):
    found = sorted(f'{x["check"]} ({x["rule"]}) of the {x["side"]} in frame {x["frame"]}' for x in capture["findings"])
    unknown = sorted(f'the {x["side"]} from frame {x["frame"]} on' for x in capture.get("unknown", []))
    return found, unknown
