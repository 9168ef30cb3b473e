-- SPDX-License-Identifier: BSD-3-Clause
-- ucmatose (librdmacm): Sends of what its memory held, 100 octets unless told otherwise. The responder begins, at once.

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
