-- SPDX-License-Identifier: BSD-3-Clause

-- Segments of more than 16 KiB that must not be placed, without CRCs and Markers. A receiver may place such payload before
-- all of it has come: by then it must have checked everything in the header. The header and a little payload come first,
-- and the target has its turn before the rest comes.
-- RFC 5044 §3 (OP-10): a receiver need not handle a ULPDU above its MULPDU. On a connection whose MULPDU is smaller it may end
-- the stream for the length alone, with any Terminate or none; it must not place such a segment there either.

local LENGTH, HALF, FIRST = 40000, 20000, 120

local function session(t)
  local config
  if t:takes("crc") then
    config = { crc = false, markers = false }
    if t.case.role == "initiator" then config.peer_to_peer, config.enhanced, config.revision = true, true, 2 end
  end
  local conn = t:session { crc = false, target = config }
  local state = conn:state()
  if state.crc or state.markers then t:skip("the target's start-up frame asks for CRCs or Markers") end
  conn:sanity()
  return conn
end

-- Whether the target has to handle FPDUs with this many octets of payload. 18: the longer of the two DDP headers.
local function handles(conn, payload)
  local state = conn:state()
  return mulpdu(state.mss, false) >= payload + 18
end

-- True if the target took the message; false if it refused it, as it may where the FPDUs are above its MULPDU.
local function taken(t, conn)
  if handles(conn, LENGTH) then
    conn:fence()
    return true
  end
  conn:send(read_request { size = 0, sink_stag = 1, sink_to = 2 })
  local item = conn:expect(read_response { stag = 1, to = 2, payload = "" }, terminate {}, closed())
  t:observe("long", item.op or item.kind)
  return item.op == "read-response"
end

-- The target refuses `sent` with one of the Terminates of the set, or for its length.
local function refused(conn, set, payload)
  if handles(conn, payload or LENGTH) then return conn:expect_terminate(set) end
  conn:expect(set, terminate {}, closed())
end

-- Sends a message in FPDUs of these sizes, the beginning of the first one well ahead of the rest.
local function send_slowly(t, conn, message, sizes)
  local sent
  conn:hold(function() sent = conn:send(message, { segments = sizes or { LENGTH } }) end)
  conn:release(FIRST)
  for _ = 1, 2 do t:agent("hello") end
  conn:release()
  return sent
end

local function long(fields)
  fields.needs = { agent = true, memory = fields.memory, crc = "off", markers = "off" }
  fields.memory = nil
  return both_roles(fields)
end

local TOTAL = { "DDP-7.1-17", "DDP-8.3.1-04", "DDP-7.2-01", "RDMAP-7.2-01" }
local function rules(first)
  local all = { first }
  for _, rule in ipairs(TOTAL) do all[#all + 1] = rule end
  return all
end

-- rights: the buffer's. key: bits of the STag that differ.
local writes = {
  { name = "past-end", rule = "DDP-7.1-13", fault = fault.out_of_bounds, text = "runs one octet past the end of its buffer",
    rights = "write", offset = 1, key = 0 },
  { name = "in-front", rule = "DDP-7.1-12", fault = fault.out_of_bounds, text = "begins one octet before its buffer",
    rights = "write", offset = -1, key = 0 },
  { name = "at-end", rule = "DDP-7.1-12", fault = fault.out_of_bounds, text = "begins just after its buffer", rights = "write",
    offset = LENGTH, key = 0 },
  { name = "4-gib-above", rule = "DDP-7.1-12", fault = fault.out_of_bounds, text = "is right in the low 32 bits of its TO only",
    rights = "write", offset = 0x100000000, key = 0 },
  { name = "stag-key", rule = "DDP-7.1-10", fault = fault.invalid_stag, text = "has an STag that differs in its last octet",
    rights = "write", offset = 0, key = 0xff },
  { name = "stag-dead", rule = "DDP-7.1-10", fault = fault.invalid_stag, text = "has an STag that was invalidated",
    rights = "write", offset = 0, key = 0, invalidated = true },
  { name = "access", rule = "DDP-7.1-11", fault = fault.no_write_access, text = "names a buffer that may be read only",
    rights = "read", offset = 0, key = 0 },
}

-- The sink is exactly as large as the Read, so that DDP has to refuse what the request does not cover. size: octets asked for.
-- shift: from the Sink TO. key: bits of the STag that differ.
local responses = {
  { name = "past-end", text = "has an octet more than the Read asked for", size = LENGTH - 1, shift = 0, key = 0 },
  { name = "shifted", text = "begins one octet after the Sink TO", size = LENGTH, shift = 1, key = 0 },
  { name = "in-front", text = "begins one octet before the Sink TO", size = LENGTH, shift = -1, key = 0 },
  { name = "4-gib-above", text = "is right in the low 32 bits of its TO only", size = LENGTH, shift = 0x100000000, key = 0 },
  { name = "stag-key", text = "has an STag that differs in its last octet", size = LENGTH, shift = 0, key = 0xff },
}

-- room: octets of the receive. step: added to the MSN.
local sends = {
  { name = "too-long", rule = "DDP-7.1-08", fault = fault.too_long, text = "is one octet longer than its buffer",
    room = LENGTH - 1, mo = 0, step = 0 },
  { name = "mo-shifted", rule = "DDP-7.1-08", fault = fault.runs_past_buffer,
    text = "has an MO of 1 and would run past the end of its buffer", room = LENGTH, mo = 1, step = 0 },
  { name = "mo-at-end", rule = "DDP-7.1-07", fault = fault.invalid_mo, text = "has an MO just after its buffer", room = LENGTH,
    mo = LENGTH, step = 0 },
  { name = "mo-wrap", rule = "DDP-7.1-07", fault = fault.invalid_mo,
    text = "has an MO just below 2^32, and wraps into its buffer", room = LENGTH, mo = 0xffffff00, step = 0 },
  { name = "msn", rule = "DDP-7.1-09", fault = fault.invalid_msn, text = "has an MSN for which no buffer is posted",
    room = LENGTH, mo = 0, step = 1 },
}

return family {
  -- ---- correct messages, so that the rest means something ----

  long {
    id = "ddp-long-write",
    purpose = "A Write of 40000 octets in one FPDU that fills its buffer is placed whole, and nothing beside it",
    rules = { "DDP-5.2-05", "DDP-8.3.1-04" },
    memory = "write",
    run = function(t)
      local buf = t:memory { length = LENGTH, remote = "write" }
      local conn = session(t)
      send_slowly(t, conn, write { to = buf, payload = bytes(LENGTH) })
      if taken(t, conn) then
        t:expect_contents(buf, bytes(LENGTH))
      else
        t:expect_unchanged(buf, { except = { 0, LENGTH } })
      end
    end,
  },

  long {
    id = "ddp-long-response",
    purpose = "A Read Response of 40000 octets in one FPDU that fills the sink is placed whole, and nothing beside it",
    rules = { "DDP-5.2-05", "DDP-8.3.1-04" },
    run = function(t)
      local conn = session(t)
      local memory = t:memory { length = LENGTH }
      local handle = t:post { op = "read", memory = memory, length = LENGTH, stag = 0x11223344, to = 0x5000 }
      local asked = conn:expect(read_request { size = LENGTH })
      send_slowly(t, conn, read_response { stag = asked.sink_stag, to = asked.sink_to, payload = bytes(LENGTH) })
      if taken(t, conn) then
        t:completion(handle, { length = LENGTH })
        t:expect_contents(memory, bytes(LENGTH))
      else
        t:expect_no_completion(handle)
        t:expect_unchanged(memory, { except = { 0, LENGTH } })
      end
    end,
  },

  long {
    id = "ddp-long-send",
    purpose = "A Send of 40000 octets in one FPDU that fills its buffer is delivered whole, and nothing beside it changes",
    rules = { "DDP-5.2-05", "RDMAP-5.3-03" },
    run = function(t)
      local conn = session(t)
      local posted = t:receive { length = LENGTH }
      send_slowly(t, conn, send { payload = bytes(LENGTH) })
      if taken(t, conn) then
        t:completion(posted, { length = LENGTH })
        t:expect_contents(posted.memory, bytes(LENGTH))
      else
        t:expect_no_completion(posted)
        t:expect_unchanged(posted.memory, { except = { 0, LENGTH } })
      end
    end,
  },

  -- ---- Writes ----

  each(writes, function(one)
    return long {
      id = "ddp-long-write-" .. one.name,
      purpose = ("A Write of 40000 octets in one FPDU that %s ends the stream and changes no octet"):format(one.text),
      rules = rules(one.rule),
      memory = one.rights,
      run = function(t)
        local buf = t:memory { length = LENGTH, remote = one.rights }
        local conn = session(t)
        if one.invalidated then t:invalidate(buf) end
        local sent = send_slowly(t, conn, write { stag = buf.stag ~ one.key, to = buf.to + one.offset, payload = bytes(LENGTH, 0xee),
                                                  broken = true, comment = "it " .. one.text })
        refused(conn, { one.fault, of = sent })
        t:expect_unchanged(buf)
      end,
    }
  end),

  long {
    id = "ddp-long-write-second-segment",
    purpose = "The target places nothing of the second of two FPDUs of 20000 octets when it runs past the end of the buffer",
    rules = rules("DDP-7.1-13"),
    memory = "write",
    run = function(t)
      local buf = t:memory { length = LENGTH - 1, remote = "write" }
      local conn = session(t)
      local sent = send_slowly(t, conn, write { to = buf, payload = bytes(LENGTH, 0xee), broken = true,
                                                comment = "the second segment is an octet too long" }, { HALF, HALF })
      refused(conn, { fault.out_of_bounds, of = sent.segments[2] }, HALF)
      t:expect_unchanged(buf, { except = { 0, HALF } })
    end,
  },

  -- ---- Read Responses ----

  each(responses, function(one)
    return long {
      id = "ddp-long-response-" .. one.name,
      purpose = ("A Read Response of 40000 octets in one FPDU that %s ends the stream and changes no octet"):format(one.text),
      rules = rules(one.key ~= 0 and "DDP-7.1-10" or one.name == "past-end" and "DDP-7.1-13" or "DDP-8.3.1-04"),
      run = function(t)
        local conn = session(t)
        local memory = t:memory { length = one.size }
        local handle = t:post { op = "read", memory = memory, length = one.size, stag = 0x11223344, to = 0x5000 }
        local asked = conn:expect(read_request { size = one.size })
        local sent = send_slowly(t, conn, read_response { stag = asked.sink_stag ~ one.key, to = asked.sink_to + one.shift,
                                                          payload = bytes(LENGTH, 0xee), broken = true, comment = "it " .. one.text })
        refused(conn, { terminate { rdmap = "protection" }, terminate { ddp = "tagged" }, of = sent })
        t:expect_no_completion(handle)
        t:expect_unchanged(memory)
      end,
    }
  end),

  long {
    id = "ddp-long-response-unsolicited",
    purpose = "A Read Response of 40000 octets that nobody asked for ends the stream and changes no octet",
    rules = rules("DDP-7.1-11"),
    memory = "read",
    run = function(t)
      local buf = t:memory { length = LENGTH, remote = "read" }
      local conn = session(t)
      local sent = send_slowly(t, conn, read_response { stag = buf.stag, to = buf.to, payload = bytes(LENGTH, 0xee), broken = true,
                                                        comment = "no Read was asked for" })
      refused(conn, { fault.unasked_response, terminate { ddp = "tagged" }, terminate { rdmap = "protection" }, of = sent })
      t:expect_unchanged(buf)
    end,
  },

  -- ---- Sends ----

  each(sends, function(one)
    return long {
      id = "ddp-long-send-" .. one.name,
      purpose = ("A Send of 40000 octets in one FPDU that %s ends the stream and changes no octet beside the buffer"):format(one.text),
      rules = { one.rule, "DDP-7.1-17", "RDMAP-5.3-04", "RDMAP-7.2-01" },
      run = function(t)
        local conn = session(t)
        local posted = t:receive { length = one.room }
        local sent = send_slowly(t, conn, send { mo = one.mo, msn = one.step > 0 and 1 + one.step or nil, payload = bytes(LENGTH, 0xee),
                                                 broken = true, comment = "it " .. one.text })
        refused(conn, { one.fault, of = sent })
        t:expect_no_completion(posted)
        t:expect_unchanged(posted.memory)
      end,
    }
  end),
}
