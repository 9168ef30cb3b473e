-- SPDX-License-Identifier: BSD-3-Clause

-- FPDUs and Markers in literal octets (RFC 5044 §4), in each direction: ULPDU_Length, every length of the pad, the CRC.

local literal = use "literal"

-- Sends with MSN 1 of 0 to 3 octets, with their CRC.
local SENDS = {
  { size = 0, pad = 0, octets = "0012 4143 00000000 00000000 00000001 00000000", crc = "587be8c4" },
  { size = 1, pad = 3, octets = "0013 4143 00000000 00000000 00000001 00000000 a1 000000", crc = "a21452b7" },
  { size = 2, pad = 2, octets = "0014 4143 00000000 00000000 00000001 00000000 a1b2 0000", crc = "2b112bae" },
  { size = 3, pad = 1, octets = "0015 4143 00000000 00000000 00000001 00000000 a1b2c3 00", crc = "7775cbeb" },
}

-- A Send with MSN 1 of 600 octets, all of it after a Marker, and with one that points 508 octets back.
local PAYLOAD = bytes(600)
local CONTENT = hex "026a 4143 00000000 00000000 00000001 00000000" .. PAYLOAD
local MARKED = hex "0000 0000" .. CONTENT:sub(1, 508) .. hex "0000 01fc" .. CONTENT:sub(509)

-- A Send of 20,001 octets, which a stack may gather and place piece by piece, with 39 more Markers.
local LONG = bytes(20001)
local LONG_CONTENT = hex "4e33 4143 00000000 00000000 00000001 00000000" .. LONG .. hex "000000"
local LONG_MARKED = hex "0000 0000" .. LONG_CONTENT:sub(1, 508)
for at = 508, #LONG_CONTENT - 1, 508 do
  local distance = #LONG_MARKED - 4
  LONG_MARKED = LONG_MARKED .. string.char(0, 0, distance >> 8, distance & 0xff) .. LONG_CONTENT:sub(at + 1, at + 508)
end

return family {
  each(SENDS, function(one)
    local payload, frame = hex("a1b2c3"):sub(1, one.size), one.octets .. one.crc
    return literal.case {
      id = ("octets-pad-%d"):format(one.pad),
      purpose = ("An FPDU of %d octets of payload has %d octets of pad and the CRC %s, from the station and from the target"):format(
        one.size, one.pad, one.crc),
      rules = { "MPA-4.1-05", "MPA-4.1-02", "MPA-4.4-11", "MPA-4.4-12", "MPA-4.4-15", "MPA-4.4-16", "MPA-3-06" },
      needs = { agent = true, revision = 1, markers = "off" },
      run = function(t)
        local conn = literal.start(t)
        local posted = t:receive { length = 8 }
        literal.send(conn, frame)
        t:completion(posted, { length = #payload })
        t:expect_contents(posted.memory, payload)
        local handle = t:post { conn = conn, op = "send", payload = payload }
        literal.expect(conn, frame)
        t:completion(handle)
      end,
    }
  end),

  literal.case {
    id = "octets-crc-wrong",
    purpose = "The target refuses or drops an FPDU whose CRC field has the right octets in the wrong order",
    rules = { "MPA-4.4-17", "MPA-4.4-11", "MPA-8-02" },
    needs = { agent = true, revision = 1, markers = "off" },
    run = function(t)
      local conn = literal.start(t)
      local posted = t:receive { length = 8 }
      local octets, crc = hex(SENDS[1].octets), hex(SENDS[1].crc)
      literal.send(conn, show(octets .. crc:reverse()), "stimulus: the octets of the CRC turned round")
      if literal.expect_terminate(conn, { "2002" }, { dropped = true }) ~= "dropped" then literal.expect_end(conn) end
      t:expect_no_completion(posted)
    end,
  },

  literal.case {
    id = "octets-length",
    purpose = "ULPDU_Length 0123 is 291 octets, from the station and from the target",
    rules = { "MPA-4.1-01", "MPA-3-08", "MPA-4.1-05" },
    needs = { agent = true, revision = 1, markers = "off" },
    run = function(t)
      local conn = literal.start(t)
      local payload = bytes(0x0123 - 18)
      local fpdu = "0123 4143 00000000 00000000 00000001 00000000" .. show(payload) .. "000000"
      local posted = t:receive { length = 512 }
      literal.send_fpdu(conn, fpdu)
      t:completion(posted, { length = #payload })
      t:expect_contents(posted.memory, payload)
      t:post { conn = conn, op = "send", payload = payload }
      literal.expect_fpdu(conn, fpdu, { whole = true })
    end,
  },

  -- ---- Markers: before the first FPDU, and every 512 octets from there ----

  each({
    { name = "", payload = PAYLOAD, marked = MARKED, pointers = "01fc" },
    { name = "-long", payload = LONG, marked = LONG_MARKED, pointers = "01fc, 03fc, ... 4dfc" },
  }, function(one)
    return {
      literal.case {
        id = "octets-markers-sent" .. one.name,
        purpose = ("The target's Markers have FPDUPTR 0000 between FPDUs, %s in one, and are covered by its CRC"):format(one.pointers),
        rules = { "MPA-4.2-01", "MPA-4.3-03", "MPA-4.3-08", "MPA-4.3-09", "MPA-4.3-11", "MPA-4.4-14", "MPA-4.2-02", "MPA-4.2-04", "MPA-7.1.1-06" },
        needs = { agent = true, revision = 1, markers = "off" },
        run = function(t)
          local conn = literal.start(t, { flags = "c0" })
          if mulpdu(conn:state().mss, true) < #one.payload + 18 then t:skip("the message does not fit into one FPDU on this connection") end
          t:post { conn = conn, op = "send", payload = one.payload }
          local length = literal.expect(conn, "0000 0000 {length:2}").length
          literal.not_split(conn, unpack(">I2", length), #one.payload + 18)
          literal.expect(conn, show((one.marked .. literal.crc(one.marked)):sub(7)))
        end,
      },
      literal.case {
        id = "octets-markers-received" .. one.name,
        purpose = ("The target finds Markers where they are, with FPDUPTR 0000 and %s"):format(one.pointers),
        rules = { "MPA-4.2-01", "MPA-4.3-14", "MPA-4.3-06", "MPA-4.4-16", "MPA-7.1.1-06" },
        needs = { agent = true, revision = 1, markers = "on" },
        run = function(t)
          local conn = literal.start(t, { target = { markers = true }, first = false })
          local posted = t:receive { length = 32768 }
          literal.send(conn, show(one.marked .. literal.crc(one.marked)))
          t:completion(posted, { length = #one.payload })
          t:expect_contents(posted.memory, one.payload)
        end,
      },
    }
  end),

  -- A stack that compares whole Markers with the expected octets has to look at the halves here.
  literal.case {
    id = "octets-markers-reserved",
    purpose = "The target takes FPDUPTR from octets 2 and 3 of Markers with reserved bits, without its two lowest bits",
    rules = { "MPA-4.2-03", "MPA-4.2-05", "MPA-4.3-07", "MPA-4.2-01" },
    needs = { agent = true, revision = 1, markers = "on" },
    run = function(t)
      local conn = literal.start(t, { target = { markers = true }, first = false })
      local posted = t:receive { length = 1024 }
      local bits = hex "0102 0003" .. MARKED:sub(5, 512) .. hex "abcd 01fd" .. MARKED:sub(517)
      literal.send(conn, show(bits .. literal.crc(bits)), "stimulus: reserved bits set in Markers")
      t:completion(posted, { length = #PAYLOAD })
      t:expect_contents(posted.memory, PAYLOAD)
    end,
  },
}
