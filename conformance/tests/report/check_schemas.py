#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""iwarp-conform's JSON fits its schemas, and they let nothing else pass.

usage: check_schemas.py IWARP-CONFORM SUITE

SUITE is the folder that suite_embedded.py left.
"""
import copy
import json
import os
import sys
import tempfile

import jsonschema

import harness
from harness import check, load

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMAS = os.path.join(HERE, "..", "..", "report")

# Every verdict, an exchange with stimulus and decision, octets that are no text, observations and notes.
CASES = r"""
local function one(id, run, level)
  return case { id = id, purpose = "p", rules = { "MPA-8-02", "MPA-4.1-02" }, role = "responder", level = level, run = run }
end
return {
  one("a-good", function(t) t:connect { private = "\0\xff<>&" }:sanity() t:observe("close", "fin") t:note("a remark") end),
  one("b-failing", function(t)
      local conn = t:connect {}
      conn:send(send { payload = bytes(4) }, { crc = "bad" })
      conn:expect_terminate { "1/1/01" }
    end),
  one("c-noted", function(t) t:fail("not nice", { expected = "\x01\xff", actual = "]]>" }) end, "should"),
  one("d-undecided", function(t) t:inconclusive("no way to tell") end),
  one("e-skipped", function(t) t:skip("not here") end),
  one("f-broken", function(t) nothing() end),
}
"""


def schema(name):
    return load(SCHEMAS, name + ".schema.json")


def problems(name, value):
    validator = jsonschema.Draft202012Validator(schema(name))
    return ["%s: %s" % ("/".join(map(str, e.absolute_path)), e.message[:200]) for e in validator.iter_errors(value)]


def journal(folder):
    return harness.lines_of(harness.octets(folder, "journal.jsonl"))


def fits(name, what, value):
    found = problems(name, value)
    check(not found, "%s fits %s.schema.json" % (what, name), *found[:5])


class Runner(harness.Bench):
    def play(self, what, status, *words):
        report = harness.suite(self.program, self.at(what), *words, status=status, cwd=self.folder)
        fits("run", what, report)
        for line in journal(self.at(what)):
            if problems("journal", line):
                sys.exit("the journal of %s does not fit: %s" % (what, problems("journal", line)))
        print("ok - so does its journal")
        return report


def outputs(run, cases):
    mine = ("--cases", cases)
    report = run.play("every-verdict", 70, *mine)
    check(all(report["summary"][v] == 1 for v in report["summary"]), "it has every verdict", report["summary"])
    failing = next(c for c in report["cases"] if c["id"] == "b-failing")
    check(any("remarks" in line and "fields" in line for line in failing["exchange"]), "and an exchange", failing)
    run.play("repeated", 1, *mine, "--repeat", "3", "--time-scale", "2", "a-good", "b-failing")
    run.play("shard", (0, 1), *mine, "--shard", "2/2", "--order", "random,7", "a-good", "b-failing")
    run.write("known", 'b-failing FAIL "known"\na-good FAIL "was bad"\n')
    report = run.play("baselined", 2, *mine, "--baseline", "known", "--select", "[a-d]-*")
    check([c.get("baseline") for c in report["cases"]] == ["stale", "expected", "new", "new"], "it has a baseline", report["cases"])
    run.play("unreached", 3, *mine, "--target", "tcp:127.0.0.1:1,class=rping", "a-good", "--pcap-dir", "pcaps")
    # A peer that says something at its end: its case is charged after it has ended.
    run.write("leak/a.lua", "return { case { id = 'leak', purpose = 'p', rules = { 'MPA-8-02' }, role = 'responder',\n"
              "  run = function(t) t:connect { private = 'leaks' } end } }\n")
    peer = run.write("leaks.lua", "return { class = 'bare', address = '127.0.0.1', ready = 'listening', start = [[exec %s -B %s {port}]] }\n" %
                     (sys.executable, os.path.join(HERE, "..", "run", "mishap_peer.py")))
    report = run.play("charged", 1, "--cases", run.at("leak"), "--target", peer)
    check(report["findings"][0]["log"] == report["cases"][0]["log"] and "charge" in journal(run.at("charged"))[-1], "it has a charge", report)
    run.run(70, "run", "--resume", "every-verdict")
    fits("run", "a run that went on", load(run.folder, "every-verdict", "run.json"))
    bad = harness.write(os.path.join(cases, "bad.lua"), "return {\n")
    report = run.play("unreadable", 70, *mine, "a-good")
    check(report["cases"][0]["role"] is None, "it has a file that cannot be read", report)
    os.unlink(bad)
    run.run(0, "self-check", *mine, "--results", "matrix", "--select", "a-good", "--switch", "*=mpa-crc")
    matrix = load(run.folder, "matrix", "run.json")
    fits("self-check", "a self-check", matrix)
    run.run(1, "self-check", *mine, "--results", "diagnosis", "--diagnose", "--select", "a-good", "--select", "b-failing",
            "--switch", "*=mpa-crc")
    diagnosis = load(run.folder, "diagnosis", "run.json")
    fits("diagnosis", "a diagnosis", diagnosis)
    run.run(0, "compare", "every-verdict", "repeated", "charged", "unreadable", "--json", "compared")
    comparison = load(run.folder, "compared")
    fits("compare", "a comparison", comparison)
    check(comparison["findings"] and comparison["changes"][0]["cases"], "it has findings and changes", comparison["changes"])
    for one in comparison["runs"]:  # what is copied there is for run.schema.json
        one.update((name, None) for name in ("tool", "suite", "target", "device", "summary"))
    return report, journal(os.path.join(run.folder, "every-verdict")), matrix, diagnosis, comparison


def whole_suite(folder):
    fits("run", "the whole suite", load(folder, "run.json"))
    validator = jsonschema.Draft202012Validator(schema("journal"))
    lines = journal(folder)
    bad = [line for line in lines if not validator.is_valid(line)]
    check(len(lines) > 2000 and not bad, "so does its journal, %d lines" % len(lines), *bad[:3])


def objects(value):
    """Every object in a JSON value."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    for one in value if isinstance(value, list) else []:
        yield from objects(one)


def nothing_else(name, value):
    """A member that the schema does not know is refused, wherever it is put."""
    refused = 0
    for i in range(len(list(objects(value)))):
        changed = copy.deepcopy(value)
        list(objects(changed))[i]["unheard-of"] = 1
        if not problems(name, changed):
            sys.exit("%s.schema.json lets a member pass that it does not know, in %s" % (name, str(list(objects(value))[i])[:300]))
        refused += 1
    check(refused, "%s.schema.json refuses an unknown member in each of %d objects" % (name, refused))


def main(conform, suite):
    for name in ("run", "journal", "self-check", "diagnosis", "compare"):
        jsonschema.Draft202012Validator.check_schema(schema(name))
    whole_suite(suite)
    check(schema("run")["$defs"]["line"] == schema("journal")["$defs"]["line"], "run and journal agree about an exchange")
    with tempfile.TemporaryDirectory() as folder:
        cases = os.path.join(folder, "cases")
        harness.write(os.path.join(cases, "c.lua"), CASES)
        _, lines, matrix, diagnosis, comparison = outputs(Runner(conform, folder), cases)
        report = load(folder, "repeated", "run.json")
    nothing_else("run", report)
    for line in (lines[0], max(lines, key=lambda line: len(str(line)))):
        nothing_else("journal", line)
    matrix["switches"], matrix["cases"] = matrix["switches"][:3], matrix["cases"][:3]
    nothing_else("self-check", matrix)
    nothing_else("diagnosis", diagnosis)
    comparison["sections"] = comparison["sections"][:2]
    nothing_else("compare", comparison)
    for wrong in ({"schema": 2}, {"summary": {}}, {"cases": [{}]}, {"exit": "0"}):
        check(problems("run", dict(report, **wrong)), "run.schema.json refuses %s" % json.dumps(wrong))


if __name__ == "__main__":
    harness.start(main, __doc__)
