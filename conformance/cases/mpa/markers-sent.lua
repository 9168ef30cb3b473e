-- SPDX-License-Identifier: BSD-3-Clause

return both_roles {
  id = "mpa-markers-sent",
  purpose = "A target that is asked for Markers places them every 512 octets of all that it sends",
  rules = { "MPA-4.3-02", "MPA-4.3-01", "MPA-7.1.1-06" },
  needs = { memory = "read" },
  run = function(t)
    local buf = t:memory { length = 4096, remote = "read", fill = "count" }
    local conn = t:session { markers = true }
    -- The observer checks every Marker of the answer: without them nothing fits.
    conn:expect_read(buf, bytes(4096))
    for size = 1, 32 do conn:read(buf, 0, size) end
    conn:fence()
  end,
}
