-- SPDX-License-Identifier: BSD-3-Clause

-- The end of a connection without an error, and without a Terminate.

return family {
  both_roles {
    id = "rdmap-close-by-target",
    purpose = "After a graceful close by its user the target sends all its data, then a FIN, and no Terminate",
    rules = { "DDP-6.2.1-01", "MPA-7.2-02" },
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local works = { t:post { op = "write", payload = bytes(50000), stag = 1, to = 1 }, t:post { op = "send", payload = "last" } }
      t:target_close(conn)
      conn:expect(write { stag = 1, to = 1, payload = bytes(50000) })
      conn:expect(send { payload = "last" })
      conn:expect_close { by = "fin" }
      for _, work in ipairs(works) do t:completion(work) end
    end,
  },

  both_roles {
    id = "rdmap-close-by-peer",
    purpose = "When its peer closes, the target reports it, gives posted receives back, and sends no Terminate",
    rules = { "DDP-6.2.1-05", "DDP-6.2.1-04", "DDP-6.2.1-06" },
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local posted = t:receive { length = 16 }
      conn:shutdown()
      t:event("peer-closed", conn)
      conn:expect_close { by = "fin" } -- the agent closes, too, unless configured for half-close
      t:expect_no_completion(posted)
      t:expect_unchanged(posted.memory)
    end,
  },

  both_roles {
    id = "rdmap-close-half-by-peer",
    purpose = "A target whose peer has closed one direction may still send in the other",
    rules = { "DDP-6.2.1-04", "DDP-6.2.1-05", "DDP-6.2-01" },
    needs = { agent = true },
    run = function(t)
      local conn = t:session { target = { half_close = true } }
      conn:sanity()
      conn:shutdown()
      t:event("peer-closed", conn)
      local work = t:post { op = "send", payload = "after your FIN" }
      conn:expect(send { payload = "after your FIN" })
      t:completion(work)
      t:target_close(conn)
      conn:expect_close { by = "fin", rule = "DDP-6.2.1-06" }
    end,
  },

  -- The response is far more than TCP takes while nobody reads, so that it is under way when the FIN comes.
  case {
    id = "rdmap-close-half-under-way",
    purpose = "A target whose peer closes one direction sends the rest of a Read Response in the other",
    rules = { "DDP-6.2.1-04", "RDMAP-5.2.1-12" },
    role = "responder",
    needs = { memory = "read" },
    run = function(t)
      local size = 8 << 20
      local source = t:agent("register", { length = size, access = { "remote-read" }, fill = 0x5a })
      local conn = t:connect {}
      conn:together(function()
        conn:send(read_request { size = 0, sink_stag = 7, sink_to = 7 })
        conn:send(read_request { size = size, source_stag = source.stag, source_to = math.tointeger(tonumber(source.to)),
                                 sink_stag = 8, sink_to = 0x1000 })
      end)
      conn:expect(read_response { stag = 7, to = 7, payload = "" })
      conn:shutdown()
      t:event("peer-closed", conn)
      local item, got = conn:next(), 0
      for _, segment in ipairs(item and item.segments or {}) do got = got + #segment.payload end
      t:check(got == size and item.op == "read-response", "the target did not send the whole Read Response",
        { expected = size .. " octets", actual = item and item.text or "nothing", item = item })
      conn:expect_close { by = "fin" }
    end,
  },

  both_roles {
    id = "rdmap-close-half-by-target",
    purpose = "A target that has closed its direction still receives in the other",
    rules = { "DDP-6.2.1-07" },
    needs = { memory = "write" },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local buf = t:memory { length = 16, remote = "write" }
      local posted = t:receive { length = 16 }
      t:target_close(conn)
      conn:expect_close { by = "fin" }
      conn:send(write { to = buf, payload = bytes(16, 7) })
      conn:send(send { payload = bytes(16) })
      t:completion(posted, { length = 16 })
      t:expect_contents(posted.memory, bytes(16))
      t:expect_contents(buf, bytes(16, 7))
    end,
  },

  both_roles {
    id = "rdmap-close-within-message",
    purpose = "A Send without its last segment is not delivered when the peer closes",
    rules = { "DDP-5.4-01", "DDP-4.1-07" },
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local posted = t:receive { length = 16 }
      conn:send(send { payload = bytes(8), l = false })
      conn:shutdown()
      conn:expect_close { rule = "DDP-6.2.1-05" } -- the agent closes
      t:expect_no_completion(posted)
      t:expect_unchanged(posted.memory, { except = { 0, 8 } })
    end,
  },

  both_roles {
    id = "rdmap-reset-by-peer",
    purpose = "When its peer resets the connection, the target fails its open work and reports the reset to its user",
    rules = { "DDP-6.2.2-01", "DDP-6.2.2-02" },
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local posted = t:receive { length = 16 }
      local memory = t:memory { length = 16 }
      local reading = t:post { op = "read", memory = memory, length = 16, stag = 1, to = 1 }
      conn:expect(read_request { size = 16 })
      conn:reset()
      t:event("closed", conn, { graceful = false })
      t:expect_no_completion(posted)
      t:expect_no_completion(reading)
      t:expect_unchanged(memory)
    end,
  },
}
