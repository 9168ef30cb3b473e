-- SPDX-License-Identifier: BSD-3-Clause
-- Replaying, against an agent, conversations that ended in a Terminate of the recorded peer: the message that provoked it has
-- to find the same at the agent, an STag that nobody has, memory without the right, no receive.

local refused = {}

-- Reasons by layer, error type and code (RFC 5040 §4.8, RFC 5041 §7.2).
local REASONS = {
  ["0/1/0"] = "stag", ["0/1/1"] = "bounds", ["0/1/2"] = "access", ["0/1/4"] = "wrap", ["0/1/9"] = "invalidate",
  ["0/2/9"] = "invalidate", ["1/1/0"] = "stag", ["1/1/1"] = "bounds", ["1/1/3"] = "wrap", ["1/2/2"] = "receive", ["1/2/5"] = "length",
}

-- The played side's message whose segment a Terminate returns.
local function provoker(r, terminate)
  local segment = terminate.segment
  for _, thing in ipairs(segment and terminate.of.things or {}) do
    if thing.frame >= terminate.frame then break end
    if thing.side == r.played and thing.kind == "message" and thing.t == segment.t and thing.opcode == segment.opcode then
      local inside = thing.t and thing.stag == segment.stag and segment.to - thing.to >= 0 and segment.to - thing.to <= #thing.payload
      if inside or not thing.t and thing.qn == segment.qn and thing.msn == segment.msn then return thing end
    end
  end
  return nil
end

-- Gives refused messages a member `refused`, the reason.
function refused.find(r)
  for _, thing in ipairs(r.things) do
    if thing.op == "terminate" and thing.side == r.target and thing.layer then
      local cause = provoker(r, thing)
      if cause then cause.refused = REASONS[("%d/%d/%d"):format(thing.layer, thing.etype, thing.code)] or "other" end
    end
  end
end

return refused
