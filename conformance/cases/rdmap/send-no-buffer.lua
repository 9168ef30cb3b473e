-- SPDX-License-Identifier: BSD-3-Clause

return both_roles {
  id = "rdmap-send-no-buffer",
  purpose = "A Send for which no buffer is posted ends the stream",
  rules = { "DDP-7.1-02", "RDMAP-5.3-02", "DDP-7.1-06" },
  needs = { agent = true },
  tags = { "field" },
  run = function(t)
    local conn = t:session {}
    local posted = t:receive { length = 16 }
    conn:send(send { payload = bytes(16) })
    t:completion(posted, { length = 16 })
    local sent = conn:send(send { payload = bytes(16), comment = "no receive is posted for it" })
    conn:expect_terminate { fault.no_buffer, of = sent }
  end,
}
