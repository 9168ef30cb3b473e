-- SPDX-License-Identifier: BSD-3-Clause

-- Field bug: a responder that did not echo control flag A, so that the initiator saw no RTR form.

return family {
  each({ true, false }, function(asked)
    return case {
      id = "empa-reply-echoes-a-" .. (asked and "set" or "clear"),
      purpose = ("Control flag A of the Reply is %d as in the Request"):format(asked and 1 or 0),
      rules = { asked and "EMPA-9.2-04" or "EMPA-9.2-14" },
      role = "responder",
      needs = { revision = 2 },
      tags = { "field" },
      run = function(t)
        local conn = t:connect { raw = true }
        conn:send(request { peer_to_peer = asked, rtr = asked and { "send", "write", "read" } or nil })
        conn:expect(reply { rejected = false, a = asked })
      end,
    }
  end),
}
