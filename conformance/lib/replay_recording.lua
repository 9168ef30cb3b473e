-- SPDX-License-Identifier: BSD-3-Clause
-- A recorded conversation, ready for replay: the messages on the wanted connections of a capture in the order of its
-- frames, which answer belongs to which Read Request, and the map of the application.

local strict = iw.load("strict")

local recording = {}

-- Applications that are recognised by their messages.
local KNOWN = { "rping", "perftest", "ucmatose" }
local BATCH = 16 -- connections that iw.capture holds at a time
local REQUESTS = { ["read-request"] = "read-response", ["atomic-request"] = "atomic-response" }
local RESPONSES = { ["read-response"] = "read-request", ["atomic-response"] = "atomic-request" }
recording.requests, recording.responses = REQUESTS, RESPONSES

-- ---- maps ----

local MAP = strict.set("name recognises together advertisements free echo")
local ADVERTISEMENT = strict.set("op side stream octets messages stag to length")
local FREE = strict.set("op side stream octets messages at size")
local FIELD = strict.set("at size endian")
local ENDS = { big = ">", little = "<" }

local function want(ok, text, ...)
  if not ok then error(text:format(...), 0) end
end

-- Returns a field of an advertisement in string.pack's terms.
local function check_field(what, field, standard)
  strict.check(what, field, FIELD)
  want(math.type(field.at) == "integer" and field.at >= 0, "%s: at is the offset in the payload, from 0", what)
  local size = field.size or standard
  want(size == 4 or size == 8, "%s: size is 4 or 8", what)
  return { at = field.at, size = size, format = ENDS[strict.word(what .. ": endian", field.endian or "big", ENDS)] .. "I" .. size }
end

-- Checks a map that a case or a user wrote.
local function check_map(map)
  strict.check("map", map, MAP)
  local checked = { name = map.name or "a map", echo = map.echo, together = map.together, free = map.free or {}, advertisements = {} }
  for i, one in ipairs(map.advertisements or {}) do
    strict.check("advertisements", one, ADVERTISEMENT)
    want(one.stag, "advertisements[%d]: expected stag = { at = ... }", i)
    checked.advertisements[i] = {
      op = one.op, side = one.side, stream = one.stream, octets = one.octets, messages = one.messages,
      stag = check_field("stag", one.stag, 4), to = one.to and check_field("to", one.to, 8),
      length = one.length and check_field("length", one.length, 4),
    }
  end
  for _, one in ipairs(checked.free) do strict.check("free", one, FREE) end
  return checked
end

-- True if an entry of a map is about this message, which may have come with another opcode.
function recording.fits(entry, thing, op)
  if entry.op and entry.op ~= (op or thing.op) or entry.side and entry.side ~= thing.side then return false end
  if entry.stream and entry.stream ~= thing.stream or entry.octets and entry.octets ~= #thing.payload then return false end
  for _, number in ipairs(entry.messages or {}) do
    if number == thing.number then return true end
  end
  return not entry.messages
end

-- ---- which application ----

local function guess(things)
  for _, name in ipairs(KNOWN) do
    if iw.load("map_" .. name).recognises(things) then return name end
  end
  return nil
end

local function host(address) return address:match("^(.*):%d+$") end

-- Returns the numbers, from 0, of the connections of `list` that belong to the same run as the first one, as perftest's do.
local function group(list)
  local first = list[1]
  local name = guess(first.things)
  local streams = { 0 }
  if not name or not iw.load("map_" .. name).together then return streams end
  for i, other in ipairs(list) do
    if i > 1 and other.responder == first.responder and host(other.initiator) == host(first.initiator)
      and not guess(other.things) then
      streams[#streams + 1] = i - 1
    end
  end
  return streams
end

-- ---- listing ----

local function tally(things, side)
  local names, counts = {}, {}
  for _, thing in ipairs(things) do
    local name = thing.side == side and thing.kind ~= "startup" and (thing.op or thing.kind)
    if name then
      if not counts[name] then names[#names + 1] = name end
      counts[name] = (counts[name] or 0) + 1
    end
  end
  for i, name in ipairs(names) do names[i] = counts[name] .. " " .. name end
  return #names > 0 and table.concat(names, ", ") or "nothing"
end

local function describe(number, conn, name)
  local first = conn.things[1]
  local head = ("%d  %s > %s"):format(number, conn.initiator, conn.responder)
  if not (first and first.kind == "startup" and first.which == "request") then
    return head .. "  no MPA Request at its beginning"
  end
  return ("%s  %s\n   %s\n   > %s\n   < %s"):format(head, name or "unknown application", first.text,
    tally(conn.things, "initiator"), tally(conn.things, "responder"))
end

-- The conversations of a capture as text: number, addresses, application, messages of both sides.
function recording.list(file)
  local lines, first, total = {}, 1, nil
  local partner = {} -- the other connections of a run, by the addresses
  repeat
    local list
    list, total = iw.capture(file, first, first + BATCH - 1)
    for i, conn in ipairs(list) do
      local key = host(conn.initiator) .. conn.responder
      local name = guess(conn.things)
      if name and iw.load("map_" .. name).together then
        partner[key] = ("%s, connection %d"):format(name, first + i - 2)
      elseif not name and partner[key] then
        name = "with " .. partner[key]
      end
      lines[#lines + 1] = describe(first + i - 2, conn, name)
    end
    first = first + BATCH
  until first > total
  return #lines > 0 and table.concat(lines, "\n") or "no TCP connection"
end

-- ---- reading ----

function recording.place(r, thing) return ("%s, frame %d"):format(r.file, thing.frame) end

-- An item that cannot be played is no fault of the target's.
function recording.unfit(r, thing, why)
  local text = ("%s: %s: %s"):format(recording.place(r, thing), why, thing.text)
  if r.t then r.t:inconclusive(text) end
  error(text, 0)
end

-- Messages without the fields of their operation are only octets.
local NEEDED = { ["read-request"] = "source_to", ["atomic-request"] = "remote_to", ["atomic-response"] = "value" }
local SHORT = strict.set("immediate immediate-se")
local TAGGED = strict.set("write read-response")
function recording.mark(m)
  local op = m.op
  if op and (m.t ~= (TAGGED[op] or false) or NEEDED[op] and not m[NEEDED[op]] or SHORT[op] and m.payload and #m.payload ~= 8) then
    m.op = "malformed " .. op
  end
  return m
end

local function check(r, stream)
  local request, reply = stream.things[1], stream.things[2]
  if not (request and request.which == "request" and reply and reply.which == "reply") then
    error(("%s: connection %d does not begin with an MPA Request and Reply"):format(r.file, stream.number), 0)
  end
  stream.request, stream.reply = request, reply
  stream.crc = request.crc or reply.crc
  stream.version = reply.revision == 0 and 0 or 1
  for _, thing in ipairs(stream.things) do
    recording.mark(thing)
    if thing.kind == "lost" then recording.unfit(r, thing, "the recording cannot be followed: octets are missing or wrong") end
    for _, segment in ipairs(thing.segments or {}) do
      if stream.crc and not segment.crc_good then thing.wrong_crc = true end
    end
  end
end

-- Each response belongs to the oldest request of the other side that has none (RFC 5040 §5.5).
local function pair_up(things)
  local waiting = {}
  for _, thing in ipairs(things) do
    if REQUESTS[thing.op] then
      local key = thing.side .. REQUESTS[thing.op]
      waiting[key] = waiting[key] or {}
      table.insert(waiting[key], thing)
    elseif RESPONSES[thing.op] then
      local key = (thing.side == "initiator" and "responder" or "initiator") .. thing.op
      thing.asked = waiting[key] and table.remove(waiting[key], 1)
      if thing.asked then thing.asked.answer = thing end
    end
  end
end

-- The RTR indication (RFC 6581 §9.2), if the recorded start-up agreed on one.
local function find_rtr(stream)
  if not (stream.request.a and stream.reply.a) then return end
  for i = 3, #stream.things do
    local thing = stream.things[i]
    if thing.side == "initiator" then
      local empty = thing.op == "read-request" and thing.size == 0 or (thing.op == "write" or thing.op == "send") and thing.payload == ""
      stream.rtr = empty and thing or nil
      return
    end
  end
end

-- All wanted connections in the order of the frames.
local function merge(r)
  local at = {}
  local streams = r.streams
  repeat
    local best
    for i, stream in ipairs(streams) do
      local thing = stream.things[(at[i] or 0) + 1]
      if thing and (not best or thing.frame < streams[best].things[(at[best] or 0) + 1].frame) then best = i end
    end
    if best then
      at[best] = (at[best] or 0) + 1
      local thing = streams[best].things[at[best]]
      thing.stream, thing.of = best, streams[best]
      thing.number = #r.things + 1
      r.things[thing.number] = thing
    end
  until not best
end

local function wanted_streams(options)
  if options.stream == nil then
    local list = iw.capture(options.capture, 1, BATCH)
    if not list[1] then error(("%s has no TCP connection"):format(options.capture), 0) end
    return group(list)
  end
  return type(options.stream) == "table" and options.stream or { options.stream }
end

-- options: capture, stream (a number or several), map (a table, the name of one that is known, or nil: a guess).
function recording.read(options)
  local r = { file = options.capture, things = {}, streams = {} }
  for i, number in ipairs(wanted_streams(options)) do
    want(math.type(number) == "integer" and number >= 0, "stream is the number of a connection, from 0, or a list of them")
    local list, total = iw.capture(r.file, number + 1, number + 1)
    if not list[1] then error(("%s has no connection %d, it has %d"):format(r.file, number, total), 0) end
    r.streams[i] = { number = number, things = list[1].things, findings = list[1].findings }
    check(r, r.streams[i])
    pair_up(r.streams[i].things)
    find_rtr(r.streams[i])
  end
  merge(r)
  local map = options.map
  if map == nil then map = guess(r.streams[1].things) end
  if type(map) == "string" then
    local known = strict.set(KNOWN)
    map = iw.load("map_" .. strict.word("--map", map, known))
  end
  r.map = check_map(map or { name = "none" })
  return r
end

return recording
