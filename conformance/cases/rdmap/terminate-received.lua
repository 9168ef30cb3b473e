-- SPDX-License-Identifier: BSD-3-Clause

-- Terminates that the target receives: the stream ends, and the target sends none back.

local seen = use "seen"

-- rest: the octets after layer, type and code.
local valid = {
  { name = "llp", text = "an LLP error, without headers", fields = { layer = 2, etype = 0, code = 2 } },
  { name = "catastrophic", text = "a local catastrophic error", fields = { layer = 0, etype = 0, code = 0 } },
  { name = "ddp-tagged", text = "a DDP error, with the header of a Write", fields = { layer = 1, etype = 1, code = 1 }, rest = function()
    return hex "c0000012 c140 11223344 0000000000001000" end },
  { name = "ddp-untagged", text = "a DDP error, with the header of a Send", fields = { layer = 1, etype = 2, code = 2 }, rest = function()
    return hex "c0000016 4143 00000000 00000000 00000001 00000000" end },
  { name = "read", text = "a protection error, with the header of a Read Request", fields = { layer = 0, etype = 1, code = 1 },
    rest = function()
    return hex "e000002e 4141 00000000 00000001 00000001 00000000 00000001 0000000000000000 00000008 11223344 0000000000001000" end },
  { name = "reserved", text = "reserved bits set", fields = { layer = 2, etype = 0, code = 5 },
    rest = function() return hex "1fff" end, rule = "RDMAP-4.8-08" },
  { name = "zero-filled", text = "fields that are not flagged but sent as zeros", fields = { layer = 2, etype = 0, code = 5 },
    rest = function()
    return bytes(50, 0) end }, -- OP-60
  { name = "trailing", text = "octets after its fields", fields = { layer = 1, etype = 1, code = 1 }, rest = function()
    return hex "c0000012 c140 11223344 0000000000001000 ffffffffffffffff" end },
  { name = "unknown-layer", text = "a layer that does not exist", fields = { layer = 7, etype = 3, code = 0x55 } },
  { name = "unknown-code", text = "a code that is not assigned", fields = { layer = 0, etype = 2, code = 0x77 } },
}

local function header(fields) return pack(">BB", fields.layer << 4 | fields.etype, fields.code) end

-- OP-69: a Terminate that the target cannot parse ends the stream, too. It need not answer.
local invalid = {
  { name = "empty", text = "no octet", payload = "" },
  { name = "1-octet", text = "1 octet", payload = hex "20" },
  { name = "3-octets", text = "3 octets", payload = hex "200500" },
  { name = "header-cut", text = "a DDP header that is cut short", payload = hex "1101c000 0012c140 112233" },
  { name = "header-absent", text = "the flag D and no DDP header", payload = hex "1101c000" },
  { name = "request-cut", text = "a Read Request header that is cut short",
    payload = hex "0101e000 002e4141 00000000 00000001 00000001 00000000 00000001 0000" },
  { name = "request-absent", text = "the flag R and no Read Request header",
    payload = hex "0101e000 002e4141 00000000 00000001 00000001 00000000" },
}

return family {
  each(valid, function(one)
    local payload = header(one.fields) .. (one.rest and one.rest() or "")
    if #payload < 4 then payload = payload .. bytes(4 - #payload, 0) end
    local both = one.name == "llp" or one.name == "read" or one.name == "trailing"
    return (both and both_roles or case) {
      id = "rdmap-terminate-received-" .. one.name,
      purpose = ("A Terminate with %s ends the stream and gets no answer"):format(one.text),
      rules = { one.rule or "RDMAP-5.4-05", "RDMAP-5.4-03", "RDMAP-5.4-07", "RDMAP-7-02" },
      role = not both and "responder" or nil,
      run = function(t)
        local conn = t:session {}
        conn:sanity()
        conn:send(terminate { payload = payload, comment = one.text })
        seen.over(conn)
      end,
    }
  end),

  both_roles {
    id = "rdmap-terminate-received-first",
    purpose = "A Terminate as the first FPDU ends the stream and gets no answer",
    rules = { "RDMAP-5.4-05", "RDMAP-5.4-04" },
    tags = { "field" },
    run = function(t)
      local conn = t:session {}
      conn:send(terminate "2/0/05")
      seen.over(conn)
    end,
  },

  case {
    id = "rdmap-terminate-received-reserved-reported",
    purpose = "The target reports a Terminate with reserved bits set like any other",
    rules = { "RDMAP-4.8-08", "RDMAP-5.4-06" },
    role = "responder",
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      conn:send(terminate { payload = hex "20 05 1fff", comment = "reserved bits set" })
      seen.over(conn)
      t:event("terminated", conn, { layer = 2, type = 0, code = 5 })
    end,
  },

  -- The target reports to its user the Terminate's fields, and all open work as failed.
  both_roles {
    id = "rdmap-terminate-received-work",
    purpose = "The target reports a Terminate with its code, and fails posted receives and an open Read",
    rules = { "RDMAP-5.4-06", "RDMAP-6.2.1-02", "RDMAP-5.4-10" },
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local posted = t:receive { length = 16 }
      local memory = t:memory { length = 16 }
      local reading = t:post { op = "read", memory = memory, length = 16, stag = 1, to = 1 }
      local sent = conn:expect(read_request { size = 16 })
      conn:send(terminate { rdmap = "protection", code = "bounds", r = true, m = true, d = true, segment_length = 46, headers = sent.ulpdu })
      seen.over(conn)
      t:event("terminated", conn, { layer = 0, type = 1, code = 1 })
      t:completion(posted, { status = "flushed" }, { rule = "RDMAP-6.2.1-02" })
      t:expect_no_completion(reading, { rule = "RDMAP-6.2.1-02" })
      t:expect_unchanged(memory)
      t:expect_unchanged(posted.memory)
    end,
  },

  -- The target takes no data after a Terminate.
  both_roles {
    id = "rdmap-terminate-received-then-data",
    purpose = "A Write and a Send after a Terminate have no effect",
    rules = { "RDMAP-7-02", "RDMAP-5.4-05" },
    needs = { memory = "write" },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local buf = t:memory { length = 16, remote = "write" }
      local posted = t:receive { length = 16 }
      conn:together(function()
        conn:send(terminate "2/0/05")
        conn:send(write { to = buf, payload = bytes(16, 0xee), comment = "after a Terminate" })
        conn:send(send { payload = bytes(16, 0xee), comment = "after a Terminate" })
      end)
      seen.over(conn)
      t:expect_no_completion(posted)
      t:expect_unchanged(posted.memory)
      t:expect_unchanged(buf)
    end,
  },

  each(invalid, function(one)
    local both = one.name == "header-cut"
    return (both and both_roles or case) {
      id = "rdmap-terminate-invalid-" .. one.name,
      purpose = ("A Terminate with %s ends the stream"):format(one.text),
      rules = { "RDMAP-5.4-07", "RDMAP-4.8-01", "RDMAP-4.8-02" },
      role = not both and "responder" or nil,
      tags = { "field" },
      run = function(t)
        local conn = t:session {}
        conn:sanity()
        conn:send(terminate { payload = one.payload, broken = true, comment = one.text })
        seen.over(conn, closed(), terminate {})
      end,
    }
  end),

  each({
    { name = "msn", fields = { msn = 2 }, text = "MSN 2" }, { name = "mo", fields = { mo = 4 }, text = "MO 4" },
    { name = "not-last", fields = { l = false }, text = "L=0" },
  }, function(one)
    return case {
      id = "rdmap-terminate-invalid-" .. one.name,
      purpose = ("A Terminate with %s ends the stream"):format(one.text),
      rules = { "RDMAP-5.4-07", "DDP-7.1-09" },
      role = "responder",
      run = function(t)
        local conn = t:connect {}
        conn:sanity()
        one.fields.layer, one.fields.etype, one.fields.code, one.fields.comment, one.fields.broken = 2, 0, 5, one.text, true
        conn:send(terminate(one.fields))
        seen.over(conn, closed(), terminate {})
      end,
    }
  end),

  case {
    id = "rdmap-terminate-received-twice",
    purpose = "A second Terminate after the first gets no answer, either",
    rules = { "RDMAP-5.4-04", "RDMAP-5.4-05" },
    role = "responder",
    run = function(t)
      local conn = t:connect {}
      conn:sanity()
      conn:together(function()
        conn:send(terminate "2/0/05")
        conn:send(terminate "2/0/05")
      end)
      seen.over(conn)
    end,
  },
}
