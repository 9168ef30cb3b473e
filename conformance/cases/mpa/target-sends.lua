-- SPDX-License-Identifier: BSD-3-Clause

-- The target's own FPDUs: their sizes and how the target makes them.

-- Judges the segments of one message of the target against a MULPDU.
local function judge(t, item, most)
  local segments = item.segments
  local largest = 0
  for i, segment in ipairs(segments) do
    local size = #segment.ulpdu
    largest = math.max(largest, size)
    t:check(size <= 64768, "the target sent a ULPDU above 64768 octets",
      { rule = "MPA-3-05", expected = "at most 64768", actual = tostring(size), item = item })
    if i < #segments then
      t:check(size >= 128, "the target sent a ULPDU below 128 octets that is not its message's last",
        { rule = "MPA-4.5-06", expected = "at least 128", actual = tostring(size), item = item })
    end
  end
  if largest > most then
    t:deviates("the target sent a ULPDU above the MULPDU of this connection",
      { rule = "MPA-3-03", how = "above the MULPDU", expected = ("at most %d"):format(most), actual = tostring(largest), item = item })
  end
  return largest
end

return family {
  each({ false, true }, function(markers)
    return both_roles {
      id = "mpa-target-mulpdu" .. (markers and "-markers" or ""),
      purpose = "The target sends a long message in ULPDUs of 128 to 64768 octets and at most MULPDU",
      rules = { "MPA-3-05", "MPA-3-04", "MPA-4.5-06", "MPA-4.5-07", markers and "MPA-4.5-01" or "MPA-4.5-02", "MPA-3-03",
        "MPA-5.1-01" },
      needs = { memory = "read", read = true },
      run = function(t)
        local conn = t:session { markers = markers }
        local length = 70000
        local buf = t:memory { length = length, remote = "read", fill = "count" }
        conn:send(read_request { source = buf, size = length, sink_stag = 1, sink_to = 0 })
        local item = conn:expect(read_response { stag = 1, to = 0 })
        local largest = judge(t, item, mulpdu(conn:state().mss, markers))
        t:check(item.payload == bytes(length), "the RDMA Read returned other octets",
          { item = item, rule = "RDMAP-5.2.1-12", how = "other payload" })
        t:note(("the largest ULPDU has %d octets, TCP's segments %d"):format(largest, conn:state().mss))
      end,
    }
  end),

  each({ 128, 1000, 1454 }, function(most)
    return both_roles {
      id = ("mpa-target-mulpdu-%d"):format(most),
      purpose = ("A target with a MULPDU of %d sends full ULPDUs of that size and nothing larger"):format(most),
      rules = { "MPA-3-03", "MPA-4.5-05", "MPA-4.5-06" },
      needs = { agent = true },
      run = function(t)
        local config = { mulpdu = most }
        if t.case.role == "initiator" then
          config.peer_to_peer, config.enhanced, config.revision = true, true, 2
        end
        local conn = t:session { target = config }
        conn:sanity()
        t:post { op = "send", payload = bytes(5000) }
        local item = conn:expect(send { payload = bytes(5000) })
        local largest = judge(t, item, most)
        if largest < most - 3 then
          t:deviates("the target sent smaller ULPDUs than it may", { rule = "MPA-4.5-05",
            expected = tostring(most), actual = tostring(largest), item = item })
        end
      end,
    }
  end),

  -- MULPDU is each connection's own: the path and the peer's TCP decide it.
  each({ false, true }, function(markers)
    return both_roles {
      id = "mpa-target-emss-of-each" .. (markers and "-markers" or ""),
      purpose = "Of three connections at once each gets full ULPDUs of its own MULPDU, whatever the others' TCP segments take",
      rules = { "MPA-3-03", markers and "MPA-4.5-01" or "MPA-4.5-02", "MPA-4.5-05", "MPA-5.1-01", "MPA-3-05", "MPA-4.5-06" },
      needs = { agent = true },
      run = function(t)
        local conns, most = {}, {}
        for i, mss in ipairs { 536, 1400, 700 } do
          conns[i] = t:session { markers = markers, mss = mss }
          conns[i]:sanity()
          most[i] = mulpdu(conns[i]:state().mss, conns[i]:state().own.markers)
        end
        if not (most[1] < most[3] and most[3] < most[2]) then t:inconclusive("TCP does not keep to the MSS of each connection") end
        for round = 1, 2 do
          local payload = bytes(5000, round)
          for _, conn in ipairs(conns) do t:post { conn = conn, op = "send", payload = payload } end
          for i, conn in ipairs(conns) do
            local item = conn:expect(send { payload = payload })
            local largest = judge(t, item, most[i])
            -- A few octets less may have reasons of the connection's own.
            if largest < most[i] - 16 then
              t:deviates("the target sent smaller ULPDUs than it may", { rule = "MPA-4.5-05",
                expected = tostring(most[i]), actual = tostring(largest), item = item })
            end
          end
        end
      end,
    }
  end),

  -- Field bugs at the edges of pages and of MULPDU.
  both_roles {
    id = "mpa-target-sizes",
    purpose = "The target's Sends of lengths around pages and segments arrive with the right octets",
    rules = { "MPA-4.1-01", "MPA-3-01", "MPA-4.4-11", "MPA-4.4-12" },
    needs = { agent = true },
    tags = { "field" },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local memory = t:memory { length = 16400, fill = "count" }
      local edge = mulpdu(1460, false) - 18
      local sizes = { 0, 1, edge - 1, edge, edge + 1 }
      for page = 1, 4 do
        for step = -1, 1 do sizes[#sizes + 1] = 4096 * page + step end
      end
      for _, size in ipairs(sizes) do
        t:post { op = "send", memory = memory, length = size }
        conn:expect(send { payload = bytes(size) })
      end
    end,
  },

  both_roles {
    id = "mpa-target-gathers",
    purpose = "A Send that the target gathers from many pieces arrives as one message with a correct CRC",
    rules = { "MPA-4.4-11", "MPA-3-01", "MPA-4.1-05" },
    needs = { agent = true },
    tags = { "field" },
    run = function(t)
      local conn = t:session { markers = true }
      conn:sanity()
      local memory = t:memory { length = 4096, fill = "count" }
      for _, sizes in ipairs { { 1, 1, 1 }, { 3, 5, 7, 11 }, { 500, 8, 500, 9 }, { 0, 1, 0, 2 }, { 1000, 1, 1000, 1 } } do
        local pieces, at, wanted = {}, 0, {}
        for i, size in ipairs(sizes) do
          pieces[i] = { memory.mem, at, size }
          wanted[i] = bytes(4096):sub(at + 1, at + size)
          at = at + size + 1
        end
        t:agent("post", { conn = conn.agent, work = 1000, op = "send", sge = pieces })
        conn:expect(send { payload = table.concat(wanted) })
      end
    end,
  },
}
