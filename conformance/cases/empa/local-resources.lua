-- SPDX-License-Identifier: BSD-3-Clause

-- A target holds octets for every connection on which an FPDU is begun and not ended. When it has no
-- more room it may give up connections, with the code for that; the others must not notice.
return case {
  id = "empa-half-fpdus",
  purpose = "150 connections with an FPDU begun: each is served when the rest comes, or ended with 2/0/05",
  rules = { "EMPA-9.3-01", "EMPA-8-01", "MPA-6-05" },
  role = "responder",
  needs = { agent = true },
  run = function(t)
    local conns = {}
    for i = 1, 150 do
      local conn = t:connect { revision = 1 }
      conn:hold(function() conn:send(read_request { size = 0, sink_stag = 1, sink_to = i }) end)
      conn:release(30)
      conns[i] = conn
    end
    -- What the target has to say about the octets so far comes before it answers its agent's client.
    t:agent("hello")
    local served, refused, codes = 0, 0, {}
    for i, conn in ipairs(conns) do
      conn:release()
      local item = conn:next()
      if item and read_response({ stag = 1, to = i, payload = "" }):matches(item) then
        served = served + 1
      elseif item and (terminate("2/0/05"):matches(item) or closed():matches(item)) then
        refused, codes[item.op or "close"] = refused + 1, true
      else
        t:fail("a connection was neither served nor ended with 2/0/05", { item = item, actual = item and item.text,
          expected = 'read-response or terminate 2/0/05 or the end of the stream' })
      end
    end
    t:note(("%d connections were served and %d refused"):format(served, refused))
    -- How many depends on what else the target was just doing.
    t:observe("refused", codes.terminate and "2/0/05" or codes.close and "closed" or "none")
    t:check(served > 0, "the target serves no connection at all any more")
    t.negative = refused > 0
  end,
}
