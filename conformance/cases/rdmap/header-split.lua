-- SPDX-License-Identifier: BSD-3-Clause

-- Field bugs: a stack copied the rest of a header split over TCP segments without bound, or left it on
-- the stream (siw). Each message is cut once at every octet.

local messages = {
  { name = "send", text = "Send", needs = { agent = true }, run = function(t, conn, each)
    for cut = 1, 30 do
      local posted = t:receive { length = 12 }
      each(cut, send { payload = bytes(7, cut) })
      t:completion(posted, { length = 7 })
      t:expect_contents(posted.memory, bytes(7, cut))
    end
  end },
  { name = "send-invalidate", text = "Send with Invalidate", needs = { agent = true }, run = function(t, conn, each)
    for cut = 1, 30 do
      local buf = t:memory { length = 4, remote = "write", invalidate = true, conn = conn }
      local posted = t:receive { length = 12 }
      each(cut, send_invalidate { invalidate = buf, payload = bytes(7, cut) })
      t:completion(posted, { length = 7, invalidated = buf.stag })
    end
  end },
  { name = "write", text = "Write", needs = { memory = "write" }, run = function(t, conn, each)
    local buf = t:memory { length = 12, remote = "write" }
    for cut = 1, 26 do
      each(cut, write { to = buf, offset = 3, payload = bytes(7, cut) })
      conn:fence()
      t:expect_contents(buf, bytes(7, cut), { offset = 3 })
    end
  end },
  { name = "read-request", text = "Read Request", needs = { memory = "read" }, run = function(t, conn, each)
    local buf = t:memory { length = 100, remote = "read", fill = "count" }
    for cut = 1, 51 do
      each(cut, read_request { source = buf, offset = cut, size = 7, sink_stag = 5, sink_to = cut })
      conn:expect(read_response { stag = 5, to = cut, payload = bytes(100):sub(cut + 1, cut + 7) })
    end
  end },
  { name = "read-response", text = "Read Response", needs = { agent = true }, run = function(t, conn, each)
    conn:sanity()
    local memory = t:memory { length = 12 }
    for cut = 1, 26 do
      local handle = t:post { op = "read", memory = memory, offset = 3, length = 7, stag = 1, to = 1 }
      local asked = conn:expect(read_request { size = 7 })
      each(cut, read_response { stag = asked.sink_stag, to = asked.sink_to, payload = bytes(7, cut) })
      t:completion(handle, { length = 7 })
      t:expect_contents(memory, bytes(7, cut), { offset = 3 })
    end
  end },
}

return family {
  each(messages, function(one)
    return both_roles {
      id = "rdmap-split-" .. one.name,
      purpose = ("The target understands a %s that is cut in two at any octet"):format(one.text),
      rules = { "DDP-3-04", "DDP-3-08", "DDP-5.2-05" },
      needs = one.needs,
      tags = { "field" },
      run = function(t)
        local conn = t:session {}
        one.run(t, conn, function(cut, message) conn:send(message, { writes = { cut } }) end)
      end,
    }
  end),
}
