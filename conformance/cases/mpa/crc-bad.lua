-- SPDX-License-Identifier: BSD-3-Clause

local mpa = use "mpa"

return both_roles {
  id = "mpa-crc-bad",
  purpose = "An FPDU with a bad CRC ends the stream, or is dropped by TCP, and its payload is not delivered",
  rules = { "MPA-4.4-17", "MPA-8-02", "MPA-4.4-16" },
  needs = { agent = true },
  run = function(t)
    local conn = t:session { crc = true }
    local posted = t:receive { length = 16 }
    conn:send(send { payload = bytes(16) }, { crc = "bad" })
    mpa.expect_crc_fault(conn)
    t:expect_no_completion(posted)
    t:expect_unchanged(posted.memory)
  end,
}
