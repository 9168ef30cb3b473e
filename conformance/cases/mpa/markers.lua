-- SPDX-License-Identifier: BSD-3-Clause

-- Markers: who gets them, where they may fall, which of their bits count. The observer checks what the
-- target sends against RFC 5044 §4: a Marker out of place makes everything after it unreadable.
local mpa = use "mpa"

-- The target asks for Markers (or not), in either role.
local function config(t, markers)
  if t.case.role == "responder" then return { markers = markers } end
  return { markers = markers, peer_to_peer = true, enhanced = true, revision = 2 }
end

local function session(t, to_target, to_station)
  local conn = t:session { crc = true, markers = to_station or false, target = config(t, to_target) }
  if conn:state().markers ~= to_target then t:skip("the target's start-up frame has another M") end
  return conn
end

-- Three zero-length Writes: after a Marker, with one inside, with one between ULPDU and CRC.
local places = { { name = "before", at = 0 }, { name = "inside", at = 512 - 8 }, { name = "before-crc", at = 512 - 16 } }

return family {
  -- ---- the four combinations (field bug: M taken for something that both ends agree on) ----

  each({ false, true }, { false, true }, function(to_target, to_station)
    return both_roles {
      id = ("mpa-markers-to-target-%s-to-station-%s"):format(to_target and "on" or "off", to_station and "on" or "off"),
      purpose = ("Markers %s toward the target and %s toward the station: octets go both ways"):format(
        to_target and "on" or "off", to_station and "on" or "off"),
      rules = { to_station and "MPA-7.1.1-06" or "MPA-7.1.1-05", "MPA-4.3-01", "MPA-4.3-02", "MPA-4.3-08",
        "MPA-4.3-14", "MPA-7.1.2-20" },
      needs = { memory = "read write", markers = to_target and (to_station and "on" or "on off") or "off" },
      tags = { "field" },
      run = function(t)
        local conn = session(t, to_target, to_station)
        local buf = t:memory { length = 5000, remote = "read write" }
        conn:send(write { to = buf, payload = bytes(5000) }, { segments = 1400 })
        conn:expect_read(buf, bytes(5000))
        t:expect_contents(buf, bytes(5000))
        t:post { op = "send", payload = bytes(2000, 3) }
        conn:expect(send { payload = bytes(2000, 3) })
        t:check(conn.agreed.tx_markers == to_station and conn.agreed.rx_markers == to_target,
          "the target reported another use of Markers to its ULP")
      end,
    }
  end),

  -- ---- from the station ----

  -- A Read Request is an FPDU of 52 octets; its answer shows that the target found all of its header.
  each(range(0, 12), function(words)
    local at = 4 * words
    local where = at == 0 and "before ULPDU_Length" or at == 48 and "between the ULPDU and the CRC"
      or ("%d octets after the start of the FPDU"):format(at)
    return case {
      id = ("mpa-marker-at-%d"):format(at),
      purpose = ("The target removes a Marker %s of a Read Request"):format(where),
      rules = { at == 0 and "MPA-4.3-06" or "MPA-4.3-14", "MPA-4.4-16", "MPA-4.3-07" },
      role = "responder",
      needs = { read = true, markers = "on" },
      run = function(t)
        local conn = session(t, true)
        mpa.align(conn, (512 - at) % 512)
        conn:send(read_request { size = 0, sink_stag = 0x01020304, sink_to = 0x1112131415161718 })
        conn:expect(read_response { stag = 0x01020304, to = 0x1112131415161718, payload = "" })
        conn:fence()
      end,
    }
  end),

  each(range(0, 3), function(pad)
    return case {
      id = ("mpa-marker-before-crc-pad-%d"):format(pad),
      purpose = ("A Marker between %d pad octets and the CRC belongs to the FPDU that ends"):format(pad),
      rules = { "MPA-4.4-16", "MPA-4.3-14", "MPA-3-08", "MPA-4.4-13" },
      role = "responder",
      needs = { memory = "write", markers = "on" },
      run = function(t)
        local conn = session(t, true)
        local size = 24 - pad -- 2 + 14 + size + pad = 40
        local buf = t:memory { length = size, remote = "write" }
        mpa.align(conn, 512 - 40)
        conn:send(write { to = buf, payload = bytes(size) }, { pad = bytes(pad, 0x55) })
        conn:fence()
        t:expect_contents(buf, bytes(size))
      end,
    }
  end),

  both_roles {
    id = "mpa-marker-phases",
    purpose = "Writes of all lengths up to 80 octets, with Markers wherever they fall, are placed exactly",
    rules = { "MPA-4.3-14", "MPA-3-06", "MPA-3-08", "MPA-4.3-13" },
    needs = { memory = "write", markers = "on" },
    run = function(t)
      local conn = session(t, true)
      local buf = t:memory { length = 80, remote = "write" }
      for round = 1, 3 do
        local content = bytes(80, round)
        conn:send(write { to = buf, payload = content })
        conn:together(function()
          for size = 1, 80 do
            conn:send(write { to = buf, payload = bytes(size, size) })
            conn:send(write { to = buf, payload = content:sub(1, size - 1) })
          end
        end)
        conn:fence()
        t:expect_contents(buf, content:sub(1, 79) .. bytes(1, 80))
      end
    end,
  },

  each({
    { name = "one-fpdu", size = 12000 }, { name = "small", size = 100 }, { name = "odd", size = 333 }, { name = "full", size = 1418 },
  }, function(one)
    return both_roles {
      id = "mpa-marker-stream-" .. one.name,
      purpose = ("16 KiB in FPDUs of %d payload octets each way, with Markers both ways, arrive whole"):format(one.size),
      rules = { "MPA-4.3-14", "MPA-4.3-02", "MPA-4.3-09", "MPA-4.3-10", "MPA-4.3-11", "MPA-4.3-03" },
      needs = { memory = "read write", markers = "on" },
      tags = { "field" },
      run = function(t)
        local conn = session(t, true, true)
        local content = bytes(16384)
        local buf = t:memory { length = #content, remote = "read write" }
        conn:send(write { to = buf, payload = content }, { segments = one.size })
        for at = 0, #content - 1, one.size do
          conn:expect_read(buf, content:sub(at + 1, at + one.size), at)
        end
        t:expect_contents(buf, content)
      end,
    }
  end),

  -- Field bugs: FPDUPTR in host order; FPDUPTR counted from the Marker; Markers without the CRC octets.
  -- These are the two annotated frames of RFC 5044, octet by octet.
  case {
    id = "mpa-marker-rfc-first",
    purpose = "The target delivers the first example frame of RFC 5044, a Send after the first Marker",
    rules = { "MPA-4.4-11", "MPA-4.4-14", "MPA-4.4-16", "MPA-4.3-08" },
    role = "responder",
    needs = { agent = true, markers = "on" },
    tags = { "field" },
    run = function(t)
      local conn = session(t, true)
      if conn:version() == 0 then t:skip("the example is of version 1") end
      local posted = t:receive { length = 24 }
      conn:write(hex "00000000 002a4143 00000000 00000000 00000001 00000000" .. bytes(24, 0) .. hex "52239983",
        { comment = "the first example of RFC 5044" })
      t:completion(posted, { length = 24 })
      t:expect_contents(posted.memory, bytes(24, 0))
    end,
  },

  case {
    id = "mpa-marker-rfc-second",
    purpose = "The target delivers the second example frame of RFC 5044, with a Marker inside",
    rules = { "MPA-4.4-11", "MPA-4.4-12", "MPA-4.4-16", "MPA-4.3-07" },
    role = "responder",
    needs = { agent = true, markers = "on" },
    tags = { "field" },
    run = function(t)
      local conn = session(t, true)
      if conn:version() == 0 then t:skip("the example is of version 1") end
      local first, second = t:receive { length = 500 }, t:receive { length = 24 }
      conn:send(send { payload = bytes(464) }) -- 4 + 2 + 18 + 464 + 4 = 492 octets
      t:check(mpa.position(conn) == 0x1ec, "the station's own count is wrong")
      conn:write(hex "002a4143 00000000 00000000 00000002 00000000 00000014" .. bytes(24, 0) .. hex "84925898",
        { comment = "the second example of RFC 5044" })
      t:completion(first, { length = 464 })
      t:completion(second, { length = 24 })
      t:expect_contents(second.memory, bytes(24, 0))
    end,
  },

  -- ---- bits that do not count ----

  each(places, function(place)
    return {
      each({
        { name = "reserved", text = "the reserved half set", marker = { reserved = 0xffff }, rule = "MPA-4.2-03" },
        { name = "low-1", text = "low bits of FPDUPTR 1", marker = { add = 1 }, rule = "MPA-4.2-05" },
        { name = "low-2", text = "low bits of FPDUPTR 2", marker = { add = 2 }, rule = "MPA-4.2-05" },
        { name = "low-3", text = "low bits of FPDUPTR 3", marker = { add = 3 }, rule = "MPA-4.2-05" },
      }, function(bend)
        return case {
          id = ("mpa-marker-%s-%s"):format(bend.name, place.name),
          purpose = ("The target takes a Marker %s an FPDU with %s, and a CRC over it"):format(
            place.name == "inside" and "inside" or place.name == "before" and "before" or "before the CRC of", bend.text),
          rules = { bend.rule, "MPA-4.3-07" },
          role = "responder",
          needs = { markers = "on" },
          run = function(t)
            local conn = session(t, true)
            mpa.align(conn, place.at)
            conn:send(write {}, { marker = bend.marker, broken = false })
            mpa.serves(conn)
          end,
        }
      end),
      -- OP-13: the check is optional for data in order.
      case {
        id = "mpa-marker-pointer-" .. place.name,
        purpose = "The target takes a Marker whose FPDUPTR points elsewhere, in order, or sends a Terminate 2/0/03",
        rules = { "MPA-8-03", "MPA-5.2-02", "MPA-8-04" },
        role = "responder",
        needs = { read = true, markers = "on" },
        run = function(t)
          local conn = session(t, true)
          mpa.align(conn, place.at)
          conn:send(write {}, { marker = { add = 8 } })
          conn:send(read_request { size = 0, sink_stag = 1, sink_to = 2 })
          local item = conn:expect(fault.marker, read_response { stag = 1, to = 2, payload = "" })
          t:observe("pointer", item.op == "terminate" and "examined" or "not examined")
        end,
      },
      case {
        id = "mpa-marker-crc-flip-" .. place.name,
        purpose = "The CRC reveals one inverted bit in a Marker",
        rules = { place.name == "before" and "MPA-4.3-06" or "MPA-4.4-17", "MPA-4.4-16", "MPA-8-02" },
        role = "responder",
        needs = { markers = "on" },
        run = function(t)
          local conn = session(t, true)
          mpa.align(conn, place.at)
          local frame = mpa.fpdu(conn, conn:encode(write {})[1].ulpdu)
          conn:write(mpa.flip(frame.octets, frame.markers[1].at), { comment = "a Write with one bit of its Marker inverted" })
          mpa.expect_crc_fault(conn)
        end,
      },
      case {
        id = "mpa-marker-not-in-crc-" .. place.name,
        purpose = "The target refuses an FPDU whose CRC leaves its Marker out",
        rules = { place.name == "before" and "MPA-4.3-06" or "MPA-4.4-17", "MPA-4.4-16", "MPA-8-02" },
        role = "responder",
        needs = { markers = "on" },
        tags = { "field" },
        run = function(t)
          local conn = session(t, true)
          mpa.align(conn, place.at)
          local ulpdu = conn:encode(write {})[1].ulpdu
          conn:send(raw { ulpdu = ulpdu }, { crc = crc32c(pack(">I2", #ulpdu) .. ulpdu) })
          mpa.expect_crc_fault(conn)
        end,
      },
    }
  end),

  case {
    id = "mpa-marker-zero-inside",
    purpose = "The target takes a Marker of zeros inside an FPDU, as if between two, or sends a Terminate 2/0/03",
    rules = { "MPA-8-03", "MPA-5.2-02" },
    role = "responder",
    needs = { read = true, memory = "write", markers = "on" },
    run = function(t)
      local conn = session(t, true)
      local buf = t:memory { length = 2000, remote = "write" }
      conn:send(write { to = buf, payload = bytes(2000) }, { segments = 2000, marker = { which = 2, pointer = 0 } })
      conn:send(read_request { size = 0, sink_stag = 1, sink_to = 2 })
      local item = conn:expect(fault.marker, read_response { stag = 1, to = 2, payload = "" })
      t:observe("pointer", item.op == "terminate" and "examined" or "not examined")
      if item.op == "terminate" then
        t:expect_unchanged(buf)
      else
        t:expect_contents(buf, bytes(2000))
      end
    end,
  },

  -- ---- Markers that should be there, or should not ----

  each({
    { name = "missing", text = "left out although the target asked for them", on = true, bend = { markers = false } },
    { name = "unasked", text = "sent although the target did not ask for them", on = false, bend = { markers = true } },
    { name = "shifted", text = "4 octets late, all of them", on = true, bend = { marker = { shift = 4 } } },
  }, function(one)
    return case {
      id = "mpa-marker-" .. one.name,
      purpose = ("Markers %s: the stream ends and nothing is placed"):format(one.text),
      rules = { "MPA-4.4-17", "MPA-8-02", "MPA-6-01" },
      role = "responder",
      needs = { memory = "write", markers = one.on and "on" or "off" },
      run = function(t)
        local conn = session(t, one.on)
        local buf = t:memory { length = 1000, remote = "write" }
        -- Not the first FPDU: with its Marker missing, the target would read half of the STag as the length.
        if one.name == "missing" then conn:sanity() end
        conn:send(write { to = buf, payload = bytes(1000) }, one.bend)
        -- More octets, so that any length read out of place is reached.
        conn:write(bytes(70000, 0), { comment = "octets that complete any FPDU" })
        conn:expect(fault.crc, fault.marker, closed(), { dropped = true })
        t:expect_unchanged(buf)
      end,
    }
  end),

  -- ---- from the target ----

  both_roles {
    id = "mpa-markers-sent-phases",
    purpose = "A target that is asked for Markers places them correctly in FPDUs of every length and at every place",
    rules = { "MPA-4.3-03", "MPA-4.3-02", "MPA-4.3-05", "MPA-4.3-10", "MPA-4.3-11", "MPA-4.4-13", "MPA-4.4-14",
      "MPA-4.2-01", "MPA-4.2-02", "MPA-4.2-04" },
    needs = { memory = "read", read = true },
    tags = { "field" },
    run = function(t)
      local conn = t:session { markers = true }
      local buf = t:memory { length = 64, remote = "read", fill = "count" }
      local seen = { before = 0, crc = 0, inside = 0 }
      for round = 0, 399 do
        if round >= 40 and seen.before > 0 and seen.crc > 0 and seen.inside > 0 then break end
        conn:together(function()
          for i = 0, 7 do
            local size = (round * 8 + i) * 5 % 61
            conn:send(read_request { source = buf, size = size, sink_stag = 9, sink_to = i })
          end
        end)
        for i = 0, 7 do
          local size = (round * 8 + i) * 5 % 61
          local item = conn:expect(read_response { stag = 9, to = i, payload = bytes(size) })
          local state = conn:state()
          local at = (item.position - 20 - state.peer.pd_length) % 512
          local ending = (item.finish - 4 - 20 - state.peer.pd_length) % 512
          if at == 0 then seen.before = seen.before + 1 end
          if ending == 4 then seen.crc = seen.crc + 1 end
          if ending < at and ending > 4 then seen.inside = seen.inside + 1 end
        end
      end
      t:note(("Markers before an FPDU %d, before a CRC %d, otherwise inside %d"):format(seen.before, seen.crc, seen.inside))
      t:check(seen.before > 0 and seen.crc > 0 and seen.inside > 0, "the target's FPDUs did not have Markers in every place")
    end,
  },

  both_roles {
    id = "mpa-markers-sent-long",
    purpose = "The Markers inside one long FPDU of the target all point at its start",
    rules = { "MPA-4.3-09", "MPA-4.3-03", "MPA-4.3-02", "MPA-4.3-01" },
    needs = { memory = "read", read = true },
    run = function(t)
      local conn = t:session { markers = true }
      local buf = t:memory { length = 60000, remote = "read", fill = "count" }
      for _, size in ipairs { 488, 489, 490, 491, 492, 493, 494, 495, 496, 4000, 60000 } do
        t:check(conn:read(buf, 0, size) == bytes(size), ("the RDMA Read of %d octets returned other octets"):format(size))
      end
    end,
  },
}
