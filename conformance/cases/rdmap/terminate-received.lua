-- SPDX-License-Identifier: BSD-3-Clause

-- Terminates that the target receives: the stream ends, and the target sends none back.

local seen = use "seen"

-- name, text, the Terminate (layer/type/code), fields, the event's code
local valid = {
  { "llp", "an LLP error, without headers", { layer = 2, etype = 0, code = 2 } },
  { "catastrophic", "a local catastrophic error", { layer = 0, etype = 0, code = 0 } },
  { "ddp-tagged", "a DDP error, with the header of a Write", { layer = 1, etype = 1, code = 1 }, function()
    return hex "c0000012 c140 11223344 0000000000001000" end },
  { "ddp-untagged", "a DDP error, with the header of a Send", { layer = 1, etype = 2, code = 2 }, function()
    return hex "c0000016 4143 00000000 00000000 00000001 00000000" end },
  { "read", "a protection error, with the header of a Read Request", { layer = 0, etype = 1, code = 1 }, function()
    return hex "e000002e 4141 00000000 00000001 00000001 00000000 00000001 0000000000000000 00000008 11223344 0000000000001000" end },
  { "reserved", "reserved bits set", { layer = 2, etype = 0, code = 5 }, function() return hex "1fff" end, "RDMAP-4.8-08" },
  { "zero-filled", "fields that are not flagged but sent as zeros", { layer = 2, etype = 0, code = 5 }, function()
    return bytes(50, 0) end }, -- OP-60
  { "trailing", "octets after its fields", { layer = 1, etype = 1, code = 1 }, function()
    return hex "c0000012 c140 11223344 0000000000001000 ffffffffffffffff" end },
  { "unknown-layer", "a layer that does not exist", { layer = 7, etype = 3, code = 0x55 } },
  { "unknown-code", "a code that is not assigned", { layer = 0, etype = 2, code = 0x77 } },
}

local function header(fields) return pack(">BB", fields.layer << 4 | fields.etype, fields.code) end

-- OP-69: a Terminate that the target cannot parse ends the stream, too. It need not answer.
local invalid = {
  { "empty", "no octet", "" },
  { "1-octet", "1 octet", hex "20" },
  { "3-octets", "3 octets", hex "200500" },
  { "header-cut", "a DDP header that is cut short", hex "1101c000 0012c140 112233" },
  { "header-absent", "the flag D and no DDP header", hex "1101c000" },
  { "request-cut", "a Read Request header that is cut short",
    hex "0101e000 002e4141 00000000 00000001 00000001 00000000 00000001 0000" },
  { "request-absent", "the flag R and no Read Request header", hex "0101e000 002e4141 00000000 00000001 00000001 00000000" },
}

return family {
  each(valid, function(one)
    local name, text, fields, rest, rule = table.unpack(one, 1, 5)
    local payload = header(fields) .. (rest and rest() or "")
    if #payload < 4 then payload = payload .. bytes(4 - #payload, 0) end
    local both = name == "llp" or name == "read" or name == "trailing"
    return (both and both_roles or case) {
      id = "rdmap-terminate-received-" .. name,
      purpose = ("A Terminate with %s ends the stream and gets no answer"):format(text),
      rules = { rule or "RDMAP-5.4-05", "RDMAP-5.4-03", "RDMAP-5.4-07", "RDMAP-7-02" },
      role = not both and "responder" or nil,
      run = function(t)
        local conn = t:session {}
        conn:sanity()
        conn:send(terminate { payload = payload, comment = text })
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
    local name, text, payload = table.unpack(one)
    local both = name == "header-cut"
    return (both and both_roles or case) {
      id = "rdmap-terminate-invalid-" .. name,
      purpose = ("A Terminate with %s ends the stream"):format(text),
      rules = { "RDMAP-5.4-07", "RDMAP-4.8-01", "RDMAP-4.8-02" },
      role = not both and "responder" or nil,
      tags = { "field" },
      run = function(t)
        local conn = t:session {}
        conn:sanity()
        conn:send(terminate { payload = payload, broken = true, comment = text })
        seen.over(conn, closed(), terminate {})
      end,
    }
  end),

  each({ { "msn", { msn = 2 }, "MSN 2" }, { "mo", { mo = 4 }, "MO 4" }, { "not-last", { l = false }, "L=0" } }, function(one)
    local name, fields, text = table.unpack(one)
    return case {
      id = "rdmap-terminate-invalid-" .. name,
      purpose = ("A Terminate with %s ends the stream"):format(text),
      rules = { "RDMAP-5.4-07", "DDP-7.1-09" },
      role = "responder",
      run = function(t)
        local conn = t:connect {}
        conn:sanity()
        fields.layer, fields.etype, fields.code, fields.comment, fields.broken = 2, 0, 5, text, true
        conn:send(terminate(fields))
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
