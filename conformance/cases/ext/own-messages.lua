-- SPDX-License-Identifier: BSD-3-Clause

-- The messages of RFC 7306 that the target sends when its own user asks for them. The observer checks
-- all of them, too.

local ONES = 0xffffffffffffffff

-- The MSN of the target's next message on these queues: its first FPDU may have used one up.
local function next_msn(conn, op) return conn.first and conn.first.op == op and 2 or 1 end

-- A connection on which a responder may send, too.
local function opened(t, options)
  local conn = t:session(options)
  conn:sanity()
  return conn
end

local function check_octets(t, item, wanted)
  t:same_octets(item.ulpdu, wanted, "the target's message has other octets than expected", { item = item })
end

local function answer(conn, asked, value)
  return conn:send(atomic_response { request_id = asked.request_id, value = value })
end

local requests = {
  { name = "fetch-add", fields = { add_swap = 1 }, code = 0, operands = { 1, 0, 0, ONES } },
  { name = "fetch-add-masked", fields = { op = "fetch-add", add_swap = ONES, add_swap_mask = 0x8080808080808080 }, code = 0,
    operands = { ONES, 0x8080808080808080, 0, ONES } },
  { name = "cmp-swap", fields = { add_swap = 0x0102030405060708, compare = 0xfedcba9876543210 }, code = 2,
    operands = { 0x0102030405060708, ONES, 0xfedcba9876543210, ONES } },
  { name = "cmp-swap-masked", code = 2,
    fields = { op = "cmp-swap", add_swap = 2, add_swap_mask = 0x8000000000000001, compare = 3, compare_mask = 0xf00000000000000f },
    operands = { 2, 0x8000000000000001, 3, 0xf00000000000000f } },
}

return family {
  -- ---- octets ----

  each({
    { op = "immediate", make = immediate, opcode = "48" }, { op = "immediate-se", make = immediate_se, opcode = "49" },
  }, function(one)
    return both_roles {
      id = "ext-target-" .. one.op,
      purpose = ("The target's own %s has the 8 octets that its user gave, on queue 0"):format(one.op),
      rules = { "EXT-6.3-06", "EXT-6.3-01", "EXT-6.3-02", "EXT-6.3-05", "EXT-4.1-01", "EXT-4.1-02", "EXT-4.1-03", "EXT-4.1-05" },
      needs = { agent = true, extensions = true },
      run = function(t)
        local conn = opened(t)
        for i, data in ipairs { hex "0102030405060708", hex "ff80000000000001", bytes(8, 0) } do
          local work = t:post { op = one.op, immediate = data }
          local item = conn:expect(one.make {})
          check_octets(t, item, hex("41" .. one.opcode .. "00000000 00000000")
            .. pack(">I4I4", next_msn(conn, "send") + i - 1, 0) .. data)
          t:completion(work)
        end
      end,
    }
  end),

  each(requests, function(one)
    return both_roles {
      id = "ext-target-" .. one.name,
      purpose = ("The target's own %s has the 52 octets of RFC 7306, on queue 1, and completes with the value of the answer"):format(one.name),
      rules = { one.code == 0 and "EXT-5.2.1-07" or "EXT-5.1.2-02", "EXT-5.2.1-01", "EXT-5.2.1-06", "EXT-5.2.1-09", "EXT-5.2.1-10", "EXT-5.2.1-15",
                "EXT-5.2.1-16", "EXT-5.1.1-01", "EXT-5.1.1-08", "EXT-4.1-01", "EXT-4.1-02", "EXT-4.1-03", "EXT-4.1-05", "EXT-5.2.2-07", "EXT-5-05" },
      level = "must",
      needs = { agent = true, extensions = true },
      run = function(t)
        local conn = opened(t)
        for i, value in ipairs { 0x0102030405060708, 0x8000000000000001, ONES, 0 } do
          local post = { op = one.name, stag = 0xfedcba98, to = 0xfffffffffffff000 }
          for field, given in pairs(one.fields) do post[field] = given end
          local handle = t:post(post)
          local item = conn:expect(atomic_request {})
          check_octets(t, item, hex "414a 00000000 00000001" .. pack(">I4I4", next_msn(conn, "read-request") + i - 1, 0)
            .. pack(">I4", one.code) .. item.ulpdu:sub(23, 26) .. hex "fedcba98 fffffffffffff000"
            .. pack(">i8i8i8i8", table.unpack(one.operands)))
          answer(conn, item, value)
          t:completion(handle, { original = value })
        end
        conn:fence()
      end,
    }
  end),

  -- ---- order and numbers ----

  both_roles {
    id = "ext-target-queues",
    purpose = "The target's own messages leave in order; Reads and atomics share one sequence of MSNs, Sends and Immediates another",
    rules = { "EXT-5.2-01", "EXT-5.2.1-17", "EXT-6.3-05", "EXT-6.3-07", "EXT-5.2.1-15" },
    needs = { agent = true, extensions = true },
    run = function(t)
      local conn = opened(t)
      local sends, reads = next_msn(conn, "send"), next_msn(conn, "read-request")
      local memory = t:memory { length = 8 }
      for i = 0, 2 do
        t:post { op = "immediate", immediate = bytes(8, i) }
        local adding = t:post { op = "fetch-add", stag = 9, to = 8 * i, add_swap = i }
        t:post { op = "send", payload = bytes(6, i) }
        local reading = t:post { op = "read", memory = memory, length = 7, stag = 9, to = i }
        t:post { op = "immediate-se", immediate = bytes(8, 0xff - i) }
        local swapping = t:post { op = "cmp-swap", stag = 9, to = 8 * i, add_swap = i }
        conn:expect(immediate { qn = 0, msn = sends + 3 * i, mo = 0, payload = bytes(8, i) })
        local first = conn:expect(atomic_request { qn = 1, msn = reads + 3 * i, mo = 0, atomic = 0, remote_to = 8 * i, add_swap = i })
        conn:expect(send { msn = sends + 3 * i + 1, payload = bytes(6, i) })
        local second = conn:expect(read_request { msn = reads + 3 * i + 1, size = 7, source_to = i })
        conn:expect(immediate_se { qn = 0, msn = sends + 3 * i + 2, payload = bytes(8, 0xff - i) })
        local third = conn:expect(atomic_request { msn = reads + 3 * i + 2, atomic = 2, remote_to = 8 * i, add_swap = i })
        answer(conn, first, 100 + i)
        conn:send(read_response { stag = second.sink_stag, to = second.sink_to, payload = bytes(7, i) })
        answer(conn, third, 200 + i)
        t:completion(adding, { original = 100 + i })
        t:completion(reading, { length = 7 })
        t:completion(swapping, { original = 200 + i })
        t:expect_contents(memory, bytes(7, i))
      end
    end,
  },

  -- A response belongs to the request whose turn it is (RFC 7306 §5).
  both_roles {
    id = "ext-target-atomics-outstanding",
    purpose = "The target's own atomics, outstanding together and answered late, complete in order, each with its own value",
    rules = { "EXT-5-06", "EXT-5.2.2-06", "EXT-5.2.2-01", "EXT-5.2.2-07" },
    level = "must",
    needs = { agent = true, extensions = true },
    run = function(t)
      local conn = opened(t)
      local handles, asked = {}, {}
      local count = math.min(conn:state().peer and conn:state().peer.ord or 8, 8)
      for i = 1, count do handles[i] = t:post { op = i % 2 == 0 and "cmp-swap" or "fetch-add", stag = i, to = 8 * i } end
      for i = 1, count do asked[i] = conn:expect(atomic_request { remote_stag = i, remote_to = 8 * i }) end
      conn:fence()
      for i = 1, count do t:expect_no_completion(handles[i], { rule = "EXT-5.4-08" }) end
      conn:together(function()
        for i = 1, count do answer(conn, asked[i], 0xfffffffffffffff0 + i) end
      end)
      for i = 1, count do
        t:event("completion", conn, { work = handles[i].work, status = "ok", original = ("0x%x"):format(0xfffffffffffffff0 + i) })
      end
    end,
  },

  -- Both the station's IRD and the target's own ORD bind it.
  each({
    { name = "peer-ird", options = { ird = 1, target = { enhanced = true, revision = 2 } }, whose = "the IRD of its peer" },
    { name = "own-ord", options = { target = { ord = 1 } }, whose = "its own ORD" },
  }, function(one)
    local name, options, whose = one.name, one.options, one.whose
    return both_roles {
      id = "ext-target-atomics-" .. name,
      purpose = ("The target keeps its outstanding Reads and atomics within %s, which is 1"):format(whose),
      rules = { "EXT-5.2-01", "EXT-5.2.1-17", "RDMAP-6.1-04" },
      needs = { agent = true, extensions = true, ird = 1 },
      run = function(t)
        local conn = t:session(options)
        conn:fence()
        local memory = t:memory { length = 8 }
        local works = {
          t:post { op = "fetch-add", stag = 1, to = 8 }, t:post { op = "read", memory = memory, length = 8, stag = 2, to = 16 },
          t:post { op = "cmp-swap", stag = 3, to = 24 }, t:post { op = "fetch-add", stag = 4, to = 32 },
        }
        for i, work in ipairs(works) do
          local asked = conn:expect(i == 2 and read_request { source_stag = 2 } or atomic_request { remote_stag = i })
          conn:fence() -- the next one does not come before the answer to this one
          if i == 2 then
            conn:send(read_response { stag = asked.sink_stag, to = asked.sink_to, payload = bytes(8) })
            t:completion(work, { length = 8 })
          else
            answer(conn, asked, 1000 + i)
            t:completion(work, { original = 1000 + i })
          end
        end
      end,
    }
  end),

  both_roles {
    id = "ext-target-atomic-fence",
    purpose = "Fenced Immediate Data after an atomic leaves when the atomic has its answer",
    rules = { "EXT-6.3-07", "EXT-5.4-08", "EXT-7-02" },
    level = "must",
    needs = { agent = true, extensions = true },
    run = function(t)
      local conn = opened(t)
      local adding = t:post { op = "fetch-add", stag = 1, to = 8 }
      local sending = t:post { op = "immediate", immediate = "8 octets", fence = true }
      local asked = conn:expect(atomic_request {})
      conn:fence()
      answer(conn, asked, 77)
      conn:expect(immediate { payload = "8 octets" })
      t:completion(adding, { original = 77 })
      t:completion(sending)
    end,
  },

  -- ---- the end ----

  -- RFC 7306 §8.1: the Terminate for an error that no segment of the peer caused holds no header.
  both_roles {
    id = "ext-target-terminate-own-error",
    purpose = "A Terminate for a local error with an atomic and Immediate Data under way holds no headers; the work is flushed",
    rules = { "EXT-8.1-01" },
    needs = { agent = true, extensions = true },
    run = function(t)
      local conn = opened(t)
      local adding = t:post { op = "fetch-add", stag = 1, to = 8 }
      local sending = t:post { op = "immediate", immediate = "8 octets", fence = true }
      conn:expect(atomic_request {})
      t:target_close(conn, "terminate")
      conn:expect_terminate { terminate { rdmap = "catastrophic", m = false, d = false, r = false } }
      t:completion(adding, { status = "flushed" })
      t:completion(sending, { status = "flushed" })
    end,
  },
}
