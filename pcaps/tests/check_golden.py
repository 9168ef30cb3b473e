# SPDX-License-Identifier: BSD-3-Clause
"""check_golden.py BUILDER LINT [FOLDER]: the golden captures are those that the scripts make, octet by octet, and
iwarp-lint finds in each exactly what the manifest says, accuses each side of rules that bind it, in the order of frames, and
prints what it found and what it expected only where they differ. With FOLDER: only the second, for the captures there."""
import os
import tempfile

import golden
import harness


def compare(builder):
    with tempfile.TemporaryDirectory() as folder:
        golden.rebuild(builder, folder)
        made, kept = golden.files(folder), golden.files(golden.GOLDEN)
        for name in sorted(made - kept):
            harness.complain(f"{name}: made by the scripts, but not in {golden.GOLDEN} (tools/dev captures)")
        for name in sorted(kept - made):
            harness.complain(f"{name}: no script makes it")
        for name in sorted(made & kept):
            if harness.octets(folder, name) != harness.octets(golden.GOLDEN, name):
                harness.complain(f"{name}: the scripts make other octets (tools/dev captures)")


def judge(lint, folder):
    captures, rules = golden.manifest(folder)["captures"], golden.subjects()
    listed = {c["file"] for c in captures} | {"manifest.json"}
    for name in sorted(golden.files(folder) - listed):
        harness.complain(f"{name}: not in the manifest")
    for c in captures:
        lines = golden.lint(lint, os.path.join(folder, c["file"]), *c.get("lint", []))
        want, got = golden.expected(c), golden.findings(lines)
        harness.complain(*(f'{c["file"]}: {wrong}' for wrong in golden.unfit(rules, lines)))
        for what, a, b in ("findings", want[0], got[0]), ("unknown", want[1], got[1]):
            if a != b and not (what == "unknown" and c.get("gaps")):
                harness.complain(f'{c["file"]}: {what}:\n  expected {"; ".join(a) or "none"}\n  found    {"; ".join(b) or "none"}')
    return len(captures)


def main(builder, lint, folder=None):
    if not folder:
        compare(builder)
    n = judge(lint, folder or golden.GOLDEN)
    harness.expect("captures in the manifest", n, n)
    harness.conclude(f"{n} captures")


if __name__ == "__main__":
    harness.start(main, __doc__)
