#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The shards of a run, merged, are the run.

usage: check_merge.py IWARP-CONFORM IWARP-AGENT
"""
import json
import os
import shutil
import tempfile

import harness
from harness import check

CHOICE = "(mpa-crc-* or mpa-pad*) and not (tag:known-bug or role:initiator)"
TIMES = ("seconds", "exchange", "frames", "pcap", "log", "notes")  # of a case: what no two runs have alike


def of_case(case):
    return {name: value for name, value in case.items() if name not in TIMES}


def findings(report):
    """All but the exhibit, which is the shortest capture: there may be two."""
    return [{name: value for name, value in finding.items() if name not in ("exhibit", "log")} for finding in report["findings"]]


class Merging(harness.Bench):
    def __init__(self, program, folder, agent):
        super().__init__(program, folder)
        self.agent = agent

    def play(self, name, *words, status=1, agent=None):
        self.run(status, "run", "--agent", agent or self.agent, "-j2", "--results", name, *words)
        return harness.load(self.at(name), "run.json")

    def merge(self, name, *words, status=1):
        done = self.run(status, "merge", "--results", name, *words)
        return harness.load(self.at(name), "run.json"), done


def ids_of(report):
    return [case["id"] for case in report["cases"]]


def are_the_run(bench):
    whole = bench.play("whole", CHOICE)
    check(len(findings(whole)) >= 2 and whole["summary"]["FAIL"] > 5, "the target has several things wrong", whole["summary"])
    shards = [bench.play("shard%d" % k, "--shard", "%d/3" % k, CHOICE) for k in (1, 2, 3)]
    check(sorted(sum(map(ids_of, shards), [])) == sorted(ids_of(whole)), "each case is in one shard")
    check([shard["shard"] for shard in shards] == ["1/3", "2/3", "3/3"], "a report says which shard it is")
    # The folders move, and are not ours to write.
    os.mkdir(bench.at("moved"))
    names = ["moved/of%d" % k for k in (1, 2, 3)]
    for k, name in enumerate(names):
        os.rename(bench.at("shard%d" % (k + 1)), bench.at(name))
    merged, done = bench.merge("merged", *names, "--junit", "j.xml", "--csv", "c.csv", "--html", "p.html", "--json", "j.json", "--write-baseline", "pins")
    is_the_run(bench, "merged", whole, merged)
    check("%d FAIL" % whole["summary"]["FAIL"] in done.stdout and done.stdout.count("\nfinding ") >= 2, "the console has findings", done.stdout)
    check("shard" not in merged and merged["target"] == whole["target"] and merged["suite"] == whole["suite"], "the report is of one run")
    check(merged["seconds"] > 0 and merged["started"] == min(shard["started"] for shard in shards), "it began with the first")
    for name, text in (("j.xml", "<testsuite"), ("c.csv", "rule,"), ("p.html", "<html"), ("j.json", '"findings"'), ("pins", " FAIL ")):
        check(text in harness.read(bench.at(name)), "%s is written" % name)
    check(harness.load(bench.at("j.json")) == merged, "--json is run.json")
    return whole, names


def is_the_run(bench, name, whole, merged):
    check(findings(merged) == findings(whole), "%s: the findings are those of the run" % name, findings(merged), findings(whole))
    check([of_case(case) for case in merged["cases"]] == [of_case(case) for case in whole["cases"]], "%s: so are the verdicts, in order" % name)
    check(merged["summary"] == whole["summary"] and merged["exit"] == whole["exit"], "%s: so is the sum" % name)
    exhibits = [finding["exhibit"] for finding in merged["findings"]]
    check(all(exhibit["pcap"].startswith(name + "/") and os.path.getsize(bench.at(exhibit["pcap"])) for exhibit in exhibits),
          "%s: the captures are there" % name, exhibits)


def in_other_ways(bench, whole, names):
    done = bench.run(0, "merge", "--results", "tap", "--tap", "--baseline", "pins", *reversed(names))
    lines = done.stdout.splitlines()
    check(lines[1] == "1..%d" % len(whole["cases"]) and done.stdout.count("\nok ") + done.stdout.count("\nnot ok ") == len(whole["cases"]),
          "TAP has all cases, whatever the order of the folders", done.stdout[:500])
    # What is pinned is known: nothing is left to count.
    check("baseline pins: %d as expected, 0 new, 0 stale" % (whole["summary"]["FAIL"] + whole["summary"]["NOTE"]) in done.stderr,
          "the baseline holds", done.stderr[-500:])


def again(bench, whole):
    """Merged results are results: they can be merged, and gone on with."""
    rest = bench.play("rest", "ddp-send-sizes", status=(0, 1))
    more, _ = bench.merge("more", "merged", "rest")
    check(sorted(ids_of(more)) == sorted(ids_of(whole) + ids_of(rest)), "a merged run is merged with another one")
    before = harness.octets(bench.at("merged", "journal.jsonl"))
    bench.run(1, "run", "--resume", "merged")
    check(harness.octets(bench.at("merged", "journal.jsonl")) == before, "nothing of it is left to be played")
    is_the_run(bench, "merged", whole, harness.load(bench.at("merged", "run.json")))


def repeated(bench):
    words = ("--repeat", "2", "--order", "random,5", "mpa-crc-flip-p*")
    whole = bench.play("twice", *words)
    parts = ["twice%d" % k for k in (1, 2)]
    for k, name in enumerate(parts):
        report = bench.play(name, "--shard", "%d/2" % (k + 1), *words)
        check(report["order"] == "random,5", "the report has the seed")
    merged, _ = bench.merge("both", *parts)
    check({case["id"]: case["rounds"] for case in merged["cases"]} == {case["id"]: case["rounds"] for case in whole["cases"]}, "all rounds are there")
    check(ids_of(merged) == sorted(ids_of(merged), key=ids_of(bench.play("plain", "mpa-crc-flip-p*")).index), "a merged run has the order of the suite")


def balanced(bench):
    """Of a run in which one case took as long as all others together, one shard has just that."""
    report = harness.load(bench.at("whole", "run.json"))
    for case in report["cases"]:
        case["seconds"] = 1
    longest = report["cases"][3]
    longest["seconds"] = len(report["cases"]) - 1
    bench.write("times.json", json.dumps(report))
    played = [[line.split()[0] for line in bench.run(0, "list", "--shard", "%d/2" % k, "--durations", "times.json", CHOICE).stdout.splitlines()]
              for k in (1, 2)]
    check(played[0] == [longest["id"]] and sorted(sum(played, [])) == sorted(ids_of(report)), "shards take equally long", played)


def elsewhere(bench, whole, names):
    """On another file system there are no links: files are copied."""
    if not os.path.isdir("/dev/shm") or os.stat("/dev/shm").st_dev == os.stat(bench.folder).st_dev:
        print("ok - skipped: there is no other file system")
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        report, _ = bench.merge(folder, *names)
        pcap = report["findings"][0]["exhibit"]["pcap"]
        check(pcap.startswith(folder) and os.stat(pcap).st_nlink == 1, "a capture is copied", pcap)
        check(harness.octets(pcap) in [harness.octets(bench.at(name, os.path.basename(pcap))) for name in names
                                       if os.path.exists(bench.at(name, os.path.basename(pcap)))], "as it is")
        check(findings(report) == findings(whole), "the findings are those of the run")


def refused(bench, names):
    bench.refused("a shard is missing", "merge", *names[:2], says=("shard 3/3 is missing", names[0]))
    bench.refused("a case is there twice", "merge", *names, "whole", says=("the case ", " is in %s and in whole" % names[0]))
    bench.refused("a folder is there twice", "merge", *names, names[1], says=("is in %s and in %s" % (names[1], names[1]),))
    bench.refused("nothing is there", "merge", "nowhere", says=("cannot read nowhere",))
    bench.refused("no folder is named", "merge", says=("expected folders of results",))
    bench.refused("a folder is the results'", "merge", *names, "--results", names[0] + "/.", says=("is one of the runs",))
    shutil.copytree(bench.at(names[0]), bench.at("other"))
    report = harness.read(bench.at("other", "run.json"))

    def other(what, old, new, *says):
        changed = report.replace(old, new, 1)
        check(changed != report, "there is something to change: %s" % old)
        bench.write("other/run.json", changed)
        bench.refused(what, "merge", names[1], "other", says=("other", *says))

    other("another target", '"name": "embedded"', '"name": "tcp:h:7"', "its target is tcp:h:7, that of %s is embedded" % names[1])
    other("another class", '"class": "agent"', '"class": "bare"', "its class of target is bare")
    other("another tool", '"name": "iwarp-conform",\n  "version": "', '"name": "iwarp-conform",\n  "version": "9', "its version is 9")
    suite = json.loads(report)["suite"]["version"]
    other("another suite", suite, "0123456789abcdef", "its suite is 0123456789abcdef")
    other("another version of the target", '"version": "%s"\n },\n "device"' % json.loads(report)["target"]["version"], '"version": "7"\n },\n "device"',
          "its target's version is 7")
    other("a run that a signal ended", '"exit": 1', '"exit": 130', "this run is not over", "iwarp-conform run --resume other")
    other("no report", '"schema": 1', '"schema": 7', "expected the JSON report of a run")
    bench.write("other/run.json", "")
    bench.refused("an empty report", "merge", names[1], "other", says=("other/run.json:1: ",))
    bench.write("other/run.json", report)
    journal = harness.read(bench.at("other", "journal.jsonl"))
    bench.write("other/journal.jsonl", journal.replace('"shard":"1/3"', '"shard":"1/x"', 1))
    bench.refused("no shard", "merge", "other", *names[1:], says=("its shard is '1/x'",))
    bench.write("other/journal.jsonl", journal.replace('"chosen":', '"chosen":9', 1))
    bench.refused("shards that were divided otherwise", "merge", "other", *names[1:], says=("they were not divided alike",))
    lines = journal.splitlines(keepends=True)
    last = json.loads(lines[-1])["id"]
    bench.write("other/journal.jsonl", "".join(lines[:-1]))
    bench.refused("a journal that lacks a case", "merge", "other", *names[1:], says=("the case %s is in a report, but in no journal" % last,))
    bench.write("other/journal.jsonl", "{}\n")
    bench.refused("no journal", "merge", "other", *names[1:], says=("other/journal.jsonl: expected the journal of a run",))
    bench.write("cases/one.lua", 'return case { id = "one", purpose = "p", rules = { "MPA-8-02" }, role = "responder", run = function(t) end }\n')
    bench.refused("other cases", "merge", *names, "--cases", "cases", says=("it has run suite %s, this is " % suite,))


def main(conform, agent):
    agent = os.path.abspath(agent)
    with tempfile.TemporaryDirectory() as folder:
        bent = harness.script(os.path.join(folder, "bent"), '#!/bin/sh\nexec %s --violate mpa-pad --botch mpa-crc=code "$@"\n' % agent)
        bench = Merging(conform, folder, bent)
        whole, names = are_the_run(bench)
        in_other_ways(bench, whole, names)
        again(bench, whole)
        repeated(bench)
        balanced(bench)
        elsewhere(bench, whole, names)
        refused(bench, names)
        bench.play("good", "--shard", "7/9", "mpa-pad-*", status=0, agent=agent)
        check(bench.play("none", "--shard", "999/999", "mpa-pad-*", status=0, agent=agent)["cases"] == [], "a shard may be empty")
        bench.run(0, "run", "--resume", "none")
        check(harness.load(bench.at("none", "run.json"))["cases"] == [], "and stays so")


if __name__ == "__main__":
    harness.start(main, __doc__)
