-- SPDX-License-Identifier: BSD-3-Clause

return case {
  id = "ddp-tagged-write-past-end",
  purpose = "A Write that runs past the end of its buffer ends the stream and changes no octet",
  rules = { "DDP-7.1-13", "RDMAP-8.1.1-03", "DDP-8.3.1-04" },
  role = "responder",
  needs = { memory = "write" },
  run = function(t)
    local buf = t:memory { length = 64, remote = "write" }
    local conn = t:connect {}
    conn:sanity()
    local sent = conn:send(write { to = buf, offset = 60, payload = bytes(8), comment = "4 octets too many" })
    conn:expect_terminate { fault.out_of_bounds, of = sent }
    t:expect_unchanged(buf)
  end,
}
