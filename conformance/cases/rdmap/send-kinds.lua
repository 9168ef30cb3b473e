-- SPDX-License-Identifier: BSD-3-Clause

-- The four kinds of Send.
local kinds = {
  { name = "send", text = "Send", make = send },
  { name = "send-se", text = "Send with SE", make = send_se, se = true },
  { name = "send-invalidate", text = "Send with Invalidate", make = send_invalidate, invalidates = true },
  { name = "send-se-invalidate", text = "Send with SE and Invalidate", make = send_se_invalidate, se = true, invalidates = true },
}

return family {
  each(kinds, function(kind)
    return each({
      { suffix = "", length = 100, text = "" }, { suffix = "-empty", length = 0, text = " without payload" },
      { suffix = "-segmented", length = 100, segments = 33, text = " in four segments" },
    }, function(one)
      local both = one.suffix == ""
      return (both and both_roles or case) {
        id = "rdmap-kind-" .. kind.name .. one.suffix,
        purpose = ("The target delivers a %s%s whole, and the next Send into its own buffer"):format(kind.text, one.text),
        rules = kind.invalidates and { "RDMAP-5.3-15", "RDMAP-5.3-02", "RDMAP-5.3-05" }
          or { "RDMAP-5.3-02", "RDMAP-5.3-05", "RDMAP-5.3-11", "RDMAP-5.3-10" },
        role = not both and "responder" or nil,
        needs = { agent = true },
        run = function(t)
          local conn = t:session {}
          local buf = t:memory { length = 8, remote = "write", invalidate = true, conn = conn }
          local posted, following = t:receive { length = 128 }, t:receive { length = 128 }
          conn:send(kind.make { invalidate = kind.invalidates and buf or nil, payload = bytes(one.length) }, { segments = one.segments })
          conn:send(send { payload = "next" })
          local event = t:completion(posted, { length = one.length, invalidated = kind.invalidates and buf.stag })
          -- RFC 5040 §5.3: a Solicited Event is for the target's own use.
          t:observe("solicited", event.solicited)
          t:expect_contents(posted.memory, bytes(one.length))
          t:completion(following, { length = 4 })
          t:expect_contents(following.memory, "next")
          conn:fence()
        end,
      }
    end)
  end),
}
