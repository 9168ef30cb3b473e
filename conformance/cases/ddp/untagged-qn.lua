-- SPDX-License-Identifier: BSD-3-Clause

return both_roles {
  id = "ddp-untagged-qn",
  purpose = "A Send on a queue that does not exist ends the stream",
  rules = { "DDP-7.1-01", "DDP-7.1-17" },
  run = function(t)
    local conn = t:session {}
    conn:sanity()
    local sent = conn:send(send { qn = 77, payload = bytes(8) })
    conn:expect_terminate { "1/2/01", "0/2/06", of = sent }
  end,
}
