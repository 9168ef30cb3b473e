-- SPDX-License-Identifier: BSD-3-Clause

-- The fields of the start-up frames in literal octets (RFC 5044 §7.1.1, RFC 6581 §6 and §9), in each direction.

local literal, mpa = use "literal", use "mpa"

local REQUEST, REPLY = literal.REQUEST, literal.REPLY

-- M, C and both: the first octet after the key.
local FLAGS = {
  { name = "none", octet = "00" }, { name = "c", octet = "40" }, { name = "m", octet = "80" }, { name = "mc", octet = "c0" },
}

local function wants(flags)
  local value = tonumber(flags, 16)
  return value & 0x80 ~= 0, value & 0x40 ~= 0
end

-- Checks what the target reports as agreed, for these M and C of the two frames.
local function agreed(t, conn, station, target)
  local said = t:established(conn)
  local station_m, station_c = wants(station)
  local target_m, target_c = wants(target)
  t:check(said.crc == (station_c or target_c) and said.tx_markers == station_m and said.rx_markers == target_m,
    "the target took M or C of the frame for another bit", {
      expected = ("flags %s of the station, %s of the target"):format(station, target),
      actual = ("crc %s, Markers sent %s, received %s"):format(said.crc, said.tx_markers, said.rx_markers) })
end

-- Takes a target's Request with these M and C; of its other bits the observer judges.
local function asked(t, conn, flags)
  local found = literal.expect(conn, REQUEST .. "{flags:1} 01 0000")
  t:check((found.flags:byte() ~ tonumber(flags, 16)) & 0xc0 == 0, "the target's Request has another M or C than its configuration",
    { expected = flags, actual = show(found.flags) })
end

-- The four bits that no revision uses, one by one and together.
local RESERVED = { "41", "42", "44", "48", "4f" }

-- 258 octets: the two octets of PD_Length differ.
local DATA = bytes(0x0102, 0x5c)

-- form, B, C and D as bits of the two halves, the FPDU that is the RTR (RFC 6581 §9.2)
local FORMS = {
  { form = "send", first = 0x4000, second = 0, rtr = "0012 4143 00000000 00000000 00000001 00000000" },
  { form = "write", first = 0, second = 0x8000, rtr = "000e c140 {stag:4} {to:8}", ours = "000e c140 00000000 0000000000000000" },
  { form = "read", first = 0, second = 0x4000, rtr = "002e 4141 00000000 00000001 00000001 00000000 {stag:4} {to:8} 00000000 {from:4} {at:8}",
    ours = "002e 4141 00000000 00000001 00000001 00000000 99aabbcc 0102030405060708 00000000 00000000 0000000000000000" },
}

local function half(bits, depth) return literal.x16(bits | depth) end

-- The reference stack puts exactly its configured values into its frames, so that octets in the wrong order show.
local function exact(t) return t.peer.name:find("^embedded") ~= nil end

-- The block of a frame in two halves: the flags of each, and both depths.
local function block(found)
  local a, b = unpack(">I2I2", found.block)
  return { first = a & 0xc000, second = b & 0xc000, ird = a & 0x3fff, ord = b & 0x3fff }
end

local FRAME = 20 -- octets before the block
-- Checks the depths in the frame of a target configured with IRD 0567 and ORD 089a. 3FFF is not negotiated (RFC 6581 §9.1).
local function configured(t, said)
  if not exact(t) then return end
  local exchanged = said.ird == 0x089a and said.ord == 0x0567
  t:check(said.ird == 0x0567 and said.ord == 0x089a, exchanged and mpa.EXCHANGED or "the target's frame has other depths than its configuration", {
    rule = "EMPA-9-01", expected = "IRD 567, ORD 89a", actual = ("IRD %x, ORD %x"):format(said.ird, said.ord),
    how = exchanged and "exchanged" or nil,
    octet = said.ird == 0x0567 and { from = FRAME + 2, to = FRAME + 3, value = said.ord } or nil,
  })
end

-- A Reply to a Request with IRD 1234 and ORD 0203: IRD may be anything from the initiator's ORD on, and should not be less
-- (OP-21); ORD should be no more than the initiator's IRD (OP-20). An initiator's form must come back, others may be with it.
local function replied(t, found, first, second)
  local said = block(found)
  local wrong = exact(t) and (said.first ~= first or said.second ~= second)
    or said.first & first ~= first or said.second & second ~= second or first == 0 and said.first | said.second ~= 0
  t:check(not wrong, "the target's Reply has other flags in its block than expected",
    { expected = half(first, 0) .. " " .. half(second, 0), actual = half(said.first, 0) .. " " .. half(said.second, 0) })
  configured(t, said)
  if said.ord > 0x1234 and said.ord ~= 0x3fff then
    t:deviates("the target's Reply has an ORD above the initiator's IRD",
      { rule = "EMPA-9.1-02", how = "ORD above IRD", expected = "up to 1234", actual = half(0, said.ord) })
  end
  if said.ird < 0x0203 then
    t:deviates("the target's Reply has an IRD below the initiator's ORD",
      { rule = "EMPA-9.1-16", expected = "from 0203 on", actual = half(0, said.ird) })
  end
end

local function depths(t, said, ird, ord)
  if not (said.peer_ird and said.peer_ord) then return end
  t:check(said.peer_ird == ird and said.peer_ord == ord, "the target read other depths from the block", {
    rule = "EMPA-9-01", expected = ("IRD %x, ORD %x"):format(ird, ord),
    actual = ("IRD %x, ORD %x"):format(said.peer_ird, said.peer_ord) })
end

return family {
  -- ---- flags, in a target's frame and in the station's ----

  each(FLAGS, function(one)
    local name, flags = one.name, one.octet
    local markers, crc = wants(flags)
    return {
      literal.case {
        id = "octets-request-flags-" .. name,
        purpose = ("The target reads flags %s of a Request as M=%d C=%d"):format(flags, markers and 1 or 0, crc and 1 or 0),
        rules = { "EMPA-6-01", "MPA-7.1.1-08", "MPA-7.1.1-06", "MPA-7.1.1-02" },
        role = "responder",
        needs = { agent = true, crc = "off", markers = "off", revision = 1 },
        run = function(t)
          local conn = t:connect { octets = true, target = { revision = 1, crc = false, markers = false } }
          literal.send(conn, REQUEST .. flags .. " 01 0000")
          -- A responder may say in its Reply that CRCs are used because the Request asks for them.
          local found = literal.expect(conn, REPLY .. "{flags:1} 01 0000")
          local answer = show(found.flags)
          t:check(answer == "00" or answer == "40", "the target's Reply has other flags than C set",
            { expected = "00 or 40", actual = answer })
          if answer == "40" and not crc then t:skip("the target's start-up frame has C=1") end
          agreed(t, conn, flags, answer)
        end,
      },
      literal.case {
        id = "octets-reply-flags-" .. name,
        purpose = ("The target reads flags %s of a Reply as M=%d C=%d"):format(flags, markers and 1 or 0, crc and 1 or 0),
        rules = { "EMPA-6-01", "MPA-7.1.1-08", "MPA-7.1.1-06", "MPA-7.1.1-04" },
        role = "initiator",
        needs = { agent = true, crc = "off", markers = "off", revision = 1 },
        run = function(t)
          local conn = t:target_connects { octets = true, target = { revision = 1, enhanced = false, crc = false, markers = false } }
          literal.expect(conn, REQUEST .. "00 01 0000")
          literal.send(conn, REPLY .. flags .. " 01 0000")
          agreed(t, conn, flags, "00")
        end,
      },
      literal.case {
        id = "octets-target-reply-flags-" .. name,
        purpose = ("The Reply of a target with M=%d C=%d has flags %s"):format(markers and 1 or 0, crc and 1 or 0, flags),
        rules = { "EMPA-6-01", "MPA-7.1.1-03", "MPA-7.1.1-14" },
        role = "responder",
        needs = { agent = true, crc = crc and "on" or "off", markers = markers and "on" or "off", revision = 1 },
        run = function(t)
          local conn = t:connect { octets = true, target = { revision = 1, crc = crc, markers = markers } }
          literal.send(conn, REQUEST .. "00 01 0000")
          literal.expect(conn, REPLY .. flags .. " 01 0000")
          agreed(t, conn, "00", flags)
        end,
      },
      literal.case {
        id = "octets-target-request-flags-" .. name,
        purpose = ("The Request of a target with M=%d C=%d has flags %s"):format(markers and 1 or 0, crc and 1 or 0, flags),
        rules = { "EMPA-6-01", "MPA-7.1.1-01", "MPA-7.1.1-11", "MPA-7.1.1-14" },
        role = "initiator",
        needs = { agent = true, crc = crc and "on" or "off", markers = markers and "on" or "off", revision = 1 },
        run = function(t)
          local conn = t:target_connects { octets = true, target = { revision = 1, enhanced = false, crc = crc, markers = markers } }
          asked(t, conn, flags)
          literal.send(conn, REPLY .. "00 01 0000")
          agreed(t, conn, "00", flags)
        end,
      },
    }
  end),

  literal.case {
    id = "octets-request-reserved",
    purpose = "The target ignores the reserved bits of a Request, and sets none in its Reply",
    rules = { "MPA-7.1.1-15", "MPA-7.1.1-14" },
    role = "responder",
    needs = { agent = true, markers = "off", revision = 1 },
    run = function(t)
      for _, flags in ipairs(RESERVED) do
        local conn = t:connect { octets = true, target = { revision = 1, crc = true, markers = false } }
        literal.send(conn, REQUEST .. flags .. " 01 0000", "stimulus: reserved bits set")
        literal.expect(conn, REPLY .. "40 01 0000")
        agreed(t, conn, "40", "40")
      end
    end,
  },

  literal.case {
    id = "octets-reply-reserved",
    purpose = "The target ignores the reserved bits of a Reply",
    rules = { "MPA-7.1.1-15" },
    role = "initiator",
    needs = { agent = true, markers = "off", revision = 1 },
    run = function(t)
      for _, flags in ipairs(RESERVED) do
        local conn = t:target_connects { octets = true, target = { revision = 1, enhanced = false, crc = true, markers = false } }
        literal.expect(conn, REQUEST .. "40 01 0000")
        literal.send(conn, REPLY .. flags .. " 01 0000", "stimulus: reserved bits set")
        t:event("established", conn)
      end
    end,
  },

  literal.case {
    id = "octets-target-refuses",
    purpose = "A Reply that refuses has R set, and the ULP's octets as its private data",
    rules = { "MPA-7.1.1-13", "MPA-7.1.1-20" },
    role = "responder",
    needs = { agent = true, reject = true, markers = "off", revision = 1 },
    run = function(t)
      local conn = t:connect { octets = true, target = { accept = "ask", revision = 1, crc = true, markers = false } }
      literal.send(conn, REQUEST .. "40 01 0003 796573")
      t:check(t:requested(conn) == hex "796573", "the ULP saw other private data")
      t:reject(conn, hex "6e6f")
      literal.expect(conn, REPLY .. "60 01 0002 6e6f", REPLY .. "20 01 0002 6e6f") -- nobody will use CRCs
      literal.expect_end(conn, { open = true }) -- OP-01
    end,
  },

  literal.case {
    id = "octets-target-refused",
    purpose = "The target takes a Reply with R set for a refusal",
    rules = { "MPA-7.1.2-13", "MPA-7.1.1-13" },
    role = "initiator",
    needs = { agent = true, markers = "off", revision = 1 },
    run = function(t)
      local conn = t:target_connects { octets = true, target = { revision = 1, enhanced = false, crc = true, markers = false } }
      asked(t, conn, "40")
      literal.send(conn, REPLY .. "60 01 0002 6e6f")
      t:check(t:event("rejected", conn).private == "6e6f", "the ULP saw other private data")
      literal.expect_end(conn, { open = true }) -- OP-01
    end,
  },

  -- ---- PD_Length ----

  literal.case {
    id = "octets-private-length-responder",
    purpose = "PD_Length 0102 means 258 octets in a Request and in the target's Reply",
    rules = { "MPA-7.1.1-20", "MPA-7.1.1-24" },
    role = "responder",
    needs = { agent = true, private = 258, markers = "off", revision = 1 },
    run = function(t)
      local conn = t:connect { octets = true, target = { accept = "ask", revision = 1, crc = true, markers = false } }
      literal.send(conn, REQUEST .. "40 01 0102" .. show(DATA))
      t:check(t:requested(conn) == DATA, "the ULP saw other private data")
      t:accept(conn, DATA)
      literal.expect(conn, REPLY .. "40 01 0102" .. show(DATA))
      t:established(conn)
    end,
  },

  literal.case {
    id = "octets-private-length-initiator",
    purpose = "PD_Length 0102 means 258 octets of private data in the target's Request and in a Reply",
    rules = { "MPA-7.1.1-20", "MPA-7.1.1-24" },
    role = "initiator",
    needs = { agent = true, private = 258, markers = "off", revision = 1 },
    run = function(t)
      local conn = t:target_connects { octets = true,
        target = { revision = 1, enhanced = false, crc = true, markers = false, private = DATA } }
      literal.expect(conn, REQUEST .. "40 01 0102" .. show(DATA))
      literal.send(conn, REPLY .. "40 01 0102" .. show(DATA))
      local event = t:event("established", conn)
      t:check(event.private == show(DATA), "the ULP saw other private data")
    end,
  },

  -- ---- the enhanced block: A, B and IRD in its first half, C, D and ORD in its second (RFC 6581 §9) ----

  each(FORMS, function(one)
    local target = { revision = 2, enhanced = true, peer_to_peer = true, rtr = { one.form }, ird = 0x0567, ord = 0x089a,
      crc = true, markers = false }
    return {
      literal.case {
        id = "octets-enhanced-responder-" .. one.form,
        purpose = ("The target reads S, A, the bit of %s, IRD and ORD of a Request at their places, and replies with them there"):format(one.form),
        rules = { "EMPA-9-01", "EMPA-6-02", "EMPA-6-08", "EMPA-6-09", "EMPA-9.2-04", "EMPA-9.2-05", "EMPA-6-05" },
        role = "responder",
        needs = { agent = true, enhanced = true, rtr = one.form, markers = "off" },
        run = function(t)
          local conn = t:connect { octets = true, target = target }
          literal.send(conn, REQUEST .. "50 02 0004" .. half(0x8000 | one.first, 0x1234) .. half(one.second, 0x0203))
          replied(t, literal.expect(conn, REPLY .. "50 02 0004 {block:4}"), 0x8000 | one.first, one.second)
          local said = t:established(conn)
          depths(t, said, 0x1234, 0x0203)
          literal.send_fpdu(conn, one.ours or one.rtr, "the RTR")
          if one.form == "read" then literal.expect_fpdu(conn, "000e c142 99aabbcc 0102030405060708") end
          -- The RTR opens the way for the target.
          t:completion(t:post { conn = conn, op = "write", stag = 0x0a0b0c0d, to = 0x1112131415161718, payload = "go" })
          literal.expect_fpdu(conn, "0010 c140 0a0b0c0d 1112131415161718 676f 0000")
        end,
      },
      literal.case {
        id = "octets-enhanced-initiator-" .. one.form,
        purpose = ("The target's Request has S, A, the bit of %s, IRD and ORD at their places, and it reads a Reply's there"):format(one.form),
        rules = { "EMPA-9-01", "EMPA-6-02", "EMPA-6-08", "EMPA-6-09", "EMPA-9.2-01", "EMPA-9.2-02", "EMPA-9.2-10", "EMPA-6-05" },
        role = "initiator",
        needs = { agent = true, enhanced = true, rtr = one.form, markers = "off" },
        run = function(t)
          local conn = t:target_connects { octets = true, target = target }
          local asked = block(literal.expect(conn, REQUEST .. "50 02 0004 {block:4}"))
          t:check(asked.first == 0x8000 | one.first and asked.second == one.second,
            "the target's Request has other flags in its block than expected",
            { expected = half(0x8000 | one.first, 0) .. " " .. half(one.second, 0), actual = half(asked.first, 0) .. " " .. half(asked.second, 0) })
          configured(t, asked)
          if asked.ird < 0x0203 then t:skip("the target's IRD is below the ORD of the Reply") end
          literal.send(conn, REPLY .. "50 02 0004" .. half(0x8000 | one.first, 0x1234) .. half(one.second, 0x0203))
          local found = literal.expect_fpdu(conn, one.rtr)
          if one.form == "read" then
            literal.send_fpdu(conn, "000e c142" .. show(found.stag) .. show(found.to), "the answer to the RTR")
          end
          depths(t, t:established(conn), 0x1234, 0x0203)
        end,
      },
    }
  end),

  literal.case {
    id = "octets-enhanced-client-server",
    purpose = "The target answers a Request with S=1 and A=0 with A, B, C and D 0, and both depths at their places",
    rules = { "EMPA-9-01", "EMPA-9.2-14", "EMPA-9.2-15", "EMPA-6-02" },
    role = "responder",
    needs = { agent = true, enhanced = true, markers = "off" },
    run = function(t)
      local conn = t:connect { octets = true,
        target = { revision = 2, enhanced = true, ird = 0x0567, ord = 0x089a, crc = true, markers = false } }
      literal.send(conn, REQUEST .. "50 02 0007 1234 0203 616263")
      replied(t, literal.expect(conn, REPLY .. "50 02 0004 {block:4}"), 0, 0)
      local said = t:established(conn)
      depths(t, said, 0x1234, 0x0203)
      t:check(said.enhanced and not said.peer_to_peer, "the target took the Request for an unenhanced or a peer-to-peer one")
    end,
  },
}
