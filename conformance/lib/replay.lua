-- SPDX-License-Identifier: BSD-3-Clause
-- Replays one side of a recorded conversation against the target and compares the answers with the recorded peer's. A
-- message that the played side sent after receiving N messages waits for N messages now; each stack splits messages into
-- segments as it likes. The replay puts in the target's live STags and TOs; for the played side's own, which the target
-- only repeats, the recorded ones are as good as any.

local strict = iw.load("strict")
local octets = iw.load("octets")
local message = iw.load("message")
local Conn = iw.load("conn")
local recording = iw.load("replay_recording")
local compare = iw.load("replay_compare")
local part = iw.load("replay_part")
local start = iw.load("replay_start")

local Replay = {}
Replay.__index = Replay

-- ---- recorded places and live ones ----

-- Maps the recorded STag of a target's buffer to the live one.
function Replay:bind(stag, to, live_stag, live_to)
  self.places[stag] = { stag = live_stag, shift = live_to - to }
end

-- Returns the target's live STag and TO; the recorded ones if nothing replaced them, and the TO where it wrapped.
function Replay:live(stag, to, thing)
  local found = self.places[stag]
  if found then return found.stag, thing.refused == "wrap" and to or to + found.shift end
  if not self.unknown[stag] then
    self.unknown[stag] = true
    self.t:note(("STag %08x of the target is used as recorded: no message says where that buffer is now"):format(stag))
  end
  return stag, to
end

-- A field of an advertisement in a payload; nil if it is too short for it.
function Replay:reads(field, payload)
  if #payload < field.at + field.size then return nil end
  return (field.format:unpack(payload, field.at + 1))
end

function Replay:writes(field, payload, value)
  if field.size < 8 then value = value & 0xffffffff end
  return payload:sub(1, field.at) .. field.format:pack(value) .. payload:sub(field.at + field.size + 1)
end

-- Returns STag, TO and length that a payload advertises; nil for a length that it does not state.
function Replay:advertised(entry, payload)
  local stag = self:reads(entry.stag, payload)
  if not stag then return nil end
  return stag, entry.to and self:reads(entry.to, payload) or 0, entry.length and self:reads(entry.length, payload) or nil
end

-- Takes the target's advertisements of its buffers, if the recording goes on to use them.
function Replay:learn(thing, item)
  for _, one in ipairs(#item.payload == #thing.payload and thing.advertisements or {}) do
    local stag, to = one.stag, one.to
    if one.meant then
      stag, to = one.meant.stag, one.meant.to
      compare.field(self, thing, item, "payload", ("STag %08x, TO %x"):format(one.stag, one.to),
        ("%08x, %x, used in frame %d"):format(stag, to, one.meant.frame), { thing.text, item.text })
    end
    if one.meant or one.used then
      local live_stag, live_to = self:advertised(one.entry, item.payload)
      self:bind(stag, to, live_stag, live_to)
    end
  end
end

-- The fields of a message that name a place in the target's memory.
local PLACES = {
  ["write"] = { stag = "stag", to = "to" }, ["read-request"] = { stag = "source_stag", to = "source_to" },
  ["atomic-request"] = { stag = "remote_stag", to = "remote_to" },
}

local function covers(advertised, stag, to)
  return advertised.stag == stag and not math.ult(to, advertised.to) and (not advertised.length or math.ult(to - advertised.to, advertised.length))
end

-- Finds the target's advertisements of its buffers, and marks those in use. If the recording uses a place that nobody
-- advertised, and never uses the last advertised one, it shows itself that another place was meant.
function Replay:find_told()
  local advertised = {}
  for _, thing in ipairs(self.things) do
    local names = thing.side == self.played and thing ~= thing.of.rtr and PLACES[thing.op]
    if thing.side == self.target and thing.kind == "message" and thing.payload then
      thing.advertisements = {}
      for _, entry in ipairs(self.map.advertisements) do
        local stag, to, length = self:advertised(entry, thing.payload)
        if stag and recording.fits(entry, thing) then
          local one = { entry = entry, stag = stag, to = to, length = length }
          thing.advertisements[#thing.advertisements + 1], advertised[#advertised + 1] = one, one
        end
      end
    elseif names then
      local stag, to, known = thing[names.stag], thing[names.to], false
      for _, one in ipairs(advertised) do
        if covers(one, stag, to) then one.used, known = true, true end
      end
      local last = advertised[#advertised]
      if not known and last and not last.used and not last.meant then last.meant = { stag = stag, to = to, frame = thing.frame } end
    end
  end
end

-- ---- receiving ----

local IN_VAIN = 0.5 -- seconds for messages listed as missing

local RESPONSES = recording.responses

-- Responses and a peer's own messages are ordered among themselves only (RFC 5040 §5.5).
local function lane(thing) return RESPONSES[thing.op] and "answer" or "own" end

-- True if the recorded peer sends more messages of this lane.
local function still_due(r, thing, which)
  for i = thing.number + 1, #r.things do
    local other = r.things[i]
    if other.of == thing.of and other.side == r.target and other.kind == "message" and lane(other) == which then return true end
  end
  return false
end

local function nothing_text(conn, seconds)
  return conn:state().ended and "nothing more: the stream had ended" or ("nothing within %g s"):format(seconds or iw.patience())
end

-- Returns the target's next item, to compare with a recorded one; nil ends the replay.
function Replay.take(r, thing, expected)
  local stream = thing.of
  for i, item in ipairs(stream.kept) do
    if lane(item) == lane(thing) then return table.remove(stream.kept, i) end
  end
  local seconds = r.listed[("%d missing"):format(thing.number)] == false and IN_VAIN or nil
  local item = stream.conn:next(seconds)
  while item and item.kind == "message" and thing.kind == "message" and lane(item) ~= lane(thing)
    and still_due(r, thing, lane(item)) do
    stream.kept[#stream.kept + 1] = item
    item = stream.conn:next()
  end
  if item then
    r.t:decided(item)
    return recording.mark(item)
  end
  local kept = stream.kept[1]
  if kept then
    compare.strays(r, thing, kept, expected)
  else
    compare.missing(r, thing, expected, nothing_text(stream.conn, seconds), stream.conn:partial())
  end
  return nil
end

-- ---- the played side ----

local NAMES = {}
for name, spec in pairs(message.specs) do NAMES[spec.opcode] = name end

-- Fields of the recorded header that no correct stack would have sent: the replay sends them again.
local function oddities(thing, spec, fields)
  local stream = thing.of
  for _, name in ipairs { "rsvd", "rsv" } do
    if thing[name] ~= 0 then fields[name] = thing[name] end
  end
  for _, name in ipairs { "dv", "rv" } do
    if thing[name] ~= stream.version then fields[name] = thing[name] end
  end
  if not thing.l then fields.l = false end
  if thing.t then return end
  if thing.qn ~= spec.qn then fields.qn = thing.qn end
  local due = stream.due[thing.qn] or 1
  local queue = stream.conn.queues[thing.qn]
  if thing.msn ~= due then
    fields.msn = (thing.msn - due + (queue and queue.msn or 1)) & 0xffffffff
  elseif thing.l then
    stream.due[thing.qn] = due + 1
  end
  if thing.mo ~= 0 then fields.mo = thing.mo end
end

local FILL = {} -- by operation: fills in live fields

FILL["write"] = function(r, thing)
  local stag, to = r:live(thing.stag, thing.to, thing)
  return { payload = thing.payload, stag = stag, to = to }
end
FILL["read-request"] = function(r, thing)
  local stag, to = r:live(thing.source_stag, thing.source_to, thing)
  return { size = thing.size, sink_stag = thing.sink_stag, sink_to = thing.sink_to, source_stag = stag, source_to = to }
end
FILL["read-response"] = function(r, thing)
  local asked = thing.asked
  local stag, to = thing.stag, thing.to
  if asked and asked.live then
    stag, to = asked.live.sink_stag, asked.live.sink_to
    if r.terminated[r.target] then -- perhaps about a wrong answer
      stag = stag + (thing.stag - asked.sink_stag) & 0xffffffff
      to = to + (thing.to - asked.sink_to)
    end
  end
  return { payload = thing.payload, stag = stag, to = to }
end
FILL["atomic-request"] = function(r, thing)
  local stag, to = r:live(thing.remote_stag, thing.remote_to, thing)
  return { remote_stag = stag, remote_to = to, atomic = thing.atomic, request_id = thing.request_id, add_swap = thing.add_swap,
           add_swap_mask = thing.add_swap_mask, compare = thing.compare, compare_mask = thing.compare_mask }
end
FILL["atomic-response"] = function(_, thing)
  local asked = thing.asked
  return { value = thing.value, request_id = asked and asked.live and asked.live.request_id or thing.request_id }
end

-- The recorded message as it goes out now.
local function live_message(r, thing)
  local name = NAMES[thing.opcode]
  if not name or not thing.payload or thing.t ~= (message.specs[name].t or false) then return nil end
  local fields = FILL[thing.op] and FILL[thing.op](r, thing) or { payload = thing.payload }
  if thing.op == "send-invalidate" or thing.op == "send-se-invalidate" then
    fields.invalidate = r:live(thing.invalidate, 0, thing)
  end
  oddities(thing, message.specs[name], fields)
  return message[name](fields)
end

local TARGET_OF = { write = "stag", ["read-request"] = "source_stag", ["atomic-request"] = "remote_stag",
  ["send-invalidate"] = "invalidate", ["send-se-invalidate"] = "invalidate" }

local function play_message(r, thing)
  local stream = thing.of
  if thing.skip then return end
  if thing == stream.rtr then
    if thing.qn then stream.due[thing.qn] = thing.msn + 1 end
    return start.send_rtr(r, thing)
  end
  if r.t.peer.agent then
    if not stream.begun then part.begin(r, stream) end
    local stag = thing[TARGET_OF[thing.op] or ""]
    if stag then part.needs(r, stag) end
    if recording.requests[thing.op] then part.prepare(r, thing) end
  end
  local live = live_message(r, thing)
  local bend = thing.wrong_crc and { crc = "bad" } or nil
  if live then
    stream.conn:send(live, bend)
  else
    for _, segment in ipairs(thing.segments) do stream.conn:send(message.raw { ulpdu = segment.ulpdu }, bend) end
  end
  if r.t.peer.agent then part.sent(r, thing) end
end

local played = {} -- by kind of thing

function played.startup(r, thing)
  if thing.which == "request" then
    thing.of.conn:send(message.request(start.fields(r, thing)))
  else
    start.send_reply(r, thing)
  end
end

played.message = play_message

function played.fin(r, thing)
  thing.of.conn:shutdown()
  if r.t.peer.agent then part.ended(r, thing.of) end
end

function played.reset(r, thing)
  thing.of.conn:reset()
  thing.of.gone = "the station"
end

-- ---- the target's side ----

local awaited = {} -- by kind of thing

function awaited.startup(r, thing)
  if thing.which == "request" then start.compare_request(r, thing) else start.compare_reply(r, thing) end
end

function awaited.message(r, thing)
  local stream = thing.of
  if thing.skip then return end
  if thing.wrong_crc then recording.unfit(r, thing, "a wrong CRC of the peer's, with nothing to compare") end
  if thing == stream.rtr then return start.take_rtr(r, thing) end
  start.take_new_rtr(r, thing)
  if r.over then return end
  if r.t.peer.agent and not stream.begun then part.begin(r, stream) end
  local posted = r.t.peer.agent and part.post(r, thing)
  local item = r:take(thing, compare.line(thing))
  if not item then return end
  compare.message(r, thing, item)
  if r.over then return end
  if recording.requests[thing.op] then thing.live = item end
  if item.payload and thing.op ~= "terminate" then r:learn(thing, item) end
  if thing.op == "terminate" then stream.conn.terminated = true end
  if posted then part.posted(r, stream, posted) end
end

-- Expects the end of the target's direction; an abrupt end is a remark.
local function ends(r, thing)
  local stream = thing.of
  start.take_new_rtr(r, thing)
  if r.over then return end
  if r.t.peer.agent then
    if not stream.begun and not stream.reply.rejected then part.begin(r, stream) end
    part.close(r, thing)
  end
  local item = r:take(thing, thing.text)
  if not item then return end
  if item.kind ~= "fin" and item.kind ~= "reset" then
    compare.strays(r, thing, item, thing.text)
  elseif item.kind ~= thing.kind then
    r.t:observe("end", item.kind)
  end
  if item.kind == "reset" or thing.kind == "reset" then thing.of.gone = "the target" end
end
awaited.fin, awaited.reset = ends, ends

-- ---- connecting ----

local AGAIN = 0.05 -- seconds between two tries

-- One more connection to a target without an agent, whose program may not listen again at once.
local function reach_again(t)
  local raw, why
  for _ = 1, math.ceil(iw.patience() / AGAIN) do
    raw, why = iw.connect(t.peer.host, t.peer.port)
    if raw then return Conn.new(t, raw) end
    iw.rest(AGAIN)
  end
  t:inconclusive("the target did not take one more connection: " .. why)
end

-- The TCP connection of a stream. A target without an agent is made to connect once, and makes all connections of its run.
local function arrive(r, stream)
  local t = r.t
  local config = t.peer.agent and part.config(r, stream) or nil
  local frame = r.target == "initiator" and stream.request or stream.reply
  if config and #frame.private > 0 and not frame.rejected then config.private = frame.private end
  if r.target == "responder" then
    if config and frame.rejected then config.accept = "ask" end
    stream.conn = not config and #t.conns > 0 and reach_again(t) or t:connect { raw = true, target = config }
  elseif t.peer.agent or #t.callers == 0 then
    stream.conn = t:target_connects { raw = true, target = config }
  else
    local raw = t.callers[1]:accept()
    if not raw then t:inconclusive(("the target did not make connection %d of the recording"):format(stream.number)) end
    stream.conn = Conn.new(t, raw)
  end
end

-- ---- all of it ----

local function rest(r, thing, before)
  if r.scale and before and thing.side == r.played then
    local gap = (thing.time - before.time) / 1e9 * r.scale
    if gap > 0 then iw.rest(gap) end
  end
end

-- After what breaks a rule a target may do other things than the recorded one did, unless that refused it. Of framing only a wrong
-- CRC is played as it was.
local function doubt(r, thing)
  local broke = thing.broke
  if not broke or r.terminated[r.target] or broke:find("^MPA%-[3458]") and not broke:find("^MPA%-4%.4") then return end
  r.t.doubt = ("the recorded %s broke %s (%s), and is played: what a target does then is not in the recording"):format(
    r.played, broke, recording.place(r, thing))
end

local function step(r, thing, before)
  local stream = thing.of
  rest(r, thing, before)
  if not stream.conn then arrive(r, stream) end
  if stream.gone then
    r.remarks.gone = ("left out the items recorded after the reset (%s): %s has reset the connection"):format(
      recording.place(r, thing), stream.gone)
  elseif thing.side == r.played then
    doubt(r, thing)
    played[thing.kind](r, thing)
  else
    awaited[thing.kind](r, thing)
  end
end

-- Nothing more should come after the last recorded item.
local function nothing_more(r)
  for _, stream in ipairs(r.streams) do
    local last = r.things[#r.things]
    local item = not stream.gone and stream.conn and (stream.kept[1] or stream.conn:next(0))
    if item and item.kind == "message" then
      compare.differs(r, last, "more", {
        ends = true, item = item, rule = compare.rules.op, reason = "the target sent more than the recorded " .. r.target .. " did",
        expected = "nothing more", actual = compare.line(item), recorded = "nothing more", got = compare.line(item),
      })
    end
  end
end

-- A finding about the recorded peer is no news about the live one.
local function allow_recorded(r)
  local recorded = {}
  for _, stream in ipairs(r.streams) do
    for name in pairs(stream.findings[r.target]) do recorded[name] = true end
  end
  for _, finding in ipairs(iw.findings()) do
    if recorded[finding.check] and not r.t.allowed[finding.check] then
      r.t:note(("finding %s (%s), as in the recording: %s"):format(finding.check, finding.rule or "no rule", finding.text))
      r.t:allow(finding.check)
    end
  end
end

-- Returns the rules that the recorded peer broke.
local function broken_rules(r)
  local rules = {}
  for _, stream in ipairs(r.streams) do
    for _, rule in pairs(stream.findings[r.target]) do rules[rule] = true end
  end
  return rules
end

local function check_listed(r)
  if r.over and #r.t.deviations > 0 then return end -- another one came before its place
  for _, key in ipairs(r.order) do
    if not r.listed[key] then
      r.t:deviates("a listed difference did not come", { expected = "difference " .. key, actual = "as recorded" })
    end
  end
end

local OPTIONS = strict.set("capture stream map time private differences")
local SIDES = { initiator = "responder", responder = "initiator" }

local function scale_of(time)
  if time == nil or time == "drop" then return nil end
  if time == "keep" then return 1 end
  if type(time) == "number" and time >= 0 then return time end
  error(("time: expected \"keep\", \"drop\" or a number, not %s"):format(tostring(time)), 0)
end

-- Plays the target's peer (the case's role is the target's) in a conversation of the capture, a path below pcaps/. stream:
-- the number of its connection, from 0, or several that belong together; map: where the application advertises its
-- buffers; time: "drop", "keep", or a factor; private: other private data for the start-up; differences: those that must
-- come, "MESSAGE FIELD" each.
local function play(t, options)
  options = strict.check("t:replay", options or {}, OPTIONS)
  if type(options.capture) ~= "string" then error("t:replay needs capture = \"a path below pcaps/\"", 0) end
  local r = setmetatable(recording.read(options), Replay)
  r.t, r.target, r.played = t, t.case.role, SIDES[t.case.role]
  r.scale, r.private = scale_of(options.time), options.private
  r.places, r.unknown, r.areas, r.remarks, r.terminated = {}, {}, {}, {}, {}
  r.broken = broken_rules(r)
  r.count, r.listed, r.order = 0, {}, options.differences or {}
  for _, key in ipairs(r.order) do r.listed[key] = false end
  for _, stream in ipairs(r.streams) do stream.kept, stream.shift, stream.due = {}, {}, {} end
  for _, thing in ipairs(r.things) do
    if thing.op == "terminate" then r.terminated[thing.side] = true end
  end
  r:find_told()
  if t.peer.agent then part.survey(r) end
  for i, thing in ipairs(r.things) do
    if r.over then break end
    step(r, thing, r.things[i - 1])
  end
  if not r.over then nothing_more(r) end
  compare.rest(r)
  check_listed(r)
  allow_recorded(r)
  for _, name in ipairs { "request", "reply", "rtr", "free", "gone" } do
    if r.remarks[name] then t:note(r.remarks[name]) end
  end
end

-- ---- iwarp-conform replay ----

local RULES_OF_COMMAND = { "RDMAP-5.5-10" }
local SECONDS = 20

-- Turns the command line into options of t:replay.
local function said()
  local words = iw.replay()
  local options = { capture = words.capture, map = words.map, time = words.time }
  if words.time and words.time:match("^scale=") then options.time = tonumber(words.time:sub(7)) end
  if words.private then options.private = octets.hex(words.private) end
  if words.stream then
    options.stream = {}
    for number in words.stream:gmatch("%d+") do table.insert(options.stream, math.tointeger(tonumber(number))) end
  end
  return options, SIDES[words.as]
end

-- Makes the case for it.
local function as_case(case)
  local options, role = said()
  local r = recording.read(options)
  local deadline = SECONDS + #r.things / 20
  local scale = scale_of(options.time)
  if scale then deadline = deadline + (r.things[#r.things].time - r.things[1].time) / 1e9 * scale end
  return case {
    id = "replay", purpose = "The target does what the recorded " .. role .. " did", rules = RULES_OF_COMMAND, role = role,
    deadline = deadline, run = function(t) play(t, options) end,
  }
end

-- Describes the coming replay in one line.
local function describe()
  local options, role = said()
  local r = recording.read(options)
  local numbers = {}
  for i, stream in ipairs(r.streams) do numbers[i] = stream.number end
  return ("connection%s %s of %s, map: %s, %d messages; the %s's side is played, the %s's compared"):format(
    #numbers > 1 and "s" or "", table.concat(numbers, ", "), r.file, r.map.name, #r.things, SIDES[role], role)
end

return { play = play, list = function() return recording.list(iw.replay().capture) end, as_case = as_case, describe = describe }
