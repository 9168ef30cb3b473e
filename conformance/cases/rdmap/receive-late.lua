-- SPDX-License-Identifier: BSD-3-Clause

-- A Send comes before its receive is posted. RFC 5041 §7.1: the lower layer may recover from that,
-- which on TCP means that the octets wait; otherwise the stream ends.

local code_of = use("message").code_of

return both_roles {
  id = "rdmap-send-before-receive",
  purpose = "A Send for which the receive is posted too late ends the stream, or waits and is delivered once",
  rules = { "DDP-7.1-04", "DDP-7.1-02" },
  needs = { agent = true },
  run = function(t)
    local conn = t:session {}
    conn:sanity()
    local sent = conn:send(send { payload = bytes(16), comment = "no receive is posted yet" })
    local item = conn:next() -- a target that lets the Send wait sends nothing
    if item then
      t:check(item.op == "terminate" and fault.no_buffer:has(code_of(item)),
        "the target answered with something else than a Terminate about a missing buffer",
        { rule = "DDP-7.1-02", expected = "terminate " .. fault.no_buffer:codes(), actual = item.text, item = item })
      t:check(not item.d or item.segment.msn == sent.msn, "the target's Terminate is about another segment",
        { rule = "DDP-7.1-18", item = item })
      t:observe("late-receive", "ended")
      conn:expect_close { rule = "RDMAP-7-03" }
      return
    end
    t:observe("late-receive", "waits")
    local posted = t:receive { length = 16 }
    t:completion(posted, { length = 16 }, { rule = "DDP-7.1-02" })
    t:expect_contents(posted.memory, bytes(16), { rule = "DDP-5.2-05" })
    conn:fence { rule = "DDP-7.1-02" }
  end,
}
