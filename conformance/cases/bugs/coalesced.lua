-- SPDX-License-Identifier: BSD-3-Clause

-- Start-up frames followed by more octets in the same segment: the receiver reads beyond the end of
-- its frame, or loses the rest. Neither end may send FPDUs that early (RFC 5044 §7.1.2), so the
-- stream may end as well; private data that PD_Length does not cover is never right.

local known_bug = use "known_bug"
local mpa = use "mpa"

return family {
  each({ 0, 1, 8, 508 }, function(length)
    return {
      known_bug {
        id = ("bug-reply-read-beyond-its-end-%d"):format(length),
        purpose = ("A Reply with %d octets of private data and FPDUs in one segment: the ULP sees %d octets, no more"):format(length, length),
        rules = { "MPA-7.1-01", "MPA-7.1.2-24", "MPA-7.1.2-14" },
        role = "initiator",
        needs = { agent = true },
        run = function(t)
          local conn = t:target_connects { raw = true }
          local asked = conn:expect(request {})
          conn:together(function()
            conn:send(t:answer(asked, { private = bytes(length), a = false }))
            conn:send(write {})
            conn:send(read_request { size = 0, sink_stag = 1, sink_to = 2 })
          end)
          local answer = read_response { stag = 1, to = 2, payload = "" }
          local item
          repeat -- a target in peer-to-peer mode says its RTR first
            item = conn:expect(answer, write { payload = "" }, send { payload = "" }, read_request { size = 0 }, terminate {}, closed())
          until answer:matches(item) or item.op == "terminate" or item.kind ~= "message"
          t:observe("initiator", item.op or item.kind)
          local event = t:wait_event(function(e) return e.conn == conn.agent and (e.event == "established" or e.event == "closed" or e.event == "fault") end)
          if event and event.event == "established" then
            t:check(event.private == show(bytes(length)), "the ULP saw other private data than PD_Length covers",
              { rule = "MPA-7.1.1-23", expected = show(bytes(length), 32), actual = event.private:sub(1, 64) })
          end
        end,
      },
      known_bug {
        id = ("bug-request-read-beyond-its-end-%d"):format(length),
        purpose = ("A Request with %d octets of private data and FPDUs in one segment: the ULP sees %d octets, or the stream ends"):format(length, length),
        rules = { "MPA-7.1.2-25", "MPA-7.1.2-24" },
        role = "responder",
        needs = { agent = true },
        run = function(t)
          local conn = t:connect { raw = true, target = { accept = "ask" } }
          conn:together(function()
            conn:send(request { private = bytes(length) })
            conn:write(mpa.fpdu_octets(hex "c140 00000000 0000000000000000"), { comment = "an FPDU before the Reply" })
          end)
          local event = t:wait_event(function(e) return e.event == "request" or e.event == "closed" end)
          t:observe("responder", event and event.event)
          if event and event.event == "request" then
            t:check(event.private == show(bytes(length)), "the ULP saw other private data than PD_Length covers",
              { expected = show(bytes(length), 32), actual = event.private:sub(1, 64) })
            t:agent("accept", { conn = event.conn }, true) -- the agent refuses if the connection is over
          end
          conn:expect(closed(), reply {})
        end,
      },
    }
  end),

  -- Allowed: everything of the initiator's that waited for the Reply leaves at once.
  each({ "send", "write", "read" }, function(form)
    return known_bug {
      id = "bug-first-fpdu-lost-after-rtr-" .. form,
      purpose = ("A responder takes the RTR form %s and the data after it from one segment and loses none"):format(form),
      rules = { "MPA-7.1.2-10", "EMPA-9.2-03", "MPA-7.1-01" },
      role = "responder",
      needs = { memory = "write", rtr = form },
      run = function(t)
        local conn = t:connect { peer_to_peer = true, rtr = { form }, rtr_send = false }
        local buf = t:memory { length = 40, remote = "write" }
        conn:together(function()
          mpa.send_rtr(conn, form)
          conn:send(write { to = buf, payload = bytes(40) })
          conn:send(read_request { size = 0, sink_stag = 1, sink_to = 2 })
        end)
        if form == "read" then conn:expect(read_response { stag = 5, to = 6, payload = "" }) end
        conn:expect(read_response { stag = 1, to = 2, payload = "" })
        t:expect_contents(buf, bytes(40))
      end,
    }
  end),
}
