-- SPDX-License-Identifier: BSD-3-Clause

-- Field bug: ULPDU_Length smaller than the header that its opcode calls for, and a length that
-- becomes negative (siw, "Reject MPA FPDU length underflow before signed receive math"). OP-09: the
-- stream has to end, by any Terminate or by a close.

local headers = {
  ["write"] = hex "c140 11223344 0000000000001000",
  ["read-response"] = hex "c142 11223344 0000000000001000",
  ["send"] = hex "4143 00000000 00000000 00000001 00000000",
  ["send-invalidate"] = hex "4144 11223344 00000000 00000001 00000000",
  ["read-request"] = hex "4141 00000000 00000001 00000001 00000000",
  ["terminate"] = hex "4147 00000000 00000002 00000001 00000000",
}

return family {
  each({ "write", "read-response", "send", "send-invalidate", "read-request", "terminate" }, function(name)
    local header = headers[name]
    return each({ 1, #header - 1 }, function(short)
      return case {
        id = ("ddp-header-short-%s-%d"):format(name, short),
        purpose = ("A ULPDU that is cut short after %d octets of a %s header ends the stream"):format(short, name:gsub("-", " ")),
        role = "responder",
        rules = { "DDP-4.4-02", "DDP-4.4-01" },
        level = "must",
        tags = { "field" },
        run = function(t)
          local conn = t:connect {}
          conn:sanity()
          conn:send(raw { ulpdu = header:sub(1, short), broken = true,
                          comment = ("%d of %d octets of a DDP header"):format(short, #header) })
          conn:expect(terminate {}, closed())
        end,
      }
    end)
  end),

  both_roles {
    id = "ddp-header-absent",
    purpose = "An FPDU with no ULPDU at all ends the stream",
    rules = { "DDP-4.4-02", "DDP-4.4-01" },
    level = "must",
    tags = { "field" },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      conn:send(raw { ulpdu = "", broken = true, comment = "ULPDU_Length is zero" })
      conn:expect(terminate {}, closed())
    end,
  },

  -- The same for every length there is, one connection each.
  each({
    { name = "tagged", text = "a tagged", header = headers["write"] },
    { name = "untagged", text = "an untagged", header = headers["send"] },
  }, function(one)
    return case {
      id = "ddp-header-short-" .. one.name .. "-first",
      purpose = ("A first FPDU with %s header that is too short, by any number, ends the stream"):format(one.text),
      rules = { "DDP-4.4-02", "DDP-4.4-01" },
      level = "must",
      role = "responder",
      needs = { reconnect = true },
      tags = { "field" },
      run = function(t)
        for short = 0, #one.header - 1 do
          local conn = t:connect {}
          conn:send(raw { ulpdu = one.header:sub(1, short), broken = true })
          conn:expect(terminate {}, closed())
        end
      end,
    }
  end),
}
