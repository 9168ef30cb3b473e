-- SPDX-License-Identifier: BSD-3-Clause

-- Read Requests at another place than the one that queue 1 has for them. Its buffer takes the 28 octets of RFC 5040 §4.4 (how many
-- more is the target's own business: OP-67), and an MSN is that of its own queue (RFC 5041 §5.3).

local AWAY = { "DDP-7.1-07", "DDP-7.1-17", "RDMAP-7.2-01" }
local LONG = { "DDP-7.1-08", "DDP-7.1-17", "RDMAP-7.2-01" }

local places = {
  { name = "mo-1", mo = 1, fault = fault.request_past_buffer, rules = LONG, text = "has an MO of 1 and ends an octet past its buffer" },
  { name = "mo-28", mo = 28, fault = fault.request_past_buffer, rules = AWAY, text = "has an MO just after its buffer" },
  { name = "mo-sign", mo = 0x80000000, fault = fault.invalid_mo, rules = AWAY, text = "has an MO of 2^31" },
  { name = "mo-wrap", mo = 0xffffffe4, fault = fault.invalid_mo, rules = AWAY, text = "has an MO just below 2^32, and ends at 0" },
  { name = "mo-28-payload", mo = 28, more = 8, fault = fault.request_past_buffer, rules = AWAY,
    text = "has an MO just after its buffer and 8 octets more" },
}

return family {
  each(places, function(one)
    local both = one.name == "mo-28"
    return (both and both_roles or case) {
      id = "ddp-read-request-" .. one.name,
      purpose = ("A Read Request that %s ends the stream and is not answered"):format(one.text),
      rules = one.rules,
      role = not both and "responder" or nil,
      run = function(t)
        local conn = t:session {}
        conn:sanity()
        local asked = read_request { mo = one.mo, size = 0, sink_stag = 1, comment = "it " .. one.text }
        if one.more then
          asked = read_request { mo = one.mo, payload = bytes(28 + one.more, 0), broken = true, comment = "it " .. one.text }
        end
        local sent = conn:send(asked)
        -- Whoever just closes may have found the octets too many, and not the MO.
        conn:expect_terminate { one.fault, of = sent, closed = one.more and "RDMAP-7.1-04" or nil }
      end,
    }
  end),

  -- The octets before the MO have never come: whoever answers has made them up. RFC 5041 requires nobody to notice that.
  case {
    id = "ddp-read-request-mo-4-short",
    purpose = "A Read Request of which only the last 24 octets come, with an MO of 4, ends the stream and is not answered",
    rules = { "RDMAP-7.2-15", "RDMAP-4.4-01" },
    level = "should",
    role = "responder",
    run = function(t)
      local conn = t:connect {}
      conn:sanity()
      conn:send(read_request { mo = 4, payload = bytes(24, 0), broken = true, comment = "the first 4 octets are missing" })
      conn:expect(terminate {}, closed())
    end,
  },

  -- A stack that looks at the lowest octet of QN alone, or counts one MSN for all queues, would serve these.
  each({ { qn = 2, fault = fault.opcode_on_queue, quiet = true }, { qn = 0x101, fault = fault.invalid_queue_in_turn } }, function(one)
    local both = one.qn == 0x101
    return (both and both_roles or case) {
      id = ("ddp-read-request-on-queue-%x-in-turn"):format(one.qn),
      purpose = ("A Read Request on queue 0x%x, with the MSN that queue 1 expects, ends the stream and is not answered"):format(one.qn),
      rules = { one.qn == 2 and "RDMAP-7.2-02" or "DDP-7.1-01", "DDP-4.3-07" },
      level = "must",
      role = not both and "responder" or nil,
      tags = { "field" },
      run = function(t)
        local conn = t:session {}
        local sent = conn:send(read_request { qn = one.qn, msn = 1, size = 0, sink_stag = 1, comment = "queue 1 expects MSN 1, too" })
        if one.quiet then -- OP-69
          conn:expect(one.fault, closed())
        else
          conn:expect_terminate { one.fault, of = sent }
        end
      end,
    }
  end),
}
