-- SPDX-License-Identifier: BSD-3-Clause
-- An answer of the target's that is another than the case expects: in what, and which rule that breaks whatever the case is about.

local field_rule = iw.load("field_rule")
local message = iw.load("message")
local refusal = iw.load("refusal")

local wrong_answer = {}

-- The fields in which an item differs from the nearest message of the set; nil if none is near.
local function nearest_differences(patterns, item)
  local nearest
  for _, pattern in ipairs(patterns) do
    local list = pattern:differences(item)
    if list and not (nearest and #nearest <= #list) then nearest = list end
  end
  return nearest
end

local function differs(patterns, item)
  local list = nearest_differences(patterns, item)
  return list and (" (differs: %s)"):format(table.concat(list, ", ")) or ""
end

-- The rule about the only field in which an item differs from a message of the set.
local function rule_of_field(patterns, item)
  local list = item and nearest_differences(patterns, item) or {}
  return #list == 1 and field_rule.of(item, list[1]) or nil
end

-- The rule and the word for an item that is a message of the set with its pad.
local function with_pad(patterns, item)
  local list = item and item.payload and nearest_differences(patterns, item) or {}
  if #list ~= 1 or list[1] ~= "payload" then return nil end
  for _, pattern in ipairs(patterns) do
    local wanted = pattern.fields.payload
    local rule, how = field_rule.of_payload(item, type(wanted) == "string" and wanted or item.payload)
    if rule then return rule, how end
  end
end

-- Whether a Terminate is as expected but for the headers that it says it returns.
local function other_headers(patterns, item)
  local list = item and item.op == "terminate" and nearest_differences(patterns, item) or {}
  for _, name in ipairs(list) do
    if name ~= "m" and name ~= "d" and name ~= "r" then return false end
  end
  return #list > 0
end

local AOPCODE = 4 -- bits, below 28 reserved ones

-- The field in which alone an item differs from a message of the set, as t:fail takes it.
local function sole_field(patterns, item)
  local list = item and item.kind == "message" and nearest_differences(patterns, item) or {}
  local value = #list == 1 and item[list[1]]
  if not math.type(value) then return nil end
  if list[1] == "atomic" and value >> AOPCODE ~= 0 then value = value >> AOPCODE end
  return { from = item.position, to = item.finish, value = value }
end

-- The rule that a target breaks which refuses a Request that carries no private data, and takes the same one with some: "This
-- field may contain any value defined by ULPs or may not be present" (RFC 5044 §7.1.1).
local function takes_only_private(conn, pattern)
  local asked = conn.asked
  if conn.t.odd or pattern.kind ~= "startup" or not asked or asked.fields.private or not iw.can("reconnect") then return nil end
  local fields = {}
  for name, value in pairs(asked.fields) do fields[name] = value end
  fields.private = "some"
  local other = conn:once_more()
  if not other then return nil end
  other:send(message.request(fields))
  local answer = other:next()
  return answer and answer.kind == "startup" and "MPA-7.1.2-08" or nil
end

-- What the observer sees, too, where it knows which request a Read Response answers.
local RESPONSE = { stag = { rule = "RDMAP-4.4-02", how = "other STag" }, to = { rule = "RDMAP-5.2.1-12", how = "other TO" } }

-- Returns the rule and the word for the only field in which a Read Response is another one than expected, if that is its STag or TO.
local function response_field(patterns, item)
  local list = item and item.op == "read-response" and nearest_differences(patterns, item) or {}
  return #list == 1 and RESPONSE[list[1]] or nil
end

-- In a sentence.
function wrong_answer.reason(patterns, item)
  if not item then return "the target did not answer" end
  if item.kind == "fin" then return "the target closed the connection instead" end
  if item.kind == "reset" then return "the target reset the connection instead" end
  if item.op == "terminate" then
    return "the target sent another Terminate than expected" .. differs(patterns, item)
  end
  local _, word = with_pad(patterns, item)
  return field_rule.REASON[word] or "the target gave another answer than expected" .. differs(patterns, item)
end

-- Whether an Atomic Response is as expected but for the value that memory held.
local function other_value(patterns, item)
  local list = item and item.op == "atomic-response" and nearest_differences(patterns, item) or {}
  return #list == 1 and list[1] == "value"
end

-- Whether a Read Response is as expected but for the octets that memory holds.
local function other_payload(patterns, item)
  local list = item and item.op == "read-response" and nearest_differences(patterns, item) or {}
  return #list == 1 and list[1] == "payload"
end

-- Whether any of several forms of an RTR would do, and none comes.
local EMPTY = { send = "payload", write = "payload", ["read_request"] = "size" }
local function no_rtr(patterns, item)
  if item or #patterns < 2 then return false end
  for _, pattern in ipairs(patterns) do
    local length = EMPTY[pattern.name] and pattern.fields[EMPTY[pattern.name]]
    if length ~= "" and length ~= 0 then return false end
  end
  return true
end

-- Whether nothing but one atomic can have changed memory so far: no order makes the value that it answers another one.
local function only_one(conn) return #conn.t.atomics == (conn.t.native and 2 or 1) and not conn.t.writes end

-- Whether nothing but the end of the stream is expected: the target has to detect an error, or was told to end it.
function wrong_answer.only_ends(patterns)
  local ends = true
  for _, pattern in ipairs(patterns) do ends = ends and (pattern.kind == "end" or pattern.name == "terminate") end
  return ends
end

-- A word for the way in which the target's answer (nil: none) is another than expected. Where the end of the stream is
-- expected, the target has "missed" an error, else it has "refused" what is right.
local function how(conn, patterns, item)
  local error = wrong_answer.only_ends(patterns)
  local ends = item and (item.op == "terminate" or item.kind ~= "message" and item.kind ~= "startup")
  if other_value(patterns, item) then return only_one(conn) and "wrong value" or "another value" end
  if error then return not ends and "missed" or item.op == "terminate" and "another Terminate" or "closed" end
  if other_payload(patterns, item) then return "other payload" end
  if no_rtr(patterns, item) then return "no RTR" end
  return not item and "unanswered" or ends and "refused" or "another answer"
end

-- The code of the Terminate that is expected first, "1/1/00", or with which the target refuses what is right, or what it leaves
-- without an answer; nil if there is none.
local function fault_of(conn, patterns, item, word)
  local closes = word == "refused" and item.op ~= "terminate" and refusal.closes(conn, item, patterns[1].kind == "startup")
  if closes then return closes end
  if word == "unanswered" and patterns[1].name == "atomic_response" then return refusal.ATOMIC end
  local f = word == "refused" and item.op == "terminate" and item or patterns[1].name == "terminate" and patterns[1].fields
  return f and message.code_of(f) or nil
end

-- For a Read Response with other octets, where no Write has placed any: "If the Data Source receives a valid RDMA Read Request Message,
-- it MUST respond with a valid RDMA Read Response Message" (RFC 5040 §5.2.1).
local READ_ANSWER = "RDMAP-5.2.1-12"

-- Returns what t:fail takes of such an answer (nil: none) but for the texts; rule: the one that the case accuses.
function wrong_answer.why(conn, patterns, item, rule)
  local word = how(conn, patterns, item)
  local why = { item = item, how = word, octet = sole_field(patterns, item) }
  if word == "another Terminate" and other_headers(patterns, item) then
    why.how, why.rule = refusal.HEADERS, "RDMAP-4.8-05"
    return why
  end
  local rule_of_pad, padded = with_pad(patterns, item)
  if padded then
    why.how, why.rule, why.octet = padded, rule_of_pad, nil
    return why
  end
  local field = response_field(patterns, item)
  if field then
    why.how, why.rule = field.how, field.rule
    return why
  end
  why.fault = fault_of(conn, patterns, item, word)
  why.rule = rule_of_field(patterns, item) or word == "refused" and refusal.rule(conn.t, item)
    or refusal.unanswered(conn.t, word, patterns) or word == "other payload" and not conn.t.writes and READ_ANSWER or rule
  if word == "wrong value" then
    why.instead = "EXT-5.1.1-08"
  elseif word == "closed" then
    why.came = refusal.closes(conn, item)
  elseif word == "refused" then
    why.instead = takes_only_private(conn, patterns[1])
    why.came = why.instead and refusal.TAKES or nil
  end
  return why
end

return wrong_answer
