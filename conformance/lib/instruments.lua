-- SPDX-License-Identifier: BSD-3-Clause
-- Instruments: good exchanges that show what a target has processed. The runner finds out which of them it can do before the
-- cases are played (survey.lua); iw.instrument(name) is true, false, or nil where nobody knows. A case uses the first that works.
-- One that fails is judged by the cases whose primary rule is about it (iw.about); in the others nothing that the target does, or
-- does not do, proves anything if it does the same without their stimulus: they are blocked.
--
-- Each has `fits`, whether it can be tried on a connection, and `begin`, which sends its part and returns the rest: `text`, what is
-- expected, and `answer`, the message that must come, or `shown`, which looks whether the target's agent saw it happen.

local strict = iw.load("strict")
local message = iw.load("message")

local instruments = {}

local STAG = 0x46454e00
local OCTET = "\x5a"

-- A fence is the first that fits, but for the last one, which ends the connection.
local ORDER = { "empty-read", "plain-read", "read", "empty-read-of-buffer", "write", "echo", "terminate" }
local all = {}

local function number(conn)
  conn.fences = (conn.fences or 0) + 1
  return conn.fences
end

-- What else a case wants to know of Reads is its own business: a target without IRD takes none.
local function takes_reads(conn)
  local state = conn:state()
  return iw.can("empty_read") and not (state.peer and state.peer.ird == 0)
end

local function agent_can(conn, capability) return conn.t.peer.agent and iw.can(capability) end

-- ---- Reads ----

local function read(conn, fields, payload)
  local n = number(conn)
  local stag = STAG + (n & 0xff)
  fields.size, fields.sink_stag, fields.sink_to = #payload, stag, n
  conn:send(message.read_request(fields))
  local answer = message.read_response { stag = stag, to = n, payload = payload }
  return { text = answer:text(), answer = answer }
end

-- A start-up without RFC 6581 agrees on no depths: how many Reads a target has room for then is its ULP's decision, and 0 is
-- no fault. One with an agent is told.
local function without_depths(conn)
  local peer = conn:state().peer
  return not conn.t.peer.agent and peer ~= nil and not peer.enhanced
end

all["empty-read"] = {
  fits = function(conn) return takes_reads(conn) and not without_depths(conn) end,
  begin = function(conn) return read(conn, {}, "") end,
}

all["plain-read"] = {
  fits = function(conn) return takes_reads(conn) and without_depths(conn) end,
  begin = function(conn) return read(conn, {}, "") end,
}

local function readable(t)
  t.readable = t.readable or t:memory { length = 1, remote = "read", fill = OCTET }
  return t.readable
end

local function reads_memory(conn) return takes_reads(conn) and iw.can("read") and agent_can(conn, "memory.read") end

all["empty-read-of-buffer"] = {
  fits = reads_memory,
  begin = function(conn) return read(conn, { source = readable(conn.t) }, "") end,
}

all.read = {
  fits = reads_memory,
  begin = function(conn) return read(conn, { source = readable(conn.t) }, OCTET) end,
}

-- ---- what the agent sees ----

all.write = {
  fits = function(conn) return agent_can(conn, "memory.write") end,
  begin = function(conn)
    local t = conn.t
    t.writable = t.writable or t:memory { length = 1, remote = "write" }
    local octet = string.char(~t:read(t.writable):byte() & 0xff)
    conn:send(message.write { to = t.writable, payload = octet })
    return { text = "its Write in the target's memory", shown = function() return t:read(t.writable) == octet end }
  end,
}

all.echo = {
  -- A receive that the case has posted is the case's.
  fits = function(conn)
    if conn.t.peer.agent then return conn.agent and (conn.receives or 0) == 0 end
    return iw.can("echo")
  end,
  begin = function(conn)
    local t = conn.t
    if not t.peer.agent then
      local answer = message.send { payload = OCTET }
      conn:send(message.send { payload = OCTET })
      return { text = answer:text(), answer = answer }
    end
    local posted = t:receive { conn = conn, length = 1 }
    conn.receives = conn.receives - 1
    conn:send(message.send { payload = OCTET })
    return { text = "event completion op recv status ok", shown = function()
      return t:wait_event(function(e)
        return e.event == "completion" and e.work == posted.work and e.status == "ok"
      end, 0) ~= nil
    end }
  end,
}

-- ---- an error ----

all.terminate = {
  fits = function() return iw.can("terminate") end,
  begin = function(conn)
    local answer = message.terminate {}
    conn:send(message.write { stag = STAG + 0x200, to = 0, payload = OCTET, broken = true })
    return { text = answer:text(), answer = answer }
  end,
}

-- ---- using one ----

-- Messages that the ULP of a connecting target without an agent sends unasked: rping's client its Sends, another ULP
-- anything. Nobody knows when they come, so one counts as an answer only where the case expects it; the observer judges
-- it all the same. An empty one may be an RTR, if its Request has A=1 (RFC 6581 §9.2).
local ULP = strict.set("send send-se send-invalidate send-se-invalidate write read-request immediate immediate-se")

function instruments.of_its_own(conn, item)
  local t = conn.t
  if t.case.role ~= "initiator" or t.peer.agent or conn.held or not ULP[item.op] then return false end
  local empty = item.op == "read-request" and item.size == 0 or item.op ~= "read-request" and item.payload == ""
  local request = conn:state().peer
  return not (empty and request and request.a)
end

local LOOK = 0.002 -- seconds between two looks at what the agent sees

-- Waits for the rest of what an instrument has begun, or for anything else from the target; `within` seconds. Returns true, or
-- false and what came instead, which is nil where nothing did.
function instruments.complete(conn, rest, within)
  if rest.answer then
    local item
    repeat
      item = conn:next(within)
      if item and rest.answer:matches(item) then return true, item end
    until not (item and instruments.of_its_own(conn, item))
    return false, item
  end
  local left, pause = within or iw.patience(), LOOK
  repeat
    local item = conn:next(0)
    if item then return false, item end
    if rest.shown() then return true end
    item = conn:next(pause)
    if item then return false, item end
    left, pause = left - pause, math.min(2 * pause, 0.1)
  until left <= 0
  return rest.shown(), nil
end

-- ---- what a case may use ----

-- Returns the first that works, or might; else nil, and the name of the one that is missing, which is nil where none fits.
local function pick(conn)
  local missing
  for _, name in ipairs(ORDER) do
    local works = iw.instrument(name)
    local first = name == "empty-read" or name == "plain-read"
    if name ~= "terminate" and (works or works == nil and first or works == false and not missing)
      and all[name].fits(conn) then
      if works ~= false then return all[name] end
      missing = name
    end
  end
  return nil, missing
end

-- Returns whether some instrument is known to work on this connection.
function instruments.works(conn)
  for _, name in ipairs(ORDER) do
    if name ~= "terminate" and iw.instrument(name) and all[name].fits(conn) then return true end
  end
  return false
end

-- Returns whether it is known that the target takes no Reads on this connection, by right.
function instruments.without_reads(conn) return iw.instrument("plain-read") == false and all["plain-read"].fits(conn) end

-- What a target without an instrument does not do.
local TEXT = {
  ["plain-read"] = "answer Reads where no depths were agreed",
  ["empty-read"] = "answer empty Reads", ["empty-read-of-buffer"] = "answer empty Reads", read = "answer Reads", write = "take Writes", echo = "take Sends",
  terminate = "report errors",
}

-- Ends the case: it depends on an instrument that this target has not.
function instruments.block(name, why)
  why = why or {}
  local text = instruments.deaf() and "take anything in full operation" or TEXT[name]
  iw.raise { verdict = "INCONCLUSIVE", reason = "blocked: the target does not " .. text, blocked = name,
    expected = why.expected, actual = why.actual, item = why.item }
end

-- Begins the exchange of an instrument that works. SKIP if the target's start-up frame says that it takes no RDMA Reads and
-- nothing else can be used; the case is blocked if nothing works.
function instruments.begin(conn)
  local one, missing = pick(conn)
  if one then return one.begin(conn) end
  if missing then instruments.block(instruments.deaf() or missing) end
  local peer = conn:state().peer
  conn.t:skip(peer and peer.ird == 0 and "the target takes no RDMA Reads (IRD 0)"
    or "nothing can show what the target has processed: it answers no Reads")
end

-- ---- what a case depends on ----

-- Returns the name of the instrument that stands for all if the target is deaf: whatever good exchange was tried, it was silent, or it
-- ended the connection. Of one that fails in one thing alone nobody knows that. (That it reports an error proves nothing if it ends
-- every connection.)
function instruments.deaf()
  local count, first, same = 0, nil, nil
  for _, name in ipairs(ORDER) do
    local works, how = iw.instrument(name)
    local twice = name == "plain-read" and iw.instrument("empty-read") ~= nil
    if how and not twice and not (name == "terminate" and same == "ends") then
      if works or how == "odd" or same and how ~= same then return nil end
      count, first, same = count + 1, first or name, how
    end
  end
  if count < 2 then return nil end
  return iw.instrument("read") ~= nil and "read" or first
end

-- Returns the name of the instrument that fails where a case sends on this connection a Read Request of this size, which names a buffer or does not, and
-- waits for what comes of it; nil if there is none, or the case is about it. One that fails because another does stands back
-- behind that one.
local function failing(conn, size, buffer)
  if instruments.without_reads(conn) then return "plain-read" end
  local name = "read"
  if size == 0 then name = buffer and iw.instrument("empty-read-of-buffer") ~= nil and "empty-read-of-buffer" or "empty-read" end
  if iw.instrument(name) ~= false then return nil end
  for _, prior in ipairs(size == 0 and { "read", "empty-read-of-buffer" } or {}) do
    if iw.instrument(prior) == false then
      name = prior
      break
    end
  end
  return not iw.about(name) and name or nil
end

-- The size that a ULPDU asks for, if it is a Read Request: T 0, opcode 1, queue 1.
local function asked(ulpdu)
  if #ulpdu < 46 or ulpdu:byte() & 0x80 ~= 0 or ulpdu:byte(2) & 0xf ~= 1 or string.unpack(">I4", ulpdu, 7) ~= 1 then return nil end
  return (string.unpack(">I4", ulpdu, 31))
end

-- Notes what a connection depends on from now on, since the case sends this message, or this ULPDU.
function instruments.depend(conn, m, ulpdu)
  if conn.failing then return end
  local silent = instruments.deaf()
  if silent then
    conn.deaf = not iw.about(silent)
    conn.failing = conn.deaf and silent or nil
  elseif m and m.name == "read_request" then
    conn.failing = failing(conn, m.fields.size or 1, m.buffer)
  elseif ulpdu then
    local size = asked(ulpdu)
    conn.failing = size and failing(conn, size)
  end
end

-- Ends the case if a connection depends on an instrument that fails, and the item (nil: nothing) is no more than what this target
-- does without the stimulus. why: expected, actual.
function instruments.check(conn, item, why)
  if conn and conn.failing and instruments.explains(conn.failing, item) then instruments.block(conn.failing, why) end
end

-- Returns how long to wait where `seconds` are not given: of a deaf target nothing is to be expected, and nothing is held against it.
-- nil: as long as usual.
function instruments.seconds(conn, seconds)
  if seconds or not (conn and conn.deaf) then return seconds end
  return math.min(iw.patience(), math.max(0.05, 20 * conn:state().rtt))
end

function instruments.ends(item) return item.op == "terminate" or item.kind ~= "message" and item.kind ~= "startup" end

-- Whether an item of the target's (nil: nothing) is no more than what it does without a stimulus, where instrument `name` fails. Its
-- silence says nothing after an exchange of which it is not capable, and another message may be the answer to what came later.
function instruments.explains(name, item)
  local _, how = iw.instrument(name)
  return not (item and instruments.ends(item)) or how == "ends"
end

-- The instruments by name, in the order in which they are taken.
instruments.order = ORDER
instruments.all = strict.seal("instrument", all)

return instruments
