-- SPDX-License-Identifier: BSD-3-Clause

-- Two Reads of the target outstanding into one buffer: only the TO distinguishes their responses. A stack that keeps its
-- Reads by STag alone takes one's octets for the other's. OP-66: to compare a response with its request is only a MAY;
-- but no Read may complete with octets that never came, and octets must land where their TO says.

local LENGTH, FIRST, SECOND, SIZE, HALF = 256, 32, 160, 64, 32
local ONE, TWO = bytes(SIZE, 0x11), bytes(SIZE, 0x22)

-- Returns the buffer, the target's two pieces of work, and its Read Requests.
local function read_twice(t, conn)
  local memory = t:memory { length = LENGTH, fill = 0x5a }
  local handles, asked = {}, {}
  for i, offset in ipairs { FIRST, SECOND } do
    handles[i] = t:post { op = "read", memory = memory, offset = offset, length = SIZE, stag = 0x11223344, to = 0x1000 * i }
  end
  for i = 1, 2 do asked[i] = conn:expect(read_request { size = SIZE, source_stag = 0x11223344, source_to = 0x1000 * i }) end
  if asked[1].sink_stag ~= asked[2].sink_stag then t:skip("the target gives each Read an STag of its own") end
  t:check(asked[2].sink_to - asked[1].sink_to == SECOND - FIRST,
    "the target's Sink TOs are not as far apart as the places in the buffer",
    { rule = "RDMAP-5.2.1-07", expected = tostring(SECOND - FIRST), actual = tostring(asked[2].sink_to - asked[1].sink_to) })
  return memory, handles, asked
end

local function answer(conn, asked, payload, fields)
  fields = fields or {}
  return conn:send(read_response { stag = asked.sink_stag, to = asked.sink_to + (fields.shift or 0), payload = payload, l = fields.l,
                                   broken = fields.comment ~= nil, comment = fields.comment })
end

-- which: the Read that must not complete. place: of the octets that must not change.
local wrong = {
  { name = "swapped", text = "gets the second one's response first", stimulus = function(conn, asked)
    answer(conn, asked[2], TWO, { comment = "the first Read has no answer yet" })
  end, which = 1, place = FIRST },
  { name = "amid", text = "gets the second one's octets amid the first one's response", stimulus = function(conn, asked)
    answer(conn, asked[1], ONE:sub(1, HALF), { l = false })
    answer(conn, asked[2], TWO:sub(1, HALF), { comment = "the first Read lacks its second half" })
  end, which = 1, place = FIRST + HALF },
  { name = "over", text = "gets the second one's response in the first one's place", stimulus = function(conn, asked)
    answer(conn, asked[1], ONE)
    answer(conn, asked[1], TWO, { comment = "the first Read is complete" })
  end, which = 2, place = SECOND },
}

return family {
  both_roles {
    id = "rdmap-reads-one-sink-in-order",
    purpose = "The target's own Reads into two places of one buffer, outstanding together, each get their own octets",
    rules = { "RDMAP-5.2.2-06", "RDMAP-5.2.1-07", "DDP-5.2-05", "RDMAP-5.2.2-05" },
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local memory, handles, asked = read_twice(t, conn)
      answer(conn, asked[1], ONE:sub(1, HALF), { l = false })
      answer(conn, asked[1], ONE:sub(HALF + 1), { shift = HALF })
      t:completion(handles[1], { length = SIZE })
      t:expect_no_completion(handles[2])
      t:expect_contents(memory, ONE, { offset = FIRST })
      answer(conn, asked[2], TWO)
      t:completion(handles[2], { length = SIZE })
      t:expect_contents(memory, TWO, { offset = SECOND })
      conn:fence()
    end,
  },

  each(wrong, function(one)
    return both_roles {
      id = "rdmap-reads-one-sink-" .. one.name,
      purpose = ("Of two Reads into one buffer a target that %s completes none whose octets never came"):format(one.text),
      rules = { "RDMAP-5.2.2-07", "RDMAP-5.2.2-04", "RDMAP-4.4-03" },
      needs = { agent = true },
      run = function(t)
        local conn = t:session {}
        conn:sanity()
        local memory, handles, asked = read_twice(t, conn)
        conn:together(function()
          one.stimulus(conn, asked)
          conn:send(read_request { size = 0, sink_stag = 7, sink_to = 7 })
        end)
        local item = conn:expect(terminate { rdmap = "protection" }, terminate {}, closed(),
          read_response { stag = 7, to = 7, payload = "" }, { rule = "RDMAP-5.2.1-12" })
        if item.op == "read-response" then t:observe("answer", "taken") end
        local held = t:read(memory, one.place, HALF)
        t:check(held == bytes(HALF, 0x5a), "the target placed octets where the station sent none",
          { rule = "DDP-5.2-05", how = "misplaced", expected = show(bytes(HALF, 0x5a), 16), actual = show(held, 16) })
        t:observe("second-placed", t:read(memory, SECOND, HALF) == TWO:sub(1, HALF))
        t:expect_unchanged(memory, { except = { FIRST, SECOND + SIZE - FIRST }, rule = "DDP-5.2-05" })
        t:expect_no_completion(handles[one.which], { rule = "RDMAP-5.2.2-04" })
      end,
    }
  end),

  -- RFC 5041 §5.3 does not let a sender mix the segments of two messages; a target that takes them has to place them right.
  both_roles {
    id = "rdmap-reads-one-sink-interleaved",
    purpose = "The target refuses interleaved responses to two Reads into one buffer, or places each octet right",
    rules = { "RDMAP-5.2.2-04", "DDP-5.2-05", "RDMAP-4.4-03" },
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local memory, handles, asked = read_twice(t, conn)
      conn:together(function()
        answer(conn, asked[1], ONE:sub(1, HALF), { l = false })
        answer(conn, asked[2], TWO:sub(1, HALF), { l = false, comment = "the first response has not ended" })
        answer(conn, asked[1], ONE:sub(HALF + 1), { shift = HALF, comment = "the second response has begun" })
        answer(conn, asked[2], TWO:sub(HALF + 1), { shift = HALF, comment = "the second response goes on" })
        conn:send(read_request { size = 0, sink_stag = 7, sink_to = 7 })
      end)
      local item = conn:expect(terminate { rdmap = "protection" }, terminate {}, closed(),
        read_response { stag = 7, to = 7, payload = "" }, { silent = "RDMAP-5.2.1-12" })
      if item.op == "read-response" then
        t:observe("answer", "taken")
        for _, handle in ipairs(handles) do t:completion(handle, { length = SIZE }) end
        t:expect_contents(memory, ONE, { offset = FIRST })
        t:expect_contents(memory, TWO, { offset = SECOND })
      else
        -- After a refusal, segments that came before may lie where their TO says.
        t:observe("second-placed", t:read(memory, SECOND, HALF) == TWO:sub(1, HALF))
        local held = t:read(memory, FIRST + HALF, HALF)
        t:check(held == bytes(HALF, 0x5a) or held == ONE:sub(HALF + 1), "the target placed octets where the station sent none",
          { rule = "DDP-5.2-05", how = "misplaced", expected = show(bytes(HALF, 0x5a), 16), actual = show(held, 16) })
        t:expect_unchanged(memory, { except = { FIRST, SECOND + SIZE - FIRST }, rule = "DDP-5.2-05" })
        for _, handle in ipairs(handles) do t:expect_no_completion(handle, { rule = "DDP-7.1-19" }) end
      end
    end,
  },
}
