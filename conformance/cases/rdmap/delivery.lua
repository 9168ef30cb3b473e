-- SPDX-License-Identifier: BSD-3-Clause

-- What the target delivers to its user, and when.

-- The target does not only answer a wrong message, but reports it to its user.
local seen = use "seen"
local code_of = use("message").code_of

local faults = {
  { name = "write", rule = "RDMAP-5.1-09", text = "Write", fault = fault.invalid_stag, stimulus = function(conn)
    return conn:send(write { stag = 0x5bad57a6, to = 0, payload = "\xee" })
  end },
  { name = "send", rule = "RDMAP-5.3-07", text = "Send", fault = fault.no_buffer,
    stimulus = function(conn) return conn:send(send { payload = "\xee" }) end },
  { name = "read-request", rule = "RDMAP-5.2.1-05", text = "Read Request", fault = fault.rdmap_invalid_stag, stimulus = function(conn)
    return conn:send(read_request { size = 1, source_stag = 0x5bad57a6 })
  end },
  { name = "read-response", rule = "RDMAP-5.2.2-04", text = "Read Response", fault = fault.unasked_response,
    stimulus = function(conn) return conn:send(read_response { broken = true }) end },
}

return family {
  both_roles {
    id = "rdmap-write-not-delivered",
    purpose = "Valid Writes and Read Requests are not delivered: they leave the posted buffer to the Send after them",
    rules = { "RDMAP-5.1-02", "RDMAP-5.2.1-04" },
    needs = { memory = "read write" },
    run = function(t)
      local buf = t:memory { length = 64, remote = "read write" }
      local conn = t:session {}
      local posted = t:receive { length = 64 }
      conn:send(write { to = buf, payload = bytes(64, 0xee) })
      conn:read(buf)
      conn:fence()
      t:expect_no_completion(posted)
      t:expect_unchanged(posted.memory)
      conn:send(send { payload = bytes(10) })
      t:completion(posted, { length = 10 })
      t:expect_contents(posted.memory, bytes(10))
    end,
  },

  both_roles {
    id = "rdmap-write-then-send",
    purpose = "The target places all Writes before a Send before it delivers the Send",
    rules = { "DDP-4.1-07", "DDP-4.1-08", "DDP-5.4-01", "RDMAP-5.1-06", "RDMAP-5.5-05" },
    needs = { memory = "write" },
    run = function(t)
      local buf = t:memory { length = 30000, remote = "write" }
      local conn = t:session {}
      for i = 1, 2 do
        local posted = t:receive { length = 8 }
        conn:together(function()
          for at = 0, 20000, 10000 do conn:send(write { to = buf, offset = at, payload = bytes(10000, i) }, { segments = 999 }) end
          conn:send(send { payload = "written" })
        end)
        t:completion(posted, { length = 7 })
        t:expect_contents(buf, bytes(30000, i))
      end
    end,
  },

  each(faults, function(one)
    return both_roles {
      id = "rdmap-surfaced-" .. one.name,
      purpose = ("The target also reports an invalid %s to its user"):format(one.text),
      rules = { one.rule, "DDP-6.2.2-01", "RDMAP-7.1-01" },
      needs = { agent = true },
      run = function(t)
        local conn = t:session {}
        conn:sanity()
        one.stimulus(conn)
        conn:expect_terminate { one.fault, terminate {} }
        t:event("fault", conn)
      end,
    }
  end),

  -- RFC 5041 §4.3: a sink may take RsvdULP from any segment.
  case {
    id = "rdmap-send-opcode-differs",
    purpose = "The target may deliver a Send whose second segment says Send with SE",
    rules = { "DDP-4.3-05" },
    role = "responder",
    needs = { agent = true },
    run = function(t)
      local conn = t:connect {}
      local posted = t:receive { length = 16 }
      conn:send(send { payload = bytes(8), l = false, broken = true })
      conn:send(send_se { payload = bytes(8), broken = true, comment = "the first segment was of a Send" })
      conn:send(read_request { size = 0, sink_stag = 7, sink_to = 7 })
      local item = conn:expect(read_response { stag = 7, to = 7, payload = "" }, terminate {}, closed(), { rule = "RDMAP-5.2.1-12" })
      if item.op == "read-response" then
        local event = t:completion(posted, { length = 16 }, { rule = "RDMAP-5.5-05" })
        t:observe("delivered", event.solicited and "as Send with SE" or "as Send")
      end
    end,
  },

  -- RFC 5041 §4.2: all segments of a tagged message have one RsvdULP, and there is no leave to take it from any one of them.
  each({
    { name = "response", opcode = 0x2, text = "is one of a Read Response", fault = fault.unasked_response },
    { name = "unassigned", opcode = 0xf, text = "has an opcode that is not assigned", fault = fault.opcode },
  }, function(one)
    return case {
      id = "rdmap-write-opcode-becomes-" .. one.name,
      purpose = ("A Write whose second segment %s ends the stream"):format(one.text),
      rules = { "RDMAP-7.2-02", "DDP-4.2-04" },
      level = "should",
      role = "responder",
      needs = { memory = "write" },
      run = function(t)
        local buf = t:memory { length = 16, remote = "write" }
        local conn = t:connect {}
        conn:sanity()
        conn:send(write { to = buf, payload = bytes(8, 0xee), l = false, broken = true })
        conn:send(write { to = buf, offset = 8, payload = bytes(8, 0xee), opcode = one.opcode, broken = true,
                          comment = "the first segment was of a Write" })
        -- Whoever just closes has found the difference or the opcode.
        conn:expect(one.fault, terminate { ddp = "tagged" }, { closed = "RDMAP-7.1-03" })
        seen.placed(t, buf)
      end,
    }
  end),

  -- A receiver ignores reserved bits, and does not even compare them between segments.
  case {
    id = "rdmap-write-rsv-differs",
    purpose = "The target places a Write whose second segment alone has reserved bits set",
    rules = { "RDMAP-4.1-10", "DDP-4.2-04" },
    role = "responder",
    needs = { memory = "write" },
    run = function(t)
      local buf = t:memory { length = 16, remote = "write" }
      local conn = t:connect {}
      for _, rsv in ipairs { 1, 2, 3 } do
        conn:send(write { to = buf, payload = bytes(8, rsv), l = false })
        conn:send(write { to = buf, offset = 8, payload = bytes(8, 16 + rsv), rsv = rsv, broken = false,
                          comment = "the first segment had no reserved bit set" })
        conn:fence()
        t:expect_contents(buf, bytes(8, rsv) .. bytes(8, 16 + rsv))
      end
    end,
  },

  -- RFC 5041 §4.2 binds the sender; each segment names a valid place, and a sink need not compare.
  case {
    id = "rdmap-write-stag-differs",
    purpose = "The target may place a Write whose second segment names another buffer, segment by segment",
    rules = { "DDP-4.2-08", "DDP-4.2-05" },
    level = "may",
    role = "responder",
    needs = { memory = "write" },
    run = function(t)
      local one, two = t:memory { length = 8, remote = "write" }, t:memory { length = 8, remote = "write" }
      local conn = t:connect {}
      conn:send(write { to = one, payload = bytes(8), l = false, broken = true })
      conn:send(write { to = two, payload = bytes(8, 8), broken = true, comment = "the first segment named another buffer" })
      conn:send(read_request { size = 0, sink_stag = 7, sink_to = 7 })
      local item = conn:expect(read_response { stag = 7, to = 7, payload = "" }, terminate {}, closed(), { rule = "RDMAP-5.2.1-12" })
      t:observe("answer", item.op or item.kind)
      if item.op ~= "read-response" then
        t:expect_unchanged(two)
      else
        t:expect_contents(one, bytes(8), { rule = "DDP-5.2-05" })
        t:expect_contents(two, bytes(8, 8), { rule = "DDP-5.2-05" })
      end
    end,
  },

  -- RFC 5040 §4.8: the Read Request comes back with the part left. The response is far more than
  -- TCP takes while nobody reads, so that it is under way when its source is revoked.
  case {
    id = "rdmap-read-revoked-under-way",
    purpose = "A Read whose source is revoked during the response ends the stream, and the Terminate states the part left",
    rules = { "RDMAP-4.8-15", "RDMAP-8.1.1-06" },
    role = "responder",
    needs = { memory = "read" },
    run = function(t)
      local size = 11 << 20 -- less than the station's limit for one message
      local source = t:agent("register", { length = size, access = { "remote-read" }, fill = 0x5a })
      local conn = t:connect {}
      conn:together(function()
        conn:send(read_request { size = 0, sink_stag = 7, sink_to = 7 })
        conn:send(read_request { size = size, source_stag = source.stag, source_to = math.tointeger(tonumber(source.to)),
                                 sink_stag = 0x01020304, sink_to = 0x1000, comment = "its source is revoked under way" })
      end)
      conn:expect(read_response { stag = 7, to = 7, payload = "" })
      t:agent("invalidate", { mem = source.mem })
      local item = conn:next()
      t:check(item and item.kind == "message", "the target sent neither the rest of the response nor a Terminate",
        { rule = "RDMAP-7.2-09", expected = "terminate " .. fault.rdmap_revoked_stag:codes(), actual = item and item.text or "nothing", item = item })
      local sent = 0
      if item.op == "read-response" then
        sent = #item.payload
        if item.l and sent == size then
          t:note("the target had sent the whole response before it revoked the source")
          return
        end
        item = conn:next()
      end
      t:check(item and item.op == "terminate", "the target ended the response early, but not with a Terminate",
        { rule = "RDMAP-7.2-09", expected = "terminate " .. fault.rdmap_revoked_stag:codes(), actual = item and item.text or "nothing", item = item })
      t:check(fault.rdmap_revoked_stag:has(code_of(item)), "the target sent another Terminate than expected",
        { expected = fault.rdmap_revoked_stag:codes(), actual = show(item.payload, 4), item = item })
      t:check(item.m and item.d and item.r and #item.payload >= 52, "the target's Terminate lacks headers of the Read Request",
        { rule = "RDMAP-4.8-05", how = "headers", expected = "M, D, R and 52 octets", actual = item.text, item = item })
      local _, _, _, sink_stag, sink_to, left, source_stag, source_to = unpack(">I4I2c18I4I8I4I4I8", item.payload)
      local from = math.tointeger(tonumber(source.to))
      t:check(left == size - sent and sink_to == 0x1000 + sent and source_to == from + sent and sink_stag == 0x01020304
        and source_stag == source.stag, "the Read Request in the target's Terminate does not state the part left", {
          expected = ("sink to %x, %d octets"):format(0x1000 + sent, size - sent),
          actual = ("sink to %x, %d octets"):format(sink_to, left), item = item })
      conn.terminated = true
    end,
  },
}
