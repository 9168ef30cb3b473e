-- SPDX-License-Identifier: BSD-3-Clause
-- The exchange of rping (librdmacm), with the station in the part that the target does not play. The client advertises its
-- source buffer in a Send, the server Reads it and Sends a go-ahead; the client advertises its sink, the server Writes the
-- data there and Sends another go-ahead. Thus a target without our software Sends, Reads and Writes, and advertises memory
-- that may be read and written. An agent plays its part with its verbs.
--
-- local r = t:rping { stage = ... } brings a connection to one of these stages:
--   a target that is the server   "open" (start-up only), "reading" (its Read Request is in r.asked), "read" (that was
--                                 answered, its go-ahead has come), "writing" (its Write is in r.written), "done"
--   a target that is the client   "source" (r.source is its readable buffer), "read" (r.data is in it), "sink" (r.sink
--                                 is its writable buffer), "written" (the next thing that it did is in r.after)
-- r:advance(stage) goes on, beyond the last stage with another exchange. Then use r.conn. Unless `judge` is set, an
-- exchange that does not come so far makes the case INCONCLUSIVE.

local strict = iw.load("strict")
local message = iw.load("message")

local Rping = {}
Rping.__index = Rping

local INFO = ">I8I4I4"
local FIRST, LAST = 65, 122
-- The places that the station advertises.
local SOURCE = { stag = 0x52500100, to = 0x7e92000000000000 }
local SINK = { stag = 0x52500200, to = 0x7e93000000000000 }
local GO_AHEAD = ("\0"):rep(16)
local OPTIONS = strict.set("stage size source sink start judge rule exchanges")

local function info(buffer, size) return string.pack(INFO, buffer.to, buffer.stag, size) end

local function is_info(payload) return #payload == 16 end

-- rping's text: the number of the exchange, then characters that start one later each time.
local function pattern(size, exchange)
  local c = exchange % (LAST - FIRST + 1)
  local text = ("rdma-ping-%d: "):format(exchange)
  local parts = {}
  for i = #text + 1, size do
    parts[#parts + 1] = string.char(FIRST + c)
    c = (c + 1) % (LAST - FIRST + 1)
  end
  return (text .. table.concat(parts)):sub(1, size - 1) .. "\0"
end

-- Checks that the target's next item is one of these.
function Rping:take(...)
  local wanted = { ... }
  if self.judge then
    wanted[#wanted + 1] = { rule = self.rule }
    return self.conn:expect(table.unpack(wanted))
  end
  local item = self.conn:next()
  for _, one in ipairs(wanted) do
    if item and one:matches(item) then return item end
  end
  self.t:inconclusive("the exchange of rping did not reach this stage", {
    expected = wanted[1]:text(), actual = item and item.text or "nothing", item = item,
  })
end

-- Has the agent's ULP act at this point, if there is an agent.
function Rping:post(fields)
  if not self.agent then return end
  fields.conn = self.conn
  self.work = self.t:post(fields)
end

function Rping:posted()
  if self.work then self.t:completion(self.work) end
  self.work = nil
end

function Rping:receives()
  if not self.agent then return end
  self.waiting = { self.t:receive { length = 16, conn = self.conn }, self.t:receive { length = 16, conn = self.conn } }
end

function Rping:received()
  if self.agent then self.t:completion(table.remove(self.waiting, 1), { length = 16 }) end
end

-- ---- the target is the server ----

local server = {}

function server.open(r)
  r.conn = r.t:connect(r.start)
  r.size = r.size or 64
  if r.agent then r.buffer = r.t:memory { length = r.size } end
end

function server.reading(r)
  r:receives()
  r.data = pattern(r.size, r.exchange)
  r.conn:send(message.send { payload = info(r.source, r.size) })
  r:received()
  r:post { op = "read", memory = r.buffer, length = r.size, stag = r.source.stag, to = r.source.to }
  r.asked = r:take(message.read_request { size = r.size, source_stag = r.source.stag, source_to = r.source.to })
end

-- Sends the correct Read Response, except for the `fields`: payload, stag, shift (of the TO), l ...
function Rping:answer(fields, bend)
  local all = { stag = self.asked.sink_stag, to = self.asked.sink_to, payload = self.data }
  for name, value in pairs(fields or {}) do all[name] = value end
  all.to, all.shift = all.to + (all.shift or 0), nil
  return self.conn:send(message.read_response(all), bend)
end

-- Takes the server's go-ahead after an answered Read.
function Rping:go_ahead()
  self:posted()
  if self.agent and self.stage == "reading" then self.t:expect_contents(self.buffer, self.data) end
  self:post { op = "send", payload = GO_AHEAD }
  self:take(message.send { payload = is_info })
  self:posted()
  self.stage = self.stage == "reading" and "read" or "done"
end

function server.read(r)
  r:answer()
  r:go_ahead()
end

function server.writing(r)
  r.conn:send(message.send { payload = info(r.sink, r.size) })
  r:received()
  r:post { op = "write", memory = r.buffer, length = r.size, stag = r.sink.stag, to = r.sink.to }
  r.written = r:take(message.write { stag = r.sink.stag, to = r.sink.to, payload = r.data })
end

function server.done(r) r:go_ahead() end

-- ---- the target is the client ----

local client = {}

-- Returns the place that the client advertises.
local function advertised(r, item)
  local to, stag, length = string.unpack(INFO, item.payload)
  if length == 0 or length > 1 << 24 then
    r.t:inconclusive("the target advertised no buffer of a likely size", { actual = item.text, item = item })
  end
  return { stag = stag, to = to, length = length }
end

local function own_memory(r)
  r.size = r.size or 64
  r.data = pattern(r.size, r.exchange)
  r.memory = { source = r.t:memory { length = r.size, remote = "read", fill = r.data },
               sink = r.t:memory { length = r.size, remote = "write" } }
end

function client.source(r)
  local item
  if not r.conn then
    r.conn = r.t:target_connects(r.start)
    if r.agent then own_memory(r) end
    local first = r.conn.first
    if not r.agent and first and first.op == "send" and is_info(first.payload) then item = first end
  else
    item, r.after = r.after, nil
  end
  if not item then r:receives() end
  if not item then
    if r.agent then r:post { op = "send", payload = info(r.memory.source, r.size) } end
    item = r:take(message.send { payload = is_info })
    r:posted()
  end
  r.source = advertised(r, item)
  r.size = r.source.length
end

function client.read(r)
  r.conn:send(message.read_request { source = r.source, size = r.size, sink_stag = 0x52500300, sink_to = 0x1000 })
  local size = r.size
  r.data = r:take(message.read_response { stag = 0x52500300, to = 0x1000, payload = function(p) return #p == size end }).payload
end

function client.sink(r)
  r.conn:send(message.send { payload = GO_AHEAD })
  r:received()
  if r.agent then r:post { op = "send", payload = info(r.memory.sink, r.size) } end
  local item = r:take(message.send { payload = is_info })
  r:posted()
  r.sink = advertised(r, item)
end

-- The whole data is in the sink: sends the go-ahead, and takes the client's reaction: its next exchange, or the end.
function Rping:finish()
  self.conn:send(message.send { payload = GO_AHEAD })
  self:received()
  if self.agent then
    self.t:expect_contents(self.memory.sink, self.data)
    self:receives()
    self:post { op = "send", payload = info(self.memory.source, self.size) }
  end
  self.after = self:take(message.send { payload = is_info }, message.closed())
  self:posted()
end

function client.written(r)
  r.conn:send(message.write { to = r.sink, payload = r.data })
  r:finish()
end

-- ---- stages ----

local PARTS = {
  responder = { steps = server, order = { "open", "reading", "read", "writing", "done" }, again = "reading" },
  initiator = { steps = client, order = { "source", "read", "sink", "written" }, again = "source" },
}

local function place(order, stage)
  for i, name in ipairs(order) do
    if name == stage then return i end
  end
  local names = strict.set(order)
  error(("t:rping: there is no stage '%s' of such a target%s"):format(tostring(stage), strict.suggest(tostring(stage), names)), 0)
end

-- Goes on to this stage; to one that has been reached already, through another exchange.
function Rping:advance(stage)
  local part = PARTS[self.t.case.role]
  local goal = place(part.order, stage)
  repeat
    local at = self.stage and place(part.order, self.stage) or 0
    if at == #part.order then
      self.exchange = self.exchange + 1
      at = place(part.order, part.again) - 1
    end
    local step = part.order[at + 1]
    part.steps[step](self)
    self.stage = step
  until self.stage == part.order[goal]
  return self
end

-- Checks that the client's memory has not changed; `except` as in t:expect_unchanged. Where nobody can look, the client
-- itself compares the data.
function Rping:unchanged(except)
  if self.agent then self.t:expect_unchanged(self.memory.sink, { except = except }) end
end

local function begin(t, options)
  options = strict.check("t:rping", options or {}, OPTIONS)
  local r = setmetatable({
    t = t, agent = t.peer.agent, exchange = 0, size = options.size, start = options.start or {},
    source = options.source or SOURCE, sink = options.sink or SINK, judge = options.judge, rule = options.rule,
  }, Rping)
  return r:advance(options.stage or PARTS[t.case.role].order[1])
end

-- One of each layer, for a target that gets it at some stage.
local TERMINATES = {
  { name = "llp", terminate = message.terminate "2/0/05" }, { name = "rdmap", terminate = message.terminate "0/0/00" },
  { name = "protection", terminate = message.terminate "0/1/01" }, { name = "ddp", terminate = message.terminate "1/1/00" },
}

return { begin = begin, pattern = pattern, TERMINATES = TERMINATES }
