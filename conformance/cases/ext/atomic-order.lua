-- SPDX-License-Identifier: BSD-3-Clause

-- Atomics among other messages (RFC 7306 §5.4, §7).

local atomics = use "atomics"

-- R: a Read of n octets; A: an atomic. Twelve at most, so that an IRD of 12 will do.
local mixes = {
  { name = "alternating", sequence = { 8, "A", 8, "A", 8, "A", 8, "A" } },
  { name = "long-read-first", sequence = { 30000, "A", "A", 1, "A" } },
  { name = "atomics-first", sequence = { "A", "A", "A", 5000, 0, 5000 } },
  { name = "long-reads", sequence = { "A", 20000, "A", 20000, "A", 20000, "A" } },
  { name = "empty-reads", sequence = { 0, "A", 0, "A", 0 } },
}

-- Checks that there is no answer, and that memory is as it was, while only `count` octets have come.
local function nothing_yet(t, conn, cells, count)
  conn:release(count)
  t:expect_unchanged(cells, { rule = "EXT-5.4-04" })
  local item = conn:next(0)
  t:check(not item, "the target answered before the whole request had come",
    { expected = "nothing", actual = item and item.text, item = item })
end

local followers = {
  { name = "atomic-then-send", rules = { "EXT-5.4-07", "EXT-5.4-05", "EXT-7-03" }, text = "A Send after an atomic is delivered",
    stimulus = function(conn)
    conn:send(send { payload = "behind" })
  end, fields = { length = 6 } },
  { name = "atomic-then-immediate", rules = { "EXT-7-02" }, text = "Immediate Data after an atomic is delivered", stimulus = function(conn)
    conn:send(immediate { payload = "8 octets" })
  end, fields = { immediate = "8 octets" } },
}

return family {
  each(mixes, function(one)
    return both_roles {
      id = "ext-order-" .. one.name,
      purpose = "Reads and atomics that come together are answered in the order in which they came",
      rules = { "EXT-7-05", "EXT-5.2.2-09", "EXT-5.4-10", "EXT-5.2.1-18", "EXT-5.4-09", "EXT-5.2.2-05" },
      level = "must",
      needs = { memory = "read atomic", extensions = true, ird = 12 },
      run = function(t)
        local conn = t:session {}
        local cell = t:memory { length = 8, remote = "atomic", fill = 0 } -- 0 in either order of octets
        local buf = t:memory { length = 30000, remote = "read", fill = "count" }
        local content, old = bytes(30000), 0
        conn:together(function()
          for i, what in ipairs(one.sequence) do
            if what == "A" then
              conn:send(atomic_request { target = cell, add_swap = 1, request_id = i })
            else
              conn:send(read_request { source = buf, size = what, sink_stag = 5, sink_to = i << 32 })
            end
          end
        end)
        for i, what in ipairs(one.sequence) do
          if what == "A" then
            conn:expect(atomic_response { request_id = i, value = old })
            old = old + 1
          else
            local item = conn:expect(read_response { stag = 5, to = i << 32 })
            t:check(item.payload == content:sub(1, what), "the target answered a Read among atomics with other octets",
              { item = item, rule = "RDMAP-5.2.1-12", how = "other payload" })
          end
        end
        atomics.ask(conn, { target = cell, request_id = 100 }, old)
        t:expect_unchanged(cell, { except = { 0, 8 } })
        conn:fence()
      end,
    }
  end),

  -- The value that an atomic finds and the value that it leaves.
  both_roles {
    id = "ext-order-write-atomic-read",
    purpose = "An atomic sees the Write before it, and the Read after it sees the atomic",
    rules = { "EXT-5.4-06", "EXT-7-05" },
    needs = { memory = "read write atomic", extensions = true },
    run = function(t)
      local conn = t:session {}
      local cells = atomics.cells(t, conn, { 0 }, { remote = "read write atomic" })
      for i = 1, 5 do
        local value = 0x0102030405060708 * i
        conn:together(function()
          conn:send(write { to = cells, payload = atomics.octets(t, value) }, { segments = 3 })
          conn:send(atomic_request { target = cells, add_swap = 0x0100000000000001, request_id = i })
          conn:send(read_request { source = cells, size = 8, sink_stag = 5, sink_to = i })
        end)
        conn:expect(atomic_response { request_id = i, value = value })
        local item = conn:expect(read_response { stag = 5, to = i })
        local wanted = atomics.octets(t, value + 0x0100000000000001)
        t:check(item.payload == wanted, "the target's Read Response does not show the atomic before it",
          { expected = show(wanted), actual = show(item.payload), item = item, how = "undone" })
      end
    end,
  },

  -- ---- the target begins nothing before all of it has come ----

  both_roles {
    id = "ext-atomic-cut",
    purpose = "The target does not carry out an Atomic Request before its last octets have come",
    rules = { "EXT-5.4-04", "EXT-5.4-06" },
    needs = { memory = "atomic", extensions = true },
    run = function(t)
      local conn = t:session {}
      local cells = atomics.cells(t, conn, { 7 })
      conn:hold(function() conn:send(atomic_request { target = cells, add_swap = 1, request_id = 2 }) end)
      nothing_yet(t, conn, cells, 20)
      nothing_yet(t, conn, cells, 55) -- but for the CRC
      conn:release()
      conn:expect(atomic_response { request_id = 2, value = 7 })
      atomics.expect(t, cells, 8)
    end,
  },

  both_roles {
    id = "ext-atomic-after-cut-write",
    purpose = "An atomic after a Write on the same place, whose last octets are late, sees the written value",
    rules = { "EXT-5.4-06", "EXT-5.4-04" },
    needs = { memory = "write atomic", extensions = true },
    run = function(t)
      local conn = t:session {}
      local cells = atomics.cells(t, conn, { 7 }, { remote = "write atomic" })
      conn:hold(function()
        conn:send(write { to = cells, payload = atomics.octets(t, 0x4142434445464748) })
        conn:send(atomic_request { target = cells, add_swap = 1, request_id = 2 })
      end)
      nothing_yet(t, conn, cells, 18)
      conn:release()
      conn:expect(atomic_response { request_id = 2, value = 0x4142434445464748 })
      atomics.expect(t, cells, 0x4142434445464749)
    end,
  },

  -- ---- messages that may overtake an answer: they have to come through in any case ----

  each(followers, function(one)
    return both_roles {
      id = "ext-order-" .. one.name,
      purpose = one.text .. ", before or after the atomic's answer",
      rules = one.rules,
      level = "must",
      needs = { memory = "atomic", extensions = true },
      run = function(t)
        local conn = t:session {}
        local cells = atomics.cells(t, conn, { 7 })
        local posted = t:receive { length = 16 }
        conn:together(function()
          conn:send(atomic_request { target = cells, add_swap = 1, request_id = 2 })
          one.stimulus(conn)
        end)
        conn:expect(atomic_response { request_id = 2, value = 7 })
        t:completion(posted, one.fields)
        atomics.expect(t, cells, 8)
      end,
    }
  end),

  both_roles {
    id = "ext-order-read-then-immediate",
    purpose = "Immediate Data after a Read is delivered, before or after the Read's answer",
    rules = { "EXT-7-01" },
    level = "must",
    needs = { memory = "read", extensions = true },
    run = function(t)
      local conn = t:session {}
      local buf = t:memory { length = 20000, remote = "read", fill = "count" }
      local posted = t:receive { length = 16 }
      conn:together(function()
        conn:send(read_request { source = buf, size = 20000, sink_stag = 5, sink_to = 1 })
        conn:send(immediate { payload = "8 octets" })
      end)
      conn:expect(read_response { stag = 5, to = 1, payload = bytes(20000) })
      t:completion(posted, { immediate = "8 octets" })
    end,
  },

  both_roles {
    id = "ext-order-atomic-then-write",
    purpose = "A Write after an atomic is placed, before or after the atomic's answer",
    rules = { "EXT-7-04", "EXT-5.4-05" },
    level = "must",
    needs = { memory = "write atomic", extensions = true },
    run = function(t)
      local conn = t:session {}
      local cells = atomics.cells(t, conn, { 7, 0 }, { remote = "write atomic" })
      conn:together(function()
        conn:send(atomic_request { target = cells, add_swap = 1, request_id = 2 })
        conn:send(write { to = cells, offset = 8, payload = bytes(8, 0xee) })
      end)
      conn:expect(atomic_response { request_id = 2, value = 7 })
      conn:fence()
      t:expect_contents(cells, atomics.octets(t, 8) .. bytes(8, 0xee))
    end,
  },

  both_roles {
    id = "ext-order-send-then-atomic",
    purpose = "The target delivers the Send and the Immediate Data before an atomic before it answers the atomic",
    rules = { "EXT-5.4-06", "EXT-6.4-01" },
    level = "must",
    needs = { memory = "atomic", extensions = true },
    run = function(t)
      local conn = t:session {}
      local cells = atomics.cells(t, conn, { 7 })
      local one, two = t:receive { length = 16 }, t:receive { length = 16 }
      conn:together(function()
        conn:send(send { payload = "in front" })
        conn:send(immediate_se { payload = "as well." })
        conn:send(atomic_request { target = cells, add_swap = 1, request_id = 2 })
      end)
      conn:expect(atomic_response { request_id = 2, value = 7 })
      -- Both have completed already.
      t:completion(one, { length = 8 }, { within = 1 })
      t:completion(two, { immediate = "as well.", solicited = true }, { within = 1 })
    end,
  },
}
