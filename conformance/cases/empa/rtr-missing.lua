-- SPDX-License-Identifier: BSD-3-Clause

-- Something else in the place of the RTR (RFC 6581 §9.2). The responder has reported no connection to its ULP yet; some stacks
-- do not know what has ended then. "bug-terminate-in-place-of-rtr" is about a Terminate.

local mpa = use "mpa"

local faults = {
  { name = "crc", text = "an FPDU with a wrong CRC", rules = { "MPA-8-02", "MPA-4.4-17" }, fault = fault.crc,
    message = write { payload = "" }, options = { crc = "bad" } },
  { name = "opcode", text = "an opcode that is not assigned", rules = { "RDMAP-7.2-02" },
    fault = { fault.opcode, fault.first_is_no_rtr }, message = write { opcode = 0xf } },
  { name = "stag", text = "a Write to an STag that does not exist", rules = { "DDP-7.1-11" },
    fault = { fault.invalid_stag, fault.first_is_no_rtr }, message = write { stag = 0x5bad57a6, payload = bytes(8) } },
}

local function connect(t)
  return t:connect { peer_to_peer = true, rtr = { "write", "read", "send" }, rtr_send = false }
end

return family {
  each(faults, function(one)
    return case {
      id = "empa-rtr-missing-" .. one.name,
      purpose = ("%s in place of the RTR ends the stream, and the target lives on"):format(one.text:sub(1, 1):upper() .. one.text:sub(2)),
      rules = one.rules,
      role = "responder",
      needs = { peer_to_peer = true, reconnect = true, crc = one.options and "on" or nil },
      tags = { "field" },
      run = function(t)
        local conn = connect(t)
        conn:send(one.message, one.options)
        if one.options then
          mpa.expect_crc_fault(conn)
        else
          conn:expect(one.fault, closed())
        end
        mpa.serves(t:connect {})
      end,
    }
  end),

  case {
    id = "empa-rtr-missing-reset",
    purpose = "An initiator that resets the connection in place of its RTR ends its own connection, and the target lives on",
    rules = { "DDP-6.2.2-01", "EMPA-9.2-17" },
    role = "responder",
    needs = { peer_to_peer = true, reconnect = true },
    tags = { "field", "hostile" },
    run = function(t)
      for _ = 1, 8 do connect(t):reset() end
      mpa.serves(t:connect {})
    end,
  },

  case {
    id = "empa-rtr-missing-for-good",
    purpose = "A responder that waits for an RTR which never comes sends nothing, and serves other peers",
    rules = { "EMPA-9.2-17" },
    role = "responder",
    needs = { peer_to_peer = true, reconnect = true },
    tags = { "field" },
    run = function(t)
      local conn = connect(t)
      conn:expect_silence { rule = "EMPA-9.2-17" }
      mpa.serves(t:connect {})
      mpa.leaves(conn)
    end,
  },
}
