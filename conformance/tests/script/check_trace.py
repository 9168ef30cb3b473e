#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The lines of --trace, and those of the report, are in the syntax that lib/README.md documents.

usage: check_trace.py IWARP-CONFORM
"""
import os
import re
import sys
import tempfile

import harness

README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib", "README.md")
SELECT = ["mpa-startup-*", "mpa-crc-*", "empa-rtr-*", "bug-*", "ddp-header-*", "ddp-*version*", "ext-*response*", "ext-cmp-swap-*", "ext-immediate-*",
          "rdmap-send-*", "rdmap-terminate-*", "rdmap-*opcode*"]


def grammar():
    """The rules of the README's block: name -> text."""
    section = harness.read(README).split("## The one-line syntax")[1].split("\n## ")[0]
    return dict(re.findall(r"^    (\w+) += (.*)$", section, re.M))


def pattern(rules, name):
    """A rule as a regular expression. Braces mark optional parts, angles another rule."""
    def one(text):
        out = ""
        # Words with strokes between them are alternatives of one word.
        for token in re.findall(r"<\w+>|[{}]|[\w-]+(?:\|[\w-]+)+|\b(?:N|H|T)\b|[\w-]*-H\b|.", text):
            if token[0] == "<" and token[-1] == ">":
                out += pattern(rules, token[1:-1])
            elif token in "{}":
                out += "(?:" if token == "{" else ")?"
            elif "|" in token:
                out += "(?:%s)" % "|".join(w[:-1] + "[0-9a-f]+" if w.endswith("-H") else re.escape(w) for w in token.split("|"))
            else:
                out += {"N": r"\d+", "H": "[0-9a-f]+", "T": ".*"}.get(token, re.escape(token))
        return out
    return "(?:%s)" % "|".join(one(text) for text in rules[name].split(" | "))


def main(conform):
    rules = grammar()
    line = re.compile(pattern(rules, "what"))
    with tempfile.TemporaryDirectory() as folder:
        words = [word for glob in SELECT for word in ("--select", glob)]
        done = harness.Bench(conform, folder).run(0, "run", "--trace", "--results", "out", *words)
        cases = harness.load(folder, "out", "run.json")["cases"]
    traced = done.stderr.splitlines()
    ids = [text[5:] for text in traced if text.startswith("case ")]
    if ids != [c["id"] for c in cases if c["verdict"] != "SKIP"]:
        sys.exit("not so: each case has its line; %s" % sorted(set(ids) ^ {c["id"] for c in cases})[:5])
    texts = []
    for text in traced:
        m = re.fullmatch(r"case [a-z0-9-]+|\d+ [<>] (.*)", text)
        if not m:
            sys.exit("not so: '%s' is a line of a trace" % text)
        texts += [m[1]] if m[1] else []
    reported = [l["text"] for c in cases for l in c.get("exchange", [])]
    for text in texts + reported:
        if not line.fullmatch(text):
            sys.exit("not so: '%s' is in the syntax of lib/README.md" % text)
    kinds = [k for k in rules["opcode"].split("|") if k != "opcode-H" and not any(t.split()[0] == k for t in texts)]
    if kinds or len(texts) < 1000:
        sys.exit("not so: everything is seen, but for %s (%d lines)" % (kinds, len(texts)))
    if not set(reported) & set(texts):
        sys.exit("not so: report and trace say the same")
    print("ok - %d lines of traces and %d of reports are as documented" % (len(texts), len(reported)))


if __name__ == "__main__":
    harness.start(main, __doc__)
