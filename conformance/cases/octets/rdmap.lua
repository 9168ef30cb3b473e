-- SPDX-License-Identifier: BSD-3-Clause

-- RDMAP's control octet, the Invalidate STag and the Read Request in literal octets (RFC 5040 §4), in each direction.

local literal = use "literal"
local x32, x64 = literal.x32, literal.x64

local SENDS = {
  { op = "send", opcode = "3" }, { op = "send-invalidate", opcode = "4", invalidate = true }, { op = "send-se", opcode = "5",
    solicited = true }, { op = "send-se-invalidate", opcode = "6", invalidate = true, solicited = true },
}

return family {
  -- ---- the four Sends ----

  each(SENDS, function(one)
    return literal.case {
      id = "octets-" .. one.op,
      purpose = ("%s is opcode %s%s, from the station and from the target"):format(one.op, one.opcode,
        one.invalidate and " with the Invalidate STag in octets 2 to 5" or ""),
      rules = { one.invalidate and "RDMAP-4.1-03" or "RDMAP-4.1-06", "RDMAP-4.1-01", "RDMAP-4.1-02", "RDMAP-4.1-04", "RDMAP-4.1-08" },
      needs = { memory = one.invalidate and "read" or nil, agent = true, revision = 1, markers = "off" },
      run = function(t)
        local conn = literal.start(t)
        local posted = t:receive { length = 16 }
        local victim = one.invalidate and t:memory { length = 16, remote = "read", invalidate = true, conn = conn }
        literal.send_fpdu(conn, "0015 414" .. one.opcode .. (victim and x32(victim.stag) or "00000000")
          .. "00000000 00000001 00000000 616263 00")
        t:completion(posted, { length = 3, solicited = one.solicited or false, invalidated = victim and victim.stag or nil })
        t:expect_contents(posted.memory, "abc")
        t:post { conn = conn, op = one.op, payload = "xyz", invalidate = one.invalidate and 0x0a0b0c0d or nil }
        literal.expect_fpdu(conn, "0015 414" .. one.opcode .. (one.invalidate and "0a0b0c0d" or "00000000")
          .. "00000000 00000001 00000000 78797a 00")
      end,
    }
  end),

  literal.case {
    id = "octets-rdmap-reserved",
    purpose = "The target ignores the two reserved bits of the RDMAP control octet in a Write and in a Send",
    rules = { "RDMAP-4.1-10" },
    needs = { memory = "write", revision = 1, markers = "off" },
    run = function(t)
      local conn = literal.start(t)
      local buf = t:memory { length = 16, remote = "write" }
      for i, bits in ipairs { 0x20, 0x10, 0x30 } do
        local posted = t:receive { length = 8 }
        local payload = show(bytes(3, i))
        literal.send_fpdu(conn, ("0011 c1%02x"):format(0x40 | bits) .. x32(buf.stag) .. x64(buf.to + 3 * (i - 1)) .. payload .. "00",
          "stimulus: reserved bits of RDMAP set in a Write")
        literal.send_fpdu(conn, ("0015 41%02x 00000000 00000000"):format(0x43 | bits) .. x32(i) .. "00000000" .. payload .. "00",
          "stimulus: reserved bits of RDMAP set in a Send")
        t:completion(posted, { length = 3, solicited = false })
        t:expect_contents(posted.memory, bytes(3, i))
        t:expect_contents(buf, bytes(3, i), { offset = 3 * (i - 1) })
      end
    end,
  },

  -- ---- RDMA Read ----

  literal.case {
    id = "octets-read-received",
    purpose = "The target reads sink STag, sink TO, size 00000102, source STag and source TO of two Read Requests at their places",
    rules = { "RDMAP-4.4-01", "RDMAP-4.4-02", "RDMAP-4.4-03", "RDMAP-4.1-06", "RDMAP-4.1-04" },
    needs = { memory = "read", read = true, revision = 1, markers = "off" },
    run = function(t)
      local conn = literal.start(t)
      local buf = t:memory { length = 0x0300, remote = "read", fill = "count" }
      literal.send_fpdu(conn, "002e 4141 00000000 00000001 00000001 00000000"
        .. "99aabbcc 0102030405060708 00000102" .. x32(buf.stag) .. x64(buf.to + 3))
      literal.expect_fpdu(conn, "0110 c142 99aabbcc 0102030405060708" .. show(bytes(0x105):sub(4)) .. "0000", { whole = true })
      literal.send_fpdu(conn, "002e 4141 00000000 00000001 00000002 00000000"
        .. "ddeeff00 1112131415161718 00000003" .. x32(buf.stag) .. x64(buf.to + 0x0201))
      literal.expect_fpdu(conn, "0011 c142 ddeeff00 1112131415161718 010203 00")
    end,
  },

  literal.case {
    id = "octets-read-sent",
    purpose = "The target's own Read Requests have their fields at their places, on queue 00000001, and take a Read Response",
    rules = { "RDMAP-4.4-01", "RDMAP-4.1-06", "RDMAP-4.1-04", "RDMAP-4.2-01", "DDP-4.3-08" },
    needs = { agent = true, revision = 1, markers = "off" },
    run = function(t)
      local conn = literal.start(t)
      local buf = t:memory { length = 0x0300 }
      local handle = t:post { conn = conn, op = "read", memory = buf, offset = 1, length = 0x102, stag = 0x0a0b0c0d, to = 0x1112131415161718 }
      -- The sink is the target's own affair; both of its parts must come back as they are.
      local asked = literal.expect_fpdu(conn, "002e 4141 00000000 00000001 00000001 00000000"
        .. "{stag:4} {to:8} 00000102 0a0b0c0d 1112131415161718")
      if t.peer.name:find("^embedded") then
        t:check(show(asked.stag) == x32(buf.stag) and show(asked.to) == x64(buf.to + 1),
          "the target's Read Request names another sink",
          { expected = x32(buf.stag) .. "/" .. x64(buf.to + 1), actual = show(asked.stag) .. "/" .. show(asked.to) })
      end
      literal.send_fpdu(conn, "0110 c142" .. show(asked.stag) .. show(asked.to) .. show(bytes(0x102)) .. "0000")
      t:completion(handle, { length = 0x102 })
      t:expect_contents(buf, bytes(0x102), { offset = 1 })
      t:post { conn = conn, op = "read", memory = buf, length = 3, stag = 0x0a0b0c0d, to = 0x2122232425262728 }
      literal.expect_fpdu(conn, "002e 4141 00000000 00000001 00000002 00000000 {stag:4} {to:8} 00000003 0a0b0c0d 2122232425262728")
    end,
  },
}
