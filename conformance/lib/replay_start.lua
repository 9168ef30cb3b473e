-- SPDX-License-Identifier: BSD-3-Clause
-- Replaying: start-up frames and the RTR indication. The ends negotiate anew: the played side sends its recorded values, as
-- far as the run's options and the target allow.

local octets = iw.load("octets")
local message = iw.load("message")
local Conn = iw.load("conn")
local compare = iw.load("replay_compare")

local start = {}

local START = "revision crc markers enhanced a b c d ird ord private rejected"
-- Fields that an end is free to choose.
local FREE = { "crc", "markers", "b", "c", "d", "ird", "ord" }
local FORMS = { { flag = "c", name = "write" }, { flag = "b", name = "send" }, { flag = "d", name = "read" } }

-- Returns the fields of a recorded frame, except those that the run's options set, and those that this target cannot do.
function start.fields(r, thing)
  local fields, say = {}, r.t.peer.startup
  for name in START:gmatch("%S+") do fields[name] = thing[name] end
  fields.rejected = fields.rejected or nil
  if say then fields.crc, fields.markers = nil, nil end
  if say and not say.enhanced or not say and thing.revision == 2 and not iw.can("revision.2") then
    for name in ("revision enhanced a b c d ird ord"):gmatch("%S+") do fields[name] = nil end
  end
  if r.private then fields.private = r.private end
  return fields
end

local function compare_private(r, thing, item)
  if item.private ~= thing.private then
    compare.field(r, thing, item, "private", #thing.private > 0 and octets.show(thing.private, 32) or "none",
      #item.private > 0 and octets.show(item.private, 32) or "none", { thing.text, item.text })
  end
end

local function remark(r, thing, item, names)
  for _, name in ipairs(names) do
    if item[name] ~= thing[name] then
      r.t:observe(thing.which .. "-" .. name, item[name])
      r.remarks[thing.which] = ("the %s makes other choices: %s, recorded: %s"):format(
        thing.which == "reply" and "Reply" or "Request", item.text, thing.text)
    end
  end
end

-- Returns the Reply that should come: as recorded, unless our Request was another one.
local function expected_reply(thing, own, asked)
  local want = { which = thing.which, rejected = thing.rejected, revision = thing.revision, enhanced = thing.enhanced, a = thing.a }
  if own.revision ~= asked.revision or own.enhanced ~= asked.enhanced then
    want.revision, want.enhanced, want.a = own.revision, own.enhanced, own.enhanced and own.a or nil
  end
  return want
end

function start.compare_reply(r, thing)
  if r.t.peer.agent and thing.rejected then
    r.t:requested(thing.of.conn)
    r.t:reject(thing.of.conn, #thing.private > 0 and thing.private or nil)
  end
  local item = r:take(thing, thing.text)
  if not item then return end
  if item.kind ~= "startup" then return compare.strays(r, thing, item, thing.text, "EMPA-10-01") end
  local stream = thing.of
  local want = expected_reply(thing, stream.conn:state().own, stream.request)
  if item.rejected and not want.rejected then r.t:check_rejection(stream.conn, item.text, item) end
  for _, name in ipairs { "which", "rejected", "revision", "enhanced", "a" } do
    if (item[name] or false) ~= (want[name] or false) then
      compare.differs(r, thing, name, {
        rule = compare.rules[name], item = item, reason = "the target answered the Request otherwise than recorded",
        expected = thing.text, actual = item.text, recorded = tostring(want[name]), got = tostring(item[name]),
      })
    end
  end
  compare_private(r, thing, item)
  remark(r, thing, item, FREE)
end

-- Takes the first item on a connection that the target made. A silent connection only checked whether somebody listens.
local function take_request(r, thing)
  local item = r:take(thing, thing.text)
  local listener = not r.t.peer.agent and r.t.callers[1]
  if not (item and item.kind == "fin" and listener and item.position == 0) then return item end
  thing.of.conn:shutdown()
  local raw = listener:accept()
  if not raw then return item end
  thing.of.conn = Conn.new(r.t, raw)
  return r:take(thing, thing.text)
end

function start.compare_request(r, thing)
  local item = take_request(r, thing)
  if not item then return end
  if item.kind ~= "startup" or item.which ~= "request" then return compare.strays(r, thing, item, thing.text, compare.rules.which) end
  thing.of.asked = item
  compare_private(r, thing, item)
  remark(r, thing, item, { "revision", "enhanced", "a" })
  remark(r, thing, item, FREE)
end

-- Returns the recorded Reply, or, to another Request, a good responder's.
function start.send_reply(r, thing)
  local asked, recorded = thing.of.asked, thing.of.request
  local fields = start.fields(r, thing)
  if fields.crc == false and asked.crc then fields.crc = true end
  if asked.revision ~= recorded.revision or asked.enhanced ~= recorded.enhanced or asked.a ~= recorded.a then
    return thing.of.conn:send(r.t:answer(asked, { crc = fields.crc, markers = fields.markers, private = fields.private }))
  end
  local forms = {}
  for _, flag in ipairs { "b", "c", "d" } do
    if fields[flag] and asked[flag] then forms[flag] = true end
  end
  if not next(forms) then forms = asked end -- none of the recorded ones is known to the peer now
  for _, flag in ipairs { "b", "c", "d" } do
    if fields[flag] ~= nil then fields[flag] = forms[flag] or false end
  end
  thing.of.conn:send(message.reply(fields))
end

-- ---- the RTR indication ----

local function peer_to_peer(stream)
  local state = stream.conn:state()
  return state.own and state.peer and state.own.a and state.peer.a, state
end

-- Sends it in the recorded form if both ends know that now, else in one that they know.
function start.send_rtr(r, thing)
  local stream = thing.of
  local agreed, state = peer_to_peer(stream)
  if not agreed then
    r.remarks.rtr = "there is no RTR now: the connection is not peer-to-peer"
    if thing.answer then thing.answer.skip = true end
    return
  end
  local recorded = thing.op == "read-request" and "read" or thing.op
  local form
  for _, one in ipairs(FORMS) do
    if state.own[one.flag] and state.peer[one.flag] and (not form or one.name == recorded) then form = one.name end
  end
  if form and form ~= recorded then r.remarks.rtr = ("the RTR is a %s now, recorded: %s"):format(form, recorded) end
  if (form or recorded) == "write" then
    stream.conn:send(message.write { stag = thing.stag, to = thing.to })
  elseif (form or recorded) == "send" then
    stream.conn:send(message.send {})
  else
    stream.conn:send(message.read_request { size = 0, sink_stag = thing.sink_stag, sink_to = thing.sink_to })
    if recorded ~= "read" then stream.conn:next() end
  end
  if thing.answer and form and form ~= "read" then thing.answer.skip = true end
end

local CONSUMES = { send = 0, ["read-request"] = 1 } -- queues

local function is_empty(item)
  return item.op == "read-request" and item.size == 0 or (item.op == "write" or item.op == "send") and item.payload == ""
end

-- Moves MSNs by what an RTR of this form uses up, and answers a Read.
local function count_rtr(stream, item)
  local queue = CONSUMES[item.op]
  if queue then stream.shift[queue] = (stream.shift[queue] or 0) + 1 end
  if item.op == "read-request" then
    stream.conn:send(message.read_response { stag = item.sink_stag, to = item.sink_to })
  end
end

-- Takes the peer's RTR before its first message, if one was agreed on now and none then.
function start.take_new_rtr(r, thing)
  local stream = thing.of
  if stream.rtr or stream.new_rtr or r.target ~= "initiator" or thing.kind == "startup" or not peer_to_peer(stream) then return end
  stream.new_rtr = true
  local item = r:take(thing, "an RTR")
  if not item then return end
  if not is_empty(item) then return compare.strays(r, thing, item, "an RTR") end
  r.remarks.rtr = ("there is an RTR now, a %s: the connection is peer-to-peer"):format(item.op)
  count_rtr(stream, item)
end

-- The peer's. In another form than the recorded one it moves MSNs.
function start.take_rtr(r, thing)
  local stream = thing.of
  if not peer_to_peer(stream) then
    r.remarks.rtr = "there is no RTR now: the connection is not peer-to-peer"
    if thing.answer then thing.answer.skip = true end
    return
  end
  local item = r:take(thing, thing.text)
  if not item then return end
  if not is_empty(item) then return compare.strays(r, thing, item, thing.text) end
  if item.op == thing.op then -- whose places say nothing
    thing.live = item
    return
  end
  r.remarks.rtr = ("the RTR is a %s now, recorded: %s"):format(item.op, thing.op)
  local before = CONSUMES[thing.op]
  if before then stream.shift[before] = (stream.shift[before] or 0) - 1 end
  if thing.answer then thing.answer.skip = true end
  count_rtr(stream, item)
end

return start
