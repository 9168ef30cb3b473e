-- SPDX-License-Identifier: BSD-3-Clause

-- Records the choices that the receiver of a Terminate has (RFC 5040 §5.4, §6.2.1).

return family {
  both_roles {
    id = "rdmap-terminate-received-teardown",
    purpose = "The target ends the TCP connection at once after receiving a Terminate, by FIN or RST",
    rules = { "RDMAP-6.2.1-03", "RDMAP-6.2.1-04" },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      conn:send(terminate "0/0/00")
      -- The station leaves its own direction open: the target must not wait for it.
      local item = conn:expect(fin(), reset())
      t:observe("teardown", item.kind)
    end,
  },

  -- The response is far more than TCP takes while nobody reads, so that it is under way when the
  -- Terminate comes: on the same stream the target has to answer nothing after that.
  both_roles {
    id = "rdmap-terminate-received-under-way",
    purpose = "A Terminate that comes during a long Read Response ends the stream; the target may stop sending at once",
    rules = { "RDMAP-5.4-09", "RDMAP-5.4-05" },
    needs = { memory = "read" },
    run = function(t)
      local size = 8 << 20
      local source = t:agent("register", { length = size, access = { "remote-read" }, fill = 0x5a })
      local conn = t:session {}
      conn:sanity()
      conn:together(function()
        conn:send(read_request { size = size, source_stag = source.stag, source_to = math.tointeger(tonumber(source.to)),
                                 sink_stag = 8, sink_to = 0x1000 })
        conn:send(terminate "0/0/00")
      end)
      local item = conn:expect(closed(), read_response { stag = 8, to = 0x1000 }, { rule = "RDMAP-7-03" })
      local whole = item.kind == "message"
      if whole then
        t:check(#item.payload == size, "the target sent a Read Response with L=1 that is shorter than the Read",
          { rule = "RDMAP-5.2.1-12", item = item })
        conn:expect_close {}
      end
      t:observe("response", whole and "finished" or "stopped")
      t:event("terminated", conn, { layer = 0, type = 0, code = 0 }, { rule = "RDMAP-5.4-05" })
    end,
  },

  -- RFC 5040 §5.4: the target has room for one Terminate whatever else is used up.
  both_roles {
    id = "rdmap-terminate-received-busy",
    purpose = "The target reports a Terminate that comes with all receives used up, a Send unfinished and Reads outstanding",
    rules = { "RDMAP-5.4-04", "RDMAP-5.4-03", "RDMAP-5.4-06" },
    needs = { memory = "read" },
    run = function(t)
      local source = t:memory { length = 60000, remote = "read" }
      local conn = t:session {}
      conn:sanity()
      local first, second = t:receive { length = 16 }, t:receive { length = 16 }
      local memory = t:memory { length = 16 }
      local reading = t:post { op = "read", memory = memory, length = 16, stag = 1, to = 1 }
      conn:expect(read_request { size = 16 })
      local ird = math.min(conn:state().peer and conn:state().peer.ird or 1, 8)
      conn:together(function()
        conn:send(send { payload = bytes(16) })
        conn:send(send { payload = bytes(8), l = false })
        for i = 1, ird do conn:send(read_request { source = source, size = 60000, sink_stag = 5, sink_to = i << 32 }) end
        conn:send(terminate "0/0/00")
      end)
      t:event("terminated", conn, { layer = 0, type = 0, code = 0 })
      t:completion(first, { length = 16 })
      t:expect_no_completion(second)
      t:expect_no_completion(reading)
      local item
      repeat item = conn:expect(closed(), read_response { stag = 5 }) until item.kind ~= "message"
    end,
  },
}
