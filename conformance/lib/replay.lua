-- SPDX-License-Identifier: BSD-3-Clause
-- Replays the initiator's side of a recorded rping conversation (iw.capture) against the target and
-- compares what comes back with what the recorded responder did. Values that depend on the live
-- peer (STags, offsets) are mapped: the recorded one to the live one. Messages are compared, not
-- segments: how they are cut is each stack's own affair, and the observer checks the cuts.
--
-- A target with an agent is made to play the responder's part with its verbs; one of class rping
-- plays it by itself.

local octets = iw.load("octets")
local message = iw.load("message")

-- What is wrong where a field differs from what it should be.
local RULES = {
  which = "MPA-7.1.1-03", rejected = "MPA-7.1.1-13", revision = "MPA-7.1.1-16", enhanced = "EMPA-10-05",
  a = "EMPA-9.2-04", op = "RDMAP-5.5-10", dv = "DDP-4.1-11", rv = "RDMAP-4.1-08", l = "DDP-4.1-03",
  qn = "RDMAP-3.1-02", msn = "DDP-4.3-08", mo = "DDP-4.3-12", stag = "DDP-5.2-08", to = "DDP-5.2-08",
  size = "RDMAP-4.4-01", source_stag = "RDMAP-4.4-01", source_to = "RDMAP-4.4-01", length = "DDP-5.2-04",
  payload = "DDP-5.2-05",
}
local FIELDS = { "dv", "rv", "l", "qn", "msn", "mo", "stag", "to", "size", "source_stag", "source_to" }
-- Where the station says that its buffers are; each has a place of its own.
local STAG, TO, APART = 0x52e90000, 0x7e91000000000000, 0x100000000

-- ---- the recording ----

local function place(r, thing) return ("%s, frame %d"):format(r.file, thing.frame) end

local function unfit(r, thing, why)
  error(("%s: %s: %s"):format(place(r, thing), why, thing.text), 0)
end

-- Whether CRCs were in force.
local function check_recording(r)
  local request, reply = r.things[1], r.things[2]
  if not (request and request.which == "request" and reply and reply.which == "reply") then
    error(("%s: connection %d does not begin with an MPA Request and Reply"):format(r.file, r.number), 0)
  end
  r.crc = request.crc or reply.crc
  for _, thing in ipairs(r.things) do
    if thing.kind == "lost" then unfit(r, thing, "the recording cannot be followed") end
    for _, segment in ipairs(thing.segments or {}) do
      if r.crc and not segment.crc_good then unfit(r, thing, "the recording has a wrong CRC") end
    end
  end
end

-- ---- recorded values and live ones ----

-- The live place of a recorded one: bound before, else nil.
local function live(places, stag, to)
  local found = places[stag]
  if not found then return nil end
  return found.stag, to + found.shift
end

local function bind(places, stag, to, live_stag, live_to)
  places[stag] = { stag = live_stag, shift = live_to - to }
end

-- A buffer of the recorded initiator: the station gives it an STag and a place of its own.
local function own(r, stag, to)
  if not r.own[stag] then
    r.buffers = r.buffers + 1
    bind(r.own, stag, to, STAG + r.buffers * 0x100, TO + r.buffers * APART + (to & 0xfff))
  end
  return live(r.own, stag, to)
end

-- What rping tells about a buffer: address, key and size, 16 octets.
local function live_info(r, thing)
  if #thing.payload ~= 16 then unfit(r, thing, "no message of rping") end
  local to, stag, size = string.unpack(">I8I4I4", thing.payload)
  stag, to = own(r, stag, to)
  return string.pack(">I8I4I4", to, stag, size)
end

-- The recorded responder's message as it should come now.
local function mapped(r, thing)
  local want = { op = thing.op, opcode = thing.opcode, t = thing.t, payload = thing.payload }
  for _, name in ipairs(FIELDS) do want[name] = thing[name] end
  if thing.op == "write" then
    want.stag, want.to = live(r.own, thing.stag, thing.to)
    if not want.stag then unfit(r, thing, "a buffer that the initiator did not tell of") end
  elseif thing.op == "read-request" then
    want.source_stag, want.source_to = live(r.own, thing.source_stag, thing.source_to)
    if not want.source_stag then unfit(r, thing, "a buffer that the initiator did not tell of") end
    want.sink_stag, want.sink_to = thing.sink_stag, thing.sink_to
    want.payload = iw.read_request(want)
  elseif thing.op ~= "send" then
    unfit(r, thing, "no message of rping's server")
  end
  return want
end

-- ---- comparing ----

-- One line for a message, however many segments it came in.
local function line(m)
  if m.kind and m.kind ~= "message" or not m.payload then return m.text end
  return iw.print_segment(iw.ddp(m) .. m.payload)
end

-- The next thing that the target does, which is to be compared with a recorded one.
local function take(r, thing, expected)
  local item = r.conn:next()
  if item then
    r.t:decided(item)
    return item
  end
  r.t:fail("the target does not do what the recorded responder did", {
    expected = ("%s (%s)"):format(expected, place(r, thing)),
    actual = r.conn:state().ended and "nothing more: the stream had ended"
      or ("nothing within %g s"):format(iw.patience()),
  })
end

local function differs(r, thing, item, name, expected, actual)
  r.t:fail(("the target's %s differs from the recorded one in %s"):format(item.op, name:gsub("_", " ")), {
    rule = RULES[name], item = item,
    expected = ("%s (%s)"):format(expected, place(r, thing)), actual = actual,
  })
end

-- The target does something else altogether. Where its stream cannot be followed any more, what the
-- observer found first says more than the missing message.
local function strays(r, thing, item, expected, rule)
  local found = item.kind == "lost" and iw.findings()[1] or nil
  r.t:fail(found and found.text or "the target does not do what the recorded responder did", {
    rule = found and found.rule or rule or RULES.op, item = item,
    expected = ("%s (%s)"):format(expected, place(r, thing)), actual = line(item),
  })
end

local function compare_payload(r, thing, item, want)
  local at = octets.difference(want.payload, item.payload)
  if #want.payload ~= #item.payload then
    differs(r, thing, item, "length", line(want), line(item))
  elseif at and thing.op == "send" and not r.t.peer.agent then
    r.remarks["go-ahead"] = "the target's go-ahead holds other octets than the recorded one; nobody reads them"
  elseif at and thing.op ~= "read-request" then
    differs(r, thing, item, "payload", ("%s: %s at octet %d"):format(line(want),
      octets.show(want.payload:sub(at + 1), 16), at), octets.show(item.payload:sub(at + 1), 16))
  end
end

local function compare(r, thing)
  local want = mapped(r, thing)
  local item = take(r, thing, line(want))
  if item.kind ~= "message" or item.op ~= want.op then
    strays(r, thing, item, line(want))
  end
  for _, name in ipairs(FIELDS) do
    if item[name] ~= want[name] then differs(r, thing, item, name, line(want), line(item)) end
  end
  compare_payload(r, thing, item, want)
  if item.op == "read-request" then
    bind(r.peers, thing.sink_stag, thing.sink_to, item.sink_stag, item.sink_to)
  end
end

-- ---- start-up ----

local START = "revision crc markers enhanced a b c d ird ord private"
-- In a Reply these are the responder's own choice.
local FREE = { "crc", "markers", "b", "c", "d", "ird", "ord", "private" }
local RTR = { b = "send", c = "write", d = "read" }

local function startup_fields(thing)
  local fields = {}
  for name in START:gmatch("%S+") do fields[name] = thing[name] end
  return fields
end

-- The configuration with which the agent answers as the recorded responder did.
local function agent_config(reply)
  local rtr = { n = true }
  for flag, form in pairs(RTR) do
    if reply[flag] then rtr[#rtr + 1] = form end
  end
  return {
    revision = reply.revision, crc = reply.crc, markers = reply.markers, enhanced = reply.enhanced,
    ird = reply.ird, ord = reply.ord, rtr = reply.a and rtr or nil,
  }
end

-- The form of the recorded RTR (RFC 6581 §9.2) must be one that the live Reply names too.
local function check_rtr(r, item)
  if not item.a then return end
  for flag, form in pairs(RTR) do
    if r.things[2][flag] and not item[flag] then
      r.t:skip(("the target does not choose the RTR form of the recording (%s)"):format(form))
    end
  end
end

local function compare_reply(r, thing)
  local item = take(r, thing, thing.text)
  if item.kind ~= "startup" then strays(r, thing, item, thing.text, "EMPA-10-01") end
  for _, name in ipairs { "which", "rejected", "revision", "enhanced", "a" } do
    if item[name] ~= thing[name] then
      r.t:fail("the target's answer to the Request differs from the recorded one", {
        rule = RULES[name], item = item,
        expected = ("%s (%s)"):format(thing.text, place(r, thing)), actual = item.text,
      })
    end
  end
  if r.conn:state().crc ~= r.crc then
    r.t:skip("the recording has no CRCs, and the target asks for them")
  end
  for _, name in ipairs(FREE) do
    if item[name] ~= thing[name] then
      r.t:observe("reply-" .. name, name == "private" and octets.show(item[name]) or item[name])
      r.remarks["reply"] = ("the Reply makes other choices: %s, recorded: %s"):format(item.text, thing.text)
    end
  end
  check_rtr(r, item)
end

-- ---- the part that the agent plays ----

local Part = {}
Part.__index = Part

-- A receive for each of the initiator's Sends.
local function begin_part(r)
  local t, conn = r.t, r.conn
  local event = t:wait_event(function(e)
    return e.listen == conn.listen and (e.event == "established" or e.event == "closed")
  end)
  if not event or event.event ~= "established" then
    t:inconclusive("the target's agent reports no established connection", { actual = event and event.event })
  end
  conn.agent = event.conn
  local part = setmetatable({ t = t, receives = {}, sinks = {}, done = 0 }, Part)
  for _, thing in ipairs(r.things) do
    if thing.side == "initiator" and thing.op == "send" then
      part.receives[#part.receives + 1] = t:receive { length = #thing.payload }
    end
  end
  return part
end

-- What was Sent must have come whole.
function Part:received(payload)
  self.done = self.done + 1
  local handle = self.receives[self.done]
  self.t:completion(handle, { length = #payload })
  self.t:expect_contents(handle.memory, payload, { rule = RULES.payload })
end

-- What was read must have been put into the sink.
function Part:answered(payload)
  self.t:completion(self.reading, { length = #payload })
  self.t:expect_contents(self.reading.memory, payload, { rule = RULES.payload })
end

-- Posts what the recorded responder sent: the Write from the sink of the latest Read.
function Part:post(thing, want)
  local t = self.t
  if thing.op == "read-request" then
    local sink = self.sinks[thing.sink_stag] or t:memory { length = thing.size }
    self.sinks[thing.sink_stag] = sink
    self.reading = t:post { op = "read", memory = sink, length = thing.size, stag = want.source_stag,
                            to = want.source_to }
  elseif thing.op == "write" then
    return t:post { op = "write", memory = self.reading.memory, length = #thing.payload,
                    stag = want.stag, to = want.to }
  else
    return t:post { op = "send", payload = thing.payload }
  end
end

-- ---- playing ----

local initiator, responder = {}, {} -- by kind of thing

function initiator.startup(r, thing)
  r.conn:send(message.request(startup_fields(thing)))
end

function initiator.message(r, thing)
  local rtr = thing.op == "write" and thing.payload == ""
  if r.t.peer.agent and not r.part and not rtr then r.part = begin_part(r) end
  if rtr then
    r.conn:send(message.write { stag = thing.stag, to = thing.to })
  elseif thing.op == "send" then
    local payload = live_info(r, thing)
    r.conn:send(message.send { payload = payload })
    if r.part then r.part:received(payload) end
  elseif thing.op == "read-response" then
    local stag, to = live(r.peers, thing.stag, thing.to)
    if not stag then unfit(r, thing, "a sink that the responder did not tell of") end
    r.conn:send(message.read_response { stag = stag, to = to, payload = thing.payload })
    if r.part then r.part:answered(thing.payload) end
  else
    unfit(r, thing, "no message of rping's client")
  end
end

function initiator.fin(r) r.conn:shutdown() end
function initiator.reset(r) r.conn:reset() end

responder.startup = compare_reply

function responder.message(r, thing)
  local posted = r.part and r.part:post(thing, mapped(r, thing))
  compare(r, thing)
  if posted then r.t:completion(posted) end
end

-- The end of the target's direction; that it is abrupt is a remark.
local function ends(r, thing)
  if r.part then r.t:agent("close", { conn = r.conn.agent, how = "graceful" }, true) end
  local item = take(r, thing, thing.text)
  if item.kind ~= "fin" and item.kind ~= "reset" then
    strays(r, thing, item, thing.text)
  elseif item.kind ~= thing.kind then
    r.t:observe("end", item.kind)
  end
end
responder.fin, responder.reset = ends, ends

-- Plays the initiator of connection `number` (from 1) of the capture `file` (a path below pcaps/).
local function play(t, file, number)
  local connection = iw.capture(file)[number]
  if not connection then error(("%s has no connection %d"):format(file, number), 0) end
  local r = { t = t, file = file, number = number, things = connection.things, own = {}, peers = {},
              buffers = 0, remarks = {} }
  check_recording(r)
  r.conn = t:connect { raw = true, target = t.peer.agent and agent_config(r.things[2]) or nil }
  for _, thing in ipairs(r.things) do
    local part = thing.side == "initiator" and initiator or responder
    part[thing.kind](r, thing)
  end
  for _, remark in pairs(r.remarks) do t:note(remark) end
end

return { initiator = play }
