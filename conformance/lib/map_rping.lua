-- SPDX-License-Identifier: BSD-3-Clause
-- rping (librdmacm): the client advertises a buffer in a Send of 16 octets: address, STag, length.

-- The initiator's first Send names the place of the responder's first Read Request.
local function recognises(things)
  for _, thing in ipairs(things) do
    if thing.side == "initiator" and thing.op and thing.op:find("^send") then
      if #thing.payload ~= 16 then return false end
      local to, stag = (">I8I4"):unpack(thing.payload)
      for _, other in ipairs(things) do
        if other.side == "responder" and other.op == "read-request" then
          return other.source_stag == stag or other.source_to == to
        end
      end
      return false
    end
  end
  return false
end

return {
  name = "rping",
  recognises = recognises,
  advertisements = {
    { op = "send", side = "initiator", octets = 16, to = { at = 0 }, stag = { at = 8 }, length = { at = 12 } },
  },
  -- The server Writes back the octets that it has read.
  echo = true,
}
