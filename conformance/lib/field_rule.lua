-- SPDX-License-Identifier: BSD-3-Clause
-- The rule that a sender breaks whose message is right but for one field: what the message is for in the case matters not.

local octets = iw.load("octets")

local field_rule = {}

-- Words for what the target did, in all cases that see such a field, a message whose last segment lacks L, or a pad that is counted.
field_rule.HOW, field_rule.UNFINISHED, field_rule.PADDED = "another answer", "unfinished", "pad counted"

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
local CRC_FIELD, LENGTH_FIELD, MOST_PAD = 4, 2, 3
field_rule.NO_END = "the target's message does not end: no segment has L=1"

-- What the target did by such a word, in a sentence; nil for others.
field_rule.REASON = {
  [field_rule.UNFINISHED] = field_rule.NO_END,
  [field_rule.PADDED] = "the target's ULPDU_Length counts the pad",
}

-- RFC 5044 §4.1: the pad "is not covered by the ULPDU_Length".
local PAD = "MPA-4.1-01"

-- Returns whether octets are those wanted and the zeros that their pad would be.
local function and_zeros(got, wanted)
  local more = #got - #wanted
  return more >= 0 and more <= MOST_PAD and got == wanted .. ("\0"):rep(more)
end

-- Returns whether a ULPDU is the one wanted and its FPDU's pad.
local function with_pad(ulpdu, wanted)
  return #ulpdu > #wanted and (LENGTH_FIELD + #ulpdu) % 4 == 0 and and_zeros(ulpdu, wanted)
end

-- Returns the rule and the word for a message whose payload is the one wanted, and the pad of each segment; nil for another. Where
-- the next segment begins shows what is payload.
function field_rule.of_payload(item, wanted)
  local from = 0
  for n, segment in ipairs(item.segments) do
    local following, place = item.segments[n + 1], segment.t and "to" or "mo"
    local size = following and following[place] - segment[place] or #wanted - from
    local whole = segment.payload and (LENGTH_FIELD + #segment.ulpdu) % 4 == 0 and size >= 0
    if not whole or not and_zeros(segment.payload, wanted:sub(from + 1, from + size)) then return nil end
    from = from + size
  end
  if from == #wanted and #item.payload > #wanted then return PAD, field_rule.PADDED end
end

-- The same for an FPDU without Markers of which nothing else but the CRC field, if it has one here, is another.
function field_rule.of_fpdu(text, wanted)
  if #text ~= #wanted or #text < LENGTH_FIELD then return nil end
  local got, other = string.unpack(">I2", text), string.unpack(">I2", wanted)
  local after = #text - LENGTH_FIELD - got
  if after ~= 0 and after ~= CRC_FIELD then return nil end
  local ulpdu = text:sub(LENGTH_FIELD + 1, LENGTH_FIELD + got)
  if ulpdu == wanted:sub(LENGTH_FIELD + 1, LENGTH_FIELD + got) and with_pad(ulpdu, ulpdu:sub(1, other)) then
    return PAD, field_rule.PADDED
  end
end

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
  if with_pad(ulpdu, wanted) then return PAD, field_rule.PADDED end
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
