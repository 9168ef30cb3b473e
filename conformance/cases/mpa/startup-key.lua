-- SPDX-License-Identifier: BSD-3-Clause

-- One case for each kind of wrong key.
local wrong = {
  { name = "reply", key = "MPA ID Rep Frame", text = "is that of a Reply" },
  { name = "case", key = "MPA ID REQ FRAME", text = "has other letter cases" },
  { name = "last", key = "MPA ID Req Fram\0", text = "differs in its last octet" },
  { name = "zeros", key = ("\0"):rep(16), text = "is all zeros" },
}

return family {
  each(wrong, function(one)
    return case {
      id = "mpa-startup-key-" .. one.name,
      purpose = ("The target closes without a Reply on a Request whose key %s"):format(one.text),
      rules = { "MPA-7.1.1-02" },
      role = "responder",
      run = function(t)
        local conn = t:connect { raw = true }
        conn:send(request { key = one.key })
        conn:expect_close { at_once = true }
      end,
    }
  end),
}
