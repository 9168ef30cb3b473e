-- SPDX-License-Identifier: BSD-3-Clause
-- The base facts about a peer that listens, found out before the cases are played: which Requests it answers, and how. It
-- judges nothing. It writes into the notes of its result, one line each: "fact: NAME|ADVICE|TEXT" for the top of the reports,
-- "apply: KEY=VALUE" for what the run takes as given from now on, "none: " and why the peer speaks no MPA,
-- "gone: " and when it gave no connection any more.

local message = iw.load("message")
local Conn = iw.load("conn")
local timers = iw.load("timers")

local facts = {}

local KEYS = { "MPA ID Rep Frame", "MPA ID Req Frame" }
local FRAME = 20
local PRIVATE = 512 -- octets at most
-- Parts of the patience: for the first Request alone, for a peer that takes one connection after the other, and for what comes
-- once our direction has ended.
local FIRST, NEXT, LAST = 1 / 4, 1 / 8, 1 / 6

-- Requests in the order in which they are tried; the first is the one that cases send where they leave it open.
local REQUESTS = {
  { name = "an enhanced Request of revision 2", fields = { revision = 2, enhanced = true, crc = true, markers = false } },
  { name = "a Request of revision 1", fields = { revision = 1, enhanced = false, crc = true, markers = false } },
  { name = "a Request of revision 2", fields = { revision = 2, enhanced = false, crc = true, markers = false } },
  { name = "an enhanced Request of revision 2 with M", fields = { revision = 2, enhanced = true, crc = true, markers = true } },
  { name = "a Request of revision 1 with M", fields = { revision = 1, enhanced = false, crc = true, markers = true } },
  { name = "an enhanced Request of revision 2 without C", fields = { revision = 2, enhanced = true, crc = false, markers = false } },
  { name = "a Request of revision 1 without C", fields = { revision = 1, enhanced = false, crc = false, markers = false } },
}

-- The Requests that fit what is said of the peer: all of them, unless it knows revision 1 only, or no enhanced start-up.
function facts.requests()
  local list = {}
  for _, one in ipairs(REQUESTS) do
    local fields = one.fields
    if not (fields.revision == 2 and not iw.can("revision.2") or fields.enhanced and not iw.can("enhanced")) then
      list[#list + 1] = one
    end
  end
  return list
end

-- ---- answers ----

-- Whether octets begin like the key of a start-up frame: at least half of them, up to its end, agree with one of the two.
function facts.like_key(octets)
  for _, key in ipairs(KEYS) do
    local n, same = math.min(#octets, #key), 0
    for i = 1, n do
      if octets:byte(i) == key:byte(i) then same = same + 1 end
    end
    if n > 0 and 2 * same >= n then return true end
  end
  return false
end

-- Printable text of octets, cut after some.
local function shown(octets)
  local cut = octets:sub(1, FRAME)
  return '"' .. cut:gsub("[^\x20-\x7e]", "?") .. '"' .. (#octets > #cut and " ..." or "")
end

-- What an answer is, from its first octets: `kind` is "reply" (with flags and revision), "key" (octets that begin like one) or
-- "octets" (anything else).
local function decode(octets)
  if octets:sub(1, #KEYS[1]) == KEYS[1] and #octets == FRAME then
    local flags, revision, size = string.unpack(">BBI2", octets, #KEYS[1] + 1)
    local turned = string.unpack("<I2", octets, FRAME - 1)
    if size > PRIVATE and turned <= PRIVATE then size = turned end -- the quirk pd-order
    return {
      kind = "reply", markers = flags & 0x80 ~= 0, crc = flags & 0x40 ~= 0, rejected = flags & 0x20 ~= 0,
      enhanced = flags & 0x10 ~= 0, revision = revision, size = size,
      text = flags & 0x20 ~= 0 and "refused it (R)" or ("answered it with revision %d"):format(revision),
    }
  end
  if facts.like_key(octets) then return { kind = "key", text = "answered it with a frame that is no Reply: " .. shown(octets) } end
  return { kind = "octets", text = "answered it with octets that are no MPA: " .. shown(octets) }
end

-- Waits for the answer on a connection; nil if there is none so far.
local function hear(conn, seconds)
  local raw = conn.raw
  local octets = raw:streamed(FRAME, seconds)
  local received = raw:state().received
  if not octets and received > 0 then octets = raw:streamed(math.min(received, FRAME), 0) end
  if octets then return decode(octets) end
  local state = raw:state()
  if state.ended then return { kind = "end", text = state.reset and "reset the connection" or "closed the connection" } end
end

local function accepted(answer) return answer.kind == "reply" and not answer.rejected end

-- Connects and sends a Request. Returns the connection, or nil.
local function begin(t, fields)
  local raw = iw.connect(t.peer.host, t.peer.port)
  if not raw then return nil end
  local conn = Conn.new(t, raw)
  raw:streaming()
  conn:send(message.request(fields))
  return conn
end

-- Ends connections that are no longer wanted. What a silent peer says only now says more than its silence.
function facts.finish(asked)
  for _, one in ipairs(asked) do
    if one.conn and not one.conn:state().shut then one.conn:shutdown() end
  end
  local seconds = iw.patience() * LAST
  for _, one in ipairs(asked) do
    if one.conn then
      if one.answer and one.answer.kind == "silence" then
        local late = hear(one.conn, seconds)
        if late and late.kind ~= "end" then one.answer = late end
        seconds = 0
      end
      if not one.conn:drain(seconds) then one.conn:reset() end
      one.conn = nil
    end
  end
end

-- Sends Requests, each on a connection of its own, until one is accepted: the first, which most peers answer at once, then the
-- others beside it. The connections have the patience together, and each a little more, for a peer that serves one after the
-- other. Returns all of them, and the one that was accepted.
function facts.ask(t, requests)
  local asked = { { request = requests[1], conn = begin(t, requests[1].fields) } }
  local seconds, first = timers.seconds() or iw.patience(), asked[1]
  first.answer = first.conn and hear(first.conn, seconds * FIRST)
  if first.answer and accepted(first.answer) then return asked, first end
  for i = 2, #requests do asked[i] = { request = requests[i], conn = begin(t, requests[i].fields) } end
  for _, one in ipairs(asked) do
    one.answer = one.answer or not one.conn and { kind = "none", text = "gave no connection" } or hear(one.conn, seconds)
    if not one.answer then
      one.answer = { kind = "silence", text = ("said nothing for %g s"):format(timers.seconds() or iw.patience()) }
      seconds = iw.patience() * NEXT
      one.conn:shutdown()
    elseif accepted(one.answer) then
      return asked, one
    elseif one.conn then
      one.conn:reset()
      one.conn = nil
    end
  end
  return asked
end

-- ---- what is made of them ----

local Survey = {}
Survey.__index = Survey

function Survey:fact(name, text, advice) self.t:note(("fact: %s|%s|%s"):format(name, advice or "", text)) end
function Survey:apply(key, value) self.t:note(("apply: %s=%s"):format(key, value)) end

local function any(asked, ...)
  for _, one in ipairs(asked) do
    for _, kind in ipairs { ... } do
      if one.answer and one.answer.kind == kind then return one.answer end
    end
  end
  return nil
end

-- A peer that has given connections gives no more.
local function gone(s, asked)
  local last
  for _, one in ipairs(asked) do
    if one.answer and one.answer.kind == "none" and last then
      return s.t:note(("gone: after %s the target no longer accepts connections"):format(last.request.name))
    end
    if one.answer and one.answer.kind ~= "none" then last = one end
  end
end

-- No Request was accepted: is this MPA at all?
local function unanswered(s, asked)
  local peer = s.t.peer
  local refused = any(asked, "reply")
  if refused then return s:fact("start-up", "refuses every Request of MPA (R)") end
  if any(asked, "key") then return s:fact("start-up", "answers no Request with a Reply: it " .. any(asked, "key").text) end
  if any(asked, "end") then return s:fact("start-up", "accepts no Request of MPA, of whatever revision, M and C: it " .. any(asked, "end").text) end
  if any(asked, "none") then return end
  local said = any(asked, "octets") or any(asked, "silence")
  s.t:note(("none: whatever the revision, M and C of a Request, %s port %d %s"):format(peer.host, peer.port, said.text))
end

-- The first Request with the M and C of another one.
local function first_like(asked, good)
  for _, one in ipairs(asked) do
    local a, b = one.request.fields, good.request.fields
    if a.markers == b.markers and a.crc == b.crc then return one end
  end
end

local function not_enhanced(s, first)
  s:fact("enhanced", ("takes revision 2, but not enhanced: to %s it %s"):format(first.request.name, first.answer.text),
    "judged as with cannot=enhanced; to have it judged by all of RFC 6581, say can=enhanced")
  for _, word in ipairs { "enhanced", "peer_to_peer", "rtr", "ird" } do s:apply("cannot", word) end
end

local function revision(s, asked, good)
  local first, reply = first_like(asked, good), good.answer
  if first.request.fields.revision == 2 and reply.revision < 2 then
    local text = good.request.fields.revision == 2 and "answers revision 2 with revision " .. reply.revision
      or ("takes revision 1, but to %s it %s"):format(first.request.name, first.answer.text)
    s:fact("revision", text, "judged as with revision=1; to have it judged by all of RFC 6581, say revision=2")
    s:apply("revision", 1)
  elseif first.request.fields.enhanced and not good.request.fields.enhanced then
    not_enhanced(s, first)
  elseif good.request.fields.enhanced and not reply.enhanced then
    s:fact("enhanced", "answers an enhanced Request of revision 2 without RFC 6581's block")
  end
end

-- About the revisions, and what cases are to send where they leave it open.
local function start_up(s, asked, good)
  local fields, first = good.request.fields, asked[1]
  revision(s, asked, good)
  if fields.markers or not fields.crc then
    local what = fields.markers and "with M" or "without C"
    s:fact("request", ("takes Requests %s only: to %s it %s"):format(what, first.request.name, first.answer.text),
      ("the station sends them %s"):format(what))
  end
  if fields.markers or not fields.crc or fields.revision == 2 and not fields.enhanced then
    s:apply("station", ("%d%s%s%s"):format(fields.revision, fields.crc and "C" or "", fields.markers and "M" or "",
      fields.enhanced and "S" or ""))
  end
  if good.answer.markers and not iw.can("markers.on") then
    s:fact("markers", "asks for Markers (M in its Reply)", "markers=on lets more be judged")
  end
end

-- ---- CRCs that nobody asked for, and Reads ----

-- Whether a Read Response of no octets begins here: ULPDU_Length, DDP's and RDMAP's control.
local function is_response(octets, at) return octets:sub(at, at + 3) == "\x00\x0e\xc1\x42" end

-- Two Reads of no octets: the second answer shows where the first one ended.
local function reads(s, one)
  local raw = one.conn.raw
  if one.answer.size > 0 and not raw:streamed(one.answer.size, iw.patience()) then return end
  for i = 1, 2 do one.conn:send(message.read_request { size = 0, sink_stag = i, sink_to = i }) end
  local octets = raw:streamed(32, iw.patience() * NEXT)
  if not octets or not is_response(octets, 1) then return end
  if not iw.can("read") then s:fact("read", "answers RDMA Reads", "can=read lets more be judged") end
  if not one.answer.crc and is_response(octets, 17) then
    s:fact("crc-field", "leaves the CRC field out when CRCs are off")
  end
end

local function crcs(s, good)
  local fields = { crc = false }
  for name, value in pairs(good.request.fields) do
    if name ~= "crc" then fields[name] = value end
  end
  local asked = facts.ask(s.t, { { name = "a Request without C", fields = fields } })
  local one = asked[1]
  if accepted(one.answer) then
    if not (one.answer.crc or iw.can("crc.off")) then
      s:fact("crc", "does without CRCs where nobody asks for them", "crc=off lets more be judged")
    end
    if not (one.answer.markers or fields.markers or one.answer.crc and iw.can("read")) then reads(s, one) end
  end
  facts.finish(asked)
  gone(s, { good, one })
end

function facts.find(t)
  local s = setmetatable({ t = t }, Survey)
  local asked, good = facts.ask(t, facts.requests())
  facts.finish(asked)
  gone(s, asked)
  local first = asked[1]
  if good and first.answer.kind == "silence" then -- it may have been slow
    local again, late = facts.ask(t, { first.request })
    facts.finish(again)
    if late then asked, good = again, late end
  end
  if not good then return unanswered(s, asked) end
  start_up(s, asked, good)
  crcs(s, good)
end

return facts
