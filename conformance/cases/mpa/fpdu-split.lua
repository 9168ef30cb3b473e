-- SPDX-License-Identifier: BSD-3-Clause

return both_roles {
  id = "mpa-fpdu-split",
  purpose = "FPDUs that come one octet at a time, or many in one segment, are understood alike",
  rules = { "MPA-A.4-01", "MPA-5.2-01" },
  needs = { agent = true },
  run = function(t)
    local conn = t:session {}
    local one = t:receive { length = 100 }
    local two = t:receive { length = 100 }
    conn:send(send { payload = bytes(100) }, { writes = 1 })
    t:completion(one, { length = 100 })
    t:expect_contents(one.memory, bytes(100))

    conn:together(function()
      conn:send(send { payload = bytes(50, 7) })
      conn:send(read_request { size = 0, sink_stag = 1, sink_to = 2 })
      conn:send(read_request { size = 0, sink_stag = 1, sink_to = 3 })
    end)
    conn:expect(read_response { stag = 1, to = 2, payload = "" })
    conn:expect(read_response { stag = 1, to = 3, payload = "" })
    t:completion(two, { length = 50 })
    t:expect_contents(two.memory, bytes(50, 7))
  end,
}
