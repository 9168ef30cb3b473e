-- SPDX-License-Identifier: BSD-3-Clause

return case {
  id = "rdmap-read-basic",
  purpose = "An RDMA Read returns the requested octets, and those of earlier Writes",
  rules = { "RDMAP-5.2.1-12", "RDMAP-5.2-01" },
  role = "responder",
  needs = { memory = "read write" },
  tags = { "sanity" },
  run = function(t)
    local buf = t:memory { length = 8192, remote = "read write", fill = "count" }
    local conn = t:connect {}
    conn:send(write { to = buf, offset = 100, payload = bytes(50, 0xee) })
    local got = conn:read(buf, 90, 70)
    t:check(got == bytes(256):sub(91, 100) .. bytes(50, 0xee) .. bytes(256):sub(151, 160),
      "the RDMA Read returned other octets", { how = "other payload", actual = show(got) })
    conn:read(buf)
    t:expect_contents(buf, bytes(50, 0xee), { offset = 100 })
  end,
}
