-- SPDX-License-Identifier: BSD-3-Clause
-- What a target breaks that refuses a good message: its Terminate says with which error, and returns the header of what it refused.

local strict = iw.load("strict")
local message = iw.load("message")

local refusal = {}

-- In place of the code of a Terminate: the target has closed the connection in answer to a start-up frame (RFC 5044 §7.1).
refusal.CLOSE = "close"

local SENDS = strict.set("send send-se send-invalidate send-se-invalidate")
local SEND_HEADER, WRITE_HEADER = 18, 14
-- "The RDMA OpCode MUST be valid" (RFC 5040 §7.2): it is.
local UNEXPECTED_OPCODE, NO_BUFFER = "0/2/06", "1/2/02"

-- Returns the rule, nil if it is not known: a case that sends something odd may have provoked the Terminate by that.
function refusal.rule(t, item)
  local segment = item and item.op == "terminate" and item.m and item.segment
  if not segment or t.odd then return nil end
  local code = message.code_of(item)
  if code == UNEXPECTED_OPCODE then return "RDMAP-7.2-02" end
  if segment.op == "write" then return item.segment_length == WRITE_HEADER and "DDP-5.2-11" or nil end
  if SENDS[segment.op] then return item.segment_length == SEND_HEADER and "RDMAP-5.3-11" or nil end
  if segment.op == "atomic-request" then return code == NO_BUFFER and "RDMAP-5.2.2-02" or nil end
  if segment.op ~= "read-request" or not item.request then return nil end
  if code == NO_BUFFER then return "RDMAP-5.2.2-02" end
  if item.request.size > 0 then return "RDMAP-5.2.1-12" end
  return item.layer == 0 and item.etype == 1 and "RDMAP-5.2.1-15" or "RDMAP-5.2.1-16"
end

-- Returns the rule that a target breaks which does not answer an Atomic Request that is in order (RFC 7306 §5.2.1). What a Read is
-- about, its case knows.
function refusal.unanswered(t, how, patterns)
  return how == "unanswered" and not t.odd and patterns[1].name == "atomic_response" and "EXT-5.2.1-19" or nil
end

return refusal
