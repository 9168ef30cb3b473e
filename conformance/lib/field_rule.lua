-- SPDX-License-Identifier: BSD-3-Clause
-- The rule that a sender breaks whose message is right but for one field: what the message is for in the case matters not.

local octets = iw.load("octets")

local field_rule = {}

-- Words for what the target did, in all cases that see such a field, or a message whose last segment lacks L.
field_rule.HOW, field_rule.UNFINISHED = "another answer", "unfinished"

local READ, ATOMIC, IMMEDIATE = "RDMAP-4.4-01", "EXT-5.2.1-20", "EXT-6.3-06"
local RULES = {
  ["write"] = { stag = "DDP-4.2-05", to = "DDP-5.2-08" },
  ["atomic-request"] = { remote_stag = ATOMIC, remote_to = ATOMIC },
  ["read-request"] = { source_stag = READ, source_to = READ, size = READ },
  ["send-invalidate"] = { invalidate = "RDMAP-5.3-12" }, ["send-se-invalidate"] = { invalidate = "RDMAP-5.3-12" },
  ["immediate"] = { payload = IMMEDIATE }, ["immediate-se"] = { payload = IMMEDIATE },
}

-- Where the fields lie in a ULPDU, by its opcode: first and last octet, from 0.
local PLACES = {
  [0] = { op = "write", stag = { 2, 5 }, to = { 6, 13 } },
  [1] = { op = "read-request", size = { 30, 33 }, source_stag = { 34, 37 }, source_to = { 38, 45 } },
  [0xa] = { op = "atomic-request", remote_stag = { 26, 29 }, remote_to = { 30, 37 } },
  [4] = { op = "send-invalidate", invalidate = { 2, 5 } }, [6] = { op = "send-se-invalidate", invalidate = { 2, 5 } },
  [8] = { op = "immediate", payload = { 18, 25 } }, [9] = { op = "immediate-se", payload = { 18, 25 } },
}

-- Returns the rule about a field that has one; the place of an atomic has one of its own, to be aligned. `low`: the value's last octet.
local function rule_of(op, name, low)
  if name == "remote_to" and low & 7 ~= 0 then return "EXT-5.2.1-06" end
  return RULES[op][name]
end

-- Returns the rule about this field of a message (a Write's "stag"); nil if there is none.
function field_rule.of(item, name)
  local rules = RULES[item.op]
  return rules and rules[name] and rule_of(item.op, name, math.type(item[name]) and item[name] & 0xff)
end

local L = 0x40
local CRC_FIELD = 4
field_rule.NO_END = "the target's message does not end: no segment has L=1"

-- Returns the rule and the word for octets of the target's that are those wanted but for L, and for the CRC field that ends them, which
-- the observer judges. ULPDU_Length may come before the ULPDU.
function field_rule.of_stream(text, wanted)
  local at = #text == #wanted and octets.difference(wanted, text)
  if (at == 0 or at == 2) and text:byte(at + 1) ~ L == wanted:byte(at + 1) and wanted:byte(at + 1) & L ~= 0
    and text:sub(at + 2, -CRC_FIELD - 1) == wanted:sub(at + 2, -CRC_FIELD - 1) then
    return "DDP-4.1-03", field_rule.UNFINISHED
  end
end

-- Returns the rule about the only field in which a ULPDU is another one than expected, and a word for that; nil if there is none.
function field_rule.of_octets(ulpdu, wanted)
  if wanted ~= "" and wanted == string.char((ulpdu:byte() or 0) | L) .. ulpdu:sub(2) and ulpdu ~= wanted then
    return "DDP-4.1-03", field_rule.UNFINISHED
  end
  local places = #ulpdu == #wanted and PLACES[(wanted:byte(2) or 0xf) & 0xf]
  if not places or ulpdu == wanted then return nil end
  for name in pairs(RULES[places.op]) do
    local first, last = table.unpack(places[name])
    if ulpdu:sub(1, first) == wanted:sub(1, first) and ulpdu:sub(last + 2) == wanted:sub(last + 2) then
      return rule_of(places.op, name, ulpdu:byte(last + 1)), field_rule.HOW
    end
  end
end

return field_rule
