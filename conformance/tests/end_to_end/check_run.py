#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""iwarp-conform as a user runs it: verdicts, exit statuses, reports, files, selection.

usage: check_run.py IWARP-CONFORM
"""
import json
import os
import re
import socket
import subprocess
import tempfile
import xml.etree.ElementTree

import harness
from harness import check

# The body of each case, and its verdict.
CASES = {
    "good": ("", "PASS"),
    "noted": ('t:fail("not so nice")', "NOTE"),
    "failing": ('t:fail("not good", { expected = "this", actual = "that" })', "FAIL"),
    "undecided": ('t:inconclusive("no way to tell")', "INCONCLUSIVE"),
    "skipped": ('t:skip("not here")', "SKIP"),
    "broken": ("nothing()", "ERROR"),
}


def write_cases(folder):
    for name, (body, _) in CASES.items():
        level = ' level = "should",' if name == "noted" else ""
        harness.write(os.path.join(folder, name + ".lua"), 'return case { id = "%s", purpose = "p", rules = { "MPA-4.1-02" },%s\n'
                      '  role = "responder", run = function(t)\n    %s\n  end }\n' % (name, level, body))


class Runner(harness.Bench):
    def __init__(self, conform, folder):
        super().__init__(conform, folder)
        self.cases = self.at("cases")
        write_cases(self.cases)

    def __call__(self, status, *words):
        return self.run(status, *words, *([] if "--resume" in words else ["--cases", self.cases]))


def statuses(run):
    """The gravest verdict decides."""
    for status, names in ((0, ["good"]), (0, ["good", "noted", "skipped"]), (3, ["undecided", "noted"]),
                          (1, ["failing", "undecided", "good"]), (70, ["broken", "failing"]),
                          (70, list(CASES))):
        run(status, "run", *names)
        print("ok - exit %d for %s" % (status, ", ".join(names)))
    run(64, "run", "good", "--select", "rule:RDMAP-*")
    run(64, "run", "good", "--jobs", "0")
    run(64, "list", "--junit", "x")
    run(64, "show", "good", "good")
    run(64, "self-check", "--target", "embedded")
    print("ok - exit 64 for wrong command lines")
    run(70, "run", "good", "--agent", "/nonexistent/agent")
    run(73, "run", "good", "--junit", "/nonexistent/report")
    with open("/dev/full", "w", encoding="ascii") as full:
        run.run(73, "list", stdout=full, stderr=subprocess.PIPE)
    run(70, "run", "good", "--capture", "no-such-interface")
    print("ok - exit 70 for what the tester cannot do, 73 for an output that cannot be written")


def elsewhere(run):
    """A target that can be reached from elsewhere only: the runner goes there; the programs beside it are found."""
    path = run.write("elsewhere.lua", 'return { address = "127.0.0.1", start = "exec iwarp-peer listen {host}:{port}",\n'
                     '  ready = "listening on", inside = "echo inside {writable} >&2; exec {command}" }\n')
    junit = run.at("jun it.xml")
    done = run(0, "run", "good", "--target", path, "--results", "out of here", "--junit", junit)
    check(done.stderr == "inside %s/out of here:%s\n" % (run.folder, run.folder), "the runner goes inside once", done.stderr)
    check(os.path.exists(run.at("out of here", "run.json")), "results are written from there")


def console(run):
    done = run(70, "run")
    check("results: iwarp-conform-results/" in done.stdout, "the results have a folder", done.stdout)
    check("1 PASS, 1 NOTE, 1 FAIL, 1 INCONCLUSIVE, 1 SKIP, 1 ERROR; " in done.stdout,
          "there is a count for each verdict", done.stdout)
    check("PASS good" not in done.stdout and "SKIP skipped: not here" in done.stdout,
          "cases that passed are not named, those that were skipped are", done.stdout)
    block = re.search(r"^FAIL failing\n((?:  .*\n)*)", done.stdout, re.M).group(1)
    for text in ("cases/failing.lua:1", "cases/failing.lua:3", "MPA-4.1-02 (MUST): ",
                 "reason    not good", "expected  this", "actual    that", "failing.pcapng"):
        check(text in block, "a failure reports: %s" % text, block)
    again = re.search(r"again +(.*)", block).group(1)
    done = harness.run("sh", "-c", again, status=1, cwd=run.folder)
    check("1 FAIL," in done.stdout, "the command given repeats the case",
          again, done.stdout)
    check("PASS good" in run(0, "run", "-v", "good").stdout, "--verbose names what passed")


def files(run):
    out = run.at("out")
    pcaps = run.at("some", "pcaps")
    report = run.at("report.json")
    junit = run.at("report.xml")
    run(70, "run", "--results", out, "--pcap-dir", pcaps, "--json", report, "--junit", junit, "-j", "3")
    result = harness.load(report)
    check(harness.load(out, "run.json") == result, "run.json is the report")
    check({c["id"]: c["verdict"] for c in result["cases"]} ==
          {name: verdict for name, (_, verdict) in CASES.items()}, "every verdict is in it", result)
    check([c["id"] for c in result["cases"]] == sorted(CASES), "in the order of the suite")
    check(result["schema"] == 1 and result["exit"] == 70 and result["target"]["version"] and
          result["suite"]["version"] and result["tool"]["version"], "with all versions", result)
    one = next(c for c in result["cases"] if c["id"] == "failing")
    check(one["rules"] == ["MPA-4.1-02"] and one["role"] == "responder" and one["expected"] == "this" and
          one["actual"] == "that" and one["reason"] == "not good" and one["seconds"] >= 0,
          "a case has all its members", one)
    check(sorted(os.listdir(pcaps)) == sorted(name + ".pcapng" for name in CASES),
          "each case has its capture", os.listdir(pcaps))
    suite = xml.etree.ElementTree.parse(junit).getroot().find("testsuite")
    check([suite.get(k) for k in ("tests", "failures", "errors", "skipped")] == ["6", "1", "1", "2"],
          "JUnit counts", suite.attrib)
    latest = run.at("iwarp-conform-results", "latest")
    run(0, "run", "good")
    check(sorted(os.listdir(latest)) == ["journal.jsonl", "report.html", "run.json"], "latest leads to the last run",
          os.listdir(latest))
    data = harness.page_data(latest, "report.html")
    check(data["report"] == harness.load(latest, "run.json") and data["page"].endswith("/report.html"), "which has its page", data["page"])


def captures(run):
    """Those of cases that passed go, unless they are asked for; so it stays when the run goes on."""
    out = run.at("kept")
    kept = {name: name + ".pcapng" for name, (_, verdict) in CASES.items() if verdict != "PASS"}
    there = lambda: {n[:-7]: n for n in os.listdir(out) if n.endswith(".pcapng")}
    named = lambda: {c["id"]: os.path.basename(c["pcap"]) for c in harness.load(out, "run.json")["cases"] if c["pcap"]}
    run(70, "run", "--results", out)
    check(there() == named() == kept, "captures of what passed go, and JSON has null", there(), named())
    check(all("frames" not in c for c in harness.load(out, "run.json")["cases"] if c["pcap"] is None), "nor frames")
    run(70, "run", "--resume", out)
    check(there() == named() == kept, "so it is when the run goes on", there(), named())
    run(70, "run", "--keep", "all", "--results", out)
    check(there() == named() == {name: name + ".pcapng" for name in CASES}, "--keep all keeps them", there(), named())
    run(70, "run", "--resume", out)
    check(there() == named() == {name: name + ".pcapng" for name in CASES}, "... when the run goes on, too", there(), named())
    run(70, "run", "--keep", "failed", "--results", out)
    check(there() == named() == kept, "failed is what is kept anyway", there(), named())
    check("--keep some: expected failed or all" in run(64, "run", "--keep", "some").stderr, "other words are refused")
    check("did not expect --keep" in run(64, "run", "--resume", out, "--keep", "all").stderr, "it cannot be changed later")


def device(run):
    """Who was tested, and by whom, is in every report; nobody is named who was not asked for."""
    nobody = {"name": None, "driver": None, "firmware": None, "operator": None}
    out = run.at("device")
    run(0, "run", "good", "--results", out)
    seen = harness.load(out, "run.json")["device"]
    check(seen == dict(nobody, kernel=" ".join(os.uname()[i] for i in (0, 2))), "the agent says its kernel", seen)
    path = run.write("known.lua", 'return { address = "127.0.0.1", start = "exec %s/iwarp-peer listen {host}:{port}", ready = "listening on",\n'
                     '  device = { name = "<T6>", firmware = "1.27 \\n b", driver = "cxgb4", operator = "the lab" } }\n' % os.path.dirname(run.program))
    junit = run.at("device.xml")
    wanted = dict(nobody, name="<T6>", firmware="1.27   b", driver="cxgb4", kernel=None, operator="Ann")
    done = run(0, "run", "good", "--target", path, "--operator", "Ann", "--results", out, "--junit", junit)
    seen = harness.load(out, "run.json")["device"]
    check(seen == wanted and harness.page_data(out, "report.html")["report"]["device"] == wanted, "the target file says the rest", seen)
    check("device: <T6>, driver cxgb4, firmware 1.27   b, operator Ann\n" in done.stdout, "the console begins with it", done.stdout)
    properties = {p.get("name"): p.get("value") for p in xml.etree.ElementTree.parse(junit).getroot().iter("property")}
    check({"device-" + k: v for k, v in wanted.items() if v and k != "operator"}.items() <= properties.items() and
          properties["operator"] == "Ann" and "device-kernel" not in properties, "JUnit has it", properties)
    check("# device: <T6>, driver cxgb4, firmware 1.27   b, operator the lab\n" in run(0, "run", "good", "--target", path, "--tap").stdout, "TAP, too")
    run(0, "run", "--resume", out)
    check(harness.load(out, "run.json")["device"] == wanted, "and a run that goes on")
    for wrong, said in (('"x"', "device: expected a table of texts"), ('{ nam = "x" }', "device: expected its fields to be name, driver"),
                        ("{ name = 1 }", "device: expected a text"), ('{ "x" }', "device: expected its fields to be name, driver")):
        path = run.write("wrong.lua", 'return { address = "127.0.0.1", port = 1, device = %s }\n' % wrong)
        check(said in run(64, "run", "good", "--target", path).stderr, "device = %s is refused" % wrong)


def tap(run):
    lines = run(70, "run", "--tap").stdout.splitlines()
    check(lines[:2] == ["TAP version 14", "1..6"], "TAP begins with version and plan", lines)
    tests = [line for line in lines if re.match(r"(not )?ok ", line)]
    check(tests == ["not ok 1 - broken", "not ok 2 - failing", "ok 3 - good", "ok 4 - noted",
                    "ok 5 - skipped # SKIP not here",
                    "ok 6 - undecided # SKIP inconclusive: no way to tell"], "TAP reports each", tests)


def listing(run):
    out = run(0, "list").stdout
    check([line.split()[0] for line in out.splitlines()] == sorted(CASES), "list names all", out)
    check(run(0, "list", "level:should").stdout.split()[0] == "noted", "list selects")
    out = run(0, "show", "failing").stdout
    check("MPA-4.1-02" in out and "t:fail(" in out and "RFC 5044 section 4.1" in out,
          "show has rule and script", out)
    out = run(0, "requirements").stdout
    check(re.search(r"^MPA-4\.1-02 .*\n    .*\n    broken \(claimed\)\n    failing \(claimed\)\n", out, re.M),
          "requirements name the cases of a rule")
    check(re.search(r"^all +\d+ +\d+ +1 ", run(0, "requirements", "--summary").stdout, re.M),
          "one rule of all is named")
    run.write("cases/bad.lua", "return {\n")
    done = run(70, "list")
    check("bad.lua:" in done.stderr and len(done.stdout.splitlines()) == len(CASES),
          "list reports a broken file and lists the others", done.stderr)
    done = run(70, "run", "good", "--json", "bad.json")
    check("1 PASS" in done.stdout and "bad.lua:" in done.stdout, "run reports it and runs the others",
          done.stdout)


def colours(run):
    out = run(1, "run", "failing", "--color", "always").stdout
    check("\033[31mFAIL\033[0m failing\n" in out and "\033[1mfinding 1:\033[0m \033[31mFAIL\033[0m MPA-4.1-02" in out, "colours are printed", out)
    plain = run(1, "run", "failing", "--color", "never").stdout
    check("\033" not in plain and "\033" not in run(1, "run", "failing").stdout, "and only if they are wanted", plain)
    check("--color red: expected auto, always or never" in run(64, "run", "--color", "red").stderr, "red is no time for colours")


def baselines(run):
    names = ["good", "noted", "failing", "undecided"]
    known = run.at("known")
    run(1, "run", *names, "--write-baseline", known)
    lines = harness.read(known).splitlines()
    check(lines[1:] == ['failing FAIL MPA-4.1-02 "not good: that" "not good"', 'noted NOTE MPA-4.1-02 "not so nice" "not so nice"',
                        'undecided INCONCLUSIVE "no way to tell"'], "a baseline is written", lines)
    out = run(0, "run", *names, "--baseline", known).stdout
    check("baseline %s: 3 as expected, 0 new, 0 stale" % known in out and "FAIL failing" not in out,
          "what is known does not count", out)
    check("FAIL failing: as expected: not good" in run(0, "run", "-v", *names, "--baseline", known).stdout,
          "--verbose reports it")
    new = run.write("new", 'noted NOTE "n"\n')
    out = run(1, "run", *names, "--baseline", new).stdout
    check("FAIL failing (not in the baseline)" in out, "what is new counts", out)
    stale = run.write("stale", 'good FAIL "was bad"\nnever FAIL "x"\nfailing FAIL "f"\n')
    report = run.at("stale.json")
    junit = run.at("stale.xml")
    out = run(2, "run", "good", "failing", "--baseline", stale, "--json", report, "--junit", junit).stdout
    check("STALE good: PASS, but the baseline says: was bad" in out and
          "STALE never: the baseline has it, but there is no such case" in out and
          "1 as expected, 0 new, 2 stale" in out, "what is out of date counts", out)
    result = {c["id"]: c for c in harness.load(report)["cases"]}
    check(result["good"]["baseline"] == "stale" and result["good"]["known"] == "was bad" and
          result["failing"]["baseline"] == "expected", "JSON has it", result)
    suite = xml.etree.ElementTree.parse(junit).getroot().find("testsuite")
    check([suite.get(k) for k in ("tests", "failures", "errors", "skipped")] == ["2", "1", "0", "1"],
          "JUnit counts it", suite.attrib)
    lines = run(2, "run", "--tap", "good", "failing", "--baseline", stale).stdout.splitlines()
    check("not ok 1 - failing # TODO f" in lines and "ok 2 - good # TODO was bad" in lines, "TAP has it", lines)
    commands = [line[len("  mend"):].strip() for line in out.splitlines() if line.startswith("  mend ")]
    check(len(commands) == 2, "what is out of date has the command that mends it", out)
    for command in commands:
        harness.run("sh", "-c", command, status=(0, 1, 2), cwd=run.folder)
    out = run(0, "run", "good", "failing", "--baseline", stale).stdout
    check("1 as expected, 0 new, 0 stale" in out and harness.read(stale).count("\n") == 2, "which it does", out, harness.read(stale))
    bad = run.write("bad", "good FAIL\n")
    done = run(64, "run", "good", "--baseline", bad)
    check("%s:1: expected a reason" % bad in done.stderr, "a broken baseline is refused", done.stderr)


def rounds(run):
    report = run.at("rounds.json")
    out = run.at("rounds")
    done = run(1, "run", "good", "failing", "--repeat", "3", "--json", report, "--results", out)
    check("3 rounds: 0 of 2 cases gave more than one verdict" in done.stdout, "rounds are summed up", done.stdout)
    result = {c["id"]: c for c in harness.load(report)["cases"]}
    check(result["good"]["rounds"] == {"PASS": 3} and result["failing"]["rounds"] == {"FAIL": 3},
          "JSON has the rounds", result)
    captures = sorted(n.split(".")[0] for n in os.listdir(out) if n.endswith(".pcapng"))
    check(captures == ["failing"], "one capture a case stays", os.listdir(out))
    run(64, "run", "good", "--repeat", "0")


def resumed(run):
    """Cases done before a kill are not done again."""
    out = run.at("killed")
    run(70, "run", "--results", out)
    journal = os.path.join(out, "journal.jsonl")
    lines = harness.read(journal).splitlines(keepends=True)
    check(len(lines) == 1 + len(CASES), "the journal has every case", lines)
    first = json.loads(lines[1])
    first["reason"] = "from the journal"
    # Two whole results, and one that was cut off.
    harness.write(journal, lines[0] + json.dumps(first) + "\n" + lines[2] + lines[3][:20])
    os.unlink(os.path.join(out, "run.json"))
    run(70, "run", "--resume", out)
    result = {c["id"]: c for c in harness.load(out, "run.json")["cases"]}
    check({n: c["verdict"] for n, c in result.items()} == {n: v for n, (_, v) in CASES.items()},
          "the run is whole", result)
    check(result[first["id"]]["reason"] == "from the journal", "what had been done is taken over", result)
    check(len(harness.lines_of(harness.read(journal))) == 1 + len(CASES), "and the journal is whole")
    done = run.run(64, "run", "--resume", out, "--target", "embedded")
    check("did not expect --target" in done.stderr, "the rest is as it was", done.stderr)
    done = run.run(64, "run", "--resume", run.cases)
    check("journal.jsonl: No such file" in done.stderr, "only a run goes on", done.stderr)
    run.write("cases/later.lua", "return {}\n")
    done = run.run(64, "run", "--resume", out)
    check("the cases have changed" in done.stderr, "with the same cases", done.stderr)
    os.unlink(os.path.join(run.cases, "later.lua"))


def differences(run):
    for name, body in (("one", 't:fail("bad", { expected = "x", actual = "y" })'), ("two", "")):
        run.write(name + "/c.lua", 'return family { case { id = "changed", purpose = "p", rules = { "MPA-4.1-02" }, role = "responder",\n'
                  'run = function(t) t:connect {}:sanity() %s end },\n'
                  'case { id = "%s", purpose = "p", rules = { "MPA-4.1-02" }, role = "responder",\n'
                  'run = function(t) end },\n'
                  'case { id = "same", purpose = "p", rules = { "MPA-4.1-02" }, role = "responder",\n'
                  'run = function(t) t:connect {}:sanity() end } }\n' % (body, name))
        run.run(1 if name == "one" else 0, "run", "--cases", name, "--results", name + "-out")
    out = run.run(1, "diff", "one-out", "two-out/run.json").stdout
    check("changed\n  A  FAIL MPA-4.1-02: bad\n     expected x\n     actual   y\n  B  PASS\n" in out, "diff shows both sides", out)
    check("one\n  A  PASS\n  B  (not played)\n" in out and "two\n  A  (not played)\n  B  PASS\n" in out,
          "and what one of them has not", out)
    check("\nsame\n" not in out and "3 cases differ" in out, "and nothing else", out)
    check("0 cases differ" in run.run(0, "diff", "one-out", "one-out").stdout, "a run is like itself")
    check("expected two runs" in run.run(64, "diff", "one-out").stderr, "diff wants two")
    check("cases.lua" in run.run(64, "diff", "one-out", "cases.lua").stderr, "which can be read")
    check("expected the JSON report of a run" in run.run(64, "diff", "one-out", run.write("not.json", "{}\n")).stderr,
          "and are runs")


def hazards(run):
    run.write("hazards/h.lua", 'return case { id = "wedge", purpose = "p", rules = { "MPA-4.1-02" }, role = "responder",\n'
              'tags = { "hazard" }, run = function(t) t:fail("played") end }\n')
    out = run.run(0, "run", "--cases", "hazards").stdout
    check("SKIP wedge: a hazard: it could wedge the target; see --allow-hazard" in out, "a hazard is not run", out)
    check("FAIL wedge" in run.run(1, "run", "--cases", "hazards", "--allow-hazard").stdout, "unless it is allowed")


def silence(run):
    """A peer that accepts connections and says nothing is given up."""
    run.write("silence/s.lua", "return family { each(range(1, 20), function(i) return case { id = 's-' .. i, purpose = 'p',\n"
              "  rules = { 'MPA-4.1-02' }, role = 'responder', run = function(t) t:connect {}:sanity() end } end) }\n")
    with socket.create_server(("127.0.0.1", 0), backlog=64) as deaf:
        out = run.run(3, "run", "--cases", "silence", "--target", "tcp:127.0.0.1:%d,cannot=reconnect" % deaf.getsockname()[1],
                        "--time-scale", "0.02").stdout
    check("the target is silent: 12 cases in a row had no answer of any kind" in out and
          " 20 INCONCLUSIVE," in out, "a silent peer is given up", out)


def templates(run):
    """The cases to begin with hold, and each fails where it should."""
    cases = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib", "templates")
    check("2 PASS" in run.run(0, "run", "--cases", cases).stdout, "the templates hold")
    for switch, failing, others in (("--ignore ddp-to-bounds", "my-write-past-end", "1 PASS"), ("--violate ddp-mo-zero", "my-sends-in-order", "")):
        bent = harness.script(run.at("bent"), '#!/bin/sh\nexec "%s" "$@" %s\n' % (os.path.join(os.path.dirname(run.program), "iwarp-agent"), switch))
        out = run.run(1, "run", "--cases", cases, "--agent", bent, "--time-scale", "0.3").stdout
        check("FAIL " + failing in out and others in out, "%s fails with %s" % (failing, switch), out)


def main(conform):
    with tempfile.TemporaryDirectory() as folder:
        run = Runner(conform, folder)
        statuses(run)
        elsewhere(run)
        console(run)
        files(run)
        captures(run)
        device(run)
        tap(run)
        colours(run)
        baselines(run)
        rounds(run)
        resumed(run)
        differences(run)
        hazards(run)
        silence(run)
        templates(run)
        listing(run)


if __name__ == "__main__":
    harness.start(main, __doc__)
