-- SPDX-License-Identifier: BSD-3-Clause

-- Field bug: hardware that refuses a zero-length tagged message because of its STag.

local named = {
  { name = "past-end", text = "a TO past the end of a valid buffer", offset = 17 },
  { name = "before-base", text = "a TO before a valid buffer", offset = -1 },
  { name = "read-only", text = "a buffer that permits reading only", remote = "read" },
  { name = "revoked", text = "a buffer whose STag is invalidated", revoke = true },
}

return family {
  each({ 0, 0xdeadbeef }, function(stag)
    return both_roles {
      id = ("ddp-zero-length-stag-%x"):format(stag),
      purpose = ("A zero-length Write with STag 0x%x, which is not valid, is accepted"):format(stag),
      rules = { "DDP-5.2-11", "RDMAP-5.1-08", "EMPA-9.2-19" },
      tags = { "field" },
      run = function(t)
        local conn = t:session {}
        conn:send(write { stag = stag, to = 0xffffffffffffffff, payload = "" })
        conn:fence()
      end,
    }
  end),

  each(named, function(one)
    local remote = one.remote or "write"
    return case {
      id = "ddp-zero-length-" .. one.name,
      purpose = ("A zero-length Write to %s is accepted"):format(one.text),
      rules = { "DDP-5.2-11", "RDMAP-5.1-08" },
      role = "responder",
      needs = { memory = remote },
      run = function(t)
        local buf = t:memory { length = 16, remote = remote }
        local conn = t:connect {}
        conn:sanity()
        if one.revoke then t:invalidate(buf) end
        conn:send(write { to = buf, offset = one.offset or 0, payload = "" })
        conn:fence()
        t:expect_unchanged(buf)
      end,
    }
  end),
}
