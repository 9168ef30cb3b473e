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
    { "past-end-by-one", function(n) return n - 1, 2 end, 0, "that runs one octet past the end", "RDMAP-7.2-12", "DDP-7.1-13" },
    { "past-end-by-many", function(n) return n - 1, 33 end, 0, "that runs 32 octets past the end", "RDMAP-7.2-12", "DDP-7.1-13" },
    { "at-end", function(n) return n, 1 end, 0, "of the octet after the end", "RDMAP-7.2-11", "DDP-7.1-12" },
    { "before-base", function() return -1, 2 end, 0, "that begins before the base", "RDMAP-7.2-11", "DDP-7.1-12" },
    { "key", function(n) return 0, n end, 1, "with the last bit of the STag inverted", "RDMAP-7.2-09", "DDP-7.1-10" },
  }, function(one)
    local name, where, key, text, read_rule, write_rule = table.unpack(one)
    return {
      harmless("read-" .. name, "An RDMA Read " .. text, { read_rule, "RDMAP-5.2.1-14", "RDMAP-8.1.1-03" }, function(t)
        local r = t:rping { stage = "source" }
        local offset, size = where(r.size)
        r.conn:send(read_request { source_stag = r.source.stag ~ key, source_to = r.source.to + offset, size = size,
                                   sink_stag = 0x77, sink_to = 0x1000, comment = text })
        no_effect(t, r)
      end),
      harmless("write-" .. name, "A Write " .. text, { write_rule, "DDP-7.1-17", "DDP-8.3.1-04" }, function(t)
        local r = t:rping { stage = "sink" }
        local offset, size = where(r.size)
        r.conn:send(write { stag = r.sink.stag ~ key, to = r.sink.to + offset, payload = bytes(size, 0xee), comment = text })
        no_effect(t, r)
      end),
    }
  end),

  each({
    { "crc", "An RDMA Read with a wrong CRC", { "MPA-4.4-17", "MPA-8-02", "MPA-8-11" }, nil, { crc = "bad" } },
    { "msn", "An RDMA Read with an MSN that is not due", { "DDP-7.1-09", "DDP-4.3-13" }, 1000 },
  }, function(one)
    local name, text, rules, msn, bend = table.unpack(one, 1, 5)
    return harmless("read-" .. name, text, rules, function(t)
      local r = t:rping { stage = "source", start = { crc = bend and true or nil } }
      r.conn:send(read_request { source = r.source, size = r.size, sink_stag = 0x77, sink_to = 0x1000, msn = msn, comment = text }, bend)
      no_effect(t, r, bend and true or nil)
    end)
  end),
}
