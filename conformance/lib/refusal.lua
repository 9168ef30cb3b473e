-- SPDX-License-Identifier: BSD-3-Clause
-- What a target breaks that refuses a good message: its Terminate says with which error, and returns the header of what it refused.

local strict = iw.load("strict")
local message = iw.load("message")

local refusal = {}

-- In place of the code of a Terminate: the target has closed the connection in answer to a start-up frame (RFC 5044 §7.1).
refusal.CLOSE = "close"
-- What came: the target takes the same frame but for one thing, which shows why it has refused it.
refusal.TAKES = "takes"
-- How: a Terminate returns other headers than it should.
refusal.HEADERS = "headers"
-- How: octets follow the fields of a Terminate; its DDP Segment Length is other than the length of the ULPDU.
refusal.LONGER, refusal.LENGTH = "longer", "another length"
-- Likewise: the target leaves an Atomic Request without an answer.
refusal.ATOMIC = "atomic"

-- Returns CLOSE if a target that ends the connection does so in answer to a start-up frame: it was to answer one itself, or it
-- connects and has sent nothing but its Request. Else nil.
function refusal.closes(conn, item, answers)
  local peer = conn:state().peer
  local reply = conn.t.case.role == "initiator" and peer and item.position == 20 + peer.pd_length
  return (answers or reply) and refusal.CLOSE or nil
end

local SENDS = strict.set("send send-se send-invalidate send-se-invalidate")
local SEND_HEADER, WRITE_HEADER = 18, 14
-- "The RDMA OpCode MUST be valid" (RFC 5040 §7.2): it is.
local UNEXPECTED_OPCODE, NO_BUFFER = "0/2/06", "1/2/02"

-- code: of the Terminate. op, length: of the segment that it returns. size: of the Read, if it returns a Read Request.
local function rule_of(code, op, length, size)
  if code == UNEXPECTED_OPCODE then return "RDMAP-7.2-02" end
  if op == "write" then return length == WRITE_HEADER and "DDP-5.2-11" or nil end
  if SENDS[op] then return length == SEND_HEADER and "RDMAP-5.3-11" or nil end
  if (op == "read-request" or op == "atomic-request") and code == NO_BUFFER then return "RDMAP-5.2.2-02" end
  if op ~= "read-request" or not size then return nil end
  if size > 0 then return "RDMAP-5.2.1-12" end
  return code:sub(1, 3) == "0/1" and "RDMAP-5.2.1-15" or "RDMAP-5.2.1-16"
end

-- Returns the rule, nil if it is not known: a case that sends something odd may have provoked the Terminate by that.
function refusal.rule(t, item)
  local segment = item and item.op == "terminate" and item.m and item.segment
  if not segment or t.odd then return nil end
  return rule_of(message.code_of(item), segment.op, item.segment_length, item.request and item.request.size)
end

local OPS = { [0] = "write", [1] = "read-request", [3] = "send", [4] = "send-invalidate", [5] = "send-se", [6] = "send-se-invalidate" }

-- The same of literal octets: the code, and those of a Terminate that follow its first two, its flags first. A header with reserved
-- bits is odd.
function refusal.rule_of_octets(t, code, text)
  local flags = text:byte(1)
  if t.odd or not flags or flags & 0xc0 ~= 0xc0 or #text < 6 or text:byte(5) & 0x3c ~= 0 or text:byte(6) & 0x30 ~= 0 then return nil end
  return rule_of(code, OPS[text:byte(6) & 0xf], string.unpack(">I2", text, 3))
end

-- Returns the rule that a target breaks which does not answer an Atomic Request that is in order (RFC 7306 §5.2.1). What a Read is
-- about, its case knows.
function refusal.unanswered(t, how, patterns)
  return how == "unanswered" and not t.odd and patterns[1].name == "atomic_response" and "EXT-5.2.1-19" or nil
end

return refusal
