-- SPDX-License-Identifier: BSD-3-Clause
-- Checks after an error that several cases share.

local seen = {}

-- DDP may have placed the payload of a message that RDMAP refuses (RFC 5040 §5.5): records whether it
-- did. Nothing beside the buffer may have changed.
function seen.placed(t, buffer)
  local before = buffer.content:sub(buffer.guard + 1, buffer.guard + buffer.length)
  t:observe("placed", t:read(buffer) ~= before)
  t:expect_unchanged(buffer, { except = { 0, buffer.length } })
end

-- Proves that the stream is over for the peer as well: it does not answer a Read Request after everything
-- else. `ends`: items that may come instead, closed() unless given.
function seen.over(conn, ...)
  local message = iw.load("message")
  local ends = { ... }
  if #ends == 0 then ends = { message.closed() } end
  if iw.instrument("empty-read") == false then
    conn.t:note("the target answers no empty Read: that it answers none after the end proves nothing")
  else
    conn:send(message.read_request { size = 0, sink_stag = 0x4f564552, comment = "nothing may answer this any more" })
  end
  conn:shutdown()
  return conn:expect(table.unpack(ends))
end

-- Checks that an error has no effect: only the end of the stream comes from the target, with a Terminate of any form before
-- it or without one. Does not judge the form of the Terminate. options: as of conn:expect.
local FORM = { "rdmap-terminate-valid", "rdmap-terminate-rsvd", "rdmap-terminate-reversed", "rdmap-terminate-headers",
               "rdmap-terminate-reason", "rdmap-terminate-segment" }
function seen.only_the_end(t, conn, options)
  local message = iw.load("message")
  t:allow(table.unpack(FORM))
  local item = conn:expect(message.any_terminate(), message.closed(), options or {})
  if not (item and item.op == "terminate") then return end
  conn:shutdown()
  conn:expect_close { rule = options and options.rule }
end

return seen
