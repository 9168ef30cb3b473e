-- SPDX-License-Identifier: BSD-3-Clause

return both_roles {
  id = "mpa-crc-bad",
  purpose = "An FPDU with a bad CRC ends the stream and its payload is not delivered",
  rules = { "MPA-8-02", "MPA-4.4-17", "MPA-4.4-16" },
  needs = { agent = true },
  run = function(t)
    local conn = t:session { crc = true }
    local posted = t:receive { length = 16 }
    conn:send(send { payload = bytes(16) }, { crc = "bad" })
    conn:expect_terminate { "2/0/02" }
    t:expect_no_completion(posted)
    t:expect_unchanged(posted.memory)
  end,
}
