#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""TAP, JUnit and CSV as their own rules have them, over a run whose names and reasons try to break them.

usage: check_reports.py IWARP-CONFORM

TAP: testanything.org, version 14. JUnit: what the schemas of CI servers have in common. CSV: RFC 4180.
"""
import csv
import os
import re
import signal
import subprocess
import tempfile
import xml.etree.ElementTree

import harness
from harness import check

HOSTILE = r"""a # TODO b \\ \\# ]]> <x> & \" ' \1\27[31m\127\r\n\xc2\x9b\xff\xf4\x90\x80\x80 1..9 \226\128\168ok"""
CASES = """
local hostile = "%s"
local function one(id, run, level)
  return case { id = id, purpose = hostile:gsub("\\n", " "), rules = { "MPA-8-02" }, role = "responder", level = level, run = run }
end
return {
  one("a-good", function(t) t:connect {} t:observe("x", hostile) t:note(hostile) end),
  one("b-failing", function(t) t:connect {} t:fail(hostile, { expected = hostile, actual = hostile }) end),
  one("c-noted", function(t) t:fail(hostile, { expected = hostile, actual = hostile }) end, "should"),
  one("d-undecided", function(t) t:inconclusive(hostile) end),
  one("e-skipped", function(t) t:skip(hostile) end),
  one("f-broken", function(t) error(hostile, 0) end),
  one("g-known", function(t) t:connect {} t:fail("x") end),
  one("h-mended", function(t) t:connect {} end),
}
""" % HOSTILE
BASELINE = 'g-known FAIL "see # TODO \\\\ <1>"\nh-mended FAIL "was # SKIP bad"\n'


def parse_tap(text):
    """A list of (good, number, description, directive, reason, diagnostics); strict, as the specification has it."""
    lines = text.split("\n")
    assert lines.pop() == "", "the last line has an end"
    assert lines[0] == "TAP version 14", lines[0]
    plan = re.fullmatch(r"1\.\.(\d+)", lines[1])
    assert plan, lines[1]
    assert re.fullmatch(r"# target: embedded, suite [0-9a-f]{16}, [0-9T:-]{19}Z", lines[2]), lines[2]
    points, at = [], 3
    while at < len(lines) and not lines[at].startswith("# finding "):
        # '#' begins a directive unless a backslash stands before it, which stands for itself if it is doubled.
        m = re.fullmatch(r"(not )?ok (\d+) - ((?:[^#\\]|\\[#\\])*?)(?: # (TODO|SKIP) ((?:[^#\\]|\\[#\\])*))?", lines[at])
        assert m, lines[at]
        at += 1
        diagnostics = None
        if at < len(lines) and lines[at] == "  ---":
            diagnostics, at = {}, at + 1
            while lines[at] != "  ...":
                # The only YAML that is written: a name and a double-quoted scalar.
                pair = re.fullmatch(r'  ([a-z]+): "((?:[^"\\\x00-\x1f\x7f-\x9f]|\\["\\n])*)"', lines[at])
                assert pair, lines[at]
                diagnostics[pair[1]] = pair[2]
                at += 1
            at += 1
        points.append((not m[1], int(m[2]), m[3], m[4], m[5], diagnostics))
    assert lines[at:] and all(re.fullmatch(r"# finding \d+: (FAIL|NOTE) [A-Z0-9.-]+ in \d+ cases?, shown by [a-z-]+: .*", line) for line in lines[at:]), lines[at:]
    assert [p[1] for p in points] == list(range(1, int(plan[1]) + 1)), "the plan is fulfilled"
    return points


def tap(run):
    points = parse_tap(run("--tap", "--baseline", "known"))
    what = [(p[0], p[2].split("/")[-1], p[3], bool(p[5])) for p in points]
    check(what == [(False, "bad \\# SKIP.lua", None, True), (True, "a-good", None, False), (False, "b-failing", None, True), (True, "c-noted", None, True),
                   (True, "d-undecided", "SKIP", True), (True, "e-skipped", "SKIP", False), (False, "f-broken", None, True),
                   (False, "g-known", "TODO", True), (True, "h-mended", "TODO", False)],
          "TAP reports the verdict of each, and no reason contradicts it", *what)
    check(points[7][4] == "see \\# TODO \\\\ <1>" and points[2][5]["verdict"] == "FAIL" and "\\n" in points[2][5]["reason"],
          "reasons are escaped", points[7], points[2])


# The allowed structure: an element's attributes (those with a * are required) and its children.
JUNIT = {
    "testsuites": ("name tests failures errors time disabled", "testsuite"),
    "testsuite": ("name* tests* failures* errors* time timestamp skipped hostname id package file", "properties testcase system-out system-err"),
    "properties": ("", "property"),
    "property": ("name* value*", ""),
    "testcase": ("name* classname time assertions status file line", "skipped failure error system-out system-err"),
    "failure": ("message* type*", ""),
    "error": ("message* type*", ""),
    "skipped": ("message type", ""),
    "system-out": ("", ""),
}


def valid(element):
    attributes, children = JUNIT[element.tag]
    known = {a.rstrip("*") for a in attributes.split()}
    needed = {a.rstrip("*") for a in attributes.split() if a.endswith("*")}
    assert needed <= set(element.attrib) <= known, (element.tag, element.attrib)
    assert not children.strip() or not (element.text or "").strip(), (element.tag, element.text)
    for child in element:
        assert child.tag in children.split(), (element.tag, child.tag)
        valid(child)


def junit(run, path):
    run("--junit", "junit.xml", "--baseline", "known")
    root = xml.etree.ElementTree.parse(path).getroot()
    valid(root)
    suite = root.find("testsuite")
    cases = suite.findall("testcase")
    count = lambda tag: str(sum(c.find(tag) is not None for c in cases))
    check((suite.get("tests"), suite.get("failures"), suite.get("errors"), suite.get("skipped")) ==
          (str(len(cases)), count("failure"), count("error"), count("skipped")) == ("9", "2", "2", "3") and
          all(root.get(k) == suite.get(k) for k in root.attrib), "JUnit is valid, and its counts are right", suite.attrib)
    check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.get("timestamp")), "so is its time")
    message = cases[2].find("failure").get("message")
    check("]]> <x> & \" '" in message and "\n" in message and "\x1b" not in message, "and hostile text is text", message)


def matrix(run, path):
    run("--csv", "matrix.csv", "--baseline", "known")
    with open(path, newline="", encoding="utf-8") as f:
        rows = list(csv.reader(f, strict=True))
    check(len({len(row) for row in rows}) == 1 and len(rows) > 700, "CSV has the same fields in every line")
    rules = {row[0]: dict(zip(rows[0], row)) for row in rows[1:]}
    one = rules["MPA-8-02"]
    check(one["target"] == "embedded" and re.fullmatch("[0-9a-f]{16}", one["suite"]) and one["started"].endswith("Z"), "each line says who was tested", one)
    check((one["rfc"], one["section"], one["level"], one["verdict"], one["broken_by"], one["held_by"]) ==
          ("5044", "8", "MUST", "FAIL", "b-failing c-noted g-known", "a-good h-mended"), "a rule has its verdict and its cases", one)
    check(one["findings"].split() and all(row["findings"] == "" for row in rules.values() if row["verdict"] == "PASS"),
          "a rule has the numbers of the findings that accuse it", one)
    check(rules["MPA-8-03"]["verdict"] == "" and rules["MPA-1.2-01"]["reason"] != "", "one without a case has none, and maybe a reason")


def interrupted(conform, folder):
    """A run that is ended says so: the plan is not fulfilled."""
    harness.write(os.path.join(folder, "slow", "s.lua"),
                  'return family { case { id = "a", purpose = "p", rules = { "MPA-8-02" }, role = "responder", run = function(t) end },\n'
                  'case { id = "b", purpose = "p", rules = { "MPA-8-02" }, role = "responder", deadline = 300,\n'
                  'run = function(t) t:connect {}:next(300) end } }\n')
    process = subprocess.Popen([conform, "run", "--cases", "slow", "--tap", "-j", "1"], cwd=folder, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True)
    lines = [process.stdout.readline() for _ in range(4)]
    process.send_signal(signal.SIGINT)
    rest = process.communicate()[0]
    check(lines[3].startswith("ok 1 - a") and rest.endswith("Bail out! interrupted\n"), "an interrupted run bails out", lines, rest)


def main(conform):
    conform = os.path.abspath(conform)
    with tempfile.TemporaryDirectory() as folder:
        cases = os.path.join(folder, "c # TODO \\ <&>")
        for name, text in (("a.lua", CASES), ("bad # SKIP.lua", "return {\n"), ("../known", BASELINE)):
            harness.write(os.path.join(cases, name), text)

        def run(*words):
            done = harness.run(conform, "run", "--cases", cases, *words, status=70, cwd=folder, text=False)
            return done.stdout.decode("utf-8")

        tap(run)
        junit(run, os.path.join(folder, "junit.xml"))
        matrix(run, os.path.join(folder, "matrix.csv"))
        out = run("--verbose")
        check(not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", out), "no control character gets to the terminal", out)
        interrupted(conform, folder)


if __name__ == "__main__":
    harness.start(main, __doc__)
