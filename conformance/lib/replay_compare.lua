-- SPDX-License-Identifier: BSD-3-Clause
-- Replaying: the live peer's messages against the recorded ones, field by field. Where recorded values stand for live ones
-- (STags and TOs of the peer), it compares how the peer uses them.

local octets = iw.load("octets")
local field_rule = iw.load("field_rule")
local strict = iw.load("strict")
local message = iw.load("message")
local recording = iw.load("replay_recording")
local refusal = iw.load("refusal")

local compare = {}

-- The rule that a wrong field breaks.
local RULES = {
  which = "MPA-7.1.1-03", rejected = "MPA-7.1.1-13", revision = "MPA-7.1.1-16", enhanced = "EMPA-10-05", a = "EMPA-9.2-04",
  op = "RDMAP-5.5-10", t = "RDMAP-4.1-04", rsvd = "DDP-4.1-09", dv = "DDP-4.1-11", rv = "RDMAP-4.1-08", rsv = "RDMAP-4.1-09",
  invalidate = "RDMAP-4.1-03", l = "DDP-4.1-03", qn = "RDMAP-3.1-02", msn = "DDP-4.3-08", mo = "DDP-4.3-12", stag = "DDP-5.2-08",
  to = "DDP-5.2-08", size = "RDMAP-4.4-01", sink_stag = "RDMAP-4.4-01", sink_to = "RDMAP-4.4-01", source_stag = "RDMAP-4.4-01",
  source_to = "RDMAP-4.4-01", length = "DDP-5.2-04", payload = "DDP-5.2-05",
}
compare.rules = RULES
local FIELDS = { "t", "rsvd", "dv", "rv", "rsv", "l", "qn", "msn", "mo", "stag", "to", "invalidate", "size", "source_stag", "source_to",
  "atomic", "remote_stag", "remote_to", "add_swap", "add_swap_mask", "compare", "compare_mask", "value", "layer", "etype", "code",
  "m", "d", "r" }
-- Compare Read Requests and the like by their fields, since they hold live values.
local BY_FIELDS = strict.set("read-request atomic-request atomic-response terminate")
-- Operations of one family: if only the opcode differs, the rest can still be compared.
local SENDS = strict.set("send send-se send-invalidate send-se-invalidate immediate immediate-se")
local HEX = strict.set("stag to invalidate source_stag source_to remote_stag remote_to sink_stag sink_to")

-- One line for a message, however many segments it came in.
local function line(m)
  if m.kind and m.kind ~= "message" or not m.payload or m.t == nil then return m.text end
  return iw.print_segment(iw.ddp(m) .. m.payload)
end
compare.line = line

local function value_text(name, value)
  if value == nil then return "nothing" end
  if HEX[name] then return ("%x"):format(value) end
  return tostring(value)
end

-- The operation, well-formed or not.
local function plain(op) return op and (op:gsub("^malformed ", "")) end

-- ---- differences ----

local LISTED = 20 -- one by one

-- Returns the rule that the recorded peer broke in the header of a message, or in a start-up frame: what of framing it broke
-- changes no message.
local function bent(r, thing)
  if thing.side == r.target and thing.broke and not thing.broke:find("^MPA%-[3458]") then return thing.broke end
end

-- A request that the recorded conversation leaves without an answer, and without a Terminate.
local function left_open(r, thing)
  return recording.requests[thing.op] and not thing.answer and not r.terminated.initiator and not r.terminated.responder
end

-- Returns what the recording does that a live target need not: it breaks a rule in this message, or the same rule elsewhere; where
-- the comparison ends, also if it broke one before, or left a request open.
local function excuse(r, thing, name, why)
  local apart = name == "payload" and why.item and why.item.t == thing.t -- no header changes it but one of the other sort
  local broke = r.broken[why.rule] and why.rule or not apart and bent(r, thing) or name:find("^sink_") and thing.answer.broke
  for number = 1, why.ends and thing.number - 1 or 0 do
    local before = r.things[number]
    if left_open(r, before) then return ("leaves the %s in frame %d without an answer"):format(before.op, before.frame) end
    broke = broke or bent(r, before)
  end
  return broke and "breaks " .. broke
end

-- Adds a difference, which accuses the target unless the recording excuses it. why: rule, ends (the comparison), item
-- (live), reason, expected and actual (the two messages), recorded and got (the values).
local function differs(r, thing, name, why)
  local key = ("%d %s"):format(thing.number, name)
  r.count = r.count + 1
  if r.count <= LISTED then
    r.t:note(("difference %d: message %d of %d (%s), %s of the %s: %s: recorded %s, got %s"):format(r.count, thing.number,
      #r.things, recording.place(r, thing), plain(thing.op) or thing.which or thing.kind, thing.side, (name:gsub("_", " ")), why.recorded, why.got))
  end
  if r.listed[key] == false then
    r.listed[key] = true
    r.t:observe("difference", key)
    return
  end
  local did = excuse(r, thing, name, why)
  if did then
    r.t:note(("the recording %s: the difference is no fault of this target"):format(did))
    if why.ends and #r.t.deviations == 0 then r.t:inconclusive("what follows cannot be compared: the recording " .. did) end
    return
  end
  -- A difference counts even where the rule is no MUST of its own.
  r.t:deviates(why.reason, {
    rule = why.rule and iw.rule(why.rule) == "FAIL" and why.rule or nil, how = why.how, fault = why.fault,
    item = why.item, actual = why.actual, first = true,
    expected = ("%s (%s)"):format(why.expected, recording.place(r, thing)),
  })
end
compare.differs = differs

-- Notes the number of differences that were not listed one by one.
function compare.rest(r)
  if r.count > LISTED then r.t:note(("and %d differences more"):format(r.count - LISTED)) end
end

local function field_differs(r, thing, item, name, recorded, got, texts)
  local rule = field_rule.of(item, name)
  differs(r, thing, name, {
    rule = rule or RULES[name] or RULES.op, how = rule and field_rule.HOW, item = item, recorded = recorded, got = got,
    reason = ("the target's %s differs from the recorded one in %s"):format(item.op or "start-up frame", (name:gsub("_", " "))),
    expected = texts and texts[1] or recorded, actual = texts and texts[2] or got,
  })
end
compare.field = field_differs

-- The target does something else altogether, and the comparison ends. Where nobody can follow its stream, the observer's
-- first finding says more than the missing message.
function compare.strays(r, thing, item, expected, rule)
  local found = item.kind == "lost" and iw.findings()[1] or nil
  local code = item.op == "terminate" and thing.op ~= "terminate" and item.layer and message.code_of(item)
    or item.kind ~= "message" and item.kind ~= "lost" and item.conn and refusal.closes(item.conn, item, thing.kind == "startup") or nil
  differs(r, thing, "op", {
    ends = true, how = code and "refused" or nil, fault = code,
    rule = found and found.rule or rule or RULES.op, item = item,
    reason = found and found.text or "the target did something else than the recorded " .. thing.side,
    expected = expected, actual = line(item), recorded = expected, got = line(item),
  })
  r.over = true
end

-- The awaited item has not come; `part`: segments of a message that has not ended, if there are any.
function compare.missing(r, thing, expected, actual, part)
  local whole = part and part.op == plain(thing.op) and #part.payload >= #(thing.payload or "")
  differs(r, thing, "missing", {
    ends = true, rule = whole and "DDP-4.1-03" or nil, how = whole and "unfinished" or nil, item = whole and part or nil,
    reason = whole and "the target's message does not end: no segment has L=1"
      or "the target did something else than the recorded " .. thing.side,
    expected = expected, actual = whole and part.text or actual, recorded = expected, got = actual,
  })
  r.over = true
end

-- ---- payloads ----

-- Returns the octets of a message's payload that are not compared, as a list of {at, size}: those of an advertisement, and
-- those that the map leaves free, which an agent sends as recorded all the same.
local function excused(r, thing, op)
  local list = {}
  for _, entry in ipairs(r.map.advertisements) do
    if recording.fits(entry, thing, op) then
      list[#list + 1] = entry.stag
      if entry.to then list[#list + 1] = entry.to end
    end
  end
  for _, entry in ipairs(r.t.peer.agent and {} or r.map.free) do
    if recording.fits(entry, thing, op) then
      list[#list + 1] = { at = entry.at or 0, size = entry.size or #thing.payload, free = true }
    end
  end
  return list
end

local function masked(payload, list)
  for _, field in ipairs(list) do
    local size = math.min(field.size, #payload - field.at)
    if size > 0 then payload = payload:sub(1, field.at) .. ("\0"):rep(size) .. payload:sub(field.at + size + 1) end
  end
  return payload
end

local function count_octets(a, b, at)
  local n = 0
  for i = at + 1, math.min(#a, at + 4096) do
    if a:byte(i) ~= b:byte(i) then n = n + 1 end
  end
  return n
end

local function differing(a, b, at)
  local n = count_octets(a, b, at)
  return n == 1 and "1 octet differs" or ("%d octets differ"):format(n)
end

local function compare_payload(r, thing, item, want)
  local rule, how = field_rule.of_payload(item, want.payload)
  if rule then
    return differs(r, thing, "length", {
      rule = rule, how = how, item = item, reason = field_rule.REASON[how], expected = line(want), actual = line(item),
      recorded = #want.payload, got = #item.payload,
    })
  end
  if #want.payload ~= #item.payload then
    return field_differs(r, thing, item, "length", #want.payload, #item.payload, { line(want), line(item) })
  end
  if BY_FIELDS[thing.op] or want.payload == item.payload then return end
  local list = excused(r, thing, item.op)
  local recorded, got = masked(want.payload, list), masked(item.payload, list)
  local at = octets.difference(recorded, got)
  if not at then
    for _, field in ipairs(list) do
      if field.free then r.remarks.free = "some messages hold other octets where the map leaves them free" end
    end
    return
  end
  local before = octets.show(want.payload:sub(at + 1), 16)
  local now = octets.show(item.payload:sub(at + 1), 16)
  differs(r, thing, "payload", {
    rule = RULES.payload, item = item, reason = ("the target's %s differs from the recorded one in payload"):format(item.op),
    expected = ("%s: %s at octet %d"):format(line(want), before, at), actual = now,
    recorded = ("%s at octet %d"):format(before, at),
    got = ("%s (%s)"):format(now, differing(recorded, got, at)),
  })
end

-- ---- messages ----

-- Returns the recorded message as it should come now.
local function mapped(thing)
  local want = { op = plain(thing.op), opcode = thing.opcode, t = thing.t, payload = thing.payload, kind = thing.kind, text = thing.text }
  for _, name in ipairs(FIELDS) do want[name] = thing[name] end
  local stream = thing.of
  local version = stream.conn:version()
  if version ~= stream.version then
    if want.dv == stream.version then want.dv = version end
    if want.rv == stream.version then want.rv = version end
  end
  if want.msn then want.msn = want.msn + (stream.shift[want.qn] or 0) end
  return want
end

-- The recorded answer went to another place than the sink of the Read Request, and the recorded peer took it: the request
-- was another one.
local function check_sink(r, thing, item)
  local answer = thing.answer
  if not answer or r.terminated[thing.side] then return end
  for _, name in ipairs { "stag", "to" } do
    local recorded = thing["sink_" .. name]
    if recorded ~= answer[name] then
      field_differs(r, thing, item, "sink_" .. name, value_text("stag", recorded),
        ("%x, which has its answer in frame %d"):format(answer[name], answer.frame), { line(thing), line(item) })
    end
  end
end

-- Compares a live message with the recorded one.
function compare.message(r, thing, item)
  local want, op = mapped(thing), plain(item.op)
  if item.kind ~= "message" or op ~= want.op and not (SENDS[op] and SENDS[want.op] and not item.t and not want.t) then
    return compare.strays(r, thing, item, line(want))
  end
  local texts = { line(want), line(item) }
  if op ~= want.op then field_differs(r, thing, item, "op", want.op, op, texts) end
  for _, name in ipairs(FIELDS) do
    if item[name] ~= want[name] then
      field_differs(r, thing, item, name, value_text(name, want[name]), value_text(name, item[name]), texts)
    end
  end
  if thing.op == "read-request" then check_sink(r, thing, item) end
  compare_payload(r, thing, item, want)
end

return compare
