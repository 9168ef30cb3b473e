-- SPDX-License-Identifier: BSD-3-Clause

-- The four kinds of Send.
local kinds = {
  { "send", "Send", send },
  { "send-se", "Send with SE", send_se, se = true },
  { "send-invalidate", "Send with Invalidate", send_invalidate, invalidates = true },
  { "send-se-invalidate", "Send with SE and Invalidate", send_se_invalidate, se = true, invalidates = true },
}

return family {
  each(kinds, function(kind)
    local name, text, message = table.unpack(kind)
    return each({ { "", 100, nil, "" }, { "-empty", 0, nil, " without payload" }, { "-segmented", 100, 33, " in four segments" } }, function(one)
      local suffix, length, segment, how = table.unpack(one, 1, 4)
      local both = suffix == ""
      return (both and both_roles or case) {
        id = "rdmap-kind-" .. name .. suffix,
        purpose = ("The target delivers a %s%s whole, and the next Send into its own buffer"):format(text, how),
        rules = kind.invalidates and { "RDMAP-5.3-15", "RDMAP-5.3-02", "RDMAP-5.3-05" }
          or { "RDMAP-5.3-02", "RDMAP-5.3-05", "RDMAP-5.3-11", "RDMAP-5.3-10" },
        role = not both and "responder" or nil,
        needs = { agent = true },
        run = function(t)
          local conn = t:session {}
          local buf = t:memory { length = 8, remote = "write", invalidate = true, conn = conn }
          local posted, following = t:receive { length = 128 }, t:receive { length = 128 }
          conn:send(message { invalidate = kind.invalidates and buf or nil, payload = bytes(length) }, { segment = segment })
          conn:send(send { payload = "next" })
          local event = t:completion(posted, { length = length, invalidated = kind.invalidates and buf.stag })
          -- RFC 5040 §5.3: a Solicited Event is for the target's own use.
          t:observe("solicited", event.solicited)
          t:expect_contents(posted.memory, bytes(length))
          t:completion(following, { length = 4 })
          t:expect_contents(following.memory, "next")
          conn:fence()
        end,
      }
    end)
  end),
}
