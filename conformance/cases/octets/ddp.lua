-- SPDX-License-Identifier: BSD-3-Clause

-- The fields of both DDP headers in literal octets (RFC 5041 §4), in each direction, over several segments.

local literal = use "literal"
local x32, x64 = literal.x32, literal.x64

-- Checks the target's own segments of one message: header(last, at) returns the octets before each one's payload.
local function segments(t, conn, payload, header)
  local at, count = 0, 0
  repeat
    local ulpdu = literal.next_ulpdu(conn)
    -- Its length, not its L, shows whether it is the last one.
    local size = #hex(header(false, 0))
    local last = at + #ulpdu - size >= #payload
    local wanted = hex(header(last, at)) .. payload:sub(at + 1, at + #ulpdu - size)
    t:same_octets(ulpdu, wanted, ("the target's segment %d has other octets than expected"):format(count + 1), {})
    at, count = at + #ulpdu - size, count + 1
  until at >= #payload
  if count == 1 then t:inconclusive("the target sent its message in one segment") end
end

-- More than any MULPDU.
local LONG = bytes(70000)

return family {
  literal.case {
    id = "octets-tagged-received",
    purpose = "Two segments of a Write, the second with L set, are placed at their STag and TO",
    rules = { "DDP-4.2-01", "DDP-4.2-05", "DDP-4.2-10", "DDP-4.1-01", "DDP-4.1-04" },
    needs = { memory = "write", read = true, revision = 1, markers = "off" },
    run = function(t)
      local conn = literal.start(t)
      local buf = t:memory { length = 64, remote = "write" }
      literal.send_fpdu(conn, "0013 8140" .. x32(buf.stag) .. x64(buf.to + 9) .. "6162636465 000000", "5 octets, L clear")
      literal.send_fpdu(conn, "0011 c140" .. x32(buf.stag) .. x64(buf.to + 14) .. "666768 00", "3 octets, L set")
      -- The target answers the Read after it when it has placed both.
      literal.send_fpdu(conn, "002e 4141 00000000 00000001 00000001 00000000 99aabbcc 0102030405060708 00000000 00000000 0000000000000000")
      literal.expect_fpdu(conn, "000e c142 99aabbcc 0102030405060708")
      t:expect_contents(buf, "abcdefgh", { offset = 9 })
    end,
  },

  literal.case {
    id = "octets-ddp-reserved",
    purpose = "The target ignores the four reserved bits of the DDP control octet, each and all, in a Write and in a Send",
    rules = { "DDP-4.1-10" },
    needs = { memory = "write", revision = 1, markers = "off" },
    run = function(t)
      local conn = literal.start(t)
      local buf = t:memory { length = 16, remote = "write" }
      for i, bits in ipairs { 0x20, 0x10, 0x08, 0x04, 0x3c } do
        local posted = t:receive { length = 8 }
        local payload = show(bytes(3, i))
        literal.send_fpdu(conn, ("0011 %02x40"):format(0xc1 | bits) .. x32(buf.stag) .. x64(buf.to + 3 * (i - 1)) .. payload .. "00",
          "stimulus: reserved bits of DDP set in a Write")
        literal.send_fpdu(conn, ("0015 %02x43 00000000 00000000"):format(0x41 | bits) .. x32(i) .. "00000000" .. payload .. "00",
          "stimulus: reserved bits of DDP set in a Send")
        t:completion(posted, { length = 3 })
        t:expect_contents(posted.memory, bytes(3, i))
        t:expect_contents(buf, bytes(3, i), { offset = 3 * (i - 1) })
      end
    end,
  },

  literal.case {
    id = "octets-tagged-sent",
    purpose = "The segments of the target's Write have its STag, the TO of their first octet, and L in the last one only",
    rules = { "DDP-4.2-01", "DDP-4.2-06", "DDP-4.2-08", "DDP-4.1-03", "DDP-4.1-04", "RDMAP-4.1-01", "RDMAP-4.1-02" },
    needs = { agent = true, revision = 1, markers = "off" },
    run = function(t)
      local conn = literal.start(t)
      local handle = t:post { conn = conn, op = "write", stag = 0x0a0b0c0d, to = 0x1112131415161718, payload = LONG }
      segments(t, conn, LONG, function(last, at)
        return (last and "c140" or "8140") .. "0a0b0c0d" .. x64(0x1112131415161718 + at)
      end)
      t:completion(handle)
    end,
  },

  literal.case {
    id = "octets-untagged-received",
    purpose = "The target joins the segments of a second Send by MSN 00000002 and MO 00000000, 00000102 and 00000203",
    rules = { "DDP-4.3-01", "DDP-4.3-11", "DDP-4.3-12", "DDP-4.3-08", "DDP-4.1-02", "DDP-4.1-07" },
    needs = { agent = true, revision = 1, markers = "off" },
    run = function(t)
      local conn = literal.start(t)
      local first, second = t:receive { length = 1024 }, t:receive { length = 1024 }
      local payload = bytes(0x0206, nil)
      literal.send_fpdu(conn, "0015 4143 00000000 00000000 00000001 00000000 616263 00", "MSN 1")
      t:completion(first, { length = 3 })
      literal.send_fpdu(conn, "0114 0143 00000000 00000000 00000002 00000000" .. show(payload:sub(1, 0x102)) .. "0000", "MSN 2, MO 0")
      literal.send_fpdu(conn, "0113 0143 00000000 00000000 00000002 00000102" .. show(payload:sub(0x103, 0x203)) .. "000000", "MSN 2, MO 258")
      literal.send_fpdu(conn, "0015 4143 00000000 00000000 00000002 00000203" .. show(payload:sub(0x204)) .. "00", "MSN 2, MO 515")
      t:completion(second, { length = 0x206 })
      t:expect_contents(second.memory, payload)
    end,
  },

  literal.case {
    id = "octets-untagged-sent",
    purpose = "The segments of the target's second Send have QN 0, MSN 00000002, the MO of their first octet, and L in the last one only",
    rules = { "DDP-4.3-01", "DDP-4.3-06", "DDP-4.3-08", "DDP-4.3-09", "DDP-4.3-11", "DDP-4.3-12", "DDP-4.1-03", "DDP-4.1-06" },
    needs = { agent = true, revision = 1, markers = "off" },
    run = function(t)
      local conn = literal.start(t)
      t:post { conn = conn, op = "send", payload = "abc" }
      literal.expect_fpdu(conn, "0015 4143 00000000 00000000 00000001 00000000 616263 00")
      local handle = t:post { conn = conn, op = "send", payload = LONG }
      segments(t, conn, LONG, function(last, at)
        return (last and "4143" or "0143") .. "00000000 00000000 00000002" .. x32(at)
      end)
      t:completion(handle)
    end,
  },

  literal.case {
    id = "octets-msn",
    purpose = "The 258th Send has MSN 00000102, from the station and from the target",
    rules = { "DDP-4.3-08", "DDP-4.3-09" },
    needs = { agent = true, revision = 1, markers = "off" },
    run = function(t)
      local conn = literal.start(t)
      local memory = t:memory { length = 8 }
      for i = 1, 0x102 do
        local posted = t:receive { memory = memory, length = 8 }
        literal.send_fpdu(conn, "0012 4143 00000000 00000000" .. x32(i) .. "00000000")
        t:completion(posted, { length = 0 })
        t:post { conn = conn, op = "send", memory = memory, length = 0 }
        literal.expect_fpdu(conn, "0012 4143 00000000 00000000" .. x32(i) .. "00000000")
      end
    end,
  },
}
