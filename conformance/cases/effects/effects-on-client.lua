-- SPDX-License-Identifier: BSD-3-Clause

-- A target in the part of rping's client, which opens a source to Reads and a sink to Writes. It does not answer a wrong
-- message and, where an agent can look, no octet changes. These cases do not judge the form of its Terminate.
local seen = use "seen"

local function harmless(name, text, rules, run)
  return case {
    id = "effect-client-" .. name,
    purpose = text .. " has no effect on the client but the end of its stream",
    rules = rules,
    role = "initiator",
    needs = { class = "rping agent" },
    run = run,
  }
end

local function no_effect(t, r, crc)
  seen.only_the_end(t, r.conn, { dropped = crc })
  if not r.agent then return end
  t:expect_unchanged(r.memory.source)
  t:expect_unchanged(r.memory.sink)
end

return family {
  -- From the buffer's first octet (n: its size), octets, bit of the STag, texts and rules.
  each({
    { name = "past-end-by-one", where = function(n) return n - 1, 2 end, key = 0, text = "that runs one octet past the end",
      read_rule = "RDMAP-7.2-12", write_rule = "DDP-7.1-13" },
    { name = "past-end-by-many", where = function(n) return n - 1, 33 end, key = 0, text = "that runs 32 octets past the end",
      read_rule = "RDMAP-7.2-12", write_rule = "DDP-7.1-13" },
    { name = "at-end", where = function(n) return n, 1 end, key = 0, text = "of the octet after the end",
      read_rule = "RDMAP-7.2-11", write_rule = "DDP-7.1-12" },
    { name = "before-base", where = function() return -1, 2 end, key = 0, text = "that begins before the base",
      read_rule = "RDMAP-7.2-11", write_rule = "DDP-7.1-12" },
    { name = "key", where = function(n) return 0, n end, key = 1, text = "with the last bit of the STag inverted",
      read_rule = "RDMAP-7.2-09", write_rule = "DDP-7.1-10" },
  }, function(one)
    return {
      harmless("read-" .. one.name, "An RDMA Read " .. one.text, { one.read_rule, "RDMAP-5.2.1-14", "RDMAP-8.1.1-03" }, function(t)
        local r = t:rping { stage = "source" }
        local offset, size = one.where(r.size)
        r.conn:send(read_request { source_stag = r.source.stag ~ one.key, source_to = r.source.to + offset, size = size,
                                   sink_stag = 0x77, sink_to = 0x1000, comment = one.text })
        no_effect(t, r)
      end),
      harmless("write-" .. one.name, "A Write " .. one.text, { one.write_rule, "DDP-7.1-17", "DDP-8.3.1-04" }, function(t)
        local r = t:rping { stage = "sink" }
        local offset, size = one.where(r.size)
        r.conn:send(write { stag = r.sink.stag ~ one.key, to = r.sink.to + offset, payload = bytes(size, 0xee), comment = one.text })
        no_effect(t, r)
      end),
    }
  end),

  each({
    { name = "crc", text = "An RDMA Read with a wrong CRC", rules = { "MPA-4.4-17", "MPA-8-02", "MPA-8-11" }, bend = { crc = "bad" } },
    { name = "msn", text = "An RDMA Read with an MSN that is not due", rules = { "DDP-7.1-09", "DDP-4.3-13" }, msn = 1000 },
  }, function(one)
    return harmless("read-" .. one.name, one.text, one.rules, function(t)
      local r = t:rping { stage = "source", start = { crc = one.bend and true or nil } }
      r.conn:send(read_request { source = r.source, size = r.size, sink_stag = 0x77, sink_to = 0x1000, msn = one.msn, comment = one.text }, one.bend)
      no_effect(t, r, one.bend and true or nil)
    end)
  end),
}
