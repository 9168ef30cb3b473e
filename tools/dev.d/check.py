# SPDX-License-Identifier: BSD-3-Clause
"""tools/dev check: builds what changed, runs the unit tests that can notice it, and the suite."""
import os
import subprocess

import rooms
import scheduler
import steps
from paths import ROOT, Failed, build_folder, jobs

# What the unit tests of a folder beside proto/ start with, and of what stands on it. All stand on proto/.
PREFIXES = {"conformance": ("conformance_test_", "live_test_", "test_mutate"), "tools": ("tools_test_",), "fuzz": ("live_test_", "test_mutate"), "dissector": (), "pcaps": ("pcaps_test_",)}
ALL = ("conformance_test_", "tools_test_", "live_test_", "test_mutate", "pcaps_test_")
PROGRAMS = ("iwarp-conform", "iwarp-agent")


def targets(chosen):
    """What ninja is asked for: only the tests that will run, and the suite."""
    tests = sorted({test for room in chosen if room not in rooms.OTHERS for test in rooms.proto_tests(room)})
    prefixes = tuple(prefix for room in chosen for prefix in PREFIXES.get(room, ALL))
    if prefixes:
        folder = build_folder("default")
        # Sources that came or went since it was configured.
        if subprocess.run(["ninja", "-C", folder, "build.ninja"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False).returncode:
            raise Failed("check: cmake failed; see cmake --preset default")
        known = subprocess.run(["ninja", "-C", folder, "-t", "targets", "all"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
        tests += sorted({name.rstrip(":") for name in known if name.endswith(":") and "/" not in name and name.startswith(prefixes) and ".c" not in name})
    return tests


def run(room):
    """Returns the exit status."""
    if room is not None:
        rooms.check_room(room)
    chosen = [room] if room is not None else sorted(rooms.changed_rooms())
    folder = os.path.relpath(build_folder("default"), ROOT)
    if not os.path.exists(os.path.join(ROOT, folder, "build.ninja")):
        found = scheduler.Scheduler([steps.Step("configure", "configure (default)", "cmake --preset default", [], 1)], False, {}).run()
        if found["configure"][0] != "ok":
            raise Failed("check: cmake failed")
    tests = targets(chosen)
    names = "|".join(tests) or "none"
    rows = [
        steps.Step("check-build", f"build: {len(tests)} unit tests of {' '.join(chosen) or 'no room'}, the suite",
                   f"cmake --build --preset default --parallel {jobs()} --target {' '.join([*tests, *PROGRAMS])}", [], 1),
        steps.Step("check-tests", "unit tests", f"tools/dev.d/ctest.sh default --parallel {jobs()} --tests-regex '^({names})$'", [], 1, ["check-build"], 0.5),
        steps.Step("check-suite", "the suite against the embedded peer", f"rm -rf {folder}/check && {folder}/bin/iwarp-conform run --results {folder}/check", [], 1, ["check-build"], 0.5,
                   figure=r"^\d+ PASS.*"),
    ]
    if not tests:
        rows.pop(1)
    found = scheduler.Scheduler(rows, True, {}).run()
    return 0 if all(result[0] == "ok" for result in found.values()) else 1
