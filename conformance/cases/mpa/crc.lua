-- SPDX-License-Identifier: BSD-3-Clause

-- CRCs: who wants them, what they cover, the effect of a wrong one (OP-11, OP-17, OP-19).
local mpa = use "mpa"

local function switch(on) return on and "on" or "off" end

-- A session in which the station's frame has C = `station` and the target's has C = `target`.
local function session(t, station, target)
  local config = { crc = target }
  if t.case.role == "initiator" then
    config.peer_to_peer, config.enhanced, config.revision = true, true, 2
  end
  local conn = t:session { crc = station, target = config }
  local got = conn:state().peer.crc
  if got ~= target then t:skip(("the target's start-up frame has C=%d"):format(got and 1 or 0)) end
  return conn
end

local function field(ulpdu)
  local frame = mpa.fpdu_octets(ulpdu)
  return (unpack("<I4", frame:sub(-4)))
end

local function swapped(value)
  return (unpack(">I4", pack("<I4", value)))
end

-- A Send of 21 octets (ULPDU_Length 39, three pad octets) is the FPDU at fault.
local PAYLOAD = 21
local parts = {
  { name = "length-shorter", text = "ULPDU_Length (4 octets less)", place = function(f) return f.length + 1, 0x04 end },
  { name = "length-longer", text = "ULPDU_Length (16 octets more)", place = function(f) return f.length + 1, 0x10 end },
  { name = "ddp-control", text = "the DDP control octet", place = function(f) return f.at(2), 0x40 end },
  { name = "rdmap-control", text = "the RDMAP control octet", place = function(f) return f.at(3), 0x02 end },
  { name = "queue", text = "QN", place = function(f) return f.at(2 + 9), 0x01 end },
  { name = "msn", text = "MSN", place = function(f) return f.at(2 + 13), 0x02 end },
  { name = "offset", text = "MO", place = function(f) return f.at(2 + 17), 0x01 end },
  { name = "payload-first", text = "the first payload octet", place = function(f) return f.at(2 + 18), 0x01 end },
  { name = "payload-last", text = "the last payload octet", place = function(f) return f.at(2 + 18 + PAYLOAD - 1), 0x80 end },
  { name = "pad", text = "the pad", place = function(f) return f.pad, 0x01 end },
  { name = "crc-first", text = "the first octet of the CRC", place = function(f) return f.crc, 0x01 end },
  { name = "crc-last", text = "the last octet of the CRC", place = function(f) return f.crc + 3, 0x80 end },
}

return family {
  each({ false, true }, { false, true }, function(station, target)
    local name = ("station-%s-target-%s"):format(switch(station), switch(target))
    local used = station or target
    local needs = { agent = true, memory = "read write", crc = target and "on" or "off" }
    return {
      both_roles {
        id = "mpa-crc-" .. name,
        purpose = ("With C=%d from the station and C=%d from the target, data goes both ways %s CRCs"):format(
          station and 1 or 0, target and 1 or 0, used and "under" or "without"),
        rules = { used and "MPA-7.1.1-08" or "MPA-4.1-07", "MPA-4.4-11", "MPA-4.4-12", "MPA-4.4-15", "MPA-4.4-10" },
        needs = needs,
        run = function(t)
          local conn = session(t, station, target)
          local buf = t:memory { length = 3000, remote = "read write" }
          conn:send(write { to = buf, payload = bytes(3000) }, { segments = 999 })
          -- The observer checks its CRCs.
          conn:expect_read(buf, bytes(3000))
          for size = 1, 8 do conn:read(buf, 0, size) end
          t:expect_contents(buf, bytes(3000))
          t:check(conn.agreed.crc == used, "the target reported another use of CRCs to its ULP", { rule = "MPA-4.4-07" })
        end,
      },
      both_roles {
        id = "mpa-crc-wrong-" .. name,
        purpose = used and "The target finds a wrong CRC when either side has asked for CRCs"
          or "With C=0 from both sides the target takes any CRC, in the very first FPDU too",
        rules = used and { "MPA-7.1.1-09", "MPA-4.4-04", "MPA-4.4-07", "MPA-8-02", "MPA-4.4-17" }
          or { "MPA-7.1.1-10", "MPA-4.1-06", "MPA-7.1.1-07", "MPA-4.4-08" },
        needs = needs,
        run = function(t)
          local conn = session(t, station, target)
          local buf = t:memory { length = 64, remote = "write" }
          if used then
            conn:send(write { to = buf, payload = bytes(64) }, { crc = "bad" })
            mpa.expect_crc_fault(conn)
            t:expect_unchanged(buf)
            return
          end
          for i, crc in ipairs { "bad", 0, 0xffffffff, 0x12345678 } do
            conn:send(write { to = buf, offset = 16 * (i - 1), payload = bytes(16, i) }, { crc = crc })
          end
          conn:fence()
          t:expect_contents(buf, bytes(16, 1) .. bytes(16, 2) .. bytes(16, 3) .. bytes(16, 4))
        end,
      },
    }
  end),

  both_roles {
    id = "mpa-crc-wrong-late",
    purpose = "The target checks CRCs that only the station asked for to the end of the connection",
    rules = { "MPA-4.4-07", "MPA-7.1.1-09", "MPA-8-02" },
    run = function(t)
      local conn = t:session { crc = true }
      for _ = 1, 20 do mpa.good(conn) end
      conn:send(write {}, { crc = "bad" })
      mpa.expect_crc_fault(conn)
    end,
  },

  -- MPA does not close for this code: the ULP's Terminate comes first. A stack that drops the segment
  -- instead sends nothing at all.
  both_roles {
    id = "mpa-crc-terminate-first",
    purpose = "When a wrong CRC ends the stream, the target sends a Terminate 2/0/02 without headers before it closes",
    rules = { "MPA-8-12", "MPA-8-02", "RDMAP-7.1-01" },
    run = function(t)
      local conn = t:session { crc = true }
      mpa.good(conn)
      conn:send(write {}, { crc = "bad" })
      local item = conn:expect(fault.crc_without_headers, { dropped = true })
      if item then conn:expect_close {} end
    end,
  },

  both_roles {
    id = "mpa-crc-nothing-after",
    purpose = "After an FPDU with a wrong CRC the target places, delivers and answers nothing, however valid",
    rules = { "MPA-8-11", "MPA-6-01", "MPA-4.4-17", "DDP-7.1-19" },
    needs = { memory = "write" },
    run = function(t)
      local conn = t:session { crc = true }
      local buf = t:memory { length = 64, remote = "write" }
      local posted = t:receive { length = 16 }
      conn:sanity()
      conn:together(function()
        conn:send(write { to = buf, payload = bytes(32) }, { crc = "bad" })
        conn:send(write { to = buf, offset = 32, payload = bytes(32) })
        conn:send(send { payload = bytes(16) })
        conn:send(read_request { size = 0, sink_stag = 1, sink_to = 2 })
      end)
      local item = mpa.expect_crc_fault(conn)
      if item and item.op then conn:expect_close {} end
      t:expect_no_completion(posted)
      t:expect_unchanged(posted.memory)
      t:expect_unchanged(buf, { except = { 32, 32 }, rule = "MPA-4.4-17" })
      t:expect_unchanged(buf)
    end,
  },

  -- ---- values that are not the CRC ----

  each({
    { name = "octet-order", text = "its octets in the opposite order", crc = function(u) return swapped(field(u)) end },
    { name = "zero", text = "zero", crc = function() return 0 end },
    { name = "inverted", text = "all its bits inverted", crc = function(u) return field(u) ~ 0xffffffff end },
    { name = "no-length", text = "the CRC of the ULPDU without ULPDU_Length", crc = function(u) return crc32c(u .. "\0") end },
    { name = "no-pad", text = "the CRC without the pad", crc = function(u) return crc32c(pack(">I2", #u) .. u) end },
  }, function(one)
    return both_roles {
      id = "mpa-crc-value-" .. one.name,
      purpose = ("The target refuses a CRC field that holds %s"):format(one.text),
      rules = { "MPA-4.4-17", "MPA-4.4-16", "MPA-8-02", "MPA-6-03" },
      tags = { "field" },
      run = function(t)
        local conn = t:session { crc = true }
        mpa.good(conn)
        local probe = conn:encode(write { payload = "" })[1].ulpdu .. "\1\2\3"
        -- 17 octets, one pad octet.
        conn:send(raw { ulpdu = probe }, { crc = one.crc(probe) })
        mpa.expect_crc_fault(conn)
      end,
    }
  end),

  -- Field bug: a stack left out the CRC field when CRCs were off.
  both_roles {
    id = "mpa-crc-field-present",
    purpose = "A target that does not use CRCs still sends the four octets in its FPDUs",
    rules = { "MPA-4.1-07", "MPA-4.4-10", "MPA-4.1-01" },
    needs = { crc = "off", memory = "read" },
    tags = { "field" },
    run = function(t)
      local conn = session(t, false, false)
      local buf = t:memory { length = 100, remote = "read", fill = "count" }
      for size = 0, 8 do
        if size > 0 then
          conn:expect_read(buf, bytes(size))
        else
          conn:fence()
        end
      end
    end,
  },

  -- ---- one bit wrong, in each part of an FPDU ----

  each(parts, function(one)
    return both_roles {
      id = "mpa-crc-flip-" .. one.name,
      purpose = ("The CRC reveals one inverted bit in %s, and the target delivers nothing"):format(one.text),
      rules = { one.name == "pad" and "MPA-4.1-04" or "MPA-4.4-17", "MPA-4.4-16", "MPA-6-01", "MPA-8-02", "MPA-4.4-01" },
      needs = { agent = true },
      run = function(t)
        local conn = t:session { crc = true }
        local posted = t:receive { length = 64 }
        mpa.good(conn)
        local ulpdu = conn:encode(send { payload = bytes(PAYLOAD) })[1].ulpdu
        local frame = mpa.fpdu(conn, ulpdu)
        local place, mask = one.place(frame)
        -- A zero-length Write after it brings the octets that a longer length asks for.
        conn:write(mpa.flip(frame.octets, place, mask) .. mpa.fpdu_octets(conn:encode(write {})[1].ulpdu),
          { comment = "a Send with one bit inverted in " .. one.text })
        mpa.expect_crc_fault(conn)
        t:expect_no_completion(posted)
        t:expect_unchanged(posted.memory)
      end,
    }
  end),

  -- The counterpart: the target must take the same FPDUs when they are intact.
  both_roles {
    id = "mpa-crc-good-by-hand",
    purpose = "The target takes the same FPDUs without the inverted bit, with 0 to 3 pad octets",
    rules = { "MPA-4.4-16", "MPA-3-08", "MPA-3-06", "MPA-4.1-05" },
    needs = { agent = true },
    run = function(t)
      local conn = t:session { crc = true }
      for size = PAYLOAD, PAYLOAD + 7 do
        local posted = t:receive { length = 64 }
        conn:send(send { payload = bytes(size) })
        t:completion(posted, { length = size })
        t:expect_contents(posted.memory, bytes(size))
      end
    end,
  },

  -- ---- pad ----

  each({ 1, 2, 3 }, function(pad)
    return both_roles {
      id = ("mpa-pad-nonzero-%d"):format(pad),
      purpose = ("The target takes %d pad octets that are not zero, and places them in no buffer"):format(pad),
      rules = { "MPA-4.1-03", "MPA-3-08", "MPA-4.3-14" },
      needs = { agent = true },
      run = function(t)
        local conn = t:session { crc = true }
        local size = 16 - pad -- 2 + 18 + size + pad is a multiple of four
        local posted = t:receive { length = 64 }
        conn:send(send { payload = bytes(size) }, { pad = bytes(pad, 0xff) })
        t:completion(posted, { length = size })
        t:expect_contents(posted.memory, bytes(size))
        mpa.serves(conn)
      end,
    }
  end),

  both_roles {
    id = "mpa-pad-sent",
    purpose = "The target's FPDUs are multiples of four octets with a pad of zeros, whatever their length",
    rules = { "MPA-4.1-02", "MPA-4.1-05", "MPA-4.1-01", "MPA-3-01" },
    needs = { agent = true },
    run = function(t)
      local conn = t:session { crc = true }
      conn:sanity()
      for size = 0, 9 do
        t:post { op = "send", payload = bytes(size, 0xff) }
        conn:expect(send { payload = bytes(size, 0xff) })
      end
    end,
  },

  case {
    id = "mpa-crc-default",
    purpose = "A target in its standard configuration asks for CRCs",
    rules = { "MPA-4.4-03", "MPA-4.4-02", "MPA-1.2-02" },
    role = "responder",
    needs = { agent = true },
    run = function(t)
      local conn = t:connect { raw = true }
      conn:send(request { crc = false })
      local answer = conn:expect(reply { rejected = false })
      t:observe("crc", answer.crc)
    end,
  },
}
