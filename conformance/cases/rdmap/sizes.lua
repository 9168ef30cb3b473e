-- SPDX-License-Identifier: BSD-3-Clause

-- Messages of boundary sizes, of each kind and in each direction: no octet, one octet, a ULPDU exactly
-- as long as the MULPDU, an octet shorter and an octet longer, and 64768 octets, which no ULPDU may
-- exceed.

-- size: of the payload, for a MULPDU of `most` and a header of `header`.
local sizes = {
  { name = "0", text = "no octet", size = function() return 0 end },
  { name = "1", text = "one octet", size = function() return 1 end },
  { name = "mulpdu-less-1", text = "an octet less than a full ULPDU holds", size = function(most, header) return most - header - 1 end },
  { name = "mulpdu", text = "as many octets as a full ULPDU holds", size = function(most, header) return most - header end },
  { name = "mulpdu-plus-1", text = "an octet more than a full ULPDU holds", size = function(most, header) return most - header + 1 end },
  { name = "64768", text = "64768 octets", size = function() return 64768 end },
}

-- The MULPDU of the direction that has these Markers.
local function most(conn, markers)
  local state = conn:state()
  return mulpdu(state.mss > 0 and state.mss or 1460, markers)
end

local function judge(t, item, size, limit)
  t:check(#item.payload == size, "the target sent a message of another length",
    { expected = size .. " octets", actual = #item.payload .. " octets", item = item })
  for i, segment in ipairs(item.segments) do
    if #segment.ulpdu > limit then
      t:deviates("the target sent a ULPDU above the MULPDU of this connection",
        { rule = "DDP-5.2-02", how = "above the MULPDU", expected = ("at most %d"):format(limit), actual = tostring(#segment.ulpdu), item = item })
    end
    t:check(segment.l == (i == #item.segments), "the target did not set L on the last segment alone",
      { rule = "DDP-4.1-03", item = item })
  end
  if size == 0 then
    t:check(#item.segments == 1, "the target sent a zero-length message in more than one segment", { rule = "DDP-5.2-09", item = item })
  end
end

-- empty: the rule about a message without octets.
local kinds = {
  { name = "send-to-target", text = "A Send to the target", header = 18, needs = { agent = true },
    rules = { "RDMAP-5.3-05", "DDP-5.2-05", "RDMAP-5.3-03" }, empty = "RDMAP-5.3-11",
    exchange = function(t, conn, size, payload)
      local posted = t:receive { length = size }
      conn:send(send { payload = payload })
      t:completion(posted, { length = size })
      t:expect_contents(posted.memory, payload)
    end },
  { name = "send-by-target", text = "A Send of the target's own", by_target = true, header = 18, needs = { agent = true },
    rules = { "DDP-5.2-04", "DDP-5.2-02", "DDP-5.2-06" }, empty = "DDP-5.2-09",
    exchange = function(t, conn, size, payload, limit)
      local work = t:post { op = "send", payload = payload }
      judge(t, conn:expect(send { payload = payload }), size, limit)
      t:completion(work)
    end },
  { name = "write-to-target", text = "A Write to the target", header = 14, needs = { memory = "write" },
    rules = { "DDP-5.2-05", "DDP-4.1-01" }, empty = "RDMAP-5.1-08",
    exchange = function(t, conn, size, payload)
      local buf = t:memory { length = math.max(size, 1), remote = "write" }
      conn:send(write { to = buf, payload = payload })
      conn:fence()
      t:expect_contents(buf, payload)
    end },
  { name = "write-by-target", text = "A Write of the target's own", by_target = true, header = 14, needs = { agent = true },
    rules = { "DDP-5.2-04", "DDP-5.2-02", "DDP-5.2-08" }, empty = "DDP-5.2-09",
    exchange = function(t, conn, size, payload, limit)
      local work = t:post { op = "write", payload = payload, stag = 0x11223344, to = 0xfffffff0 }
      judge(t, conn:expect(write { stag = 0x11223344, to = 0xfffffff0, payload = payload }), size, limit)
      t:completion(work)
    end },
  { name = "read-of-target", text = "A Read of the target's memory", by_target = true, header = 14, needs = { memory = "read" },
    rules = { "RDMAP-5.2.1-12", "DDP-5.2-02", "RDMAP-4.4-06" },
    empty = "RDMAP-5.2.1-16", exchange = function(t, conn, size, payload, limit)
      local buf = t:memory { length = math.max(size, 1), remote = "read", fill = "count" }
      conn:send(read_request { source = buf, size = size, sink_stag = 5, sink_to = 0xfffffff0 })
      judge(t, conn:expect(read_response { stag = 5, to = 0xfffffff0, payload = payload }), size, limit)
    end },
  { name = "read-by-target", text = "A Read of the target's own", header = 14, needs = { agent = true },
    rules = { "RDMAP-5.2-01", "DDP-5.2-05", "RDMAP-4.4-06" }, empty = "RDMAP-5.2.1-16",
    exchange = function(t, conn, size, payload)
      local memory = t:memory { length = math.max(size, 1) }
      local handle = t:post { op = "read", memory = memory, length = size, stag = 0x11223344, to = 0xfffffff0 }
      local asked = conn:expect(read_request { size = size, source_stag = 0x11223344, source_to = 0xfffffff0 })
      conn:send(read_response { stag = asked.sink_stag, to = asked.sink_to, payload = payload })
      t:completion(handle, { length = size })
      t:expect_contents(memory, payload)
    end },
}

return family {
  each(kinds, function(kind)
    return each(sizes, function(one)
      return both_roles {
        id = ("rdmap-size-%s-%s"):format(kind.name, one.name),
        purpose = ("%s with %s arrives whole"):format(kind.text, one.text),
        rules = one.name == "0" and { kind.empty } or kind.rules,
        level = "must",
        needs = kind.needs,
        tags = { "boundary" },
        run = function(t)
          local conn = t:session {}
          conn:sanity()
          local state = conn:state()
          local limit = most(conn, kind.by_target and state.own.markers or not kind.by_target and state.markers)
          local size = one.size(limit, kind.header)
          kind.exchange(t, conn, size, bytes(size), limit)
          conn:fence()
        end,
      }
    end)
  end),
}
