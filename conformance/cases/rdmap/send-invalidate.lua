-- SPDX-License-Identifier: BSD-3-Clause

return case {
  id = "rdmap-send-invalidate",
  purpose = "Send with Invalidate makes the STag unusable: a Write that follows ends the stream",
  rules = { "RDMAP-5.3-15", "DDP-7.1-10" },
  role = "responder",
  needs = { memory = "write" },
  run = function(t)
    local conn = t:connect {}
    local buf = t:memory { length = 32, remote = "write", invalidate = true, conn = conn }
    local posted = t:receive { length = 8 }
    conn:send(write { to = buf, payload = bytes(32) })
    conn:send(send_invalidate { invalidate = buf, payload = bytes(8) })
    t:completion(posted, { length = 8, invalidated = buf.stag })
    t:expect_contents(buf, bytes(32))
    local sent = conn:send(write { to = buf, payload = bytes(32, 0xee), comment = "its STag is invalidated" })
    conn:expect_terminate { "1/1/00", "1/1/02", of = sent }
    t:expect_unchanged(buf)
  end,
}
