-- SPDX-License-Identifier: BSD-3-Clause

return both_roles {
  id = "rdmap-target-writes",
  purpose = "The target sends the Write, the Send and the Read that its user asks for in order",
  rules = { "DDP-5.3-07", "RDMAP-5.2-01" },
  needs = { agent = true },
  tags = { "sanity" },
  run = function(t)
    local conn = t:session {}
    conn:sanity()
    t:post { op = "write", payload = bytes(100), stag = 0x11223344, to = 0x1000 }
    local sending = t:post { op = "send-se", payload = "hello" }
    conn:expect(write { stag = 0x11223344, to = 0x1000, payload = bytes(100) })
    conn:expect(send_se { payload = "hello", msn = conn.first and conn.first.op == "send" and 2 or 1 })
    t:completion(sending)

    local sink = t:memory { length = 64 }
    local reading = t:post { op = "read", memory = sink, stag = 0x11223344, to = 0x2000 }
    local asked = conn:expect(read_request { size = 64, source_stag = 0x11223344, source_to = 0x2000 })
    conn:send(read_response { stag = asked.sink_stag, to = asked.sink_to, payload = bytes(64) })
    t:completion(reading, { length = 64 })
    t:expect_contents(sink, bytes(64))
  end,
}
