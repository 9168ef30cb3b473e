#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The self-check on a suite of two cases: one notices a switch of one check, the other nothing.

usage: check_self_check.py IWARP-CONFORM
"""
import os
import tempfile

import harness
from harness import check, read, write

CRC = """return case {
  id = "crc-bad", purpose = "A bad CRC ends the stream with a Terminate", rules = { "MPA-8-02" },
  role = "responder",
  run = function(t)
    local conn = t:connect {}
    local sent = conn:send(send { payload = bytes(8) }, { crc = "bad" })
    conn:expect_terminate { "2/0/02", of = sent }
  end,
}
"""
IDLE = """return case {
  id = "idle", purpose = "Nothing is asked", rules = { "MPA-4.1-02" }, role = "responder",
  run = function(t) end,
}
"""


def self_check(conform, folder, status, *options, report=True):
    matrix = os.path.join(folder, "matrix.json")
    done = harness.run(conform, "self-check", "--cases", os.path.join(folder, "cases"), "--results", os.path.join(folder, "results"),
                       "--json", matrix, *options, status=status)
    return done.stdout, harness.load(matrix) if report else None


def main(conform):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("crc", CRC), ("idle", IDLE)):
            write(os.path.join(folder, "cases", name + ".lua"), text)
        # Most checks go unnoticed by two cases: exit 1.
        out, matrix = self_check(conform, folder, 1)
        noticed = {(s["check"], s["kind"]): s for s in matrix["switches"] if s["noticed"]}
        for kind in ("ignore", "botch"):
            one = noticed.get(("mpa-crc", kind))
            check(one and one["by"][0]["case"] == "crc-bad" and one["tried"] == 1,
                  "--%s of the CRC is noticed by the case that names its rule, first" % kind, out)
        check(matrix["summary"]["unclean"] == 0 and matrix["summary"]["errors"] == 0,
              "the clean run is clean", out)
        check(any("self-check:" in line and "switches noticed" in line for line in out.splitlines()),
              "there is a summary line", out)
        check("idle" in out.split("never changed their verdict")[1], "the idle case is named", out)
        # Some cases, some switches: other unnoticed switches do not count.
        out, matrix = self_check(conform, folder, 0, "--select", "crc-bad", "--switch", "*=mpa-crc")
        check([s["kind"] for s in matrix["switches"]] == ["ignore", "violate"] and len(matrix["cases"]) == 1,
              "only the switches that were asked for are tried, on the case that was asked for", out)
        # The full form wants every case to notice something, and records it.
        record = os.path.join(folder, "matrix.csv")
        write(record, "case,noticed\ngone,F:ignore=mpa-crc\nidle,F:ignore=mpa-pad\n")
        out, matrix = self_check(conform, folder, 0, "--full", "--select", "crc-bad", "--matrix", record)
        lines = read(record).splitlines()
        check(len(lines) == 3 and lines[1].startswith("crc-bad,F:ignore=mpa-crc ") and
              "F:botch=mpa-crc=code" in lines[1].split(",")[1].split() and lines[2] == "idle,F:ignore=mpa-pad",
              "a case's line is recorded, the others' stay, that of a case that is gone goes", "\n".join(lines))
        out, matrix = self_check(conform, folder, 1, "--full", "--select", "idle", "--matrix", record)
        check(read(record).splitlines()[2] == "idle,", "a case that notices nothing is recorded and fails", out)
        write(os.path.join(folder, "proof", "idle.csv"), "case,reason\nidle,\"asks nothing, for a test\"\n")
        self_check(conform, folder, 0, "--full", "--select", "idle")
        print("ok - unless it is justified")
        self_check(conform, folder, 64, "--switch", "ignore=nothing", report=False)
        self_check(conform, folder, 64, "--matrix", record, report=False)
        print("ok - a glob that fits no switch, and a record of the quick form, are usage errors")
        # A case that fails without any switch: the run is not clean, and says so.
        write(os.path.join(folder, "cases", "wrong.lua"),
              IDLE.replace("idle", "wrong").replace("run = function(t) end", 'run = function(t) t:fail("no") end'))
        out, matrix = self_check(conform, folder, 1)
        check(matrix["summary"]["unclean"] == 1 and "FAIL wrong: no" in out,
              "a case that fails the clean run is named", out)


if __name__ == "__main__":
    harness.start(main, __doc__)
