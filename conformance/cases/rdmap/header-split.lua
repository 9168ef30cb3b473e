-- SPDX-License-Identifier: BSD-3-Clause

-- Field bugs: a stack copied the rest of a header split over TCP segments without bound, or left it on
-- the stream (siw). Each message is split once at every octet.

local messages = {
  { name = "send", text = "Send", needs = { agent = true }, run = function(t, conn, send_split)
    for at = 1, 30 do
      local posted = t:receive { length = 12 }
      send_split(at, send { payload = bytes(7, at) })
      t:completion(posted, { length = 7 })
      t:expect_contents(posted.memory, bytes(7, at))
    end
  end },
  { name = "send-invalidate", text = "Send with Invalidate", needs = { agent = true }, run = function(t, conn, send_split)
    for at = 1, 30 do
      local buf = t:memory { length = 4, remote = "write", invalidate = true, conn = conn }
      local posted = t:receive { length = 12 }
      send_split(at, send_invalidate { invalidate = buf, payload = bytes(7, at) })
      t:completion(posted, { length = 7, invalidated = buf.stag })
    end
  end },
  { name = "write", text = "Write", needs = { memory = "write" }, run = function(t, conn, send_split)
    local buf = t:memory { length = 12, remote = "write" }
    for at = 1, 26 do
      send_split(at, write { to = buf, offset = 3, payload = bytes(7, at) })
      conn:fence()
      t:expect_contents(buf, bytes(7, at), { offset = 3 })
    end
  end },
  { name = "read-request", text = "Read Request", needs = { memory = "read" }, run = function(t, conn, send_split)
    local buf = t:memory { length = 100, remote = "read", fill = "count" }
    for at = 1, 51 do
      send_split(at, read_request { source = buf, offset = at, size = 7, sink_stag = 5, sink_to = at })
      conn:expect(read_response { stag = 5, to = at, payload = bytes(100):sub(at + 1, at + 7) })
    end
  end },
  { name = "read-response", text = "Read Response", needs = { agent = true }, run = function(t, conn, send_split)
    conn:sanity()
    local memory = t:memory { length = 12 }
    for at = 1, 26 do
      local handle = t:post { op = "read", memory = memory, offset = 3, length = 7, stag = 1, to = 1 }
      local asked = conn:expect(read_request { size = 7 })
      send_split(at, read_response { stag = asked.sink_stag, to = asked.sink_to, payload = bytes(7, at) })
      t:completion(handle, { length = 7 })
      t:expect_contents(memory, bytes(7, at), { offset = 3 })
    end
  end },
}

return family {
  each(messages, function(one)
    return both_roles {
      id = "rdmap-split-" .. one.name,
      purpose = ("The target understands a %s that is split in two at any octet"):format(one.text),
      rules = { "DDP-3-04", "DDP-3-08", "DDP-5.2-05" },
      needs = one.needs,
      tags = { "field" },
      run = function(t)
        local conn = t:session {}
        one.run(t, conn, function(at, message) conn:send(message, { writes = { at } }) end)
      end,
    }
  end),
}
