-- SPDX-License-Identifier: BSD-3-Clause
-- Replaying against an agent: the same recording makes it play the target's side with its verbs. It registers memory where
-- the recorded peer had some, posts receives for the station's Sends and the work that the recorded peer did, and these
-- functions look at the octets placed in its memory.

local strict = iw.load("strict")
local recording = iw.load("replay_recording")
local compare = iw.load("replay_compare")
local refused = iw.load("replay_refused")

local part = {}

local INVALIDATES = strict.set("send-invalidate send-se-invalidate")
local BARE = strict.set("immediate immediate-se")
local SENDS = strict.set("send send-se send-invalidate send-se-invalidate")
local RECEIVED = { ["immediate"] = true, ["immediate-se"] = true, ["malformed immediate"] = true, ["malformed immediate-se"] = true }
for name in pairs(SENDS) do RECEIVED[name] = true end
local ATOMICS = { [0] = "fetch-add", [2] = "cmp-swap" }
local RTR = { b = "send", c = "write", d = "read" }
local MEMORY = 16 << 20 -- octets of a buffer
local DEPTH = 64 -- of the agent's queues by default

-- ---- where the recorded peer had memory ----

local function area(r, stag)
  local one = r.areas[stag]
  if not one then
    one = { rights = {} }
    r.areas[stag] = one
  end
  return one
end

-- A place too far away belongs to no buffer.
local function widen(one, to, length)
  local first, last = one.first or to, one.last or to + length
  if math.ult(to, first) then first = to end
  if math.ult(last, to + length) then last = to + length end
  if math.ult(last - first, MEMORY + 1) then one.first, one.last = first, last end
end

-- The target's buffers are as large as advertised, or as the accesses to them need.
local function survey_told(r)
  for _, thing in ipairs(r.things) do
    for _, advertised in ipairs(thing.advertisements or {}) do
      if advertised.used and advertised.length then
        widen(area(r, advertised.stag), advertised.to, advertised.length)
        area(r, advertised.stag).advertised = true
      end
    end
  end
end

local function used(r, thing, stag, to, length, right)
  local one = area(r, stag)
  if thing.refused == "stag" then one.unknown = true end
  if thing.refused == "access" then one.denied = right end
  one.rights[right] = true
  if thing.refused == "bounds" then to, length = to - 1, 1 end
  if not one.advertised then widen(one, to, length) end
end

local function invalidated(thing, one)
  one.invalidate = true
  if thing.refused == "invalidate" then one.unknown = true end
end

-- Collects the played side's accesses to the target's buffers, and the target's reads into its own.
function part.survey(r)
  refused.find(r)
  survey_told(r)
  for _, thing in ipairs(r.things) do
    if thing.side == r.played then
      if thing.op == "write" and thing ~= thing.of.rtr then
        used(r, thing, thing.stag, thing.to, #thing.payload, "write")
      elseif thing.op == "read-request" and thing ~= thing.of.rtr then
        used(r, thing, thing.source_stag, thing.source_to, thing.size, "read")
      elseif thing.op == "atomic-request" then
        used(r, thing, thing.remote_stag, thing.remote_to & ~7, 16, "atomic")
      elseif INVALIDATES[thing.op] then
        invalidated(thing, area(r, thing.invalidate))
      end
    elseif thing.op == "read-request" then
      widen(area(r, thing.sink_stag), thing.sink_to, thing.size)
    end
  end
end

-- Returns the agent's memory for the buffer recorded under this STag.
local function memory(r, stag)
  local one = r.areas[stag]
  if not one or one.unknown then return nil end
  if not one.first then
    if not one.invalidate then return nil end
    one.first, one.last, one.rights.write = 0, 0, true
  end
  if not one.memory then
    local rights = {}
    for _, right in ipairs { "read", "write", "atomic" } do
      if one.rights[right] and right ~= one.denied then rights[#rights + 1] = right end
    end
    one.memory = r.t:memory {
      length = math.max(one.last - one.first, 1), remote = #rights > 0 and table.concat(rights, " ") or nil, invalidate = one.invalidate,
    }
    r:bind(stag, one.first, one.memory.stag, one.memory.to)
  end
  return one.memory, one.first
end

local function inside(buffer, offset, length)
  return offset >= 0 and offset + length <= buffer.length
end

-- Returns a message of the target with the live places instead of the recorded ones.
local function live_payload(r, thing)
  local payload = thing.payload
  for _, one in ipairs(thing.advertisements) do
    if memory(r, one.stag) then
      local live_stag, live_to = r:live(one.stag, one.to, thing)
      payload = r:writes(one.entry.stag, payload, live_stag)
      if one.entry.to then payload = r:writes(one.entry.to, payload, live_to) end
    end
  end
  return payload
end

-- ---- start-up ----

-- Returns the configuration with which the agent sends the recorded target's start-up frame.
function part.config(r, stream)
  local frame = r.target == "initiator" and stream.request or stream.reply
  local say = r.t.peer.startup
  local rtr, recorded = { n = true }, stream.rtr and (stream.rtr.op == "read-request" and "read" or stream.rtr.op)
  for _, form in ipairs { "b", "c", "d" } do
    if frame[form] then table.insert(rtr, RTR[form] == recorded and 1 or #rtr + 1, RTR[form]) end
  end
  local config = { ird = frame.ird, ord = frame.ord }
  if frame.a and #rtr > 0 then config.rtr = rtr end
  if r.target == "initiator" then config.peer_to_peer = frame.a or nil end
  if not say then
    config.revision, config.crc, config.markers, config.enhanced = frame.revision, frame.crc, frame.markers, frame.enhanced
  elseif not say.enhanced then
    config = {}
  end
  local works = { initiator = 0, responder = 0 }
  for _, thing in ipairs(stream.things) do works[thing.side] = works[thing.side] + 1 end
  if works[r.played] > DEPTH then config.recv_depth = math.min(works[r.played], 4096) end
  if works[r.target] > DEPTH then config.send_depth = math.min(works[r.target], 4096) end
  for name in pairs(config) do
    if not r.t:takes(name) then config[name] = nil end
  end
  return config
end

-- The connection is up: a receive for each of the station's Sends.
function part.begin(r, stream)
  stream.begun = true
  r.t:established(stream.conn)
  stream.receives, stream.placed, stream.done = {}, {}, 0
  stream.asked, stream.posted = 0, {}
  for _, thing in ipairs(stream.things) do
    if thing.side == r.played and RECEIVED[thing.op] and thing ~= stream.rtr then
      if thing.refused == "receive" then break end
      local length = #thing.payload - (thing.refused == "length" and 1 or 0)
      stream.receives[#stream.receives + 1] = r.t:receive { conn = stream.conn, length = length }
    end
  end
end

-- ---- the station's messages ----

-- Before a Read Request of the station's: its source holds what the recorded one held.
function part.prepare(r, thing)
  local answer = thing.answer
  local buffer, first = memory(r, thing.op == "read-request" and thing.source_stag or thing.remote_stag)
  if not buffer or not answer then return end
  local offset = (thing.source_to or thing.remote_to) - first
  local content = answer.payload
  if thing.op == "atomic-request" then content = string.pack("=I8", answer.value) end
  if not inside(buffer, offset, #content) then return end
  if buffer.content:sub(buffer.guard + offset + 1, buffer.guard + offset + #content) ~= content then
    r.t:fill(buffer, content, offset)
  end
end

function part.needs(r, stag) memory(r, stag) end

-- Checks that the octets Written so far are where they belong.
local function check_placed(r, stream)
  for _, one in ipairs(stream.placed) do
    local at = one.buffer.guard + one.offset
    local content = one.buffer.content
    one.buffer.content = content:sub(1, at) .. one.payload .. content:sub(at + #one.payload + 1)
  end
  local seen = {}
  for _, one in ipairs(stream.placed) do
    if not seen[one.buffer] then r.t:expect_unchanged(one.buffer, { rule = compare.rules.payload }) end
    seen[one.buffer] = true
  end
  stream.placed = {}
end

-- True if the target has refused the message for this receive, as the recorded target, which sent a Terminate, may have.
local function not_taken(r, handle)
  if not handle then return true end
  if not r.terminated[r.target] then return false end
  local event = r.t:wait_event(function(e) return e.event == "completion" and e.work == handle.work end)
  r.t.events[#r.t.events + 1] = event
  return event ~= nil and event.status ~= "ok"
end

-- Work completes in the order of posting: nothing completes after an unanswered read.
local function completed(r, stream)
  while stream.asked == 0 and stream.posted[1] do r.t:completion(table.remove(stream.posted, 1)) end
end

function part.posted(r, stream, work)
  table.insert(stream.posted, work)
  completed(r, stream)
end

-- The station has sent the last segment of an answer.
local function answered(r, stream, thing, asked)
  stream.asked = stream.asked - 1
  if thing.op == "atomic-response" then
    r.t:completion(asked.work, { original = thing.value })
  else
    r.t:completion(asked.work, { length = #thing.payload })
    local buffer, first = memory(r, asked.sink_stag)
    if #thing.payload > 0 then
      r.t:expect_contents(buffer, thing.payload, { offset = asked.sink_to - first, rule = compare.rules.payload })
    end
    stream.latest = asked
  end
  completed(r, stream)
end

-- Comes after the station's messages.
function part.sent(r, thing)
  local stream = thing.of
  if RECEIVED[thing.op] then
    stream.done = stream.done + 1
    local handle = stream.receives[stream.done]
    if not_taken(r, handle) then return end
    if BARE[thing.op] then
      r.t:completion(handle, { immediate = thing.payload })
    else
      r.t:completion(handle, { length = #thing.payload })
      r.t:expect_contents(handle.memory, thing.payload, { rule = compare.rules.payload })
    end
    check_placed(r, stream)
  elseif thing.op == "write" and #thing.payload > 0 then
    local buffer, first = memory(r, thing.stag)
    if buffer and inside(buffer, thing.to - first, #thing.payload) then
      stream.placed[#stream.placed + 1] = { buffer = buffer, offset = thing.to - first, payload = thing.payload }
    end
  elseif recording.responses[thing.op] and thing.asked and thing.asked.work then
    answered(r, stream, thing, thing.asked)
  end
end

-- The station's direction has ended. Octets that the target did not refuse must be in their place.
function part.ended(r, stream)
  if not stream.placed or #stream.placed == 0 or r.terminated[r.target] then return end
  local conn = stream.conn
  local event = r.t:wait_event(function(e) return e.conn == conn.agent and (e.event == "peer-closed" or e.event == "closed") end)
  if not event then return end
  r.t.events[#r.t.events + 1] = event
  check_placed(r, stream)
end

-- ---- the target's messages ----

local function post_write(r, thing)
  local latest = thing.of.latest
  local fields = { conn = thing.of.conn, op = "write", stag = thing.stag, to = thing.to }
  if r.map.echo and latest and latest.size == #thing.payload then
    local buffer, first = memory(r, latest.sink_stag)
    fields.memory, fields.offset, fields.length = buffer, latest.sink_to - first, latest.size
  else
    fields.payload = thing.payload
  end
  return r.t:post(fields)
end

-- Posts the recorded target's work. Returns a handle, if it completes by itself.
function part.post(r, thing)
  local stream, t = thing.of, r.t
  if thing == stream.rtr or recording.responses[thing.op] or thing.op == "terminate" then return nil end
  if thing.op == "write" then return post_write(r, thing) end
  if thing.op == "read-request" then
    local buffer, first = memory(r, thing.sink_stag)
    if not buffer or not inside(buffer, thing.sink_to - first, thing.size) then
      recording.unfit(r, thing, ("a sink of more than %d octets"):format(MEMORY))
    end
    thing.work = t:post { conn = stream.conn, op = "read", memory = buffer, offset = thing.sink_to - first, length = thing.size,
                          stag = thing.source_stag, to = thing.source_to }
    stream.asked = stream.asked + 1
    return nil
  elseif thing.op == "atomic-request" then
    local op = ATOMICS[thing.atomic] or recording.unfit(r, thing, "an operation that no agent can do")
    thing.work = t:post { conn = stream.conn, op = op, stag = thing.remote_stag, to = thing.remote_to,
                          add_swap = thing.add_swap, add_swap_mask = thing.add_swap_mask, compare = thing.compare,
                          compare_mask = thing.compare_mask }
    stream.asked = stream.asked + 1
    return nil
  elseif BARE[thing.op] then
    return t:post { conn = stream.conn, op = thing.op, immediate = thing.payload }
  elseif SENDS[thing.op] then
    return t:post { conn = stream.conn, op = thing.op, payload = live_payload(r, thing),
                    invalidate = INVALIDATES[thing.op] and thing.invalidate or nil }
  end
  recording.unfit(r, thing, "nothing that an agent can do")
end

-- The target's end of a direction.
function part.close(r, thing)
  if thing.of.conn.agent then
    r.t:agent("close", { conn = thing.of.conn.agent, how = thing.kind == "reset" and "reset" or "graceful" }, true)
  end
end

return part
