-- SPDX-License-Identifier: BSD-3-Clause
-- What several cases look at after an error.

local seen = {}

-- Of a message that RDMAP refuses, DDP may have placed the payload before (RFC 5040 §5.5): whether
-- it did is recorded. Nothing beside the buffer may have changed.
function seen.placed(t, buffer)
  local before = buffer.content:sub(buffer.guard + 1, buffer.guard + buffer.length)
  t:observe("placed", t:read(buffer) ~= before)
  t:expect_unchanged(buffer, { except = { 0, buffer.length } })
end

-- Proves that the stream is over for the peer as well: a Read Request behind everything else is not
-- answered. `ends`: what may come instead, closed() unless given.
function seen.over(conn, ...)
  local message = iw.load("message")
  local ends = { ... }
  if #ends == 0 then ends = { message.closed() } end
  conn:send(message.read_request { size = 0, sink_stag = 0x4f564552, comment = "nothing may answer this any more" })
  conn:shutdown()
  return conn:expect(table.unpack(ends))
end

return seen
