-- SPDX-License-Identifier: BSD-3-Clause

-- A target holds octets for every connection on which an FPDU has begun and not ended. When it has no
-- more room it may end connections, with the code for that; the others must not notice.
local code_of = use("message").code_of
local NO_ROOM = fault.no_room_for_fpdu

return case {
  id = "empa-half-fpdus",
  purpose = "The target serves each of 150 connections with an unfinished FPDU when the rest comes, or ends it with 2/0/05",
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
    -- The target reacts to the octets so far before it answers its agent's client.
    t:agent("hello")
    local served, refused, codes = 0, 0, {}
    for i, conn in ipairs(conns) do
      conn:release()
      local item = conn:next()
      if item and read_response({ stag = 1, to = i, payload = "" }):matches(item) then
        served = served + 1
      elseif item and (NO_ROOM:has(code_of(item)) or closed():matches(item)) then
        refused, codes[item.op or "close"] = refused + 1, true
      else
        t:fail("the target neither served a connection nor ended it with " .. NO_ROOM:codes(), { item = item,
          actual = item and item.text, expected = ("read-response or terminate %s or the end of the stream"):format(NO_ROOM:codes()) })
      end
    end
    t:note(("the target served %d connections and refused %d"):format(served, refused))
    -- The number depends on the target's other work at that time.
    t:observe("refused", codes.terminate and NO_ROOM:codes() or codes.close and "closed" or "none")
    t:check(served > 0, "the target served no connection at all", { rule = "MPA-6-05" })
    t.negative = refused > 0
  end,
}
