#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A violation that no case asks about is still a finding of the run, in every form of its results.

usage: check_unasked_findings.py IWARP-CONFORM IWARP-AGENT [AT-LEAST]

The cases of this suite let the target do everything that it can, and expect nothing. Its agent breaks one rule after the
other; AT-LEAST (60) of them must be found, by as many checks of the observer, each with its rule and the octet at fault.
"""
import functools
import html
import json
import os
import re
import sys
import tempfile

import harness

CASES = """
local PEER = { peer_to_peer = true, enhanced = true, revision = 2 }

-- Has the target close after all that it has posted; answers its requests, and checks nothing.
local function serve(t, conn)
  t:agent("close", { conn = conn.agent, how = "graceful" }, true)
  local item = conn:next()
  while item and item.kind == "message" do
    if item.op == "read-request" and item.size then
      conn:send(read_response { stag = item.sink_stag, to = item.sink_to, payload = bytes(item.size) })
    elseif item.op == "atomic-request" and item.request_id then
      conn:send(atomic_response { request_id = item.request_id, value = 1 })
    end
    item = conn:next()
  end
end

local function everything(t, conn)
  local buf = t:memory { length = 8192, remote = "read write atomic" }
  local sink = t:memory { length = 8192 }
  for _ = 1, 4 do t:receive { length = 64 } end
  conn:send(write { to = buf, payload = bytes(100) })
  conn:send(send { payload = bytes(5) })
  conn:send(read_request { source = buf, size = 5001, sink_stag = 7, sink_to = 64 })
  conn:send(atomic_request { target = buf, request_id = 9, add_swap = 1 })
  conn:send(read_request { source = buf, size = 3, sink_stag = 8, sink_to = 3 })
  for _, op in ipairs { "send", "send-se", "send-invalidate", "send-se-invalidate" } do
    t:post { op = op, payload = bytes(3001), invalidate = op:find("invalidate") and 9 or nil }
  end
  t:post { op = "write", stag = 5, to = 6, payload = bytes(3001) }
  t:post { op = "immediate", immediate = bytes(8) }
  t:post { op = "immediate-se", immediate = bytes(8) }
  for _ = 1, 8 do t:post { op = "read", memory = sink, length = 64, stag = 5, to = 6 } end
  t:post { op = "fetch-add", stag = 5, to = 8, add_swap = 1 }
  t:post { op = "cmp-swap", stag = 5, to = 8, add_swap = 1, compare = 2 }
  serve(t, conn)
end

local function unasked(id, run, role)
  local fields = { id = id, purpose = "Everything, and no question", rules = { "MPA-4.1-02" }, level = "must", run = run,
                   role = role, needs = { agent = true, extensions = true } }
  return role and case(fields) or both_roles(fields)
end

-- Segments are small, so that messages have several.
local function config(t, more)
  local c = { mulpdu = 1000, markers = more and more.markers }
  if t.case.role == "initiator" then for name, value in pairs(PEER) do c[name] = value end end
  return c
end
-- Start-up alone, in every way that there is.
local STARTS = {
  { "revision-1", { revision = 1 } }, { "unenhanced", { revision = 2, enhanced = false } },
  { "rtr", { peer_to_peer = true, rtr = { "send" } } }, { "depths", { ird = 4, ord = 4 } },
  { "any-depths", { ird = 0x3fff, ord = 0x3fff } }, { "private", { private = bytes(100) } },
}
local ANSWERS = {
  { "peer-to-peer", PEER }, { "one-form", { peer_to_peer = true, enhanced = true, revision = 2, rtr = { "write" } } },
  { "revision-1", { revision = 1, enhanced = false, peer_to_peer = false } },
  { "plain", { revision = 2, enhanced = true, peer_to_peer = false } },
}

return family {
  unasked("plain", function(t) everything(t, t:session { ird = 4, target = config(t) }) end),
  unasked("markers", function(t) everything(t, t:session { markers = true, target = config(t, { markers = true }) }) end),

  unasked("terminated", function(t)
    local conn = t:session { target = config(t) }
    local buf = t:memory { length = 64, remote = "read" }
    conn:send(read_request { source = buf, size = 4, sink_stag = 7, sink_to = 0 })
    conn:send(write { to = buf, payload = bytes(4) })
    serve(t, conn)
  end),

  unasked("closed", function(t)
    local conn = t:session { target = config(t) }
    conn:send(read_request { size = 0 })
    t:post { conn = conn, op = "send", payload = bytes(3001) }
    serve(t, conn)
  end),

  unasked("large", function(t)
    local conn = t:session { target = t.case.role == "initiator" and PEER or nil }
    conn:send(read_request { size = 0 })
    t:post { conn = conn, op = "write", stag = 5, to = 6, payload = bytes(70000) }
    serve(t, conn)
  end),

  unasked("waiting", function(t)
    local conn = t:connect { raw = true }
    conn:send(request {})
    conn:next()
    t:established(conn)
    t:post { conn = conn, op = "send", payload = bytes(30) }
    conn:next(0.2)
    conn:send(send {})
    serve(t, conn)
  end, "responder"),

  each(STARTS, function(one)
    return unasked("start-" .. one[1], function(t)
      local conn = t:connect { raw = true }
      conn:send(request(one[2]))
      conn:next()
      conn:shutdown()
      conn:next()
    end, "responder")
  end),

  unasked("start-slowly", function(t)
    local conn = t:connect { raw = true }
    conn:send(request { private = bytes(64) }, { writes = { 20, 10 } })
    conn:next()
  end, "responder"),

  unasked("start-in-pieces", function(t)
    local conn = t:connect { raw = true }
    conn:write(octets(request {}):sub(1, 20))
    conn:next(0.5)
  end, "responder"),

  each(ANSWERS, function(one)
    return unasked("answer-" .. one[1], function(t)
      local c = one[2]
      local conn = t:target_connects { raw = true, target = c }
      local item = conn:next()
      if item and item.kind == "startup" then conn:send(t:answer(item)) end
      if c.peer_to_peer then conn:next() end
      conn:shutdown()
      conn:next()
    end, "initiator")
  end),
}
"""


DECIDING = 50  # checks that decide a verdict somewhere, at least


def options(agent):
    """Checks that take --violate, with their primary rules."""
    return re.findall(r"^(\S+) +\S*\bviolate\b\S* +\S+ +(\S+) ", harness.run(agent, "--list-rules").stdout, re.MULTILINE)


def findings(case):
    """(check, rule) of the findings."""
    return set(re.findall(r"^finding (\S+) \((\S+)\) on connection \d+: ", "\n".join(case.get("notes", [])), re.MULTILINE))


def decides(case):
    """The check of the finding that the case's verdict is about, or None."""
    if not re.search(r" at octet \d+ of connection \d+$", case["actual"] or ""):
        return None
    for check, rule, text in re.findall(r"^finding (\S+) \((\S+)\) on connection \d+: (.*)$", "\n".join(case.get("notes", [])), re.MULTILINE):
        if rule == case["rule"] and text.startswith(case["reason"]):
            return check
    return None


class Suite(harness.Bench):
    def __init__(self, conform, agent, folder):
        super().__init__(conform, folder)
        self.agent = os.path.abspath(agent)
        self.write("cases/x.lua", CASES)

    def play(self, violation=None):
        """The results of all cases against an agent that breaks this rule."""
        name = violation or "none"
        program = harness.script(self.at(name), "#!/bin/sh\nexec '%s' \"$@\" %s\n" % (self.agent, "--violate=" + violation if violation else ""))
        done = self.run((0, 1, 3), "run", "--cases", "cases", "--agent", program, "--results", name + ".out", "--json", name + ".json",
                        "--junit", name + ".xml", "--html", name + ".html", "-j4", errors="replace")
        self.write(name + ".console", done.stdout)
        return harness.load(self.at(name + ".json"))["cases"]


def told_everywhere(suite, name, reason, rule):
    """What is wrong and the rule are in the console's text, in JUnit's and on the page."""
    for form in ("console", "xml", "html", "json"):
        text = html.unescape(harness.report_text(suite.at(name + "." + form)))
        if rule not in text or not (reason in text or json.dumps(reason)[1:-1] in text):
            sys.exit("--violate %s: %s (%s) is not in %s" % (name, reason, rule, form))


def main(conform, agent, least=60):
    with tempfile.TemporaryDirectory() as folder:
        suite = Suite(conform, agent, folder)
        clean = suite.play()
        wrong = [(case["id"], case["verdict"], case.get("reason")) for case in clean
                 if findings(case) or case["verdict"] not in ("PASS", "NOTE")]
        if wrong:
            sys.exit("without a violation: %s" % wrong)
        violations = dict(options(agent))
        played = dict(zip(violations, harness.side_by_side([functools.partial(suite.play, one) for one in violations], os.cpu_count())))
        found, deciding = {}, set()
        for check, cases in played.items():
            found[check] = {name for case in cases for name, _ in findings(case)}
            for case in cases:
                decided = decides(case)
                if decided:
                    told_everywhere(suite, check, case["reason"], case["rule"])
                    deciding.add(decided)
                    if ("deciding: %s: %s" % (case["verdict"], case["reason"])).encode() not in harness.octets(suite.at(case["pcap"])):
                        sys.exit("--violate %s: %s: no frame of the capture says so" % (check, case["id"]))
        itself = [check for check in found if check in found[check]]
        print("# not found: %s" % " ".join(check for check in found if not found[check]))
        print("# found, but never what decided: %s" % " ".join(set().union(*found.values()) - deciding))
        if len(itself) < int(least):
            sys.exit("%d violations are found by their own check, expected %d; not: %s" %
                     (len(itself), int(least), " ".join(sorted(set(violations) - set(itself)))))
        if len(deciding) < DECIDING:
            sys.exit("%d checks decide a verdict, expected %d" % (len(deciding), DECIDING))
        print("ok - %d of %d violations are found by plain cases, %d by their own check; %d checks decide a verdict" %
              (sum(map(bool, found.values())), len(found), len(itself), len(deciding)))


if __name__ == "__main__":
    harness.start(main, __doc__)
