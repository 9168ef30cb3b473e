-- SPDX-License-Identifier: BSD-3-Clause

-- The target reads, and the station answers with something else than it asked for. Field bug: a stack
-- wrote more octets than it asked for past the end of the buffer (siw, CVE-2026-64268). OP-66: to
-- compare a response with its request is only a MAY; but a target must not write outside of what is
-- open, nor complete a Read with octets that never came.

-- Has the target read `size` octets into this buffer; returns the handle and the Read Request.
local function read_into(t, conn, memory, offset, size)
  local handle = t:post { op = "read", memory = memory, offset = offset, length = size, stag = 0x11223344, to = 0x5000 }
  local asked = conn:expect(read_request { size = size, source_stag = 0x11223344, source_to = 0x5000 })
  return handle, asked
end

local function answer(conn, asked, fields, bend)
  return conn:send(read_response {
    stag = fields.stag or asked.sink_stag, to = asked.sink_to + (fields.shift or 0), payload = fields.payload,
    l = fields.l, broken = true, comment = fields.comment,
  }, bend)
end

-- The buffer is just the 64 octets that are read into.
local beyond = {
  { name = "one-octet-more", text = "one octet more than the Read asked for", stimulus = function(conn, asked)
    answer(conn, asked, { payload = bytes(65, 0xee), comment = "65 octets for 64" })
  end },
  { name = "twice-the-size", text = "twice the octets that the Read asked for", stimulus = function(conn, asked)
    answer(conn, asked, { payload = bytes(128, 0xee), comment = "128 octets for 64" })
  end },
  { name = "one-segment-more", text = "a segment more than the Read asked for", stimulus = function(conn, asked)
    answer(conn, asked, { payload = bytes(72, 0xee), comment = "72 octets for 64" }, { segments = { 32, 32, 8 } })
  end },
  { name = "segment-after-last", text = "another segment after the one with L=1", stimulus = function(conn, asked)
    answer(conn, asked, { payload = bytes(64, 0xee) })
    answer(conn, asked, { shift = 64, payload = bytes(8, 0xee), comment = "the response was complete" })
  end, completes = true },
  { name = "shifted", text = "octets that begin 8 after the Sink TO", stimulus = function(conn, asked)
    answer(conn, asked, { shift = 8, payload = bytes(64, 0xee), comment = "8 octets off" })
  end },
  { name = "in-front", text = "octets that begin 8 before the Sink TO", stimulus = function(conn, asked)
    answer(conn, asked, { shift = -8, payload = bytes(64, 0xee), comment = "8 octets off" })
  end },
  { name = "4-gib-above", text = "octets 4 GiB above the Sink TO", stimulus = function(conn, asked)
    answer(conn, asked, { shift = 0x100000000, payload = bytes(64, 0xee), comment = "4 GiB off" })
  end },
  { name = "unknown-stag", text = "an STag that is not valid", stimulus = function(conn, asked)
    answer(conn, asked, { stag = 0x5bad57a6, payload = bytes(64, 0xee), comment = "another STag" })
  end },
}

local within = {
  { name = "one-octet-more", text = "one octet more than the Read asked for", fields = { payload = bytes(65, 0xee) } },
  { name = "twice-the-size", text = "twice the octets that the Read asked for", fields = { payload = bytes(128, 0xee) } },
  { name = "short", text = "one octet less than the Read asked for", fields = { payload = bytes(63, 0xee) } },
  { name = "empty", text = "no octet at all", fields = { payload = "" } },
  { name = "shifted", text = "octets that begin 8 after the Sink TO", fields = { shift = 8, payload = bytes(64, 0xee) } },
}

-- Whoever does not refuse a response answers the good Read Request after it.
local SERVED = "RDMAP-5.2.1-12"

return family {
  -- ---- beyond the buffer: DDP has to refuse it, whatever RDMAP looks at ----

  each(beyond, function(one)
    local both = one.name == "one-octet-more" or one.name == "one-segment-more"
    return (both and both_roles or case) {
      id = "rdmap-response-beyond-" .. one.name,
      purpose = ("A Read Response with %s ends the stream and changes nothing beside the buffer"):format(one.text),
      rules = { "DDP-8.3.1-04", "RDMAP-8.1.1-03", "DDP-7.1-13", "DDP-7.1-10", "RDMAP-5.2.2-07", "RDMAP-5.2.1-12",
                "RDMAP-4.4-02", "RDMAP-4.4-03", "RDMAP-7.2-01" },
      role = not both and "responder" or nil,
      needs = { agent = true },
      tags = { "field" },
      run = function(t)
        local conn = t:session {}
        conn:sanity()
        local memory = t:memory { length = 64 }
        local handle, asked = read_into(t, conn, memory, 0, 64)
        one.stimulus(conn, asked)
        conn:expect(terminate { rdmap = "protection" }, terminate { ddp = "tagged" }, terminate {}, closed())
        if not one.completes then t:expect_no_completion(handle) end
        t:expect_unchanged(memory, { except = { 0, 64 } })
      end,
    }
  end),

  -- ---- within a larger buffer: to look is a MAY ----

  each(within, function(one)
    return case {
      id = "rdmap-response-within-" .. one.name,
      purpose = ("The target may refuse a Read Response with %s, inside a larger buffer"):format(one.text),
      rules = { "RDMAP-5.2.2-07", "RDMAP-5.2.1-12", "RDMAP-4.4-03", "RDMAP-5.2.2-04" },
      role = "responder",
      needs = { agent = true },
      run = function(t)
        local conn = t:connect {}
        conn:sanity()
        local memory = t:memory { length = 512, fill = 0x5a }
        local _, asked = read_into(t, conn, memory, 128, 64)
        one.fields.comment = one.text
        answer(conn, asked, one.fields)
        conn:send(read_request { size = 0, sink_stag = 7, sink_to = 7 })
        local item = conn:expect(terminate { rdmap = "protection" }, terminate {}, closed(),
          read_response { stag = 7, to = 7, payload = "" }, { rule = SERVED })
        if item.op == "read-response" then t:observe("answer", "taken") end
        t:observe("placed", t:read(memory, 128, 128) ~= bytes(128, 0x5a))
        t:expect_unchanged(memory, { except = { 128, 128 }, rule = "DDP-5.2-05" })
      end,
    }
  end),

  case {
    id = "rdmap-response-for-another-buffer",
    purpose = "The target refuses a Read Response that names another buffer, not open to the peer, and changes no octet",
    rules = { "DDP-7.1-11", "RDMAP-4.4-02", "RDMAP-5.2.2-07", "RDMAP-5.2.2-08" },
    level = "may",
    role = "responder",
    needs = { agent = true },
    run = function(t)
      local conn = t:connect {}
      conn:sanity()
      local memory, other = t:memory { length = 64, to = 0x10000 }, t:memory { length = 64, to = 0x10000 }
      local handle, asked = read_into(t, conn, memory, 0, 64)
      answer(conn, { sink_stag = other.stag, sink_to = other.to }, { payload = bytes(64, 0xee), comment = "another buffer" })
      conn:expect(terminate { rdmap = "protection" }, terminate { ddp = "tagged" }, terminate {}, closed())
      t:expect_no_completion(handle, { rule = "RDMAP-5.2.2-04" })
      t:observe("placed", t:read(other) ~= t:read(memory))
    end,
  },

  case {
    id = "rdmap-responses-swapped",
    purpose = "The response to the second of two Reads must not complete the first",
    rules = { "RDMAP-5.2.2-07", "RDMAP-4.4-02", "RDMAP-4.4-03" },
    role = "responder",
    needs = { agent = true },
    run = function(t)
      local conn = t:connect {}
      conn:sanity()
      local one, two = t:memory { length = 64 }, t:memory { length = 64 }
      local first = read_into(t, conn, one, 0, 64)
      local _, second = read_into(t, conn, two, 0, 64)
      answer(conn, second, { payload = bytes(64, 0xee), comment = "the first Read has no answer yet" })
      conn:send(read_request { size = 0, sink_stag = 7, sink_to = 7 })
      local item = conn:expect(terminate { rdmap = "protection" }, terminate {}, closed(),
        read_response { stag = 7, to = 7, payload = "" }, { rule = SERVED })
      if item.op == "read-response" then t:observe("answer", "taken") end
      t:expect_no_completion(first, { rule = "RDMAP-5.2.2-04" })
      t:expect_unchanged(one, { rule = "DDP-5.2-05" })
    end,
  },

  -- ---- unsolicited ----

  both_roles {
    id = "rdmap-response-unsolicited-empty",
    purpose = "A zero-length Read Response that nobody asked for ends the stream",
    rules = { "RDMAP-5.2.2-04", "RDMAP-5.2-01", "RDMAP-5.2.2-07" },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local sent = conn:send(read_response { stag = 0, to = 0, broken = true, comment = "no Read was asked for" })
      conn:expect_terminate { fault.unasked_response, terminate { rdmap = "protection" }, terminate { rdmap = "operation" }, of = sent }
    end,
  },

  both_roles {
    id = "rdmap-response-unsolicited-unknown-stag",
    purpose = "A Read Response that nobody asked for, with an invalid STag, ends the stream",
    rules = { "DDP-7.1-10", "RDMAP-5.2.2-04" },
    run = function(t)
      local conn = t:session {}
      local sent = conn:send(read_response { stag = 0x5bad57a6, to = 0x1000, payload = bytes(8, 0xee), broken = true,
                                             comment = "no Read was asked for" })
      conn:expect_terminate { fault.unasked_response, fault.invalid_stag, terminate { rdmap = "protection" }, of = sent }
    end,
  },

  each({ "none", "read", "write" }, function(remote)
    return case {
      id = "rdmap-response-unsolicited-buffer-" .. remote,
      purpose = ("A Read Response that nobody asked for, to a buffer with remote access %s, ends the stream"):format(remote),
      -- It does no harm to a buffer that the peer may write to.
      rules = remote == "write" and { "RDMAP-5.2.2-04", "RDMAP-5.2-01" } or { "DDP-7.1-11", "RDMAP-5.2.2-04" },
      role = "responder",
      needs = { agent = true },
      run = function(t)
        local buf = t:memory { length = 16, remote = remote ~= "none" and remote or nil }
        local conn = t:connect {}
        conn:sanity()
        local sent = conn:send(read_response { to = buf, payload = bytes(16, 0xee), broken = true, comment = "no Read was asked for" })
        conn:expect_terminate { fault.unasked_response, terminate { ddp = "tagged" }, terminate { rdmap = "protection" }, of = sent }
        if remote ~= "write" then t:expect_unchanged(buf) end
      end,
    }
  end),

  both_roles {
    id = "rdmap-response-twice",
    purpose = "A Read Response that comes a second time ends the stream or changes nothing",
    rules = { "RDMAP-5.2.2-04", "RDMAP-5.2-01", "DDP-5.3-07" },
    needs = { agent = true },
    tags = { "field" },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local memory = t:memory { length = 64 }
      local handle, asked = read_into(t, conn, memory, 0, 64)
      answer(conn, asked, { payload = bytes(64) })
      t:completion(handle, { length = 64 })
      t:expect_contents(memory, bytes(64))
      answer(conn, asked, { payload = bytes(64, 0xee), comment = "the Read is complete" })
      conn:expect_terminate { fault.unasked_response, terminate { rdmap = "protection" }, terminate { ddp = "tagged" } }
      t:expect_unchanged(memory, { rule = "RDMAP-5.2.2-04" })
    end,
  },
}
