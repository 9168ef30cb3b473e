-- SPDX-License-Identifier: BSD-3-Clause

-- The form of the target's Terminates, by class of error (RFC 5040 §4.8 and its figure 10); nothing
-- may follow one.

local seen = use "seen"

local HEADERS = { "RDMAP-4.8-05", "RDMAP-4.8-04", "RDMAP-4.8-06", "RDMAP-4.8-09", "RDMAP-4.8-10", "RDMAP-4.8-11", "RDMAP-4.8-13",
  "RDMAP-4.8-14", "RDMAP-4.8-03", "RDMAP-4.8-07", "RDMAP-5.4-02", "RDMAP-6.2.1-01", "RDMAP-6.2.1-04", "RDMAP-7-03", "DDP-6.2.2-03",
  "DDP-7.1-20", "DDP-3-13", "DDP-6.2.2-04" }

-- The form of every Terminate: on queue 2 with MSN 1, one segment, nothing reserved set, no octet
-- after its fields.
local function form(t, item)
  local first = item.segments[1]
  local good = #item.segments == 1 and first.qn == 2 and first.msn == 1 and first.mo == 0 and not first.t
  t:check(first.l or not good, "the target's message does not end: no segment has L=1",
    { rule = "DDP-4.1-03", how = "unfinished", expected = "L=1", actual = item.text, item = item })
  t:check(good, "the target's Terminate is not on queue 2 with MSN 1 and MO 0, or in several segments",
    { rule = "RDMAP-5.4-02", expected = "qn 2 msn 1 mo 0", actual = item.text, item = item })
  t:check(item.reserved == 0, "the target set reserved bits in its Terminate", { rule = "RDMAP-4.8-07", item = item })
  t:check((item.trailing or 0) == 0, "the target sent octets after the Terminate header",
    { rule = "RDMAP-4.8-01", how = "longer", item = item })
  t:check(first.invalidate == 0, "the target's Terminate has an Invalidate STag field that is not zero",
    { rule = "RDMAP-4.1-11", item = item })
end

-- Checks that it names the segment at fault.
local function about(t, item, sent, returns_request)
  t:check(item.m and item.d, "the target's Terminate lacks length and DDP header of the segment at fault",
    { rule = "RDMAP-4.8-05", how = "headers", expected = "M and D set", actual = item.text, item = item })
  t:check(item.segment_length == #sent.ulpdu,
    "the target's Terminate does not hold the ULPDU_Length of the segment at fault (OP-48)",
    { rule = "RDMAP-4.8-04", how = "another length", expected = tostring(#sent.ulpdu), actual = tostring(item.segment_length), item = item })
  local length = 6 + (sent.t and 14 or 18)
  t:check(item.payload:sub(7, length) == sent.ulpdu:sub(1, length - 6),
    "the target's Terminate holds another DDP header than that of the segment at fault",
    { rule = "RDMAP-4.8-11", how = "another segment", expected = show(sent.ulpdu:sub(1, length - 6)), actual = show(item.payload:sub(7, length)), item = item })
  if returns_request == true then
    t:check(item.r, "the target's Terminate lacks the header of the Read Request at fault",
      { rule = "RDMAP-4.8-06", expected = "R set", actual = item.text, item = item })
  elseif returns_request == false then
    t:check(not item.r, "the target returned an RDMAP header for a message that has none",
      { rule = "RDMAP-4.8-14", item = item })
  end
  if item.r then
    t:check(item.payload:sub(length + 1) == sent.ulpdu:sub(19, 46),
      "the target's Terminate holds another Read Request than the one at fault",
      { rule = "RDMAP-4.8-13", expected = show(sent.ulpdu:sub(19, 46)), actual = show(item.payload:sub(length + 1)), item = item })
  else
    t:check(#item.payload == length, "the target's Terminate is longer or shorter than its flags say",
      { rule = "RDMAP-4.8-01", item = item })
  end
end

local function nothing(t, item, rule)
  t:check(not (item.m or item.d or item.r), "the target returned headers for an error that no segment caused",
    { rule = rule, how = "headers", expected = "no M, D, R", actual = item.text, item = item })
  t:check(item.payload:sub(5):gsub("%z", "") == "", "the target's Terminate has invalid fields that are not zero",
    { rule = "RDMAP-4.8-01", item = item })
end

-- returns_request: whether the Terminate holds a Read Request; nil: either way.
local classes = {
  { name = "ddp-tagged", text = "a DDP error on a tagged segment", fault = fault.invalid_stag, returns_request = false,
    stimulus = function(_, conn)
    return conn:send(write { stag = 0x5bad57a6, to = 0x123456789abcdef0, payload = bytes(13, 0xee), l = false })
  end },
  { name = "ddp-untagged", text = "a DDP error on an untagged segment", fault = fault.invalid_queue, returns_request = false,
    stimulus = function(_, conn)
    return conn:send(send { qn = 77, payload = bytes(9, 0xee) })
  end },
  { name = "ddp-later-segment", text = "a DDP error on a later segment", needs = { agent = true }, fault = fault.too_long,
    returns_request = false, stimulus = function(t, conn)
    t:receive { length = 16 }
    return conn:send(send { payload = bytes(17, 0xee) }, { segments = { 8, 9 } }).segments[2]
  end },
  { name = "read-protection", text = "a protection error on a Read Request", fault = fault.rdmap_invalid_stag,
    returns_request = true, stimulus = function(_, conn)
    return conn:send(read_request { size = 77, source_stag = 0x5bad57a6, source_to = 0x1122, sink_stag = 0x99aabbcc, sink_to = 0x3344 })
  end },
  { name = "read-msn", text = "a DDP error on a Read Request", fault = fault.invalid_msn, stimulus = function(_, conn)
    return conn:send(read_request { size = 0, msn = 500, sink_stag = 0x99aabbcc })
  end },
  { name = "read-version", text = "an operation error on a Read Request", fault = fault.rdmap_version, stimulus = function(_, conn)
    return conn:send(read_request { size = 0, rv = 2, sink_stag = 0x99aabbcc })
  end },
  { name = "operation-tagged", text = "an operation error on a Write", fault = fault.rdmap_version, returns_request = false,
    stimulus = function(_, conn)
    return conn:send(write { rv = 2, stag = 0x11223344, to = 0x55667788 })
  end },
  { name = "operation-untagged", text = "an operation error on a Send", needs = { agent = true }, fault = fault.rdmap_version,
    returns_request = false, stimulus = function(t, conn)
    t:receive { length = 16 }
    return conn:send(send { rv = 2, payload = bytes(16, 0xee) })
  end },
  { name = "invalidate", text = "a protection error on a Send with Invalidate", needs = { agent = true },
    fault = fault.invalidate_invalid_stag, stimulus = function(t, conn)
    t:receive { length = 16 }
    return conn:send(send_invalidate { invalidate = 0x5bad57a6, payload = bytes(16, 0xee) })
  end },
}

return family {
  each(classes, function(class)
    return both_roles {
      id = "rdmap-terminate-" .. class.name,
      purpose = ("The target's Terminate about %s has the right headers, and nothing follows it"):format(class.text),
      rules = { class.returns_request and "RDMAP-7.1-04" or "RDMAP-7.1-03", "RDMAP-5.4-08", "RDMAP-5.4-01", "DDP-7.1-18", table.unpack(HEADERS) },
      needs = class.needs,
      run = function(t)
        local conn = t:session {}
        conn:sanity()
        local sent = class.stimulus(t, conn)
        local item = conn:expect_terminate { class.fault, of = sent }
        form(t, item)
        about(t, item, sent, class.returns_request)
        -- The target must not answer these, nor send a second Terminate.
        local last = seen.over(conn)
        t:check(last.kind ~= "message", "the target sent something after its Terminate",
          { rule = "RDMAP-5.4-08", item = last })
      end,
    }
  end),

  both_roles {
    id = "rdmap-terminate-llp",
    purpose = "The target's Terminate about a bad CRC has no headers, and nothing follows it",
    rules = { "RDMAP-5.4-08", "RDMAP-4.8-01", "RDMAP-4.8-05" },
    needs = { crc = "on" },
    run = function(t)
      local conn = t:session { crc = true }
      conn:sanity()
      conn:send(send { payload = bytes(8) }, { crc = "bad" })
      -- MPA may drop the segment instead (RFC 5044 §8).
      local item = conn:expect(fault.crc, { dropped = true, rule = "MPA-4.4-17" })
      if not item then return end
      form(t, item)
      nothing(t, item, "RDMAP-4.8-05")
      seen.over(conn)
    end,
  },

  both_roles {
    id = "rdmap-terminate-by-user",
    purpose = "A Terminate that the target's user asks for has no headers, and nothing follows it",
    rules = { "RDMAP-7.1-02", "RDMAP-4.8-12", "RDMAP-5.4-08" },
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local posted = t:receive { length = 16 }
      t:target_close(conn, "terminate")
      local item = conn:expect_terminate { fault.own_error }
      form(t, item)
      nothing(t, item, "RDMAP-7.1-02")
      seen.over(conn)
      t:completion(posted, { status = "flushed" }, { rule = "RDMAP-5.4-10" })
    end,
  },

  both_roles {
    id = "rdmap-terminate-first-error",
    purpose = "The target reports the first of two errors that come together, and only that",
    rules = { "RDMAP-7.1-05", "RDMAP-5.4-08", "DDP-7.1-19" },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local sent
      conn:together(function()
        sent = conn:send(send { qn = 77, payload = bytes(8) })
        conn:send(write { rv = 2 })
        conn:send(read_request { size = 8, source_stag = 0x5bad57a6 })
      end)
      conn:expect_terminate { fault.invalid_queue, of = sent }
      seen.over(conn)
    end,
  },

  both_roles {
    id = "rdmap-terminate-after-responses",
    purpose = "The target sends Read Responses under way whole, or cuts them short for good, before its Terminate",
    rules = { "RDMAP-5.4-08", "DDP-5.3-01", "RDMAP-7.1-06" },
    needs = { memory = "read" },
    run = function(t)
      local buf = t:memory { length = 1000, remote = "read", fill = "count" }
      local conn = t:session { target = { mulpdu = 128 } }
      conn:sanity()
      conn:together(function()
        for i = 1, 4 do conn:send(read_request { source = buf, size = 1000, sink_stag = 5, sink_to = i }) end
        conn:send(send { qn = 77, payload = bytes(8) })
      end)
      local item
      for i = 1, 5 do
        item = conn:expect(fault.invalid_queue, read_response { stag = 5, to = i, payload = bytes(1000) }, closed(), { silent = "DDP-7.1-01" })
        if item.op ~= "read-response" then break end
      end
      t:check(item.op == "terminate", "the target sent no Terminate after the responses",
        { rule = "RDMAP-7.1-03", how = item.kind ~= "message" and "closed" or nil, expected = "terminate", actual = item.text, item = item })
      seen.over(conn)
    end,
  },
}
