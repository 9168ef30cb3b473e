-- SPDX-License-Identifier: BSD-3-Clause

-- Several RDMA Reads at a time.

local function agreed(conn, most)
  local peer = conn:state().peer
  return peer and peer.ird and math.min(peer.ird, most) or 1
end

return family {
  both_roles {
    id = "rdmap-reads-in-order",
    purpose = "The target answers RDMA Reads that come together in their order, each with its own octets",
    rules = { "RDMAP-5.2.2-06", "RDMAP-5.5-17", "RDMAP-5.2.1-08", "RDMAP-5.2.1-03" },
    needs = { memory = "read" },
    run = function(t)
      local buf = t:memory { length = 256, remote = "read", fill = "count" }
      local conn = t:session {}
      local count = agreed(conn, 16)
      conn:together(function()
        for i = 1, count do
          -- The later, the shorter: an answer out of turn would be ready first.
          conn:send(read_request { source = buf, offset = i, size = 200 // i, sink_stag = 100 - i, sink_to = 1000 * i })
        end
      end)
      for i = 1, count do
        conn:expect(read_response { stag = 100 - i, to = 1000 * i, payload = bytes(256):sub(i + 1, i + 200 // i) })
      end
      t:observe("reads", count)
      conn:fence()
    end,
  },

  both_roles {
    id = "rdmap-reads-alike",
    purpose = "The target answers each of several identical RDMA Reads",
    rules = { "RDMAP-5.2.1-12", "RDMAP-5.2.1-03", "RDMAP-5.2-01" },
    needs = { memory = "read" },
    run = function(t)
      local buf = t:memory { length = 16, remote = "read", fill = "count" }
      local conn = t:session {}
      local count = agreed(conn, 8)
      conn:together(function()
        for _ = 1, count do conn:send(read_request { source = buf, size = 16, sink_stag = 5, sink_to = 50 }) end
      end)
      for _ = 1, count do conn:expect(read_response { stag = 5, to = 50, payload = bytes(16) }) end
      conn:fence()
    end,
  },

  both_roles {
    id = "rdmap-reads-many",
    purpose = "The target answers a hundred RDMA Reads one after another",
    rules = { "RDMAP-5.2.1-12", "RDMAP-5.2.1-02", "RDMAP-5.2.2-02" },
    needs = { memory = "read" },
    run = function(t)
      local buf = t:memory { length = 100, remote = "read", fill = "count" }
      local conn = t:session {}
      for i = 0, 99 do
        conn:send(read_request { source = buf, offset = i, size = 1, sink_stag = 5, sink_to = i })
        conn:expect(read_response { stag = 5, to = i, payload = bytes(100):sub(i + 1, i + 1) })
      end
    end,
  },

  both_roles {
    id = "rdmap-write-read-order",
    purpose = "An RDMA Read returns the octets of all Writes before it",
    rules = { "RDMAP-5.5-07", "RDMAP-5.5-14" },
    needs = { memory = "read write" },
    run = function(t)
      local buf = t:memory { length = 64, remote = "read write" }
      local conn = t:session {}
      for i = 1, 5 do
        local content = bytes(64 + 40 * i):sub(-64) -- no octet is that of a neighbour, or of the Write before
        conn:together(function()
          conn:send(write { to = buf, payload = content }, { segments = 10 })
          conn:send(read_request { source = buf, size = 64, sink_stag = 5, sink_to = i })
        end)
        local item = conn:expect(read_response { stag = 5, to = i })
        t:expect_after_write(item, buf, content, "RDMAP-5.5-07")
      end
    end,
  },

  both_roles {
    id = "rdmap-send-between-reads",
    purpose = "The target delivers Sends between RDMA Reads in order and answers the Reads in order",
    rules = { "RDMAP-5.2.2-06", "RDMAP-5.3-05", "RDMAP-5.5-05", "RDMAP-5.5-09", "RDMAP-5.5-15" },
    needs = { memory = "read" },
    run = function(t)
      local buf = t:memory { length = 64, remote = "read", fill = "count" }
      local conn = t:session {}
      local count = agreed(conn, 4)
      local posted = {}
      for i = 1, count do posted[i] = t:receive { length = 8 } end
      conn:together(function()
        for i = 1, count do
          conn:send(read_request { source = buf, offset = i, size = 8, sink_stag = 5, sink_to = i })
          conn:send(send { payload = bytes(i, i) })
        end
      end)
      for i = 1, count do
        conn:expect(read_response { stag = 5, to = i, payload = bytes(64):sub(i + 1, i + 8) })
        t:event("completion", conn, { work = posted[i].work, status = "ok", length = i }, { rule = "RDMAP-5.3-05" })
        t:expect_contents(posted[i].memory, bytes(i, i))
      end
    end,
  },

  -- OP-70: RFC 5040 §6.1 forbids the peer to send more; the target sends a Terminate, or lets the request
  -- wait. Other streams are unaffected (RFC 5042).
  both_roles {
    id = "rdmap-ird-exceeded",
    purpose = "An RDMA Read above the IRD ends the stream or waits its turn; other streams go on",
    rules = { "RDMAP-6.1-05", "RDMAP-5.2.2-02", "RDMAP-6.1-04", "SEC-6.4.3.3-02", "RDMAP-5.2.1-02" },
    needs = { memory = "read", ird = 1 },
    run = function(t)
      local buf = t:memory { length = 100000, remote = "read" }
      local other = t:session {}
      local conn = t:session { target = { ird = 1, enhanced = t.case.role == "initiator" or nil }, ord = 1 }
      local ird = conn:state().peer.ird
      if ird ~= 1 then t:inconclusive(("the target announced IRD %s although it was configured with 1"):format(tostring(ird))) end
      conn:together(function()
        conn:send(read_request { source = buf, size = 100000, sink_stag = 5, sink_to = 1 })
        conn:send(read_request { source = buf, size = 8, sink_stag = 5, sink_to = 2, broken = true, comment = "the IRD is 1" })
      end)
      local first = read_response { stag = 5, to = 1, payload = buf.content:sub(65, 100064) }
      local item = conn:expect(fault.more_reads_than_ird, first)
      if item.op ~= "terminate" then
        t:allow("rdmap-response-unsolicited") -- OP-70: the target may serve it in its turn
        item = conn:expect(fault.more_reads_than_ird, read_response { stag = 5, to = 2, payload = buf.content:sub(65, 72) })
        if item.op ~= "terminate" then t:observe("answer", "both reads served") end
      end
      other:fence()
    end,
  },
}
