-- SPDX-License-Identifier: BSD-3-Clause

-- Octets of FPDUs that real stacks got wrong: the CRC field, Markers, the Read Request, MSNs. What the
-- target sends is checked against RFC 5044 §4 by the observer in every case.

local known_bug = use "known_bug"
local mpa = use "mpa"

-- A session with these M and C of the target; skips if the target cannot have them.
local function session(t, crc, to_target, to_station)
  local target = { crc = crc, markers = to_target }
  if t.case.role == "initiator" then target.peer_to_peer, target.enhanced, target.revision = true, true, 2 end
  local conn = t:session { crc = crc, markers = to_station, target = target }
  local state = conn:state()
  if state.markers ~= to_target or state.peer.crc ~= crc then t:skip("the target's start-up frame has another M or C") end
  return conn
end

-- Octets go both ways, over several Markers in each direction that has them.
local function both_ways(t, conn)
  local buf = t:memory { length = 3000, remote = "read write" }
  for i, segment in ipairs { 1400, 333 } do
    conn:send(write { to = buf, payload = bytes(3000, i) }, { segments = segment })
    conn:expect_read(buf, bytes(3000, i))
  end
  t:post { op = "send", payload = bytes(1500) }
  conn:expect(send { payload = bytes(1500) })
  conn:fence()
end

-- The pointer of the Marker inside, written the wrong way. OP-13: a receiver need not look at it while
-- octets come in order.
local pointers = {
  { name = "in-host-order", text = "the octets of FPDUPTR swapped",
    wrong = function(pointer) return pointer >> 8 | (pointer & 0xff) << 8 end },
  { name = "counts-from-marker", text = "FPDUPTR counted from the Marker before", wrong = function(pointer) return pointer + 4 end },
}

return family {
  -- ---- CRC ----

  known_bug {
    id = "bug-crc-field-left-out",
    purpose = "Without CRCs the field stays: FPDUs of the target and FPDUs sent to it have its four octets",
    rules = { "MPA-4.1-07", "MPA-4.4-10" },
    needs = { read = true, crc = "off" },
    run = function(t)
      local conn = session(t, false, false, false)
      conn:sanity()
      for _, crc in ipairs { 0, 0xffffffff, 0x01020304 } do
        local before = conn:state().received
        conn:send(write {}, { crc = crc })
        conn:send(read_request { size = 0, sink_stag = 1, sink_to = crc })
        conn:expect(read_response { stag = 1, to = crc, payload = "" })
        local octets = conn:state().received - before
        t:check(octets == 20, "the target's zero-length Read Response is not 2 + 14 + 4 octets",
          { expected = "20", actual = tostring(octets) })
      end
      conn:fence()
    end,
  },

  -- Every octet of an FPDU except ULPDU_Length, which would make it another FPDU.
  known_bug {
    id = "bug-crc-not-checked",
    purpose = "One wrong bit in any octet of an FPDU, its pad and its CRC is found, and the FPDU has no effect",
    rules = { "MPA-4.4-17", "MPA-8-02", "MPA-7.1.1-09" },
    needs = { memory = "write", crc = "on", reconnect = true },
    run = function(t)
      local buf = t:memory { length = 16, remote = "write" }
      for at = 2, 35 do -- 2 + 14 + 13 + 3 + 4
        local conn = t:session { crc = true }
        conn:sanity()
        local frame = mpa.fpdu(conn, conn:encode(write { to = buf, payload = bytes(13, 0xee) })[1].ulpdu)
        local place = at < 32 and frame.at(at) or frame.crc + at - 32
        conn:write(mpa.flip(frame.octets, place, 1 << at % 8), { comment = ("a bit of octet %d is wrong"):format(place) })
        mpa.expect_crc_fault(conn)
      end
      t:expect_unchanged(buf)
    end,
  },

  known_bug {
    id = "bug-crc-not-computed",
    purpose = "Different FPDUs of the target have different, correct CRCs",
    rules = { "MPA-7.1.1-08", "MPA-4.4-11", "MPA-4.4-12", "DDP-3-07" },
    needs = { memory = "read", crc = "on" },
    run = function(t)
      local buf = t:memory { length = 64, remote = "read", fill = "count" }
      local conn = t:session { crc = true }
      for size = 0, 64 do
        conn:send(read_request { source = buf, size = size, sink_stag = 1, sink_to = size })
        local item = conn:expect(read_response { stag = 1, to = size, payload = bytes(size) })
        for _, segment in ipairs(item.segments) do
          t:check(segment.crc_good, "the target sent an FPDU with a wrong CRC", { item = item })
        end
      end
    end,
  },

  known_bug {
    id = "bug-placed-before-crc-check",
    purpose = "No octet of an FPDU with a wrong CRC is placed, whether the FPDU is long or short",
    rules = { "MPA-4.4-17", "MPA-8-02" },
    needs = { memory = "write", crc = "on", reconnect = true },
    run = function(t)
      for _, size in ipairs { 1, 16, 1400, 60000 } do
        local buf = t:memory { length = size, remote = "write" }
        local conn = t:session { crc = true }
        local posted = t:receive { length = size }
        conn:sanity()
        conn:send(write { to = buf, payload = bytes(size, 0xee) }, { segments = size, crc = "bad", writes = 20000 })
        mpa.expect_crc_fault(conn)
        t:expect_unchanged(buf)
        conn = t:session { crc = true }
        local other = t:receive { length = size }
        conn:sanity()
        conn:send(send { payload = bytes(size, 0xee) }, { segments = size, crc = "bad", writes = 20000 })
        mpa.expect_crc_fault(conn)
        t:expect_no_completion(other)
        t:expect_unchanged(other.memory)
        t:expect_unchanged(posted.memory)
      end
    end,
  },

  -- ---- Markers ----

  each({ false, true }, { false, true }, function(to_target, to_station)
    local name = to_target and (to_station and "both-ask" or "target-asks") or to_station and "station-asks" or "none-asks"
    return known_bug {
      id = "bug-markers-taken-as-symmetric-" .. name,
      purpose = ("Markers go where M asked for them: toward the target %s, toward the station %s"):format(
        to_target and "yes" or "no", to_station and "yes" or "no"),
      rules = { to_station and "MPA-7.1.1-06" or "MPA-7.1.1-05", "MPA-4.3-01" },
      needs = { memory = "read write", markers = to_target and "on" or "off" },
      run = function(t) both_ways(t, session(t, true, to_target, to_station)) end,
    }
  end),

  each({ true, false }, function(crc)
    return known_bug {
      id = "bug-markers-refused-" .. (crc and "with-crc" or "without-crc"),
      purpose = ("Markers both ways %s CRCs: no FPDU is refused"):format(crc and "with" or "without"),
      rules = { "MPA-4.4-16", "MPA-4.3-14", "MPA-4.3-02" },
      needs = { memory = "read write", markers = "on", crc = crc and "on" or "off" },
      run = function(t) both_ways(t, session(t, crc, true, true)) end,
    }
  end),

  each(pointers, function(one)
    return known_bug {
      id = "bug-fpduptr-" .. one.name,
      purpose = ("The target takes and sends correct Markers, and refuses or ignores one with %s"):format(one.text),
      rules = { "MPA-8-03", "MPA-4.3-03", "MPA-4.3-09", "MPA-4.3-10" },
      needs = { memory = "read write", markers = "on" },
      run = function(t)
        local conn = session(t, true, true, true)
        local buf = t:memory { length = 1000, remote = "read write" }
        for i = 1, 9 do
          conn:send(write { to = buf, payload = bytes(1000, i) }, { segments = 1000 })
          conn:expect_read(buf, bytes(1000, i))
        end
        t:expect_contents(buf, bytes(1000, 9))
        mpa.align(conn, 0)
        local sent = conn:send(write { to = buf, payload = bytes(600, 0xee), comment = one.text },
          { segments = 600, broken = true, marker = { which = 1, pointer = one.wrong(508) } })
        conn:send(read_request { size = 0, sink_stag = 1, sink_to = 2 })
        local item = conn:expect(fault.marker, closed(), read_response { stag = 1, to = 2, payload = "" })
        t:observe("fpduptr", item.op or item.kind)
        if item.op ~= "read-response" then return t:expect_unchanged(buf) end
        t:expect_contents(buf, sent.payload)
      end,
    }
  end),

  -- Of the 128 places of four octets, no FPDU ends at the one 4 after a Marker: a CRC is not split. The
  -- FPDUs end at all the others, so that Markers fall everywhere in them.
  known_bug {
    id = "bug-marker-places-drift",
    purpose = "Over 128 KiB each way in FPDUs of many lengths every Marker is where it should be, wherever it falls in its FPDU",
    rules = { "MPA-4.3-02", "MPA-4.3-08", "MPA-4.3-14", "MPA-4.4-16" },
    needs = { memory = "read write", markers = "on" },
    run = function(t)
      local conn = session(t, true, true, true)
      local buf = t:memory { length = 1200, remote = "read write" }
      local places, count, sent = {}, 0, 0
      local size = 0
      while sent < 131072 or count < 127 and sent < 1000000 do
        size = (size + 401) % 1201 -- goes through every length up to 1200
        conn:send(write { to = buf, payload = bytes(size, size & 0xff) }, { segments = 1200 })
        if not places[mpa.position(conn) % 512] then
          places[mpa.position(conn) % 512], count = true, count + 1
        end
        conn:expect_read(buf, bytes(size, size & 0xff))
        sent = sent + size
      end
      t:check(count == 127, "the station did not reach every place of a Marker",
        { expected = "127", actual = tostring(count) })
      t:expect_unchanged(buf, { except = { 0, 1200 } })
    end,
  },

  -- ---- the Read Request, and the numbers of the queues ----

  known_bug {
    id = "bug-read-request-too-long",
    purpose = "The target's own Read Request has 28 octets after its DDP header, in network order",
    rules = { "RDMAP-4.4-01", "RDMAP-4.2-01" },
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local memory = t:memory { length = 0x103, to = 0x0102030405060708 }
      local handle = t:post { op = "read", memory = memory, offset = 1, length = 0x102, stag = 0x0a0b0c0d, to = 0x1112131415161718 }
      local item = conn:expect(read_request {})
      local wanted = pack(">I4I8I4I4I8", memory.stag, 0x0102030405060709, 0x102, 0x0a0b0c0d, 0x1112131415161718)
      t:check(#item.ulpdu == 46, "the target's Read Request has a ULPDU of another length than 46 octets",
        { expected = "46", actual = tostring(#item.ulpdu), item = item })
      -- The sink is the target's own affair; its parts must still come back as they are.
      t:check(item.ulpdu:sub(31) == wanted:sub(13), "the target's Read Request has another size or source than its ULP asked for",
        { rule = "RDMAP-4.4-01", how = "another answer", expected = show(wanted:sub(13)), actual = show(item.ulpdu:sub(31)), item = item })
      conn:send(read_response { stag = item.sink_stag, to = item.sink_to, payload = bytes(0x102) })
      t:completion(handle, { length = 0x102 })
      t:expect_contents(memory, bytes(0x102), { offset = 1 })
    end,
  },

  known_bug {
    id = "bug-one-msn-for-all-queues",
    purpose = "Alternating Sends and Read Requests, from either end, count their MSNs per queue",
    rules = { "DDP-4.3-08", "DDP-4.3-09", "DDP-5.3-02" },
    needs = { memory = "read" },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local buf = t:memory { length = 8, remote = "read", fill = "count" }
      local sink = t:memory { length = 8 }
      local sends = conn.first and conn.first.op == "send" and 1 or 0
      local reads = conn.first and conn.first.op == "read-request" and 1 or 0
      for i = 1, 8 do
        for _ = 1, i % 3 do
          local posted = t:receive { length = 8 }
          conn:send(send { payload = bytes(i, i) })
          t:completion(posted, { length = i })
        end
        for _ = 1, i % 2 + 1 do conn:expect_read(buf, bytes(8)) end
        for _ = 1, i % 2 + 1 do
          t:post { op = "send", payload = bytes(i, i) }
          sends = sends + 1
          conn:expect(send { qn = 0, msn = sends, payload = bytes(i, i) })
        end
        for _ = 1, i % 3 do
          local handle = t:post { op = "read", memory = sink, length = 8, stag = 1, to = i }
          reads = reads + 1
          local asked = conn:expect(read_request { qn = 1, msn = reads, size = 8 })
          conn:send(read_response { stag = asked.sink_stag, to = asked.sink_to, payload = bytes(8, i) })
          t:completion(handle, { length = 8 })
        end
      end
      -- The Terminate counts on a third one.
      t:target_close(conn, "terminate")
      local item = conn:expect(terminate {})
      t:check(item.segments[1].qn == 2 and item.segments[1].msn == 1, "the target's first Terminate does not have MSN 1 on queue 2",
        { rule = "RDMAP-5.4-02", expected = "qn 2 msn 1", actual = item.text, item = item })
    end,
  },
}
