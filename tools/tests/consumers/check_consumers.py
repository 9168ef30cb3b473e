#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reports as programs read them that are not ours: Perl's TAP::Parser, junitparser, jq, a JSON schema.

usage: check_consumers.py IWARP-CONFORM IWARP-LINT CHECKOUT

SARIF is held to what GitHub's code scanning documents (github-sarif.schema.json), and if IW_SARIF_SCHEMA names the schema of SARIF 2.1.0,
which Debian does not have, to that as well.
"""
import glob
import json
import os
import shutil
import subprocess
import tempfile

import harness
from harness import check, equal, expect

HERE = os.path.dirname(os.path.abspath(__file__))
ASKED = "ddp-stag-*"

TAP = r"""
use TAP::Parser;
local $/;
my $parser = TAP::Parser->new({tap => scalar <STDIN>});
my ($count, $yaml) = (0, 0);
while (my $result = $parser->next) { $count++ if $result->is_test; $yaml++ if $result->is_yaml; }
printf "%d %d %d %d %d %d %d\n", $parser->version, $parser->tests_planned, $count, scalar $parser->failed, scalar $parser->skipped,
  scalar $parser->parse_errors, $yaml;
"""

JUNIT = """
import json, sys
from junitparser import JUnitXml
found = []
whole = JUnitXml.fromfile(sys.argv[1])
for suite in whole:
    for case in suite:
        found.append([case.classname, case.name, case._elem.get("file"), [type(r).__name__ for r in case.result]])
print(json.dumps([whole.tests, whole.failures, whole.errors, found]))
"""


def reports(conform, folder, *words, status):
    """Runs cases that pass, fail and are skipped. Returns what TAP there is, and the paths of the others."""
    paths = {name: os.path.join(folder, name) for name in ("junit", "json")}
    done = harness.run(conform, "run", "--tap", "--junit", paths["junit"], "--json", paths["json"], "--results", os.path.join(folder, "results"),
                       "--select", ASKED, "--time-scale", "0.34", *words, status=status, cwd=folder)
    return done.stdout, paths


def tap(text, wanted):
    """Debian's TAP::Parser knows versions up to 13, of which 14 is an extension: it may only refuse the number."""
    new, old = "TAP version 14\n", "TAP version 13\n"
    check(text.startswith(new), "TAP is version 14", text[:100])
    said = harness.run("perl", "-e", TAP, input=text).stdout
    version, planned, count, failed, skipped, errors, yaml = map(int, said.split())
    if version < 14:
        equal("TAP::Parser: errors about version 14", errors, 1)
        version, planned, count, failed, skipped, errors, yaml = map(int, harness.run("perl", "-e", TAP, input=old + text[len(new):]).stdout.split())
    equal("TAP::Parser: errors", errors, 0)
    equal("TAP::Parser: plan and points", (planned, count), (wanted["all"], wanted["all"]))
    equal("TAP::Parser: failed, skipped", (failed, skipped), (wanted["FAIL"], wanted["SKIP"]))
    expect("TAP::Parser: diagnostics", yaml >= wanted["FAIL"], yaml)


def junit(path, wanted, checkout):
    python = next((p for p in ("/usr/bin/python3", "python3") if
                   subprocess.run([p, "-c", "import junitparser"], check=False, capture_output=True).returncode == 0), None)
    if python is None:
        print("ok - junitparser # SKIP it is not installed")
        return
    tests, failures, errors, cases = json.loads(harness.run(python, "-c", JUNIT, path).stdout)
    equal("junitparser: tests, failures, errors", (tests, failures, errors), (wanted["all"], wanted["FAIL"], 0))
    equal("junitparser: failures", len([c for c in cases if "Failure" in c[3]]), wanted["FAIL"])
    for name, _, file, _ in cases:
        expect("JUnit's names do not depend on the checkout", file == name + ".lua" and os.path.exists(os.path.join(checkout, file)), (name, file))


def jq(path, wanted):
    said = harness.run("jq", "-r", '[.cases[].verdict] | [length, (map(select(. == "FAIL")) | length), (map(select(. == "SKIP")) | length)] | @tsv',
                       path).stdout.split()
    equal("jq: verdicts", [int(n) for n in said], [wanted["all"], wanted["FAIL"], wanted["SKIP"]])


def sarif(lint, checkout):
    import jsonschema
    captures = sorted(glob.glob(os.path.join(checkout, "pcaps", "golden", "violations", "mpa-*broken.pcapng")))
    text = harness.run(lint, "--sarif", *captures, os.path.join(checkout, "pcaps", "golden", "tcp", "findings-out-of-order.pcapng"), status=1,
                       cwd=checkout).stdout
    whole = json.loads(text)
    schemas = [os.path.join(HERE, "github-sarif.schema.json")] + [path for path in [os.environ.get("IW_SARIF_SCHEMA")] if path]
    for path in schemas:
        schema = harness.load(path)
        wrong = jsonschema.validators.validator_for(schema, jsonschema.Draft7Validator)(schema).iter_errors(whole)
        equal(f"SARIF by {os.path.basename(path)}", [f"{list(e.absolute_path)}: {e.message[:200]}" for e in wrong], [])
    run, = whole["runs"]
    rules = [r["id"] for r in run["tool"]["driver"]["rules"]]
    used = [r["ruleId"] for r in run["results"]]
    equal("SARIF has the rules that occur", sorted(set(used)), sorted(rules))
    marks = [r["partialFingerprints"]["primaryLocationLineHash"] for r in run["results"]]
    equal("SARIF's fingerprints differ", len(set(marks)), len(marks))
    expect("SARIF does not contain the checkout's path", checkout not in text)
    if shutil.which("jq"):
        lines = harness.run(lint, "--json", "--summary", *captures, status=1).stdout
        said = harness.run("jq", "-s", '[.[] | select(.type == "total")] | length', input=lines).stdout
        equal("jq reads the lines of iwarp-lint", int(said), len(captures))


def main(conform, lint, checkout):
    checkout = os.path.abspath(checkout)
    check(subprocess.run(["perl", "-MTAP::Parser", "-e", ""], check=False).returncode == 0, "perl has TAP::Parser")
    with tempfile.TemporaryDirectory() as folder:
        agent = harness.script(os.path.join(folder, "bent"), '#!/bin/sh\nexec "%s" "$@" --ignore ddp-stag\n' %
                               os.path.join(os.path.dirname(os.path.abspath(conform)), "iwarp-agent"))
        for words, status in (((), 0), (("--agent", agent), 1)):
            text, paths = reports(conform, folder, *words, status=status)
            verdicts = [case["verdict"] for case in harness.load(paths["json"])["cases"]]
            wanted = {"all": len(verdicts), **{v: verdicts.count(v) for v in ("FAIL", "SKIP")}}
            equal("a bent peer fails", wanted["FAIL"] > 0, status == 1)
            tap(text, wanted)
            junit(paths["junit"], wanted, checkout)
            if shutil.which("jq"):
                jq(paths["json"], wanted)
    sarif(lint, checkout)
    harness.conclude("reports are read")


if __name__ == "__main__":
    harness.start(main, __doc__)
