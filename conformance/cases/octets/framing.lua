-- SPDX-License-Identifier: BSD-3-Clause

-- FPDUs and Markers in literal octets (RFC 5044 §4), in each direction: ULPDU_Length, every length of the pad, the CRC.

local literal = use "literal"
local list = {}

local function add(fields)
  fields.role, fields.level = "responder", "must"
  list[#list + 1] = case(fields)
end

-- Sends with MSN 1 of 0 to 3 octets, with their CRC.
local SENDS = {
  { 0, "0012 4143 00000000 00000000 00000001 00000000", "587be8c4" },
  { 3, "0013 4143 00000000 00000000 00000001 00000000 a1 000000", "a21452b7" },
  { 2, "0014 4143 00000000 00000000 00000001 00000000 a1b2 0000", "2b112bae" },
  { 1, "0015 4143 00000000 00000000 00000001 00000000 a1b2c3 00", "7775cbeb" },
}

for size, one in ipairs(SENDS) do
  local pad, octets, crc = table.unpack(one)
  local payload = hex("a1b2c3"):sub(1, size - 1)
  add {
    id = ("octets-pad-%d"):format(pad),
    purpose = ("An FPDU of %d octets of payload has %d octets of pad and the CRC %s, from the station and from the target"):format(
      #payload, pad, crc),
    rules = { "MPA-4.1-05", "MPA-4.1-02", "MPA-4.4-11", "MPA-4.4-12", "MPA-4.4-15", "MPA-4.4-16", "MPA-3-06" },
    needs = { agent = true, revision = 1 },
    run = function(t)
      local conn = literal.start(t)
      local posted = t:receive { length = 8 }
      literal.send(conn, octets .. crc)
      t:completion(posted, { length = #payload })
      t:expect_contents(posted.memory, payload)
      local handle = t:post { conn = conn, op = "send", payload = payload }
      literal.expect(conn, octets .. crc)
      t:completion(handle)
    end,
  }
end

add {
  id = "octets-crc-wrong",
  purpose = "An FPDU whose CRC field has the right octets in the wrong order is refused",
  rules = { "MPA-4.4-17", "MPA-4.4-11", "MPA-8-02" },
  needs = { agent = true, revision = 1 },
  run = function(t)
    local conn = literal.start(t)
    local posted = t:receive { length = 8 }
    local octets, crc = hex(SENDS[1][2]), hex(SENDS[1][3])
    literal.send(conn, show(octets .. crc:reverse()), "the octets of the CRC turned round")
    literal.expect_fpdu(conn, "0016 4147 00000000 00000002 00000001 00000000 2002 0000")
    literal.expect_end(conn)
    t:expect_no_completion(posted)
  end,
}

add {
  id = "octets-length",
  purpose = "ULPDU_Length 0123 is 291 octets, from the station and from the target",
  rules = { "MPA-4.1-01", "MPA-3-08", "MPA-4.1-05" },
  needs = { agent = true, revision = 1 },
  run = function(t)
    local conn = literal.start(t)
    local payload = bytes(0x0123 - 18)
    local fpdu = "0123 4143 00000000 00000000 00000001 00000000" .. show(payload) .. "000000"
    local posted = t:receive { length = 512 }
    literal.send_fpdu(conn, fpdu)
    t:completion(posted, { length = #payload })
    t:expect_contents(posted.memory, payload)
    t:post { conn = conn, op = "send", payload = payload }
    literal.expect_fpdu(conn, fpdu)
  end,
}

-- ---- Markers: in front of the first FPDU, and 512 octets behind it ----

-- A Send with MSN 1 of 600 octets, all of it behind a Marker, and with one that points 508 octets back.
local PAYLOAD = bytes(600)
local CONTENT = hex "026a 4143 00000000 00000000 00000001 00000000" .. PAYLOAD
local MARKED = hex "0000 0000" .. CONTENT:sub(1, 508) .. hex "0000 01fc" .. CONTENT:sub(509)

add {
  id = "octets-markers-sent",
  purpose = "The target's Markers have FPDUPTR 0000 between FPDUs, 01fc 508 octets into one, and are covered by its CRC",
  rules = { "MPA-4.2-01", "MPA-4.3-03", "MPA-4.3-08", "MPA-4.3-11", "MPA-4.4-14", "MPA-4.2-02", "MPA-4.2-04", "MPA-7.1.1-06" },
  needs = { agent = true, revision = 1 },
  run = function(t)
    local conn = literal.start(t, { flags = "c0" })
    t:post { conn = conn, op = "send", payload = PAYLOAD }
    literal.expect(conn, show(MARKED .. literal.crc(MARKED)))
  end,
}

add {
  id = "octets-markers-received",
  purpose = "The target finds Markers where they are, with FPDUPTR 0000 and 01fc",
  rules = { "MPA-4.2-01", "MPA-4.3-14", "MPA-4.3-06", "MPA-4.4-16", "MPA-7.1.1-06" },
  needs = { agent = true, revision = 1, markers = "on" },
  run = function(t)
    local conn = literal.start(t, { target = { markers = true }, first = false })
    local posted = t:receive { length = 1024 }
    literal.send(conn, show(MARKED .. literal.crc(MARKED)))
    t:completion(posted, { length = #PAYLOAD })
    t:expect_contents(posted.memory, PAYLOAD)
  end,
}

return list
