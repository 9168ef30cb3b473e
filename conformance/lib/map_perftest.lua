-- SPDX-License-Identifier: BSD-3-Clause
-- perftest with -R (ib_send_*, ib_write_*, ib_read_*): the first of its two connections carries descriptions of 56 octets, all
-- numbers in network order: lid, out_reads, qpn, psn, rkey (4 octets each, 4 of padding), address (8), gid (16), srqn, gid_index.
-- The other connection has the buffers' data.

local DESCRIPTION = { op = "send", octets = 56 }

local function entry(fields)
  for name, value in pairs(DESCRIPTION) do fields[name] = value end
  return fields
end

-- It begins with Sends of 16, 4, 4 and 2 octets each way, in turn.
local function recognises(things)
  local sizes = {}
  for _, thing in ipairs(things) do
    if thing.kind == "message" and #sizes < 9 then sizes[#sizes + 1] = thing.op == "send" and #thing.payload or -1 end
  end
  return table.concat(sizes, " ") == "16 16 4 4 4 4 2 2 56"
end

return {
  name = "perftest",
  recognises = recognises,
  together = true, -- the connections of one run
  advertisements = { entry { stag = { at = 16 }, to = { at = 24 } } },
  free = {
    entry { at = 8, size = 8 }, -- qpn, psn
    entry { at = 20, size = 4 }, -- padding, any octets
    entry { at = 32, size = 16 }, -- gid
    { op = "send", octets = 8 }, -- a figure of the report
    { stream = 2 }, -- the buffers' random contents
  },
}
