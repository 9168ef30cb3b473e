-- SPDX-License-Identifier: BSD-3-Clause
-- The target's agent at a case's service: memory, posting, completions. Methods of t.

local strict = iw.load("strict")
local octets = iw.load("octets")
local instruments = iw.load("instruments")
local timers = iw.load("timers")

local Agent = {}

-- The fields of a reply that cases use, with the types that they must have.
local REPLIES = {
  listen = { listen = "integer", port = "integer" }, connect = { conn = "integer" },
  pd = { pd = "integer" }, bind = { window = "integer", stag = "integer", to = "quantity" }, stream_take = { hex = "octets" }, register = { mem = "integer", stag = "integer", to = "quantity" },
  read = { hex = "octets" },
}
-- The same for events.
local EVENTS = {
  stream = { conn = "integer", length = "integer" },
  established = { conn = "integer", agreed = "optional_agreed" }, request = { conn = "integer", private = "octets" },
  completion = { conn = "integer", work = "integer", op = "string", status = "string" },
}
local AGREED = {
  revision = "integer", version = "integer", crc = "boolean", tx_markers = "boolean", rx_markers = "boolean",
  enhanced = "boolean", peer_to_peer = "boolean", ird = "integer", ord = "integer",
}

local TYPES = {}

-- The name of a field that is missing or of another type, or nil.
local function wrong(object, fields)
  local first
  for name, kind in pairs(fields) do
    if not TYPES[kind](object[name]) and (not first or name < first) then first = name end
  end
  return first
end

function TYPES.integer(v) return math.type(v) == "integer" and v >= 0 and v <= 0xffffffff end
function TYPES.quantity(v) return type(v) == "string" and math.tointeger(tonumber(v)) ~= nil end
function TYPES.octets(v)
  local octets = type(v) == "string" and iw.octets(v)
  return octets and #v == 2 * #octets
end
function TYPES.string(v) return type(v) == "string" end
function TYPES.boolean(v) return type(v) == "boolean" end
function TYPES.optional_agreed(v) return v == nil or type(v) == "table" and not wrong(v, AGREED) end

local function check_reply(t, verb, reply)
  local name = REPLIES[verb] and wrong(reply, REPLIES[verb])
  if name then t:inconclusive(("the target's agent: %s: a reply without a good '%s'"):format(verb, name)) end
end

local features

-- Fields about why a connection ended, which a driver does not report.
local ENDS = strict.set("graceful cause check rule pos terminate")

-- The next event, or nil.
local function next_event(t, seconds)
  local event = iw.event(seconds)
  if event and (event.event == "closed" or event.event == "fault") then
    setmetatable(event, { __index = function(_, name)
      if ENDS[name] and not features(t).reports.fault then t:skip("the target's agent does not report why a connection ended") end
      return nil
    end })
  end
  local name = event and EVENTS[event.event] and wrong(event, EVENTS[event.event])
  if name then t:inconclusive(("the target's agent: event %s without a good '%s'"):format(event.event, name)) end
  return event
end

-- Sends the agent a request of its protocol (PROTOCOL.md). Returns the reply. A refusal makes the case INCONCLUSIVE, or an
-- ERROR if our own agent did not understand the request; with `optional` this returns nil and the reason.
function Agent:agent(verb, fields, optional)
  local request = { ["do"] = verb }
  for name, value in pairs(fields or {}) do request[name] = value end
  local reply, why, lost = iw.control(request)
  if reply then
    check_reply(self, verb, reply)
    return reply
  end
  if lost then
    self:gone("the target's agent is gone: " .. (iw.death() or why), "an agent that lives on")
  end
  if optional then return nil, why end
  if why:find("^unsupported: ") then self:skip("the target's agent: " .. verb .. ": " .. why) end
  local text = ("agent: %s: %s"):format(verb, why)
  -- Our own agent knows everything that a case may ask for.
  if self.peer.embedded and (why:find("^field ") or why:find("^verb ")) then error(text, 0) end
  self:inconclusive("the target's " .. text)
end

-- Returns the agent's features, as sets of words.
function features(t)
  local sets = { config = {}, reports = {} }
  local said = t:agent("hello").features
  for name, set in pairs(sets) do
    local words = type(said) == "table" and said[name]
    for _, word in ipairs(type(words) == "table" and words or {}) do set[word] = true end
  end
  return sets
end

-- True if the agent's `config` has this field.
function Agent:takes(field) return features(self).config[field] or false end

-- Returns the agent's next event that `wanted` accepts, or nil if none came; keeps other events for later.
function Agent:wait_event(wanted, seconds)
  for i, event in ipairs(self.events) do
    if wanted(event) then return table.remove(self.events, i) end
  end
  seconds = instruments.seconds(self.conns[#self.conns], seconds)
  local event = next_event(self, seconds)
  while event do
    if wanted(event) then return event end
    self.events[#self.events + 1] = event
    event = next_event(self, seconds)
  end
  return nil
end

local function event_text(event)
  local parts, names = { event.event }, {}
  for name, value in pairs(event) do
    if name ~= "event" and type(value) ~= "table" then names[#names + 1] = name end
  end
  table.sort(names)
  for _, name in ipairs(names) do parts[#parts + 1] = name .. " " .. tostring(event[name]) end
  return table.concat(parts, " ")
end

-- The fields of each kind of event (proto/control/PROTOCOL.md).
local EVENT_FIELDS = {
  request = "listen private", stream = "length listen",
  established = "private agreed listen", rejected = "private", ["peer-closed"] = "",
  completion = "work op status length solicited invalidated immediate original check", fault = "check rule pos terminate",
  terminated = "layer type code flags meaning", stream = "length listen", closed = "graceful cause check rule error",
}

-- What a timer of the target may put off.
local LATE = strict.set("closed peer-closed rejected")

-- The next event of this kind about a connection: t:event("terminated", conn, {code = 2}). The
-- fields must fit. Returns the event.
function Agent:event(kind, conn, fields, options)
  options = strict.check("t:event", options or {}, strict.set("rule within"))
  strict.check(("t:event(%q)"):format(kind), fields or {}, strict.set(EVENT_FIELDS[strict.word("t:event", kind, EVENT_FIELDS)] .. " conn"))
  if (kind == "fault" or kind == "terminated") and not features(self).reports[kind] then
    self:skip(("the target's agent does not report '%s'"):format(kind))
  end
  local seconds = options.within or LATE[kind] and timers.seconds() or nil
  local event = self:wait_event(function(e)
    return e.event == kind and (not conn or e.conn == conn.agent)
  end, seconds)
  local wanted = { event = kind }
  for name, value in pairs(fields or {}) do wanted[name] = value end
  local right = event ~= nil
  for name, value in pairs(fields or {}) do
    if right and event[name] ~= value then right = false end
  end
  if right then return event end
  self:fail("the target reported another event than expected", {
    rule = options.rule, conn = not event and conn or nil, expected = event_text(wanted),
    actual = event and event_text(event) or ("no event '%s' within %g s"):format(kind, seconds or iw.patience()),
  })
end

-- ---- memory ----

local MEMORY = strict.set("length remote fill guard to pd conn invalidate bind")
local WINDOW = strict.set("memory offset length remote invalidate conn window")
local FILL = 0x5a

-- 64 bits, as the protocol writes them; a number above 2^63-1 is a negative one here.
local function long(value) return value and ("0x%x"):format(value) end

local function number(text)
  return math.tointeger(tonumber(text)) or error(("agent: '%s' is no number"):format(tostring(text)), 0)
end

local REMOTE = strict.set("read write atomic")

-- Appends the peer's rights to a list of rights.
local function access(what, fields, list)
  for word in (fields.remote or ""):gmatch("%S+") do
    strict.word(what .. ": remote", word, REMOTE)
    list[#list + 1] = "remote-" .. word
  end
  if fields.invalidate then list[#list + 1] = "remote-invalidate" end
  return list
end

local function read_all(t, buffer)
  return t:read(buffer, -buffer.guard, buffer.length + 2 * buffer.guard)
end

local BUFFER = { __index = strict.only("t:memory's buffer", {}, strict.set("mem stag to length guard content")) }

-- Makes a buffer of the target: length, remote ("read", "write", "atomic" or several of them; nothing: not
-- remotely accessible), fill (an octet, octets, or "count" for 00 01 02 ...), guard (watched octets before
-- and after it), to (its first TO), pd, conn (bound to that stream), invalidate (by the peer), bind (windows
-- may be bound to it). Returns {stag, to, length, ...}, which stands for STag and TO in messages.
function Agent:memory(fields)
  strict.check("t:memory", fields, MEMORY)
  local guard = fields.guard or 64
  local fill = fields.fill == nil and FILL or fields.fill
  local rights = access("t:memory", fields, { "local-write" })
  if fields.bind then rights[#rights + 1] = "bind" end
  local reply = self:agent("register", {
    length = fields.length, access = rights, guard = guard, pd = fields.pd,
    to = long(fields.to), conn = fields.conn and fields.conn.agent,
    fill = math.type(fill) == "integer" and fill or nil,
  })
  local buffer = setmetatable({
    mem = reply.mem, stag = reply.stag, to = number(reply.to), length = fields.length, guard = guard,
  }, BUFFER)
  if type(fill) == "string" then
    self:fill(buffer, fill == "count" and octets.bytes(fields.length) or fill)
  end
  buffer.content = read_all(self, buffer)
  return buffer
end

-- Has the agent read octets of a buffer; offset may reach into the guard areas.
function Agent:read(buffer, offset, length)
  local parts, at = {}, offset or 0
  local left = length or buffer.length
  while left > 0 do
    local n = math.min(left, 65536)
    parts[#parts + 1] = octets.hex(self:agent("read", { mem = buffer.mem, offset = at, length = n }).hex)
    at, left = at + n, left - n
  end
  return table.concat(parts)
end

-- Has the agent write octets into a buffer.
function Agent:fill(buffer, text, offset)
  local at = 0
  while at < #text do
    local part = text:sub(at + 1, at + 65536)
    self:agent("fill", { mem = buffer.mem, offset = (offset or 0) + at, hex = octets.show(part) })
    at = at + #part
  end
  if buffer.content then buffer.content = read_all(self, buffer) end
end

local BOUND = { __index = strict.only("t:bind's window", {}, strict.set("window stag to length memory offset")) }

-- Binds a window: `length` octets from `offset` on of a buffer made with bind = true, under an STag of its
-- own; remote and invalidate as in t:memory, conn: for that stream only. window: a window to bind again,
-- whose old STag is forgotten. Returns {stag, to, length, ...}, which goes where a buffer goes in messages.
function Agent:bind(fields)
  strict.check("t:bind", fields, WINDOW)
  local memory, offset = fields.memory, fields.offset or 0
  local length = fields.length or memory.length - offset
  local rights = access("t:bind", fields, {})
  rights.n = #rights -- a list, even an empty one
  local reply = self:agent("bind", {
    mem = memory.mem, offset = offset, length = length, access = rights,
    conn = fields.conn and fields.conn.agent, window = fields.window and fields.window.window,
  })
  return setmetatable({
    window = reply.window, stag = reply.stag, to = number(reply.to), length = length, memory = memory, offset = offset,
  }, BOUND)
end

-- Unbinds a window.
function Agent:unbind(window) self:agent("unbind", { window = window.window }) end

-- Invalidates the STag of a buffer or window at the target; the memory can still be read by the agent.
function Agent:invalidate(buffer)
  local window = getmetatable(buffer) == BOUND
  self:agent("invalidate", { mem = not window and buffer.mem or nil, window = window and buffer.window or nil })
end
function Agent:release(buffer) self:agent("release", { mem = buffer.mem }) end
-- A protection domain other than the standard one.
function Agent:protection_domain() return self:agent("pd").pd end

local function place_text(buffer, at)
  at = at - buffer.guard
  if at < 0 then return ("guard octet %d before the buffer"):format(-at) end
  if at >= buffer.length then return ("guard octet %d after the buffer"):format(at - buffer.length) end
  return ("octet %d of the buffer"):format(at)
end

local ATOMIC = 8 -- octets
local CMP_SWAP = 2

-- Whether these octets were in memory before an atomic: the case knows, or the target's answer says so.
local function original(t, octets_now, content)
  if octets_now == content then return true end
  for _, value in ipairs(t.native and t.originals or {}) do
    if octets_now == t.native:pack(value) then return true end
  end
  return false
end

-- Returns a word for what is wrong in a buffer, if that is only what places hold where this case had atomics done: "undone", what they
-- held before, and the rule that says what an atomic does (RFC 7306 §5.1); "misdone", something else. "misplaced": anything else.
local function wrong_how(t, buffer, wanted, got)
  local broken, other = nil, false
  for _, one in ipairs(t.atomics) do
    local at = buffer.guard + one.remote_to - buffer.to
    local now = one.remote_stag == buffer.stag and at >= 0 and got:sub(at + 1, at + ATOMIC)
    if now and now ~= wanted:sub(at + 1, at + ATOMIC) then
      other = other or not original(t, now, buffer.content:sub(at + 1, at + ATOMIC))
      wanted = wanted:sub(1, at) .. now .. wanted:sub(at + ATOMIC + 1)
      broken = broken or (one.atomic or 0) & 0xf == CMP_SWAP and "EXT-5.1.2-01" or "EXT-5.1.1-06"
    end
  end
  if wanted ~= got then return "misplaced" end
  return other and "misdone" or "undone", not other and broken or nil
end

-- `except` = {offset, length}: octets of the buffer that may hold anything.
local function compare(t, buffer, wanted, options)
  local got = read_all(t, buffer)
  local except = options and options.except
  if except then
    local from = buffer.guard + except[1]
    wanted = wanted:sub(1, from) .. got:sub(from + 1, from + except[2]) .. wanted:sub(from + except[2] + 1)
  end
  local at = octets.difference(wanted, got)
  if not at then return end
  local how, broken = wrong_how(t, buffer, wanted, got)
  t:fail(place_text(buffer, at) .. " has another value than expected", {
    rule = options and options.rule, how = how, instead = broken,
    expected = octets.show(wanted:sub(at + 1), 16),
    actual = octets.show(got:sub(at + 1), 16),
  })
end

-- Checks that the buffer and its guard areas still hold the octets of when it was made or filled;
-- options: rule, except = {offset, length} (octets of the buffer that may hold anything).
function Agent:expect_unchanged(buffer, options)
  strict.check("t:expect_unchanged", options or {}, strict.set("rule except"))
  compare(self, buffer, buffer.content, options)
end

-- Checks that the buffer holds these octets at options.offset (0) and is otherwise unchanged, guards
-- included. Later checks compare with its content now.
function Agent:expect_contents(buffer, text, options)
  options = strict.check("t:expect_contents", options or {}, strict.set("offset rule"))
  local at = buffer.guard + (options.offset or 0)
  local wanted = buffer.content:sub(1, at) .. text .. buffer.content:sub(at + #text + 1)
  compare(self, buffer, wanted, options)
  buffer.content = wanted
end

-- Whether the target's memory holds these octets at `offset` (0) of a buffer: a Read Response with others lies about it.
function Agent:holds(buffer, text, offset)
  return self.peer.agent and buffer.mem and self:read(buffer, offset, #text) == text
end

-- Checks that a Read Response has the octets of the Write before its Read. Where each octet is of that Write or what the place held
-- before, the target has read too early, against `rule`; others it has placed elsewhere.
function Agent:expect_after_write(item, buffer, text, rule)
  local old, got = buffer.content:sub(buffer.guard + 1, buffer.guard + #text), item.payload
  local early = #got == #text
  for i = 1, early and #text or 0 do
    local octet = got:byte(i)
    early = early and (octet == text:byte(i) or octet == old:byte(i))
  end
  local lies = got ~= text and not early and self:holds(buffer, text)
  self:check(got == text, early and "the target answered the Read with octets from before the Write"
    or "the target answered the Read with other octets than the Write placed", {
    rule = early and rule or lies and "RDMAP-5.2.1-12" or "DDP-5.2-05", how = not early and (lies and "other payload" or "misplaced") or nil,
    expected = octets.show(text, 16), actual = octets.show(got, 16), item = item,
  })
  buffer.content = buffer.content:sub(1, buffer.guard) .. text .. buffer.content:sub(buffer.guard + #text + 1)
end

-- ---- work ----

local RECEIVE = strict.set("conn memory offset length sge")
local POST = strict.set("conn op memory offset length payload sge stag to invalidate fence immediate"
  .. " add_swap add_swap_mask compare compare_mask")
-- Operations without a buffer of the target (RFC 7306).
local BARE = strict.set("immediate immediate-se fetch-add cmp-swap")

local function work(t)
  t.works = (t.works or 0) + 1
  return t.works
end

local function of_conn(t, fields)
  local conn = fields.conn or t.conns[#t.conns]
  if not (conn and conn.agent) then error("the agent knows no such connection", 0) end
  return conn
end

local function pieces(sge)
  local list = {}
  for i, piece in ipairs(sge) do list[i] = { piece.memory.mem, piece.offset, piece.length } end
  return list
end

-- Posts a receive of `length` octets (in a buffer of its own unless `memory` is given) on a
-- connection (the latest unless `conn` is given); or sge, a list of {memory=, offset=, length=}.
-- Returns a handle {memory, length} for t:completion.
function Agent:receive(fields)
  strict.check("t:receive", fields, RECEIVE)
  local conn = of_conn(self, fields)
  local handle = { work = work(self), conn = conn, op = "recv" }
  conn.receives = (conn.receives or 0) + 1 -- that a Send may take
  if fields.sge then
    self:agent("recv", { conn = conn.agent, work = handle.work, sge = pieces(fields.sge) })
    return handle
  end
  handle.memory = fields.memory or self:memory { length = math.max(fields.length, 1) }
  handle.length = fields.length or handle.memory.length
  self:agent("recv", { conn = conn.agent, work = handle.work, mem = handle.memory.mem,
                       offset = fields.offset or 0, length = handle.length })
  return handle
end

-- Posts a work request: op ("send", "send-se", "send-invalidate", "send-se-invalidate", "write",
-- "read"), payload (octets, put into a buffer of their own) or memory with offset and length,
-- stag and to (remote), invalidate (an STag), fence; instead of memory, sge: a list of
-- {memory=, offset=, length=} that are gathered. Also "immediate" and "immediate-se" with immediate (8
-- octets), "fetch-add" and "cmp-swap" with stag, to, add_swap, add_swap_mask, compare, compare_mask.
-- Returns a handle for t:completion.
function Agent:post(fields)
  strict.check("t:post", fields, POST)
  local conn = of_conn(self, fields)
  local memory, length = fields.memory, fields.length
  if not memory and not fields.sge and not BARE[fields.op] then
    length = length or #(fields.payload or "")
    memory = self:memory { length = math.max(length, 1) }
    if fields.payload then self:fill(memory, fields.payload) end
  end
  local handle = { work = work(self), conn = conn, memory = memory, op = fields.op }
  self:agent("post", {
    conn = conn.agent, work = handle.work, op = fields.op, mem = memory and memory.mem,
    offset = memory and (fields.offset or 0), length = memory and (length or memory.length),
    sge = fields.sge and pieces(fields.sge), remote_stag = fields.stag,
    remote_to = long(fields.to), invalidate_stag = fields.invalidate, fence = fields.fence,
    immediate = fields.immediate and octets.show(fields.immediate), add_swap = long(fields.add_swap),
    add_swap_mask = long(fields.add_swap_mask), compare = long(fields.compare),
    compare_mask = long(fields.compare_mask),
  })
  return handle
end

local function take_events(t)
  local event = next_event(t, 0)
  while event do
    t.events[#t.events + 1] = event
    event = next_event(t, 0)
  end
end

-- Reads every event that the agent has sent so far.
local function gather(t)
  t:agent("hello")
  take_events(t)
end

local function is_delivery(event, conn)
  return event.event == "completion" and event.conn == conn.agent and event.op == "recv" and event.status == "ok"
end

-- Whether more receives of this connection have completed than Sends were sent on it, all of them good.
local function delivered_twice(t, conn)
  local count = conn.delivered or 0
  for _, event in ipairs(t.events) do
    if is_delivery(event, conn) then count = count + 1 end
  end
  return not t.odd and count > conn:sends()
end

-- Whether two completions tell of the same message, as far as they say what it is.
local function same_message(a, b)
  for _, name in ipairs { "length", "immediate", "invalidated", "solicited" } do
    if a[name] ~= b[name] then return false end
  end
  return true
end

-- Waits for the completion of a handle; fields (status "ok" unless given, length, solicited,
-- invalidated, immediate as octets, original as a number) must fit. Returns the event.
function Agent:completion(handle, fields, options)
  options = strict.check("t:completion", options or {}, strict.set("rule within"))
  strict.check("t:completion", fields or {}, strict.set(EVENT_FIELDS.completion))
  local wanted = { event = "completion", work = handle.work, status = "ok" }
  for name, value in pairs(fields or {}) do wanted[name] = value end
  wanted.original = long(wanted.original)
  wanted.immediate = wanted.immediate and octets.show(wanted.immediate)
  local event = self:wait_event(function(e)
    return e.event == "completion" and e.work == handle.work
  end, options.within)
  local before
  if event and handle.op == "recv" and is_delivery(event, handle.conn) then
    local conn = handle.conn
    before, conn.latest = conn.latest, event
    conn.receives, conn.delivered = conn.receives - 1, (conn.delivered or 0) + 1
  end
  local right = event ~= nil
  for name, value in pairs(wanted) do
    -- A driver does not report SE.
    local reported = name ~= "solicited" or event and event.solicited ~= nil
    if right and reported and event[name] ~= value then right = false end
  end
  if right then return event end
  local twice = before and same_message(event, before)
  self:fail("the target did not complete the work as expected", {
    rule = twice and "DDP-5.3-07" or options.rule, how = twice and "delivered twice" or nil, expected = event_text(wanted),
    actual = event and event_text(event) or ("no completion of work %d within %g s"):format(handle.work,
      options.within or iw.patience()),
  })
end

-- Whether the target has delivered messages more than once, as far as its agent has said so far: what a case waits for is in
-- another buffer then, or in none.
function Agent:delivers_twice()
  if self.odd or not self.peer.agent then return false end
  take_events(self)
  for _, conn in ipairs(self.conns) do
    if conn.agent and not conn.literal and delivered_twice(self, conn) then return true end
  end
  return false
end

-- Checks that the handle has not completed successfully so far (completed "flushed" is no success). Use
-- it after a fence or a Terminate.
function Agent:expect_no_completion(handle, options)
  options = strict.check("t:expect_no_completion", options or {}, strict.set("rule"))
  gather(self)
  for _, event in ipairs(self.events) do
    if event.event == "completion" and event.work == handle.work and event.status == "ok" then
      local twice = handle.op == "recv" and delivered_twice(self, handle.conn)
      self:fail("the target completed work that it must not complete", {
        rule = twice and "DDP-5.3-07" or options.rule, how = twice and "delivered twice" or "completed", expected = ("no completion of work %d"):format(handle.work),
        actual = event_text(event),
      })
    end
  end
end

-- Waits for the Request of a connection whose listener was made with accept = "ask". Returns the
-- private data that the ULP sees. t:accept or t:reject must follow.
function Agent:requested(conn, options)
  options = strict.check("t:requested", options or {}, strict.set("rule within"))
  local event = self:wait_event(function(e)
    return e.event == "request" and e.listen == conn.listen
  end, options.within)
  if not event then
    self:fail("the target did not pass the Request to its ULP", {
      rule = options.rule, conn = conn, expected = "event request", actual = "none",
    })
  end
  conn.agent = event.conn
  return octets.hex(event.private)
end

-- Has the target's ULP answer the Request, with private data if there is any.
function Agent:accept(conn, private)
  self:agent("accept", { conn = conn.agent, private = private and octets.show(private) })
end

function Agent:reject(conn, private)
  self:agent("reject", { conn = conn.agent, private = private and octets.show(private) })
end

-- ---- streaming mode ----

-- Waits until the target's application knows the connection and `length` octets have come to it.
local function streamed(t, conn, length)
  if conn.agent and length == 0 then return end
  local event = t:wait_event(function(e)
    return e.event == "stream" and (conn.agent and e.conn == conn.agent or not conn.agent and e.listen == conn.listen)
      and e.length >= length
  end)
  if not event then t:inconclusive(("the target's application did not get %d streamed octets"):format(length)) end
  conn.agent = event.conn
end

-- Has the target's application stream octets on a connection made with target = { stream = true }.
function Agent:stream(conn, text)
  streamed(self, conn, 0)
  self:agent("stream_send", { conn = conn.agent, hex = octets.show(text) })
end

-- Returns the next `length` octets that the target's application got.
function Agent:streamed(conn, length)
  streamed(self, conn, length)
  return octets.hex(self:agent("stream_take", { conn = conn.agent, length = length }).hex)
end

-- Has the target start MPA.
function Agent:start(conn)
  streamed(self, conn, 0)
  self:agent("start", { conn = conn.agent })
end

-- Has the agent end a connection: how is "graceful", "reset" or "terminate".
function Agent:target_close(conn, how)
  self:agent("close", { conn = conn.agent, how = how or "graceful" })
end

return Agent
