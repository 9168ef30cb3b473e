-- SPDX-License-Identifier: BSD-3-Clause

-- Messages of boundary sizes, of each kind and in each direction: no octet, one octet, a ULPDU exactly
-- as long as the MULPDU, an octet shorter and an octet longer, and 64768 octets, which no ULPDU may
-- exceed.

-- name, text, octets of payload for a MULPDU of `most` and a header of `header`
local sizes = {
  { "0", "no octet", function() return 0 end },
  { "1", "one octet", function() return 1 end },
  { "mulpdu-less-1", "an octet less than a full ULPDU holds", function(most, header) return most - header - 1 end },
  { "mulpdu", "as many octets as a full ULPDU holds", function(most, header) return most - header end },
  { "mulpdu-plus-1", "an octet more than a full ULPDU holds", function(most, header) return most - header + 1 end },
  { "64768", "64768 octets", function() return 64768 end },
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
        { rule = "DDP-5.2-02", expected = ("at most %d"):format(limit), actual = tostring(#segment.ulpdu), item = item })
    end
    t:check(segment.l == (i == #item.segments), "the target did not set L on the last segment alone",
      { rule = "DDP-4.1-03", item = item })
  end
  if size == 0 then
    t:check(#item.segments == 1, "the target sent a zero-length message in more than one segment", { rule = "DDP-5.2-09", item = item })
  end
end

-- name, text, whether the target sends it, header, needs, rules (the first: of a message with octets), exchange
local kinds = {
  { "send-to-target", "A Send to the target", false, 18, { agent = true }, { "RDMAP-5.3-05", "DDP-5.2-05", "RDMAP-5.3-03" }, "RDMAP-5.3-11",
    function(t, conn, size, payload)
      local posted = t:receive { length = size }
      conn:send(send { payload = payload })
      t:completion(posted, { length = size })
      t:expect_contents(posted.memory, payload)
    end },
  { "send-by-target", "A Send of the target's own", true, 18, { agent = true }, { "DDP-5.2-04", "DDP-5.2-02", "DDP-5.2-06" }, "DDP-5.2-09",
    function(t, conn, size, payload, limit)
      local work = t:post { op = "send", payload = payload }
      judge(t, conn:expect(send { payload = payload }), size, limit)
      t:completion(work)
    end },
  { "write-to-target", "A Write to the target", false, 14, { memory = "write" }, { "DDP-5.2-05", "DDP-4.1-01" }, "RDMAP-5.1-08",
    function(t, conn, size, payload)
      local buf = t:memory { length = math.max(size, 1), remote = "write" }
      conn:send(write { to = buf, payload = payload })
      conn:fence()
      t:expect_contents(buf, payload)
    end },
  { "write-by-target", "A Write of the target's own", true, 14, { agent = true }, { "DDP-5.2-04", "DDP-5.2-02", "DDP-5.2-08" }, "DDP-5.2-09",
    function(t, conn, size, payload, limit)
      local work = t:post { op = "write", payload = payload, stag = 0x11223344, to = 0xfffffff0 }
      judge(t, conn:expect(write { stag = 0x11223344, to = 0xfffffff0, payload = payload }), size, limit)
      t:completion(work)
    end },
  { "read-of-target", "A Read of the target's memory", true, 14, { memory = "read" }, { "RDMAP-5.2.1-12", "DDP-5.2-02", "RDMAP-4.4-06" },
    "RDMAP-5.2.1-16", function(t, conn, size, payload, limit)
      local buf = t:memory { length = math.max(size, 1), remote = "read", fill = "count" }
      conn:send(read_request { source = buf, size = size, sink_stag = 5, sink_to = 0xfffffff0 })
      judge(t, conn:expect(read_response { stag = 5, to = 0xfffffff0, payload = payload }), size, limit)
    end },
  { "read-by-target", "A Read of the target's own", false, 14, { agent = true }, { "RDMAP-5.2-01", "DDP-5.2-05", "RDMAP-4.4-06" }, "RDMAP-5.2.1-16",
    function(t, conn, size, payload)
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
    local name, text, by_target, header, needs, rules, empty, exchange = table.unpack(kind, 1, 8)
    return each(sizes, function(one)
      return both_roles {
        id = ("rdmap-size-%s-%s"):format(name, one[1]),
        purpose = ("%s with %s arrives whole"):format(text, one[2]),
        rules = one[1] == "0" and { empty } or rules,
        level = "must",
        needs = needs,
        tags = { "boundary" },
        run = function(t)
          local conn = t:session {}
          conn:sanity()
          local state = conn:state()
          local limit = most(conn, by_target and state.own.markers or not by_target and state.markers)
          local size = one[3](limit, header)
          exchange(t, conn, size, bytes(size), limit)
          conn:fence()
        end,
      }
    end)
  end),
}
