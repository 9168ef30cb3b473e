-- SPDX-License-Identifier: BSD-3-Clause

-- The Terminate in literal octets (RFC 5040 §4.8): layer, type, code, M, D and R, the segment's length and the returned
-- headers; the target's Terminates and the station's.

local literal = use "literal"

-- codes: layer, type and code of the Terminates, the preferred one first. They are octets on purpose: the sets of fault.*
-- name the same Terminates, and why there are several, but are compared with what the shared codec reads.
local sent = {
  { name = "tagged-stag", text = "an STag that does not exist", fpdu = "0012 c140 5bad57a6 123456789abcdef0 deadbeef",
    codes = { "1100", "1102" } },
  { name = "untagged-qn", text = "QN 0000004d", fpdu = "0016 4143 00000000 0000004d 00000001 00000000 deadbeef",
    codes = { "1201", "0206" }, posted = true },
  { name = "untagged-msn", text = "MSN 00000102", fpdu = "0016 4143 00000000 00000000 00000102 00000000 deadbeef",
    codes = { "1203", "1202" }, posted = true },
  { name = "untagged-mo", text = "MO 00010203", fpdu = "0016 4143 00000000 00000000 00000001 00010203 deadbeef",
    codes = { "1204", "1205" }, posted = true },
  { name = "untagged-length", text = "291 octets of ULPDU for a buffer of 16",
    fpdu = "0123 4143 00000000 00000000 00000001 00000000" .. show(bytes(273)) .. "000000",
    codes = { "1205" }, posted = true },
  { name = "ddp-version", text = "DV 3", fpdu = "0016 4343 00000000 00000000 00000001 00000000 deadbeef", codes = { "1206" },
    posted = true },
  { name = "rdmap-version", text = "RV 3", fpdu = "0016 41c3 00000000 00000000 00000001 00000000 deadbeef", codes = { "0205" },
    posted = true },
  { name = "opcode", text = "an opcode that is not assigned", fpdu = "0016 414e 00000000 00000000 00000001 00000000 deadbeef",
    codes = { "0206" }, posted = true },
}

local RULES = { "RDMAP-4.8-02", "RDMAP-4.8-01", "RDMAP-4.8-03", "RDMAP-4.8-10", "RDMAP-4.8-11", "RDMAP-4.8-07", "RDMAP-5.4-02" }

-- event: the target's report of the Terminate to its ULP.
local received = {
  { name = "llp", octets = "2002 0000", length = "0016", event = { layer = 2, type = 0, code = 2, flags = 0 } },
  { name = "ddp", octets = "1203 c000 0016 4143 00000000 00000000 00000102 00000000", length = "002a",
    event = { layer = 1, type = 2, code = 3, flags = 0xc0 } },
  { name = "read", octets = "0100 e000 002e 4141 00000000 00000001 00000001 00000000 99aabbcc 0000000000003344 0000004d 5bad57a6 0102030405060708",
    length = "0046", event = { layer = 0, type = 1, code = 0, flags = 0xe0 } },
  -- The length is there although the header of the segment is not.
  { name = "length-only", octets = "0209 8000 0012", length = "0018", event = { layer = 0, type = 2, code = 9, flags = 0x80 } },
}

return family {
  each(sent, function(one)
    return literal.case {
      id = "octets-terminate-" .. one.name,
      purpose = ("The target's Terminate for %s has its fields and the returned headers at their places"):format(one.text),
      rules = RULES,
      needs = { agent = one.posted, revision = 1, markers = "off" },
      run = function(t)
        local conn = literal.start(t)
        if one.posted then t:receive { length = 16 } end
        literal.send_fpdu(conn, one.fpdu, "stimulus: " .. one.text)
        literal.expect_terminate(conn, one.codes, { of = one.fpdu })
        literal.expect_end(conn)
      end,
    }
  end),

  -- A target whose ULP grants no Read answers the first one with 1/2/2, and rightly so (OP-70).
  literal.case {
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

  literal.case {
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
    local pad = ("00"):rep((2 - tonumber(one.length, 16)) % 4)
    return literal.case {
      id = "octets-terminate-received-" .. one.name,
      purpose = ("The target reads layer, type, code and flags of a Terminate %s at their places"):format(one.octets:sub(1, 9)),
      rules = { "RDMAP-4.8-02", "RDMAP-5.4-06", "RDMAP-5.4-05" },
      needs = { agent = true, revision = 1, markers = "off" },
      run = function(t)
        local conn = literal.start(t)
        literal.send_fpdu(conn, one.length .. literal.TERMINATE .. one.octets .. pad)
        t:event("terminated", conn, one.event)
        literal.expect_end(conn)
      end,
    }
  end),
}
