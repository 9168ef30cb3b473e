-- SPDX-License-Identifier: BSD-3-Clause

-- Field bug: ULPDU_Length smaller than the header that its opcode calls for, and a length that
-- becomes negative (siw, "Reject MPA FPDU length underflow before signed receive math"). OP-09: the
-- stream has to end, by any Terminate or by a close.

-- The whole header of each message, and how many octets of it make a header.
local headers = {
  ["write"] = { hex "c140 11223344 0000000000001000", 14 },
  ["read-response"] = { hex "c142 11223344 0000000000001000", 14 },
  ["send"] = { hex "4143 00000000 00000000 00000001 00000000", 18 },
  ["send-invalidate"] = { hex "4144 11223344 00000000 00000001 00000000", 18 },
  ["read-request"] = { hex "4141 00000000 00000001 00000001 00000000", 18 },
  ["terminate"] = { hex "4147 00000000 00000002 00000001 00000000", 18 },
}

return family {
  each({ "write", "read-response", "send", "send-invalidate", "read-request", "terminate" }, function(name)
    local header, length = table.unpack(headers[name])
    return each({ 1, length - 1 }, function(short)
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
                          comment = ("%d of %d octets of a DDP header"):format(short, length) })
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
  each({ { "tagged", "write" }, { "untagged", "send" } }, function(one)
    local kind, name = table.unpack(one)
    return case {
      id = "ddp-header-short-" .. kind .. "-first",
      purpose = ("A first FPDU with %s header that is too short, by any number, ends the stream"):format(
        kind == "tagged" and "a tagged" or "an untagged"),
      rules = { "DDP-4.4-02", "DDP-4.4-01" },
      level = "must",
      role = "responder",
      needs = { reconnect = true },
      tags = { "field" },
      run = function(t)
        local header, length = table.unpack(headers[name])
        for short = 0, length - 1 do
          local conn = t:connect {}
          conn:send(raw { ulpdu = header:sub(1, short), broken = true })
          conn:expect(terminate {}, closed())
        end
      end,
    }
  end),
}
