-- SPDX-License-Identifier: BSD-3-Clause

-- Segments that are late, repeated or overlap: the target may place octets after a gap, but delivers
-- them in their turn, and once (RFC 5041 §5.3 and §5.4).

local segments = use "segments"

local function in_every_way(fields)
  return each(segments.ways(fields), both_roles)
end

return family {
  -- ---- a gap ----

  each({ { late = 1, name = "first" }, { late = 2, name = "middle" }, { late = 3, name = "last" } }, function(one)
    local late, name = one.late, one.name
    return in_every_way {
      id = ("tcp-send-%s-late"):format(name),
      purpose = ("The target does not deliver a Send before the octet that its %s FPDU lacks has come"):format(name),
      rules = { "DDP-5.4-01", "DDP-4.1-07", "RDMAP-5.5-05", "DDP-5.3-05" },
      needs = { agent = true },
      run = function(t, way)
        local conn = segments.session(t, way)
        local posted = t:receive { length = 300 }
        local parts = conn:split(function()
          for i = 1, 3 do conn:send(send { payload = bytes(100, i), l = i == 3 }) end
        end):split(late, 1)
        for i = 1, 4 do
          if i ~= late then parts:send(i) end
        end
        conn:expect_nothing()
        t:expect_no_completion(posted)
        t:observe("placed-early", t:read(posted.memory, 200, 100) == bytes(100, 3))
        parts:send(late)
        t:completion(posted, { length = 300 })
        t:expect_contents(posted.memory, bytes(100, 1) .. bytes(100, 2) .. bytes(100, 3))
        conn:fence()
      end,
    }
  end),

  in_every_way {
    id = "tcp-send-waits-for-write",
    purpose = "The target does not deliver a complete Send before it has placed the Write before it",
    rules = { "DDP-4.1-07", "DDP-5.4-01", "RDMAP-5.5-05", "RDMAP-5.5-13" },
    needs = { memory = "write" },
    run = function(t, way)
      local buf = t:memory { length = 3000, remote = "write" }
      local conn = segments.session(t, way)
      local posted = t:receive { length = 16 }
      local parts = conn:split(function()
        conn:send(write { to = buf, payload = bytes(3000) }, { segments = 1000 })
        conn:send(send { payload = "written" })
      end)
      parts:send(1, 3, 4)
      conn:expect_nothing()
      t:expect_no_completion(posted)
      parts:send(2)
      t:completion(posted, { length = 7 })
      t:expect_contents(buf, bytes(3000))
      conn:fence()
    end,
  },

  in_every_way {
    id = "tcp-sends-reversed",
    purpose = "The target delivers six Sends whose segments come in reverse in the order of their MSNs",
    rules = { "DDP-5.3-08", "DDP-4.1-08", "RDMAP-5.5-05", "DDP-5.3-07" },
    needs = { agent = true },
    run = function(t, way)
      local conn = segments.session(t, way)
      local posted = {}
      for i = 1, 6 do posted[i] = t:receive { length = 100 } end
      local parts = conn:split(function()
        for i = 1, 6 do conn:send(send { payload = bytes(10 * i, i) }) end
      end)
      segments.behind_a_gap(conn, parts)
      for i = 1, 6 do t:expect_no_completion(posted[i]) end
      parts:send(1)
      local order = segments.completed(t, posted)
      t:check(order == "1 2 3 4 5 6", "the target did not deliver the Sends in their order",
        { expected = "1 2 3 4 5 6", actual = order })
      for i = 1, 6 do t:expect_contents(posted[i].memory, bytes(10 * i, i)) end
      conn:fence()
    end,
  },

  each(range(1, 3), function(seed)
    return in_every_way {
      id = ("tcp-shuffled-%d"):format(seed),
      purpose = "Writes, Sends and Reads in shuffled segments of 200 octets have the same effect as in order",
      rules = { "DDP-5.3-08", "DDP-5.3-07", "RDMAP-5.5-05", "RDMAP-5.5-07", "DDP-4.1-08" },
      needs = { memory = "read write", ird = 4 },
      run = function(t, way)
        local buf = t:memory { length = 4000, remote = "read write" }
        local conn = segments.session(t, way)
        local posted = {}
        for i = 1, 4 do posted[i] = t:receive { length = 100 } end
        local parts = conn:split(function()
          for i = 1, 4 do
            conn:send(write { to = buf, payload = bytes(4000, i) }, { segments = 700 })
            conn:send(send { payload = bytes(100, i) })
            conn:send(read_request { source = buf, offset = 1000 * (i - 1), size = 1000, sink_stag = 7, sink_to = i })
          end
        end, { sizes = 200 })
        for _, i in ipairs(segments.shuffled(#parts, seed)) do parts:send(i) end
        for i = 1, 4 do
          local item = conn:expect(read_response { stag = 7, to = i })
          -- Later Writes may have come before the source was read (RFC 5040 §5.5).
          t:check(#item.payload == 1000 and item.payload:byte() >= i, "the target answered a Read with octets from before the Write",
            { rule = "RDMAP-5.5-07", expected = show(bytes(8, i)), actual = show(item.payload, 8), item = item })
        end
        local order = segments.completed(t, posted)
        t:check(order == "1 2 3 4", "the target did not deliver the Sends in their order",
          { expected = "1 2 3 4", actual = order })
        for i = 1, 4 do t:expect_contents(posted[i].memory, bytes(100, i)) end
        t:expect_contents(buf, bytes(4000, 4))
        conn:fence()
      end,
    }
  end),

  in_every_way {
    id = "tcp-fin-after-gap",
    purpose = "A FIN that overtakes octets before it takes effect after them",
    rules = { "DDP-5.4-01", "DDP-4.1-07" },
    needs = { agent = true },
    run = function(t, way)
      local conn = segments.session(t, way)
      local posted = t:receive { length = 40 }
      local parts = conn:split(function() conn:send(send { payload = bytes(40) }) end)
      conn:shutdown()
      conn:expect_nothing()
      t:expect_no_completion(posted)
      parts:send(1)
      t:completion(posted, { length = 40 })
      conn:expect_close { rule = "DDP-6.2.1-05" } -- the agent closes
    end,
  },

  in_every_way {
    id = "tcp-reset-after-gap",
    purpose = "The target never delivers octets after a gap when a reset comes, and reports the loss",
    rules = { "MPA-8-01", "DDP-5.4-01" },
    needs = { agent = true },
    run = function(t, way)
      local conn = segments.session(t, way)
      local posted = t:receive { length = 40 }
      conn:send(write { comment = "the next FPDU is lost for good" })
      local parts = conn:split(function()
        conn:send(write {})
        conn:send(send { payload = bytes(40) })
      end)
      parts:send(2)
      conn:expect_nothing()
      conn:reset()
      t:event("closed", conn)
      t:expect_no_completion(posted)
    end,
  },

  -- ---- octets that come again ----

  in_every_way {
    id = "tcp-repeated",
    purpose = "The target neither places nor delivers acknowledged segments that come again",
    rules = { "DDP-3-14", "DDP-5.3-07" },
    needs = { memory = "write" },
    run = function(t, way)
      local buf = t:memory { length = 500, remote = "write" }
      local conn = segments.session(t, way)
      local posted = { t:receive { length = 20 }, t:receive { length = 20 } }
      local parts = conn:split(function()
        conn:send(write { to = buf, payload = bytes(500) })
        conn:send(send { payload = bytes(20) })
      end)
      parts:send()
      t:completion(posted[1], { length = 20 })
      t:fill(buf, bytes(500, 0x77))
      for _ = 1, 2 do parts:send() end
      conn:fence()
      t:expect_no_completion(posted[2])
      t:expect_unchanged(posted[2].memory)
      t:expect_unchanged(buf)
      conn:send(send { payload = "again" })
      t:completion(posted[2], { length = 5 })
    end,
  },

  in_every_way {
    id = "tcp-repeated-altered",
    purpose = "An acknowledged segment that comes again with other octets changes nothing",
    rules = { "DDP-3-14", "DDP-5.3-07" },
    needs = { memory = "write" },
    run = function(t, way)
      local buf = t:memory { length = 500, remote = "write" }
      local conn = segments.session(t, way)
      local parts = conn:split(function() conn:send(write { to = buf, payload = bytes(500) }) end)
      parts:send(1)
      conn:fence()
      parts[1].octets = parts[1].octets:sub(1, 30) .. ("\xee"):rep(100) .. parts[1].octets:sub(131)
      parts:send(1)
      conn:fence()
      t:expect_contents(buf, bytes(500))
    end,
  },

  in_every_way {
    id = "tcp-each-twice",
    purpose = "The target delivers messages once when each of their segments comes twice",
    rules = { "DDP-5.3-07", "DDP-3-14", "DDP-5.3-08" },
    needs = { memory = "read write" },
    run = function(t, way)
      local buf = t:memory { length = 2000, remote = "read write" }
      local conn = segments.session(t, way)
      local posted = {}
      for i = 1, 4 do posted[i] = t:receive { length = 50 } end
      local parts = conn:split(function()
        conn:send(write { to = buf, payload = bytes(2000) }, { segments = 900 })
        for i = 1, 3 do conn:send(send { payload = bytes(50, i) }) end
        conn:send(read_request { source = buf, size = 2000, sink_stag = 7, sink_to = 1 })
      end)
      for i = 1, #parts do parts:send(i, i) end
      local item = conn:expect(read_response { stag = 7, to = 1 })
      local lies = item.payload ~= bytes(2000) and t:holds(buf, bytes(2000))
      t:check(item.payload == bytes(2000), "the target answered the Read with other octets",
        { item = item, rule = lies and "RDMAP-5.2.1-12" or nil, how = lies and "other payload" or "misplaced" })
      conn:fence()
      local order = segments.completed(t, { posted[1], posted[2], posted[3] })
      t:check(order == "1 2 3", "the target did not deliver the Sends in their order",
        { expected = "1 2 3", actual = order })
      t:expect_no_completion(posted[4])
      t:expect_contents(buf, bytes(2000))
    end,
  },

  each({
    { name = "forwards", order = { 1, 2, 3, 4 } }, { name = "backwards", order = { 4, 3, 2, 1 } },
    { name = "inside-out", order = { 3, 2, 4, 1 } },
  }, function(one)
    return in_every_way {
      id = "tcp-overlap-" .. one.name,
      purpose = ("The target delivers a Send in four half-overlapping segments that come %s once and whole"):format(one.name),
      rules = { "DDP-5.3-07", "DDP-3-14", "DDP-5.4-01" },
      needs = { agent = true },
      run = function(t, way)
        local conn = segments.session(t, way)
        local posted = { t:receive { length = 380 }, t:receive { length = 8 } }
        local parts = conn:split(function() conn:send(send { payload = bytes(380) }) end,
          { sizes = { 110, 110, 110 }, overlap = 55 })
        parts:send(table.unpack(one.order))
        t:completion(posted[1], { length = 380 })
        t:expect_contents(posted[1].memory, bytes(380))
        conn:fence()
        t:expect_no_completion(posted[2])
      end,
    }
  end),
}
