-- SPDX-License-Identifier: BSD-3-Clause
-- Instruments: good exchanges that show what a target has processed. The runner finds out which of them it can do before the
-- cases are played (survey.lua); iw.instrument(name) is true, false, or nil where nobody knows.
--
-- Each has `fits`, whether it can be tried on a connection, and `begin`, which sends its part and returns the rest: `text`, what is
-- expected, and `answer`, the message that must come, or `shown`, which looks whether the target's agent saw it happen.

local strict = iw.load("strict")
local message = iw.load("message")

local instruments = {}

local STAG = 0x46454e00
local OCTET = "\x5a"

-- The first that fits is a fence.
local ORDER = { "empty-read", "read", "write", "echo", "terminate" }
local all = {}

local function number(conn)
  conn.fences = (conn.fences or 0) + 1
  return conn.fences
end

local function takes_reads(conn)
  local state = conn:state()
  return iw.can("read") and not (state.peer and state.peer.ird == 0)
end

local function agent_can(conn, capability) return conn.t.peer.agent and conn.agent and iw.can(capability) end

-- ---- Reads ----

local function read(conn, fields, payload)
  local n = number(conn)
  local stag = STAG + (n & 0xff)
  fields.size, fields.sink_stag, fields.sink_to = #payload, stag, n
  conn:send(message.read_request(fields))
  local answer = message.read_response { stag = stag, to = n, payload = payload }
  return { text = answer:text(), answer = answer }
end

all["empty-read"] = {
  fits = function(conn) return takes_reads(conn) and iw.can("empty_read") end,
  begin = function(conn) return read(conn, {}, "") end,
}

all.read = {
  fits = function(conn) return takes_reads(conn) and agent_can(conn, "memory.read") end,
  begin = function(conn)
    local t = conn.t
    t.readable = t.readable or t:memory { length = 1, remote = "read", fill = OCTET }
    return read(conn, { source = t.readable }, OCTET)
  end,
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
  fits = function(conn) return (conn.receives or 0) == 0 and (agent_can(conn, "agent") or iw.can("echo")) end,
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

local LOOK = 0.002 -- seconds between two looks at what the agent sees

-- Waits for the rest of what an instrument has begun, or for anything else from the target; `within` seconds. Returns true, or
-- false and what came instead, which is nil where nothing did.
function instruments.complete(conn, rest, within)
  if rest.answer then
    local item = conn:next(within)
    return item ~= nil and rest.answer:matches(item), item
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

-- The instruments by name, in the order in which they are taken.
instruments.order = ORDER
instruments.all = strict.seal("instrument", all)

return instruments
