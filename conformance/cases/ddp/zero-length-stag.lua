-- SPDX-License-Identifier: BSD-3-Clause

-- Field bug: hardware that refuses a zero-length tagged message because of its STag.

-- The fault of the buffer that a zero-length Write names: text, memory, TO, a last preparation.
local named = {
  ["past-end"] = { "a TO past the end of a valid buffer", { length = 16, remote = "write" }, 17 },
  ["before-base"] = { "a TO before a valid buffer", { length = 16, remote = "write" }, -1 },
  ["read-only"] = { "a buffer that permits reading only", { length = 16, remote = "read" }, 0 },
  ["revoked"] = { "a buffer whose STag is invalidated", { length = 16, remote = "write" }, 0, "invalidate" },
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

  each({ "past-end", "before-base", "read-only", "revoked" }, function(name)
    local how, memory, offset, prepare = table.unpack(named[name])
    return case {
      id = "ddp-zero-length-" .. name,
      purpose = ("A zero-length Write to %s is accepted"):format(how),
      rules = { "DDP-5.2-11", "RDMAP-5.1-08" },
      role = "responder",
      needs = { memory = memory.remote },
      run = function(t)
        local buf = t:memory(memory)
        local conn = t:connect {}
        conn:sanity()
        if prepare then t:invalidate(buf) end
        conn:send(write { to = buf, offset = offset, payload = "" })
        conn:fence()
        t:expect_unchanged(buf)
      end,
    }
  end),
}
