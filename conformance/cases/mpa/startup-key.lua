-- SPDX-License-Identifier: BSD-3-Clause

-- One case for each kind of wrong key.
local wrong = {
  { "reply", "MPA ID Rep Frame", "is that of a Reply" },
  { "case", "MPA ID REQ FRAME", "has other letter cases" },
  { "last", "MPA ID Req Frame" .. "\0", "differs in its last octet" },
  { "zeros", ("\0"):rep(16), "is all zeros" },
}

return family {
  each(wrong, function(one)
    local name, key, how = one[1], one[2], one[3]
    if name == "last" then key = key:sub(1, 15) .. "\0" end
    return case {
      id = "mpa-startup-key-" .. name,
      purpose = ("The target closes without a Reply on a Request whose key %s"):format(how),
      rules = { "MPA-7.1.1-02" },
      role = "responder",
      run = function(t)
        local conn = t:connect { raw = true }
        conn:send(request { key = key })
        conn:expect_close {}
      end,
    }
  end),
}
