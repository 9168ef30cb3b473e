#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A case accuses the target of its own duties only: of none of the ULP's, of the other role's, or of who sent an error.

usage: check_duties.py IWARP-CONFORM
"""
import os
import tempfile

import harness

CASE = "return case { id = 'x', purpose = 'p', rules = { '%s' }, role = '%s', %s run = function(t) %s end }\n"
BAD_MSN = "local conn = t:session {} conn:sanity() conn:send(send { msn = 7, payload = 'x' }) "
BAD_CRC = "local conn = t:session { crc = true } conn:sanity() conn:send(send {}, { crc = 'bad' }) "

# Rule, role of the target, other fields, what the case does, the error; None: there is none.
ROWS = [
    ("DDP-5.2-07", "responder", "", "", "rule DDP-5.2-07 binds the ULP: no fault of the target's stack breaks it"),
    ("MPA-7.1.1-01", "responder", "", "", "rule MPA-7.1.1-01 binds the initiator, and the target is the responder here"),
    ("MPA-7.1.1-02", "initiator", "", "", "rule MPA-7.1.1-02 binds the responder, and the target is the initiator here"),
    ("MPA-7.1.1-02", "initiator", "level = 'may',", "", None),  # accuses nobody
    ("EMPA-9.2-08", "initiator", "level = 'must',", "", None),  # permits the responder what the initiator has to take
    ("DDP-4.3-08", "responder", "", BAD_MSN + "conn:expect_terminate { fault.invalid_msn }",
     "rule DDP-4.3-08 binds who sends such octets, and here the station sent them: name the rule by which a receiver detects them"),
    ("DDP-4.3-08", "responder", "", BAD_MSN + "conn:expect_terminate { fault.invalid_msn, rule = 'DDP-7.1-09' }", None),
    ("DDP-7.1-09", "responder", "", BAD_MSN + "conn:expect(fault.invalid_msn, closed())", None),
    ("DDP-7.1-09", "responder", "", BAD_MSN + "conn:expect(fault.invalid_msn, closed(), { rule = 'DDP-4.3-08' })",
     "rule DDP-4.3-08 binds who sends such octets"),
    ("MPA-8-02", "responder", "", BAD_CRC + "conn:expect_close { rule = 'MPA-4.4-11' }", "rule MPA-4.4-11 binds who sends such octets"),
    ("RDMAP-7.1-03", "responder", "", BAD_MSN + "conn:expect_terminate { fault.invalid_msn }", None),  # a sender's answer to an error
    ("MPA-8-02", "responder", "", "t:fail('x', { rule = 'DDP-5.2-07' })", "rule DDP-5.2-07 binds the ULP"),
    ("MPA-8-02", "responder", "", "t:deviates('x', { rule = 'MPA-7.1.1-01' })", "rule MPA-7.1.1-01 binds the initiator"),
]


def main(conform):
    with tempfile.TemporaryDirectory() as folder:
        for i, row in enumerate(ROWS):
            harness.write(os.path.join(folder, "cases", f"c{i:02}.lua"), CASE.replace("'x', purpose", f"'c{i:02}', purpose") % row[:4])
        harness.run(conform, "run", "--cases", os.path.join(folder, "cases"), "--results", os.path.join(folder, "out"), status=None)
        cases = {os.path.basename(c["file"]): c for c in harness.load(folder, "out", "run.json")["cases"]}
    for i, row in enumerate(ROWS):
        got = cases[f"c{i:02}.lua"]
        wrong = row[4] or ""
        harness.expect(f"{row[:4]}: {wrong}", (got["verdict"] == "ERROR") == bool(wrong) and wrong in (got["reason"] or ""),
                       f"got {got['verdict']}, {got['reason']}")
    harness.conclude()


if __name__ == "__main__":
    harness.start(main, __doc__)
