-- SPDX-License-Identifier: BSD-3-Clause
-- One connection of the station with the target.

local strict = iw.load("strict")
local message = iw.load("message")
local octets = iw.load("octets")
local field_rule = iw.load("field_rule")
local instruments = iw.load("instruments")
local refusal = iw.load("refusal")
local timers = iw.load("timers")
local wrong_answer = iw.load("wrong_answer")

local Conn = {}
for name, method in pairs(iw.load("conn_segments")) do Conn[name] = method end
local methods = { __index = strict.only("conn:", Conn, strict.set("agent agreed listen port asked literal fences terminated request first heard heard_request held ends receives delivered latest failing deaf turned over spoke took_end")) }

function Conn.new(t, raw)
  local conn = setmetatable({ t = t, raw = raw, queues = {}, number = raw:state().number }, methods)
  t.conns[#t.conns + 1] = conn
  return conn
end

local STATE = { __index = strict.only("conn:state()", {}, strict.set("own peer rtt reset shut")) }

-- Negotiated and measured facts: crc, markers (to the peer), own, peer (start-up frames), rtt,
-- unacked (segments), ...
function Conn:state() return setmetatable(self.raw:state(), STATE) end

-- DV and RV of this connection: 0 after a Reply of revision 0 (RFC 5044 Appendix C).
function Conn:version()
  local state = self:state()
  local reply = state.initiator and state.peer or state.own
  return reply and reply.revision == 0 and 0 or 1
end

-- ---- sending ----

local function queue(conn, qn)
  local q = conn.queues[qn]
  if not q then
    q = { msn = 1, mo = 0 }
    conn.queues[qn] = q
  end
  return q
end

-- How many messages of queue 0 were sent whole, those with an MSN of their own left out.
function Conn:sends() return queue(self, 0).msn - 1 end

-- Returns the header that a correct stack would send now, and the overridden fields.
local function header_of(conn, m, body)
  local f, spec = m.fields, m.spec
  local v = conn:version()
  local h = { opcode = f.opcode or spec.opcode, l = f.l, dv = f.dv or v, rv = f.rv or v, rsvd = f.rsvd, rsv = f.rsv }
  h.t = f.t
  if h.t == nil then h.t = spec.t or false end
  if h.t == 0 then h.t = false end
  if h.l == nil then h.l = true end
  if h.l == 0 then h.l = false end
  if h.t then
    h.stag, h.to = f.stag or 0, f.to or 0
    return h
  end
  h.qn = f.qn or spec.qn or 0
  h.invalidate = f.invalidate
  local q = queue(conn, h.qn)
  h.msn, h.mo = f.msn or q.msn, f.mo or q.mo
  if h.msn ~= q.msn then return h end
  if h.l then
    q.msn, q.mo = (q.msn + 1) & 0xffffffff, 0
  else
    q.mo = h.mo + #body
  end
  return h
end

-- Splits octets into parts: of `sizes` octets each, or of sizes[1], sizes[2], ... and the rest in one more.
local function split(text, sizes)
  if sizes == 0 then error("a segment of no octets", 0) end
  local parts, at = {}, 1
  repeat
    local size = type(sizes) == "number" and sizes or sizes[#parts + 1] or #text
    parts[#parts + 1] = text:sub(at, at + size - 1)
    at = at + size
  until at > #text and (type(sizes) == "number" or #parts >= #sizes)
  return parts
end

local function mulpdu(conn)
  local state = conn:state()
  return iw.mulpdu(state.mss > 0 and state.mss or 1460, state.markers)
end

-- Returns the ULPDUs of a message, as records of their header fields with `ulpdu` and `payload`; MSN and
-- MO move on as if they were sent. `segments` splits the payload otherwise than the MULPDU.
function Conn:encode(m, segments)
  instruments.depend(self, m, m.name == "raw" and m.fields.ulpdu)
  if m.name == "write" or m.name == "raw" then self.t.writes = true end
  local asked = m.name == "atomic_request" and self.t.atomics
  if asked then asked[#asked + 1] = m.fields end
  if m.name == "raw" then
    return { { ulpdu = m.fields.ulpdu, t = (m.fields.ulpdu:byte() or 0) & 0x80 ~= 0 } }
  end
  local body = m:body()
  local header = header_of(self, m, body)
  local records = {}
  for i, part in ipairs(split(body, segments or mulpdu(self) - (header.t and 14 or 18))) do
    local h = {}
    for name, value in pairs(header) do h[name] = value end
    h.payload = part
    records[i] = h
  end
  local at = 0
  for i, h in ipairs(records) do
    if h.t then h.to = h.to + at else h.mo = (h.mo + at) & 0xffffffff end
    h.l = header.l and i == #records
    h.ulpdu = iw.ddp(h) .. h.payload
    at = at + #h.payload
  end
  return records
end

local FRAME = strict.set("length pad crc markers marker writes segments broken comment")
local MARKER = strict.set("shift which pointer add reserved")
-- Fields that a correct stack never overrides.
local ODD = { "t", "dv", "rv", "rsvd", "rsv", "opcode", "qn", "msn", "mo", "flags", "key", "reserved",
  "pd_length" }
local BENDS = { "length", "pad", "crc", "markers", "marker" }

local function some(fields, names)
  local list = {}
  for _, name in ipairs(names) do
    if fields[name] ~= nil then list[#list + 1] = name end
  end
  return list
end

-- Before something that no correct stack sends, if nothing else was sent since the start-up: an end that has come is no answer to it.
local function before_stimulus(conn)
  local state = conn:state()
  if (state.ended or state.reset) and not (conn.spoke or conn.took_end) then
    local item = conn:next(0)
    conn.t:inconclusive("the target ended the connection before the stimulus", {
      expected = "an open connection", actual = item and item.text or "its end", item = item,
    })
  end
end

local function marked(conn, m, bend, text)
  local comment = bend.comment or m.fields.comment
  local odd = some(m.fields, ODD)
  if m.name == "raw" then odd[1] = "raw octets" end
  for _, name in ipairs(some(bend, BENDS)) do odd[#odd + 1] = name end
  if bend.broken or m.fields.broken then odd[#odd + 1] = "broken" end
  if #odd > 0 then
    before_stimulus(conn)
    conn.t.negative, conn.t.odd = true, true
  end
  if #odd == 0 then return comment and "stimulus: " .. comment end
  return ("stimulus: %s (set on purpose: %s)"):format(comment or text, table.concat(odd, ", "))
end

-- Inside conn:split: something ends here.
local function ended(conn)
  if conn.ends then conn.ends[#conn.ends + 1] = conn:state().sent end
end

local REVISION_2 = { "revision", "enhanced", "a", "b", "c", "d", "ird", "ord" }

-- Fills fields that a case leaves open from the run's options. A target that knows revision 1 only gets
-- that one.
local function fitting(conn, m)
  local say, fields = conn.t.peer.startup, {}
  if #some(m.fields, REVISION_2) == 0 then
    if say then
      fields.revision, fields.enhanced = say.revision, say.enhanced
    elseif m.name == "request" and not iw.can("revision.2") then
      fields.revision = 1
    end
  end
  if say and m.fields.flags == nil then
    -- Markers and CRCs go with revision 0, and are the case's business in another.
    if say.revision > 0 or fields.revision == 0 then fields.crc, fields.markers = say.crc, say.markers end
  end
  for name, value in pairs(m.fields) do fields[name] = value end
  return message[m.name](fields)
end

local function send_startup(conn, m, bend)
  m = fitting(conn, m)
  local frame = m:frame()
  local comment = marked(conn, m, bend, iw.print_startup(frame))
  if m.name == "request" then conn.asked = m end
  conn.raw:startup(frame, bend.writes)
  ended(conn)
  if comment then conn.raw:comment_sent(comment) end
  return { kind = "startup", frame = frame, text = iw.print_startup(frame) }
end

-- Sends a message: one FPDU, or several if it does not fit, or a start-up frame. The second argument
-- bends the FPDUs. Returns a record of the (first) segment: ulpdu, text, and the header's fields.
function Conn:send(m, bend)
  if not message.is(m) then error("conn:send takes a message such as send{...}", 0) end
  if m.kind == "end" then error(("%s can only be expected"):format(m.name), 0) end
  bend = strict.check("an FPDU", bend or {}, FRAME)
  if bend.marker then strict.check("marker", bend.marker, MARKER) end
  if m.kind == "startup" then return send_startup(self, m, bend) end
  self.over = self.over or m.name == "terminate" or nil
  local records = self:encode(m, bend.segments)
  for _, record in ipairs(records) do record.text = iw.print_segment(record.ulpdu) end
  local first = message.seal(records[1])
  local comment = marked(self, m, bend, first.text)
  for i, record in ipairs(records) do
    self.raw:ulpdu(record.ulpdu, bend, bend.writes)
    self.spoke = true
    ended(self)
    if i == 1 and comment then self.raw:comment_sent(comment) end
  end
  first.segments = records
  return first
end

-- Sends octets as they are, hidden from the observer. options: writes, comment.
function Conn:write(text, options)
  options = strict.check("conn:write", options or {}, strict.set("writes comment"))
  local state = self:state()
  if state.own and state.peer then
    instruments.depend(self, nil, text:sub(3))
    before_stimulus(self)
  end
  self.raw:write(text, options.writes)
  self.spoke = true
  ended(self)
  self.t.negative, self.t.odd = true, true
  self.raw:comment_sent("stimulus: " .. (options.comment or #text .. " octets as they are"))
end

-- Sends everything that `action` sends in one write, or split as options.writes says.
function Conn:together(action, options)
  options = strict.check("conn:together", options or {}, strict.set("writes"))
  self.raw:cork()
  action()
  self.raw:uncork(options.writes)
end

-- Holds back everything that `action` sends: conn:release(n) writes the first n octets of it, and
-- conn:release() the rest.
function Conn:hold(action)
  self.held = true
  self.raw:cork()
  action()
end

function Conn:release(count)
  if count then return self.raw:release(count) end
  self.held = nil
  self.raw:uncork()
end

-- ---- streaming mode (RFC 5044 7.1.2): octets before MPA ----

-- Sends octets as the application's own, outside of MPA.
function Conn:stream(text)
  if text ~= "" then self.raw:write(text) end
  self.raw:comment_sent(("streaming mode: %d octets"):format(#text))
end

-- The next `length` octets that the target streams; INCONCLUSIVE if they do not come.
function Conn:take(length)
  if length == 0 then return "" end
  local text = self.raw:streamed(length)
  if not text then
    self.t:inconclusive("the target streamed fewer octets than it was asked to", {
      expected = length .. " octets of streaming mode", actual = "fewer",
    })
  end
  return text
end

-- MPA begins here, in the target's direction after the octets taken so far.
function Conn:begin()
  self.literal = nil
  self.raw:begin()
end

function Conn:shutdown() self.raw:shutdown() end
function Conn:reset() self.raw:reset() end

-- ---- receiving ----

local OPTIONS = strict.set("rule within ignoring dropped at_once silent open closed")

-- The messages of a list, and the options that stand last in it.
local function patterns_of(what, list)
  local last = list[#list]
  local options = {}
  if type(last) == "table" and not message.is(last) and #last == 0 then
    options = strict.check(what, table.remove(list), OPTIONS)
  end
  local patterns = message.flat(list)
  for _, pattern in ipairs(patterns) do
    if not message.is(pattern) then error(what .. " takes messages such as send{...}", 0) end
  end
  return patterns, options
end

local function set_text(patterns)
  local texts = {}
  for i, pattern in ipairs(patterns) do texts[i] = pattern:text() end
  return table.concat(texts, " or ")
end

local function seal(conn, item)
  message.seal(item)
  item.conn = conn
  conn.t.last_item = item
  return item
end

-- The next thing that the peer did, or nil.
function Conn:next(seconds)
  local item = self.raw:next(instruments.seconds(self, seconds))
  if item and (item.kind == "fin" or item.kind == "reset") then self.took_end = true end
  return item and seal(self, item)
end

-- The message of which more has to come; nil if there is none.
function Conn:partial()
  local part = self.raw:partial()
  return part and seal(self, part)
end

local function nothing_text(conn, seconds)
  if iw.flooded() then return "more octets than the station can hold" end
  if conn:state().ended then return "nothing more: the stream had ended" end
  return ("nothing within %g s"):format(seconds or iw.patience())
end

-- "when all Streams are either gracefully torn down or are labeled as erroneous Streams, the LLP connection MUST be torn down"
-- (RFC 5040 §7): so it is after a Terminate of either end.
local STAYS_OPEN = "RDMAP-7-03"

-- Records the target's choice under PASS; "any": of a Terminate, the case says neither layer nor type.
local function record(conn, item, which, pattern)
  if item.op == "terminate" and item.layer then
    conn.t:observe("terminate", ("%x/%x/%02x%s%s%s%s"):format(item.layer, item.etype, item.code,
      item.m and " M" or "", item.d and " D" or "", item.r and " R" or "", pattern.fields.etype and "" or " any"))
    conn.t.negative = true
    conn.terminated = true
  end
  if item.op == "atomic-response" then conn.t.originals[#conn.t.originals + 1] = item.value end
  if which > 1 and item.kind ~= "message" then conn.t:observe("answer", item.text) end
end

-- Seconds to wait: where an answer will hardly come only as long as for a silence, where a timer may put it off as long as that.
local function patience(conn, patterns, options)
  if options.within then return options.within end
  if conn.failing and patterns[1].name == "read_response" then
    return math.min(iw.patience(), math.max(0.05, 20 * conn:state().rtt))
  end
  local late = patterns[1].kind == "end" and wrong_answer.only_ends(patterns) or not conn:state().peer
  return late and not conn.deaf and timers.seconds() or nil
end

-- Where nothing comes: fails because of the segments of a message that has not ended, if they are all of an expected one.
local function unfinished(conn, patterns)
  local part = not iw.flooded() and conn:partial()
  for _, pattern in ipairs(part and patterns or {}) do
    local list = pattern:differences(part)
    if list and (#list == 0 or #list == 1 and list[1] == "l") then
      conn.t:fail(field_rule.NO_END, {
        rule = "DDP-4.1-03", how = field_rule.UNFINISHED, expected = pattern:text(), actual = part.text, item = part,
      })
    end
  end
end

-- Checks that the peer's next action matches one of the messages or lists of them, the preferred one first. Options come
-- last: rule (broken if it does not), within (seconds), ignoring (a message that may come before),
-- dropped (silence passes, too, if the target's TCP has not acknowledged the octets sent: RFC 5044 §8),
-- at_once (an end that no timer may put off), silent (the rule broken by silence, if it is another), open (silence passes: the
-- target's ULP may leave the connection open), closed (the rule broken by a close without a Terminate, where it may answer to any of
-- several faults). Returns the item.
function Conn:expect(...)
  local patterns, options = patterns_of("conn:expect", { ... })
  if #patterns == 0 then error("conn:expect needs something to expect", 0) end
  self.t:may_accuse(options.rule, self.t.odd and wrong_answer.only_ends(patterns))
  if options.closed then self.t:may_accuse(options.closed) end
  local seconds, item = patience(self, patterns, options), nil
  repeat
    item = self:next(seconds)
    local passed_over = item and options.ignoring and options.ignoring:matches(item)
    for i, pattern in ipairs(item and not passed_over and patterns or {}) do
      if pattern:matches(item) then
        if instruments.ends(item) and not (pattern.name == "terminate" and pattern.fields.code) then
          instruments.check(self, item, { expected = set_text(patterns), actual = item.text, item = item })
        end
        record(self, item, i, pattern)
        self.t:decided(item)
        return item, i
      end
    end
  until not item or not passed_over and not instruments.of_its_own(self, item)
  if not item and options.dropped and self:state().unacked > 0 then
    return self.t:observe("answer", "the segment was dropped")
  end
  if not item and options.open then return nil end
  self.t.asked = self
  if item and item.kind == "startup" and item.rejected then self.t:check_rejection(self, item.text, item) end
  if not item then unfinished(self, patterns) end
  local why = wrong_answer.why(self, patterns, item, not item and options.silent or options.rule)
  why.expected, why.actual = set_text(patterns), item and item.text or nothing_text(self, seconds)
  if why.how == "closed" then why.instead = options.closed end -- as grave as the case says
  if not item and patterns[1].kind == "end" and wrong_answer.only_ends(patterns) and not (options.at_once or options.within) then
    instruments.check(self, nil, why)
    timers.check(self.t, why)
    if self.over or self.terminated then why.rule = options.rule or STAYS_OPEN end
  end
  self.t:fail(wrong_answer.reason(patterns, item), why)
end

local function same_header(got, sent)
  for _, name in ipairs { "t", "l", "rsvd", "dv", "rv", "rsv", "opcode", "stag", "to", "invalidate",
    "qn", "msn", "mo" } do
    local a, b = got[name], sent[name]
    if name == "invalidate" or name == "rsvd" or name == "rsv" then a, b = a or 0, b or 0 end
    if (name == "dv" or name == "rv") and b == nil then b = 1 end
    if a ~= nil and b ~= nil and a ~= b then return false end
  end
  return true
end

local function check_terminated(conn, item, sent, rule)
  if item.d and not same_header(item.segment, sent) then
    conn.t:fail("the target's Terminate holds the header of another segment", {
      rule = rule, how = "another segment", expected = "the header of " .. sent.text, actual = item.text, item = item,
    })
  end
  local last = -1 - (item.trailing or 0)
  if item.r and item.request and item.payload:sub(last - 27, last) ~= sent.ulpdu:sub(19, 46) then
    conn.t:fail("the target's Terminate holds the header of another Read Request", {
      rule = rule, how = "another segment", expected = "the header of " .. sent.text, actual = item.text, item = item,
    })
  end
  if item.m and item.segment_length and item.segment_length ~= #sent.ulpdu then
    conn.t:observe("terminate-length", ("%d for a ULPDU of %d"):format(item.segment_length, #sent.ulpdu))
  end
end

-- Expects a Terminate out of a set, the preferred one first: terminate{...}, "1/1/01" or lists of them. Named fields:
-- `of` (returned by conn:send; the Terminate must hold its headers), rule, within, ignoring, closed.
function Conn:expect_terminate(set)
  strict.check("conn:expect_terminate", set, setmetatable(strict.set("of rule within ignoring closed"), {
    __index = function(_, name) return math.type(name) == "integer" end,
  }))
  local list = message.flat(set)
  if #list == 0 then list[1] = message.terminate {} end
  local item, which = self:expect(list, { rule = set.rule, within = set.within, ignoring = set.ignoring, closed = set.closed })
  if set.of then check_terminated(self, item, set.of, set.rule) end
  return item, which
end

-- Expects the end of the peer's direction: options by ("fin" or "reset", else either), rule, within, at_once, open.
function Conn:expect_close(options)
  options = strict.check("conn:expect_close", options or {}, strict.set("by rule within at_once open"))
  local pattern = message.closed()
  if options.by then pattern = strict.seal("end", { fin = message.fin(), reset = message.reset() })[options.by] end
  self.t.negative = true
  return self:expect(pattern, { rule = options.rule, within = options.within, at_once = options.at_once, open = options.open })
end

-- ---- silence ----

local FENCE = 0x46454e00

-- SKIP if the peer's start-up frame says that it takes no RDMA Reads.
function Conn:need_reads()
  local state = self:state()
  if state.peer and state.peer.ird == 0 then self.t:skip("the target takes no RDMA Reads (IRD 0)") end
end

-- Proves that the peer has processed everything sent so far without a reaction: it takes part in a good exchange, such as a
-- zero-length Read, and nothing comes before its answer (RFC 5040 §5.2.1). Without an instrument (instruments.lua) the case is blocked.
-- options: rule, within; unanswered, the rule that a target breaks which leaves a Read without an answer, where that is another one.
function Conn:fence(options)
  options = strict.check("conn:fence", options or {}, strict.set("rule within unanswered"))
  local rest = instruments.begin(self)
  if rest.answer then
    local silent = rest.answer.name == "read_response" and options.unanswered or nil
    return self:expect(rest.answer, { rule = options.rule, within = options.within, silent = silent })
  end
  local done, item = instruments.complete(self, rest, options.within)
  if done then return nil end
  self.t.asked = self
  self.t:fail(wrong_answer.reason({}, item), {
    rule = refusal.rule(self.t, item) or options.rule,
    how = item and instruments.ends(item) and "refused" or item and "another answer" or "unanswered",
    expected = rest.text, actual = item and item.text or nothing_text(self, options.within), item = item,
  })
end

Conn.expect_fence = Conn.fence

-- As conn:fence where the target may have ended the stream, with a Terminate or without one: returns true if it serves, false if
-- it has ended. Anything else is a failure.
function Conn:serves(options)
  options = strict.check("conn:serves", options or {}, strict.set("rule within"))
  local rest = instruments.begin(self)
  local done, item = instruments.complete(self, rest, options.within)
  if item then self.t:decided(item) end
  if done then return true end
  if item and instruments.ends(item) then return false end
  self.t.asked = self
  self.t:fail(wrong_answer.reason({}, item), {
    rule = options.rule, how = item and "another answer" or "unanswered", expected = "end or terminate or " .. rest.text,
    actual = item and item.text or nothing_text(self, options.within), item = item,
  })
end

-- A good exchange before the stimulus: the same, but without it the case is INCONCLUSIVE.
function Conn:sanity()
  local rest = instruments.begin(self)
  local done, item = instruments.complete(self, rest)
  if not done then
    self.t:inconclusive("the target did not complete a good exchange", {
      expected = rest.text, actual = item and item.text or nothing_text(self), item = item,
    })
  end
end

local UNASKED = {
  fin = "the target closed the connection where silence was expected",
  reset = "the target reset the connection where silence was expected",
}

-- Where no fence exists: checks that nothing comes for a time scaled by the connection's round trip.
function Conn:expect_silence(options)
  options = strict.check("conn:expect_silence", options or {}, strict.set("rule"))
  local rtt = self:state().rtt
  local window = math.min(math.max(0.05, 20 * rtt), 2)
  local item
  repeat item = self:next(window) until not (item and instruments.of_its_own(self, item))
  if item then
    local closes = instruments.ends(item) and item.op ~= "terminate" and refusal.closes(self, item, not self:state().peer)
    self.t:fail(UNASKED[item.kind] or "the target sent something where silence was expected", {
      rule = options.rule, how = closes and "refused" or "spoke", fault = closes or nil, expected = "nothing", actual = item.text, item = item,
    })
  end
  self.t:note(("watched silence for %.0f ms (round trip %.2f ms)"):format(window * 1e3, rtt * 1e3))
end

-- Reads everything up to the peer's end; true if it came.
function Conn:drain(seconds) return self.raw:drain(seconds) end

-- ---- conveniences ----

-- Reads memory of the target with an RDMA Read; the response may come in any number of segments.
function Conn:read(buffer, offset, size)
  local sent = self:send(message.read_request {
    source = buffer, offset = offset or 0, size = size or buffer.length,
    sink_stag = FENCE + 0x100, sink_to = 0x1000,
  })
  local item = self:expect(message.read_response { stag = FENCE + 0x100, to = 0x1000 })
  if #item.payload ~= (size or buffer.length) then
    self.t:fail("the target's RDMA Read Response has another length than the request asked for", {
      rule = "RDMAP-5.2.1-12", how = "another answer",
      expected = ("%d octets for %s"):format(size or buffer.length, sent.text), actual = item.text, item = item,
    })
  end
  self.t.asked = self
  return item.payload
end

-- Checks that an RDMA Read at `offset` (0) returns these octets, which the buffer should hold.
function Conn:expect_read(buffer, text, offset)
  local got = self:read(buffer, offset, #text)
  local at = octets.difference(text, got)
  if not at then return end
  local lies = self.t:holds(buffer, text, offset)
  self.t:fail(("octet %d of the RDMA Read is another one than the buffer should hold"):format(at), {
    rule = lies and "RDMAP-5.2.1-12" or nil, how = lies and "other payload" or "misplaced",
    expected = octets.show(text:sub(at + 1), 16), actual = octets.show(got:sub(at + 1), 16),
  })
end

-- Another connection to where this one leads; nil if there is none.
function Conn:once_more()
  local raw = self.port and iw.connect(self.t.peer.host, self.port)
  return raw and Conn.new(self.t, raw) or nil
end

function Conn:text() return ("connection %d"):format(self.number) end

Conn.show = octets.show
return Conn
