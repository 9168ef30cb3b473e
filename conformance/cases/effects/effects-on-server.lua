-- SPDX-License-Identifier: BSD-3-Clause

-- A target in the part of rping's server: a wrong message must not move it. Had it taken the Send it would ask for an RDMA
-- Read, had it taken the Read Response it would go ahead. These cases do not judge the form of its Terminate.
local seen = use "seen"

local function harmless(name, text, rules, run)
  return case {
    id = "effect-server-" .. name,
    purpose = text .. " has no effect on the server but the end of its stream",
    rules = rules,
    role = "responder",
    needs = { class = "rping agent" },
    run = run,
  }
end

local CRC = { "MPA-4.4-17", "MPA-8-02", "MPA-8-11" }

return family {
  -- ---- the client's first Send, which advertises its buffer ----

  each({
    { name = "crc", text = "A Send with a wrong CRC", rules = CRC, fields = {}, bend = { crc = "bad" } },
    { name = "msn", text = "A Send with an MSN that is not due", rules = { "DDP-7.1-09", "DDP-4.3-13", "DDP-5.4-01" },
      fields = { msn = 1000 } },
    { name = "msn-zero", text = "A first Send with MSN 0", rules = { "DDP-7.1-09", "DDP-4.3-13", "DDP-5.4-01" }, fields = { msn = 0 } },
    { name = "mo", text = "A Send whose MO is that of the receive's end", rules = { "DDP-7.1-07", "DDP-7.1-17" }, fields = { mo = 16 } },
  }, function(one)
    return harmless("send-" .. one.name, one.text, one.rules, function(t)
      local r = t:rping { stage = "open", start = { crc = one.bend and true or nil } }
      r:receives()
      one.fields.payload, one.fields.comment = string.pack(">I8I4I4", r.source.to, r.source.stag, r.size), one.text
      r.conn:send(send(one.fields), one.bend)
      seen.only_the_end(t, r.conn, { dropped = one.bend and true or nil })
      for _, posted in ipairs(r.agent and r.waiting or {}) do
        t:expect_no_completion(posted)
        -- bug-placed-before-crc-check looks for octets with a wrong CRC.
        if not one.bend then t:expect_unchanged(posted.memory) end
      end
    end)
  end),

  -- ---- the answer to its Read Request ----

  each({
    { name = "elsewhere", text = "A Read Response 4 GiB above the Sink TO", rules = { "DDP-7.1-12", "DDP-8.3.1-04", "RDMAP-5.2.2-04" },
      fields = { shift = 0x100000000 } },
    { name = "key", text = "A Read Response to an STag that differs from the Sink STag in its last bit",
      rules = { "DDP-7.1-10", "RDMAP-5.2.2-04" },
      fields = { key = 1 } },
    { name = "crc", text = "A Read Response with a wrong CRC", rules = CRC, fields = {}, bend = { crc = "bad" } },
  }, function(one)
    return harmless("response-" .. one.name, one.text, one.rules, function(t)
      local r = t:rping { stage = "reading", start = { crc = one.bend and true or nil } }
      r:answer({ shift = one.fields.shift, stag = r.asked.sink_stag ~ (one.fields.key or 0), broken = true, comment = one.text }, one.bend)
      seen.only_the_end(t, r.conn, { dropped = one.bend and true or nil })
      if not r.agent then return end
      t:expect_no_completion(r.work)
      if not one.bend then t:expect_unchanged(r.buffer) end
    end)
  end),
}
