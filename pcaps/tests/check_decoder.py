# SPDX-License-Identifier: BSD-3-Clause
"""check_decoder.py LINT LUA DECODER: the second decoder, which shares nothing with libiwarp, follows every clean synthetic
capture to its end without a problem, and counts the messages that iwarp-lint counts."""
import json
import os

import golden
import harness

NAMES = {"Write": "write", "Read Request": "read-request", "Read Response": "read-response", "Send": "send",
         "Send with Invalidate": "send-inv", "Send with SE": "send-se", "Send with SE and Invalidate": "send-se-inv",
         "Terminate": "terminate", "Immediate Data": "immediate", "Immediate Data with SE": "immediate-se",
         "Atomic Request": "atomic-request", "Atomic Response": "atomic-response"}
SIDES = {"I>R": "initiator", "R>I": "responder"}
SKIP = {
    "startup/streaming-long.pcapng": "the decoder takes the first key, wherever it stands, for a start-up frame's",
    "tcp/reset.pcapng": "the decoder minds an FPDU that a reset has cut",
}


def clean(capture):
    return not capture["findings"] and not capture.get("unknown") and not capture.get("gaps") and capture["file"] not in SKIP


def second(lua, decoder, paths):
    return json.loads(harness.run(lua, decoder, "--summary-json", "--expect-problems", *paths).stdout)


def counts(lines):
    """Of iwarp-lint's lines: by connection and side, messages by name."""
    return [{side: {k: v["messages"] for k, v in line[side]["messages"].items()} for side in SIDES.values()}
            for line in sorted((x for x in lines if x["type"] == "connection"), key=lambda x: x["connection"])]


def main(lint, lua, decoder):
    captures = [c for c in golden.manifest()["captures"] if clean(c)]
    paths = [os.path.join(golden.GOLDEN, c["file"]) for c in captures]
    for capture, path, theirs in zip(captures, paths, second(lua, decoder, paths)):
        found = theirs["connections"]
        problems = [p for x in found for p in x["problems"]]
        if problems:
            harness.complain(f'{capture["file"]}: the second decoder finds {problems[0]}')
        mine = counts(golden.lint(lint, path, "--summary", *capture.get("lint", [])))
        yours = [{SIDES[d]: {NAMES[k]: v for k, v in x["directions"][d]["messages"].items()} for d in SIDES} for x in found]
        if mine != yours:
            harness.complain(f'{capture["file"]}: iwarp-lint counts {mine}, the second decoder {yours}')
    harness.expect("clean captures", len(captures) >= 200, len(captures))
    harness.conclude(f"{len(captures)} clean captures, the same messages in all")


if __name__ == "__main__":
    harness.start(main, __doc__)
