-- SPDX-License-Identifier: BSD-3-Clause

-- Queues of three requests, used over and over: each completed one leaves its place to another one. No case can check
-- whether one that is done but not yet polled still takes its place: an agent polls at once.

local DEPTH, ROUNDS = 3, 5

local function session(t)
  local config = { send_depth = DEPTH, recv_depth = DEPTH }
  if t.case.role == "initiator" and t:takes("enhanced") then
    config.peer_to_peer, config.enhanced, config.revision = true, true, 2
  end
  local conn = t:session { target = config }
  conn:sanity()
  return conn
end

return family {
  both_roles {
    id = "rdmap-queue-depth-receives",
    purpose = "A queue of three receives takes three more after every three delivered Sends, and loses none",
    rules = { "RDMAP-5.3-05", "DDP-7.1-02", "DDP-5.3-07" },
    needs = { agent = true },
    run = function(t)
      local conn = session(t)
      for round = 1, ROUNDS do
        local posted = {}
        for i = 1, DEPTH do posted[i] = t:receive { length = 8 } end
        conn:together(function()
          for i = 1, DEPTH do conn:send(send { payload = bytes(8, 16 * round + i) }) end
        end)
        for i = 1, DEPTH do
          t:event("completion", conn, { work = posted[i].work, status = "ok", length = 8 }, { rule = "RDMAP-5.3-05" })
          t:expect_contents(posted[i].memory, bytes(8, 16 * round + i))
        end
      end
      conn:fence()
    end,
  },

  both_roles {
    id = "rdmap-queue-depth-sends",
    purpose = "A queue of three Sends, Writes and Reads takes three more after every three completions, and loses none",
    rules = { "DDP-5.3-02", "RDMAP-5.2.1-07", "RDMAP-5.5-10" },
    needs = { agent = true },
    run = function(t)
      local conn = session(t)
      for round = 1, ROUNDS do
        local payload, sink = bytes(8, round), t:memory { length = 8 }
        local posted = {
          t:post { op = "write", payload = payload, stag = 9, to = round },
          t:post { op = "send", payload = payload },
          t:post { op = "read", memory = sink, stag = 9, to = 0x1000 },
        }
        conn:expect(write { stag = 9, to = round, payload = payload })
        conn:expect(send { payload = payload })
        local asked = conn:expect(read_request { size = 8, source_stag = 9 })
        conn:send(read_response { stag = asked.sink_stag, to = asked.sink_to, payload = payload })
        for _, work in ipairs(posted) do t:event("completion", conn, { work = work.work, status = "ok" }) end
        t:expect_contents(sink, payload)
      end
      conn:fence()
    end,
  },
}
