-- SPDX-License-Identifier: BSD-3-Clause

-- The Terminate in literal octets (RFC 5040 §4.8): layer, type, code, M, D and R, the segment's length and the returned
-- headers; the target's Terminates and the station's.

local literal = use "literal"

local function in_octets(fields)
  fields.role, fields.level = "responder", "must"
  return case(fields)
end

-- name, fault, FPDU to send, layer, type and code of the Terminates (the preferred one first), whether a receive is posted
local sent = {
  { "tagged-stag", "an STag that does not exist", "0012 c140 5bad57a6 123456789abcdef0 deadbeef", { "1100", "1102" } },
  { "untagged-qn", "QN 0000004d", "0016 4143 00000000 0000004d 00000001 00000000 deadbeef", { "1201", "0206" } },
  { "untagged-msn", "MSN 00000102", "0016 4143 00000000 00000000 00000102 00000000 deadbeef", { "1203", "1202" }, true },
  { "untagged-mo", "MO 00010203", "0016 4143 00000000 00000000 00000001 00010203 deadbeef", { "1204", "1205" }, true },
  { "untagged-length", "291 octets of ULPDU for a buffer of 16", "0123 4143 00000000 00000000 00000001 00000000" .. show(bytes(273)) .. "000000",
    { "1205" }, true },
  { "ddp-version", "DV 3", "0016 4343 00000000 00000000 00000001 00000000 deadbeef", { "1206" }, true },
  { "rdmap-version", "RV 3", "0016 41c3 00000000 00000000 00000001 00000000 deadbeef", { "0205" }, true },
  { "opcode", "an opcode that is not assigned", "0016 414e 00000000 00000000 00000001 00000000 deadbeef", { "0206" }, true },
}

local RULES = { "RDMAP-4.8-02", "RDMAP-4.8-01", "RDMAP-4.8-03", "RDMAP-4.8-10", "RDMAP-4.8-11", "RDMAP-4.8-07", "RDMAP-5.4-02" }

-- name, the Terminate, the target's report of it to its ULP
local received = {
  { "llp", "2002 0000", "0016", { layer = 2, type = 0, code = 2, flags = 0 } },
  { "ddp", "1203 c000 0016 4143 00000000 00000000 00000102 00000000", "002a", { layer = 1, type = 2, code = 3, flags = 0xc0 } },
  { "read", "0100 e000 002e 4141 00000000 00000001 00000001 00000000 99aabbcc 0000000000003344 0000004d 5bad57a6 0102030405060708",
    "0046", { layer = 0, type = 1, code = 0, flags = 0xe0 } },
  -- The length is there although the header of the segment is not.
  { "length-only", "0209 8000 0012", "0018", { layer = 0, type = 2, code = 9, flags = 0x80 } },
}

return family {
  each(sent, function(one)
    local name, text, fpdu, codes, posted = table.unpack(one, 1, 5)
    return in_octets {
      id = "octets-terminate-" .. name,
      purpose = ("The target's Terminate for %s has its fields and the returned headers at their places"):format(text),
      rules = RULES,
      needs = { agent = posted, revision = 1, markers = "off" },
      run = function(t)
        local conn = literal.start(t)
        if posted then t:receive { length = 16 } end
        literal.send_fpdu(conn, fpdu, "stimulus: " .. text)
        literal.expect_terminate(conn, codes, { of = fpdu })
        literal.expect_end(conn)
      end,
    }
  end),

  -- A target whose ULP grants no Read answers the first one with 1/2/2, and rightly so (OP-70).
  in_octets {
    id = "octets-terminate-read-source",
    purpose = "The target's Terminate for a Read Request for an unknown STag has its fields and returned headers at their places",
    rules = RULES,
    needs = { read = true, revision = 1, markers = "off" },
    run = function(t)
      local conn = literal.start(t)
      literal.send_fpdu(conn, "002e 4141 00000000 00000001 00000001 00000000 99aabbcc 0102030405060708 00000000 00000000 0000000000000000")
      literal.expect_fpdu(conn, "000e c142 99aabbcc 0102030405060708", { premise = true, reason = "the target did not answer a good Read" })
      local fpdu = "002e 4141 00000000 00000001 00000002 00000000 99aabbcc 0000000000003344 0000004d 5bad57a6 0102030405060708"
      literal.send_fpdu(conn, fpdu, "stimulus: a Read Request for an STag that does not exist")
      literal.expect_terminate(conn, { "0100", "0103" }, { of = fpdu, request = true })
      literal.expect_end(conn)
    end,
  },

  in_octets {
    id = "octets-terminate-received-reserved",
    purpose = "The target ignores the reserved bits of a Terminate: it reads the other fields as if they were 0",
    rules = { "RDMAP-4.8-08", "RDMAP-5.4-06", "RDMAP-5.4-05" },
    needs = { agent = true, revision = 1, markers = "off" },
    run = function(t)
      local conn = literal.start(t)
      literal.send_fpdu(conn, "002a" .. literal.TERMINATE .. "1203 dfff 0016 4143 00000000 00000000 00000102 00000000",
        "stimulus: reserved bits set in a Terminate")
      t:event("terminated", conn, { layer = 1, type = 2, code = 3, flags = 0xc0 })
      literal.expect_end(conn)
    end,
  },

  each(received, function(one)
    local name, octets, length, event = table.unpack(one)
    local pad = ("00"):rep((2 - tonumber(length, 16)) % 4)
    return in_octets {
      id = "octets-terminate-received-" .. name,
      purpose = ("The target reads layer, type, code and flags of a Terminate %s at their places"):format(octets:sub(1, 9)),
      rules = { "RDMAP-4.8-02", "RDMAP-5.4-06", "RDMAP-5.4-05" },
      needs = { agent = true, revision = 1, markers = "off" },
      run = function(t)
        local conn = literal.start(t)
        literal.send_fpdu(conn, length .. literal.TERMINATE .. octets .. pad)
        t:event("terminated", conn, event)
        literal.expect_end(conn)
      end,
    }
  end),
}
