-- SPDX-License-Identifier: BSD-3-Clause
-- The rule that a sender breaks whose message is right but for one field: what the message is for in the case matters not.

local field_rule = {}

-- A word for what the target did, in all cases that see such a field.
field_rule.HOW = "another answer"

local READ = "RDMAP-4.4-01"
local RULES = {
  ["write"] = { stag = "DDP-4.2-05", to = "DDP-5.2-08" },
  ["read-request"] = { source_stag = READ, source_to = READ, size = READ },
  ["send-invalidate"] = { invalidate = "RDMAP-5.3-12" }, ["send-se-invalidate"] = { invalidate = "RDMAP-5.3-12" },
}

-- Where the fields lie in a ULPDU, by its opcode: first and last octet, from 0.
local PLACES = {
  [0] = { op = "write", stag = { 2, 5 }, to = { 6, 13 } },
  [1] = { op = "read-request", size = { 30, 33 }, source_stag = { 34, 37 }, source_to = { 38, 45 } },
  [4] = { op = "send-invalidate", invalidate = { 2, 5 } }, [6] = { op = "send-se-invalidate", invalidate = { 2, 5 } },
}

-- Returns the rule about this field of a message ("write", "stag"); nil if there is none.
function field_rule.of(op, name) return RULES[op] and RULES[op][name] end

-- Returns the rule about the only field in which a ULPDU is another one than expected; nil if there is none.
function field_rule.of_octets(ulpdu, wanted)
  local places = #ulpdu == #wanted and PLACES[(wanted:byte(2) or 0xf) & 0xf]
  if not places or ulpdu == wanted then return nil end
  for name, rule in pairs(RULES[places.op]) do
    local first, last = table.unpack(places[name])
    if ulpdu:sub(1, first) == wanted:sub(1, first) and ulpdu:sub(last + 2) == wanted:sub(last + 2) then return rule end
  end
end

return field_rule
