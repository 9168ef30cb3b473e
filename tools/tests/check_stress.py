# SPDX-License-Identifier: BSD-3-Clause
"""tools/stress.py on a folder of tests that are made up: what it reports, and what it gives a test to work with.

usage: check_stress.py STRESS
"""
import pathlib
import subprocess
import sys
import tempfile

import harness

# In a folder that others can enter and read: some tests run programs as another user.
OPEN = 'd="$TMPDIR"; while [ "$d" != "$BASE" ]; do [ -n "$(find "$d" -maxdepth 0 -perm -o=rx)" ] || exit 1; d=$(dirname "$d"); done'
TESTS = (("good", "true", ""), ("bad", "false", "it failed"), ("open", OPEN, ""), ("messy", 'touch "$TMPDIR/left"', "it left files"))


def main(stress):
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder)
        (top / "CTestTestfile.cmake").write_text("".join(f"add_test({name} bash -c [==[{script}]==])\n" for name, script, _ in TESTS), encoding="utf-8")
        base = top / "tmp"
        base.mkdir()
        for name, _, why in TESTS:
            done = subprocess.run([sys.executable, "-B", stress, str(top), "--times", "2", "--load", "0", "--tests", f"^{name}$"],
                                  env={"PATH": "/usr/bin:/bin", "TMPDIR": str(base), "BASE": str(base)}, capture_output=True, text=True, check=False)
            harness.equal(f"{name}: exit status", done.returncode, 1 if why else 0)
            harness.equal(f"{name}: failures", done.stdout.count(f"FAILED {name}, run "), 2 if why else 0)
            harness.expect(f"{name}: the reason", why in done.stdout, done.stdout)
        harness.equal("nothing is left", sorted(base.iterdir()), [])
    harness.conclude()


harness.start(main, __doc__)
