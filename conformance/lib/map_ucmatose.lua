-- SPDX-License-Identifier: BSD-3-Clause
-- ucmatose (librdmacm): Sends of its memory's content, 100 octets by default. The responder begins, at once.

local function recognises(things)
  local sends, first = 0, nil
  for _, thing in ipairs(things) do
    if thing.kind == "message" then
      first = first or thing
      if thing.op ~= "send" or #thing.payload ~= 100 then return false end
      sends = sends + 1
    end
  end
  return sends >= 10 and first.side == "responder"
end

return { name = "ucmatose", recognises = recognises, free = { { op = "send" } } }
