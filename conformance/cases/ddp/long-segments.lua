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
  local all = {}
  for i, one in ipairs(set) do all[i] = type(one) == "string" and terminate(one) or one end
  all[#all + 1], all[#all + 2] = terminate {}, closed()
  conn:expect(table.unpack(all))
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

local bounds, dead, access = { "1/1/01" }, { "1/1/00", "1/1/02" }, { "1/1/00", "1/1/02", "0/1/02" }

-- name, rule, codes, text, the buffer's rights, offset in the buffer, bits of the STag that differ, invalidate it before
local writes = {
  { "past-end", "DDP-7.1-13", bounds, "runs one octet past the end of its buffer", "write", 1, 0 },
  { "in-front", "DDP-7.1-12", bounds, "begins one octet before its buffer", "write", -1, 0 },
  { "at-end", "DDP-7.1-12", bounds, "begins just after its buffer", "write", LENGTH, 0 },
  { "4-gib-above", "DDP-7.1-12", bounds, "is right in the low 32 bits of its TO only", "write", 0x100000000, 0 },
  { "stag-key", "DDP-7.1-10", dead, "has an STag that differs in its last octet", "write", 0, 0xff },
  { "stag-dead", "DDP-7.1-10", dead, "has an STag that was invalidated", "write", 0, 0, true },
  { "access", "DDP-7.1-11", access, "names a buffer that may be read only", "read", 0, 0 },
}

-- The sink is exactly as large as the Read, so that DDP has to refuse what the request does not cover. name, text, octets
-- asked for, offset from the Sink TO, bits of the STag that differ
local responses = {
  { "past-end", "has an octet more than the Read asked for", LENGTH - 1, 0, 0 },
  { "shifted", "begins one octet after the Sink TO", LENGTH, 1, 0 },
  { "in-front", "begins one octet before the Sink TO", LENGTH, -1, 0 },
  { "4-gib-above", "is right in the low 32 bits of its TO only", LENGTH, 0x100000000, 0 },
  { "stag-key", "has an STag that differs in its last octet", LENGTH, 0, 0xff },
}

-- name, rule, codes, text, octets of the receive, MO, number added to the MSN
local sends = {
  { "too-long", "DDP-7.1-08", { "1/2/05" }, "is one octet longer than its buffer", LENGTH - 1, 0, 0 },
  { "mo-shifted", "DDP-7.1-08", { "1/2/05", "1/2/04" }, "has an MO of 1 and would run past the end of its buffer", LENGTH, 1, 0 },
  { "mo-at-end", "DDP-7.1-07", { "1/2/04", "1/2/05" }, "has an MO just after its buffer", LENGTH, LENGTH, 0 },
  { "mo-wrap", "DDP-7.1-07", { "1/2/04", "1/2/05" }, "has an MO just below 2^32, and wraps into its buffer", LENGTH, 0xffffff00, 0 },
  { "msn", "DDP-7.1-09", { "1/2/03", "1/2/02" }, "has an MSN for which no buffer is posted", LENGTH, 0, 1 },
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
    local name, rule, codes, text, rights, offset, key, invalidated = table.unpack(one, 1, 8)
    return long {
      id = "ddp-long-write-" .. name,
      purpose = ("A Write of 40000 octets in one FPDU that %s ends the stream and changes no octet"):format(text),
      rules = rules(rule),
      memory = rights,
      run = function(t)
        local buf = t:memory { length = LENGTH, remote = rights }
        local conn = session(t)
        if invalidated then t:invalidate(buf) end
        local sent = send_slowly(t, conn, write { stag = buf.stag ~ key, to = buf.to + offset, payload = bytes(LENGTH, 0xee),
                                                  broken = true, comment = "it " .. text })
        refused(conn, { codes[1], codes[2], codes[3], of = sent })
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
      refused(conn, { "1/1/01", of = sent.segments[2] }, HALF)
      t:expect_unchanged(buf, { except = { 0, HALF } })
    end,
  },

  -- ---- Read Responses ----

  each(responses, function(one)
    local name, text, size, shift, key = table.unpack(one)
    return long {
      id = "ddp-long-response-" .. name,
      purpose = ("A Read Response of 40000 octets in one FPDU that %s ends the stream and changes no octet"):format(text),
      rules = rules(key ~= 0 and "DDP-7.1-10" or name == "past-end" and "DDP-7.1-13" or "DDP-8.3.1-04"),
      run = function(t)
        local conn = session(t)
        local memory = t:memory { length = size }
        local handle = t:post { op = "read", memory = memory, length = size, stag = 0x11223344, to = 0x5000 }
        local asked = conn:expect(read_request { size = size })
        local sent = send_slowly(t, conn, read_response { stag = asked.sink_stag ~ key, to = asked.sink_to + shift,
                                                          payload = bytes(LENGTH, 0xee), broken = true, comment = "it " .. text })
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
      refused(conn, { "0/2/06", terminate { ddp = "tagged" }, terminate { rdmap = "protection" }, of = sent })
      t:expect_unchanged(buf)
    end,
  },

  -- ---- Sends ----

  each(sends, function(one)
    local name, rule, codes, text, room, mo, step = table.unpack(one)
    return long {
      id = "ddp-long-send-" .. name,
      purpose = ("A Send of 40000 octets in one FPDU that %s ends the stream and changes no octet beside the buffer"):format(text),
      rules = { rule, "DDP-7.1-17", "RDMAP-5.3-04", "RDMAP-7.2-01" },
      run = function(t)
        local conn = session(t)
        local posted = t:receive { length = room }
        local sent = send_slowly(t, conn, send { mo = mo, msn = step > 0 and 1 + step or nil, payload = bytes(LENGTH, 0xee),
                                                 broken = true, comment = "it " .. text })
        refused(conn, { codes[1], codes[2], of = sent })
        t:expect_no_completion(posted)
        t:expect_unchanged(posted.memory)
      end,
    }
  end),
}
