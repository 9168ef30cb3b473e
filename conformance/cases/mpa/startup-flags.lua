-- SPDX-License-Identifier: BSD-3-Clause

-- Flags and reserved bits of a Request that must not matter. Field bug: a stack refused the start-up
-- for a reserved bit.
local mpa = use "mpa"

local function proceeds(t, fields)
  local conn = t:connect { raw = true }
  conn:send(request(fields))
  conn:expect(reply { rejected = false })
  mpa.serves(conn)
end

local function goes_on(t, bend)
  local conn, asked = mpa.called(t, { peer_to_peer = true, enhanced = true, revision = 2 })
  local fields = { revision = asked.revision, enhanced = asked.enhanced, a = asked.a, b = asked.b, c = asked.c,
    d = asked.d, ird = asked.ord, ord = asked.ird }
  for name, value in pairs(bend) do fields[name] = value end
  conn:send(reply(fields))
  mpa.opens(conn, asked)
  mpa.serves(conn)
end

return family {
  each({ 0x01, 0x02, 0x04, 0x08, 0x0f }, range(1, 2), function(bit, revision)
    return case {
      id = ("mpa-startup-reserved-%02x-rev%d"):format(bit, revision),
      purpose = ("The target ignores the reserved bits %02x of a Request of revision %d"):format(bit, revision),
      rules = { revision == 1 and "MPA-7.1.1-15" or "EMPA-6-04", "MPA-7.1.1-14" },
      role = "responder",
      needs = { revision = revision },
      tags = { "field" },
      run = function(t) proceeds(t, { revision = revision, reserved = bit }) end,
    }
  end),

  case {
    id = "mpa-startup-request-r",
    purpose = "The target ignores the R bit of a Request",
    rules = { "MPA-7.1.1-12", "MPA-7.1.1-13", "MPA-7.1.1-11" },
    level = "must", -- R of a Reply to it says that the ULP has rejected the connection
    role = "responder",
    run = function(t) proceeds(t, { rejected = true }) end,
  },

  -- OP-03: in revision 1 the bit is a reserved one.
  case {
    id = "mpa-startup-rev1-s",
    purpose = "The target takes S in a Request of revision 1 for a reserved bit: the start-up is unenhanced",
    rules = { "EMPA-6-11", "MPA-7.1.1-15", "EMPA-6-05" },
    role = "responder",
    run = function(t)
      local conn = t:connect { raw = true }
      conn:send(request { revision = 1, enhanced = false, flags = 0x50, private = hex "c010 c010" })
      local _, which = conn:expect(reply { revision = 1, rejected = false, enhanced = false }, closed())
      if which == 1 then mpa.serves(conn) end
    end,
  },

  case {
    id = "mpa-startup-no-c",
    purpose = "The target answers a Request without C, and CRCs follow the Reply's C",
    rules = { "MPA-7.1.1-08", "MPA-7.1.1-10" },
    role = "responder",
    run = function(t)
      local conn = t:connect { raw = true }
      conn:send(request { crc = false })
      local answer = conn:expect(reply { rejected = false })
      t:observe("reply-crc", answer.crc)
      mpa.serves(conn)
    end,
  },

  case {
    id = "mpa-startup-m",
    purpose = "The target accepts a Request with M, and its FPDUs carry Markers",
    rules = { "MPA-4.3-01", "MPA-7.1.1-06", "MPA-7.1.2-20" },
    role = "responder",
    needs = { read = true },
    run = function(t) proceeds(t, { markers = true }) end,
  },

  -- ---- the same for a Reply ----

  each({ 0x01, 0x02, 0x04, 0x08, 0x0f }, function(bit)
    return case {
      id = ("mpa-reply-reserved-%02x"):format(bit),
      purpose = ("The target ignores the reserved bits %02x of a Reply"):format(bit),
      rules = { "EMPA-6-04", "MPA-7.1.1-15" },
      role = "initiator",
      needs = { enhanced = true },
      tags = { "field" },
      run = function(t) goes_on(t, { reserved = bit }) end,
    }
  end),

  case {
    id = "mpa-reply-m",
    purpose = "The target takes a Reply with M, and its FPDUs carry Markers from the first one on",
    rules = { "MPA-4.3-01", "MPA-7.1.1-06", "MPA-7.1.2-20", "MPA-4.3-08" },
    role = "initiator",
    needs = { enhanced = true },
    run = function(t) goes_on(t, { markers = true }) end,
  },

  case {
    id = "mpa-request-good",
    purpose = "The Request of an initiator is well-formed: key, R, reserved bits, revision, length",
    rules = { "MPA-7.1.2-01", "MPA-7.1.1-01", "MPA-7.1.1-11", "MPA-7.1.1-14", "MPA-7.1.1-16", "MPA-7.1.1-20",
      "MPA-7.1.1-24", "EMPA-6-01", "EMPA-6-02", "EMPA-6-03", "EMPA-6-05", "EMPA-9-02", "MPA-4.3-12" },
    role = "initiator",
    tags = { "sanity" },
    run = function(t)
      local conn, asked = mpa.called(t)
      t:check(asked.revision == 1 or asked.revision == 2, "the target's Request has another revision than 1 or 2", {
        rule = "MPA-7.1.1-16", expected = "revision 1 or 2", actual = asked.text, item = asked })
      t:observe("request", ("rev %d%s%s"):format(asked.revision, asked.enhanced and " enhanced" or "",
        asked.markers and " M" or ""))
      conn:expect_silence { rule = "MPA-7.1.2-11" }
    end,
  },
}
