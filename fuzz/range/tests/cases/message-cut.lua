-- SPDX-License-Identifier: BSD-3-Clause
-- A connection that ends within a message, for a peer without an agent: no case of the suite has one.

local function one(id, purpose, run)
  return case { id = id, purpose = purpose, rules = { "MPA-8-02" }, role = "responder", run = run }
end

local function whole(t)
  local conn = t:connect {}
  conn:send(send { payload = bytes(16) }, { segments = 8 })
end

return {
  one("range-send-whole", "A Send of two segments is taken", whole),
  one("range-send-cut", "A connection may end after the first segment of two", function(t)
    local conn = t:connect {}
    conn:hold(function() conn:send(send { payload = bytes(16) }, { segments = 8 }) end)
    conn:release(32)
  end),
  one("range-send-after", "A Send of two segments is taken after that", whole),
}
