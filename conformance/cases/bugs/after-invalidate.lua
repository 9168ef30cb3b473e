-- SPDX-License-Identifier: BSD-3-Clause

-- A Send with Invalidate that the target must refuse, and a second fault after it. A stack that goes on with the stream
-- reports the second one, with the first one's code, and looks its opcode up beyond the end of a table.

local seen = use "seen"

return family {
  -- RFC 7306 assigns 8, 9 and a; after an error they are as good as f.
  each({ 0x8, 0x9, 0xa, 0xf }, function(opcode)
    return both_roles {
      id = ("bug-opcode-after-refused-invalidate-%x"):format(opcode),
      purpose = ("After a Send with Invalidate of an invalid STag and then opcode 0x%x, the Terminate is about the first"):format(
        opcode),
      rules = { "RDMAP-7.1-05", "RDMAP-5.3-16", "RDMAP-7.2-04", "RDMAP-4.8-11", "RDMAP-4.8-09", "RDMAP-7.1-03", "DDP-7.1-19",
                "RDMAP-5.4-08" },
      needs = { class = "rping agent" },
      tags = { "known-bug", "field" },
      run = function(t)
        local responder = t.case.role == "responder"
        local r = t:rping { stage = responder and "open" or "source" }
        if responder then r:receives() end
        local sent
        r.conn:together(function()
          sent = r.conn:send(send_invalidate { invalidate = 0x5bad57a6, payload = bytes(16, 0xee), broken = true,
                                               comment = "an invalid STag" })
          r.conn:send(send { opcode = opcode, payload = bytes(8, 0xee), comment = "after the error" })
          r.conn:send(read_request { size = 0, sink_stag = 7, sink_to = 7, comment = "after the error" })
        end)
        local item = r.conn:expect_terminate { fault.invalidate_invalid_stag, of = sent }
        t:check(item.m and item.d, "the target's Terminate lacks length and DDP header of the segment at fault",
          { rule = "RDMAP-4.8-05", how = "headers", expected = "M and D set", actual = item.text, item = item })
        -- OP-48: whether the header counts can be read either way.
        local length = item.segment_length
        t:check(length == #sent.ulpdu or length == #sent.payload,
          "the target's Terminate does not hold the length of the segment at fault",
          { rule = "RDMAP-4.8-09", expected = tostring(#sent.ulpdu), actual = tostring(length), item = item })
        seen.over(r.conn)
        for _, posted in ipairs(r.agent and r.waiting or {}) do
          t:expect_no_completion(posted, { rule = "RDMAP-7.2-04" })
        end
      end,
    }
  end),
}
