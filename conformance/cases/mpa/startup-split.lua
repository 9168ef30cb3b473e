-- SPDX-License-Identifier: BSD-3-Clause

return case {
  id = "mpa-startup-split",
  purpose = "The target answers a Request that comes one octet at a time as usual",
  rules = { "MPA-A.4-01", "MPA-7.1.1-01" },
  role = "responder",
  run = function(t)
    local conn = t:connect { raw = true }
    conn:send(request { private = bytes(32) }, { writes = 1 })
    conn:expect(reply { rejected = false })
  end,
}
