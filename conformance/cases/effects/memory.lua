-- SPDX-License-Identifier: BSD-3-Clause

-- Memory that a peer has no right to, and Read Responses that nobody asked for: no octet leaves or changes. These cases
-- do not judge the form of the target's Terminate.
local seen = use "seen"

local function harmless(name, text, rules, run)
  return case {
    id = "effect-" .. name,
    purpose = text .. " has no effect but the end of the stream",
    rules = rules,
    level = "must",
    role = "responder",
    needs = { memory = "read write" },
    run = run,
  }
end

return family {
  each({ { name = "read-only", remote = "read" }, { name = "local-only" } }, function(one)
    return harmless("write-" .. one.name, "A Write to a buffer that is " .. one.name, { "DDP-7.1-11", "DDP-7.1-17" }, function(t)
      local buf = t:memory { length = 64, remote = one.remote }
      local conn = t:connect {}
      conn:sanity()
      conn:send(write { to = buf, payload = bytes(64, 0xee), comment = one.name })
      seen.only_the_end(t, conn)
      t:expect_unchanged(buf)
    end)
  end),

  each({ { name = "write-only", remote = "write" }, { name = "local-only" } }, function(one)
    return harmless("read-" .. one.name, "An RDMA Read of a buffer that is " .. one.name, { "RDMAP-7.2-14", "RDMAP-5.2.1-14" }, function(t)
      local buf = t:memory { length = 64, remote = one.remote }
      local conn = t:connect {}
      conn:sanity()
      conn:send(read_request { source = buf, size = 64, sink_stag = 0x77, sink_to = 0x1000, comment = one.name })
      seen.only_the_end(t, conn)
    end)
  end),

  harmless("write-crc", "A Write with a wrong CRC", { "MPA-4.4-17", "MPA-8-02", "MPA-8-11" }, function(t)
    local buf = t:memory { length = 64, remote = "write" }
    local conn = t:connect { crc = true }
    conn:sanity()
    conn:send(write { to = buf, payload = bytes(64, 0xee) }, { crc = "bad" })
    seen.only_the_end(t, conn, { dropped = true })
    t:expect_unchanged(buf)
  end),

  -- The target Reads 64 octets into a buffer that has just these.
  each({
    { name = "past-end", shift = 0, size = 65, text = "one octet longer than the Read and its buffer" },
    { name = "shifted", shift = 8, size = 64, text = "8 octets after its place, and past the end of its buffer" },
    { name = "before-base", shift = -8, size = 64, text = "8 octets before its place and its buffer" },
  }, function(one)
    return harmless("response-" .. one.name, "A Read Response " .. one.text, { "DDP-8.3.1-04", "DDP-7.1-13", "RDMAP-5.2.2-04" }, function(t)
      local memory = t:memory { length = 64 }
      local conn = t:connect {}
      conn:sanity()
      local handle = t:post { op = "read", memory = memory, length = 64, stag = 0x11223344, to = 0x5000 }
      local asked = conn:expect(read_request { size = 64, source_stag = 0x11223344, source_to = 0x5000 })
      conn:send(read_response { stag = asked.sink_stag, to = asked.sink_to + one.shift, payload = bytes(one.size, 0xee), broken = true,
                                comment = one.text })
      seen.only_the_end(t, conn)
      t:expect_no_completion(handle)
      t:expect_unchanged(memory, { except = { 0, 64 } })
    end)
  end),

  harmless("response-unasked", "A Read Response that nobody asked for", { "RDMAP-5.2.2-04", "DDP-7.1-11" }, function(t)
    local buf = t:memory { length = 64, remote = "read" }
    local conn = t:connect {}
    conn:sanity()
    conn:send(read_response { to = buf, payload = bytes(64, 0xee), broken = true, comment = "no Read was asked for" })
    seen.only_the_end(t, conn)
    t:expect_unchanged(buf)
  end),
}
