-- SPDX-License-Identifier: BSD-3-Clause

-- RFC 5041 §6.2: DDP ends a stream when the ULP or the lower layer asks for it, and not by itself.

local mpa = use "mpa"

return both_roles {
  id = "ddp-idle-stays",
  purpose = "An idle stream stays open while other streams end, gracefully and by an error",
  rules = { "DDP-6.2-01" },
  needs = { reconnect = true },
  run = function(t)
    local idle = t:session {}
    idle:sanity()
    local busy = t:session {}
    for _ = 1, 200 do busy:fence() end
    mpa.leaves(busy)
    local wrong = t:session {}
    wrong:send(send { qn = 77, payload = bytes(8) })
    wrong:expect_terminate { rule = "DDP-7.1-01" }
    idle:fence()
  end,
}
