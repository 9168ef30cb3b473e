-- SPDX-License-Identifier: BSD-3-Clause
-- The `t` of a case: connections with the target, verdicts, and (agent.lua) the target's own side.

local strict = iw.load("strict")
local message = iw.load("message")
local Conn = iw.load("conn")
local Agent = iw.load("agent")
local duty = iw.load("duty")
local instruments = iw.load("instruments")
local literal = iw.load("literal")
local refusal = iw.load("refusal")
local octets = iw.load("octets")
local field_rule = iw.load("field_rule")
local timers = iw.load("timers")

local Target = {}
local methods = { __index = strict.only("t:", Target, strict.set("native writes works last_item negative deciding asked odd readable writable")) }
for name, method in pairs(Agent) do Target[name] = method end
Target.rping = iw.load("rping").begin
Target.replay = iw.load("replay").play

function Target.new(case)
  local t = setmetatable({
    case = case, conns = {}, events = {}, observed = {}, notes = {}, allowed = {}, deviations = {}, doubt = false, atomics = {}, originals = {},
    listeners = {}, callers = {}, peer = iw.target(),
  }, methods)
  if t.peer.agent then
    t:agent("reset")
    while iw.event(0) do end
  end
  return t
end

-- ---- verdicts ----

local SEVERITY = { PASS = 0, SKIP = 1, INCONCLUSIVE = 2, NOTE = 3, FAIL = 4, ERROR = 5 }
local WHY = strict.set("rule instead expected actual item first how fault came conn octet within")

local function verdict_of(t, rule)
  if not rule then return t.case.worst, t.case.rules[1] end
  local verdict = iw.rule(rule)
  if not verdict then error(("unknown rule '%s'%s"):format(rule, strict.suggest(rule, "rule")), 0) end
  local wrong = duty.wrong(rule, t.case.role, verdict)
  if wrong then error(wrong, 0) end
  return verdict, rule
end

-- Holds that the case may accuse the target of this rule (the case's first one unless given), for an expectation that may
-- fail; `blind`: the target would have missed an error of the station's.
function Target:may_accuse(rule, blind)
  local verdict, id = verdict_of(self, rule)
  local wrong = blind and duty.blind(id, verdict)
  if wrong then error(wrong, 0) end
end

-- The code of an item that is a Terminate, "1/1/00".
local function code_of(item)
  return item and item.op == "terminate" and message.code_of(item) or nil
end

-- A deviation of the target, after all that the observer has found so far. why.how: a word for what the target did, the
-- same in all cases where it does that (the reason unless given). why.fault: the error that it should have reported, or with which it
-- "refused" what is right, as the code of a Terminate. why.came: what came in place of a Terminate.
-- why.octet: where in the target's stream the one field begins that is not as expected, if all others are: {from, to}, and its
-- `value` where that is known. why.within: where in the stream a message of the target's lies that is no `item`.
local function deviation(t, verdict, rule, reason, why)
  local conn = why.item and why.item.conn or t.asked or why.octet and t.conns[#t.conns]
  local latest = conn or t.conns[#t.conns]
  return {
    verdict = verdict, rule = verdict ~= "PASS" and rule or nil, reason = reason, how = tostring(why.how or reason),
    expected = why.expected, actual = why.actual, item = why.item, first = why.first,
    time = #iw.findings(), connection = conn and conn.number, fault = why.fault, came = code_of(why.item),
    received = latest and latest:state().received, ended = latest and latest:state().ended, octet = why.octet,
    within = why.within or why.item and { from = why.item.position, to = why.item.finish },
  }
end

-- Returns a Terminate that nobody waits for, which is why the target does not go on, and its code; of a connection in literal octets
-- the code alone.
local function terminate(t)
  for _, conn in ipairs(t.conns) do
    local code = conn.literal and literal.terminated(conn)
    if code then return nil, code end
    local item = not conn.literal and conn:next(0)
    while item do
      if item.op == "terminate" and item.layer then return item, code_of(item) end
      item = conn:next(0)
    end
  end
end

-- Ends the case: FAIL, or NOTE if the rule (the case's first one unless given) is no MUST; INCONCLUSIVE while self.doubt says
-- why the target may do so. why: rule,
-- expected, actual, item, how, fault, conn (what it has ended, it has refused), instead (a rule that stands for the case's, as grave as that).
function Target:fail(reason, why)
  why = strict.check("t:fail", why or {}, WHY)
  if self.doubt then self:inconclusive(self.doubt, why) end
  local conn = why.item and why.item.conn or self.asked or self.conns[#self.conns]
  instruments.check(conn, why.item, why)
  local verdict, rule = verdict_of(self, why.rule)
  if why.instead then verdict, rule = self.case.worst, why.instead end
  if verdict == "PASS" then self:observe("otherwise", why.actual or reason) end
  if (not why.how or why.how == "misplaced") and not why.item and self:delivers_twice() then
    why.how = "delivered twice"
    verdict, rule = verdict_of(self, "DDP-5.3-07")
  end
  local item, code
  if (not why.how or why.how == "misplaced") and not why.item then item, code = terminate(self) end
  if item and not self.negative then
    why.how, why.fault, why.item = "refused", code, item
    local broken = refusal.rule(self, item)
    if broken then verdict, rule = verdict_of(self, broken) end
  elseif not why.how and why.conn and why.conn:state().ended then
    why.how, why.fault = "refused", not why.conn.agreed and refusal.CLOSE or nil
  end
  local one = deviation(self, verdict, rule, reason, why)
  one.came = one.came or code or why.came
  iw.raise(one)
end

-- The target no longer serves its peers: a FAIL, whatever the case is about.
function Target:gone(reason, expected, item)
  local one = deviation(self, "FAIL", self.case.rules[1], reason,
    { how = "gone", expected = expected, actual = item and item.text or "nothing", item = item })
  if item and item.kind ~= "message" and item.kind ~= "startup" then one.came = refusal.CLOSE end
  iw.raise(one)
end

-- Ends the case if the target's process has died.
function Target:check_death()
  local how = iw.death()
  if how then self:gone("the target died: " .. how, "a target that lives on") end
end

-- As t:fail unless `condition` is true.
function Target:check(condition, reason, why)
  if not condition then self:fail(reason, why) end
  return condition
end

-- Holds a ULPDU of the target's against the one that is expected, octet for octet; why: as of t:fail. `item`: the message of
-- which it is the first segment; a connection in literal octets has just heard it.
function Target:same_octets(ulpdu, wanted, reason, why)
  if ulpdu == wanted then return end
  local item = why.item
  self.asked = item and item.conn or self.conns[#self.conns]
  local start = item and item.segments[1].position + 2 or literal.position(self.asked, ulpdu)
  why.octet = octets.field(wanted, ulpdu, start, item ~= nil)
  local rule, how = field_rule.of_octets(ulpdu, wanted)
  if rule then why.rule, why.how, reason = rule, how, field_rule.REASON[how] or reason end
  why.expected, why.actual = octets.show(wanted, 64), octets.show(ulpdu, 64)
  self:fail(reason, why)
end

-- As t:fail, but the case goes on; the gravest deviation decides. first = true: before others that are as grave.
function Target:deviates(reason, why)
  why = strict.check("t:deviates", why or {}, WHY)
  if self.doubt then self:inconclusive(self.doubt, why) end
  instruments.check(why.item and why.item.conn or self.asked or self.conns[#self.conns], why.item, why)
  local verdict, rule = verdict_of(self, why.rule)
  local one = deviation(self, verdict, rule, reason, why)
  one.where = iw.where()
  self.deviations[#self.deviations + 1] = one
end

-- Ends the case INCONCLUSIVE: it cannot get to its question.
function Target:inconclusive(reason, why)
  why = strict.check("t:inconclusive", why or {}, WHY)
  iw.raise { verdict = "INCONCLUSIVE", reason = reason, expected = why.expected, actual = why.actual, item = why.item }
end

-- Ends the case with SKIP: it does not apply to this target.
function Target:skip(reason) iw.raise { verdict = "SKIP", reason = reason } end

-- Records the target's choice where it is free; compared between runs.
function Target:observe(name, value)
  self.observed[#self.observed + 1] = ("%s=%s"):format(name, tostring(value):gsub("[;\n]", ","))
end

-- Returns all observations in one line; repeated ones once, with a count.
function Target:observations()
  local list, at = {}, 1
  while self.observed[at] do
    local after = at + 1
    while self.observed[after] == self.observed[at] do after = after + 1 end
    list[#list + 1] = self.observed[at] .. (after - at > 1 and (" (%dx)"):format(after - at) or "")
    at = after
  end
  return #list > 0 and table.concat(list, "; ") or nil
end

-- Adds a remark for the reader; not compared.
function Target:note(text) self.notes[#self.notes + 1] = text end

-- Findings of the observer about these checks do not count in this case.
function Target:allow(...)
  for _, name in ipairs { ... } do
    if not iw.check(name) then error(("unknown check '%s'%s"):format(name, strict.suggest(name, "check")), 0) end
    self.allowed[name] = true
  end
end

-- True if the observer found that this check fails; does not wait.
function Target:found(name)
  self:allow(name)
  for _, finding in ipairs(iw.findings()) do
    if finding.check == name then return finding end
  end
  return nil
end

function Target:can(capability)
  local wrong = iw.capability(capability)
  if wrong then error(("t:can: expected %s"):format(wrong), 0) end
  return iw.can(capability)
end

-- Whether a good exchange works with this target (instruments.lua); nil if nobody knows.
function Target:instrument(name) return (iw.instrument(name)) end

-- Sets the item that decides for now (a comment in the capture).
function Target:decided(item) self.deciding = item end

-- ---- connections ----

local START = "revision crc markers enhanced a b c d peer_to_peer rtr ird ord private key flags"
  .. " reserved pd_length"
local TCP = "isn mss window acknowledge"
local CONNECT = strict.set(START .. " target writes raw octets rtr_send " .. TCP)
local ACCEPT = strict.set(START .. " rejected target raw octets first " .. TCP)
local FORMS = { { flag = "c", name = "write" }, { flag = "b", name = "send" }, { flag = "d", name = "read" } }

local function startup_fields(options)
  local fields = {}
  for name in START:gmatch("%S+") do fields[name] = options[name] end
  return fields
end

-- The start values of the station's own TCP; nil: the defaults.
local function tcp_options(options)
  local list = { isn = options.isn, mss = options.mss, window = options.window, acknowledge = options.acknowledge }
  return next(list) and list
end

-- One listener of the agent for each configuration.
local function listener(t, config, accept, half_close, stream, private)
  local key = {}
  for name, value in pairs(config or {}) do
    key[#key + 1] = name .. "=" .. (type(value) == "table" and table.concat(value, ",") or tostring(value))
  end
  table.sort(key)
  key = table.concat(key, ";") .. (accept or "") .. tostring(half_close) .. tostring(stream) .. (private or "")
  if not t.listeners[key] then
    t.listeners[key] = t:agent("listen", {
      host = t.peer.host, port = 0, config = config, accept = accept, half_close = half_close, stream = stream,
      private = private and Conn.show(private),
    })
  end
  return t.listeners[key]
end

-- Hands the target's octets over undecoded: for good, or in streaming mode until MPA begins.
local function undecoded(conn, options)
  conn.literal = options.octets
  if options.octets or options.target and options.target.stream then conn.raw:streaming() end
end

-- A TCP connection to the target.
local function reach(t, options)
  local port, listen = t.peer.port, nil
  if t.peer.agent then
    local config, accept, half_close, stream, private = {}, nil, nil, nil, nil
    for name, value in pairs(options.target or {}) do
      if name == "accept" then
        accept = value
      elseif name == "half_close" then
        half_close = value
      elseif name == "stream" then
        stream = value
      elseif name == "private" then
        private = value
      else
        config[name] = value
      end
    end
    local reply = listener(t, next(config) and config or nil, accept, half_close, stream, private)
    port, listen = reply.port, reply.listen
  elseif port == 0 then
    t:inconclusive("the target has no listener")
  end
  local raw, why = iw.connect(t.peer.host, port, tcp_options(options))
  if not raw then
    t:check_death()
    -- It was there for a connection of this case: what the case did has ended it.
    if #t.conns > 0 then t:gone("the target no longer accepts connections: " .. why, "a connection") end
    t:inconclusive("the target was not reached: " .. why)
  end
  local conn = Conn.new(t, raw)
  conn.listen, conn.port = listen, port
  undecoded(conn, options)
  return conn
end

-- A target without an agent makes one connection each time that it is made to connect: of two, nobody knows which one to
-- judge. After an odd message it may have come back on purpose.
local function connected_again(t)
  for _, listener in ipairs(t.peer.agent and {} or t.callers) do
    local raw = listener:accept(0)
    if raw then
      Conn.new(t, raw):reset()
      if t.negative then
        t:note("the target connected again")
      else
        t:inconclusive("the target connected more than once, but was made to connect once")
      end
    end
  end
end

local function not_established(t, item, what)
  connected_again(t)
  t:inconclusive("the MPA start-up did not succeed", {
    expected = what, actual = item and item.text or ("nothing within %g s"):format(iw.patience()), item = item,
  })
end

-- Sends the RTR indication (RFC 6581 §9.2) if both ends agreed on one.
local function send_rtr(conn, form)
  local state = conn:state()
  if not (state.own.a and state.peer.a) or form == false then return end
  for _, one in ipairs(FORMS) do
    if not form and state.own[one.flag] and state.peer[one.flag] then form = one.name end
  end
  if form == "send" then
    conn:send(message.send {})
  elseif form == "write" then
    conn:send(message.write {})
  elseif form == "read" then
    conn:send(message.read_request { size = 0 })
    local item = conn:next()
    if not (item and message.read_response { payload = "" }:matches(item)) then
      not_established(conn.t, item, "read-response len 0")
    end
  end
end

-- Waits for what the agent reports of a connection first: that it is established, or has ended. nil: nothing.
local function first_report(t, conn)
  return t:wait_event(function(e)
    return (e.event == "established" or e.event == "closed" or e.event == "fault") and
      (conn.agent and e.conn == conn.agent or conn.listen and e.listen == conn.listen)
  end)
end

-- Waits until the agent knows the connection too.
local function agent_side(t, conn)
  if not t.peer.agent then return end
  local event = first_report(t, conn)
  if not event or event.event ~= "established" then
    t:inconclusive("the target's agent reports no established connection", {
      actual = event and event.event,
    })
  end
  conn.agent = event.conn
  conn.agreed = event.agreed or setmetatable({}, { __index = function()
    t:skip("the target's agent does not report the agreed settings")
  end })
end

-- Waits for the agent's report on a connection whose start-up was played by hand (raw = true). From then
-- on the agent can post work on it.
function Target:established(conn)
  if not conn.agreed then agent_side(self, conn) end
  return conn.agreed
end

-- Whether a target without an agent refuses a plain Request as well: then what is special in the one that it has refused says nothing.
local function refuses_any(conn)
  local other = iw.can("reconnect") and conn:once_more()
  if not other then return false end
  other:send(message.request {})
  local answer = other:next(timers.seconds())
  return answer ~= nil and message.reply { rejected = true }:matches(answer)
end

-- After a Reply with R=1: fails if the target's ULP has accepted. "this bit is the Rejected Connection bit, set by the Responders ULP
-- to indicate acceptance '0', or rejection '1'" (RFC 5044 §7.1.1). Without an agent nobody knows that; a target that refuses a
-- plain Request, too, is charged with that alone, as one that closes on any Request. shown: the Reply as text; item: the same, where it was decoded.
function Target:check_rejection(conn, shown, item)
  if not self.peer.agent and refuses_any(conn) then
    self:fail("the target refuses a Request that is in order", {
      instead = "MPA-7.1.2-08", how = "rejects", expected = "a Reply with R=0", actual = shown, item = item,
    })
  end
  local event = self.peer.agent and first_report(self, conn)
  if not event or event.event ~= "established" then return end
  self:fail("the target's Reply rejects a connection that its ULP has accepted", {
    instead = "MPA-7.1.1-13", how = "rejects", expected = "a Reply with R=0", actual = shown, item = item,
  })
end

-- Connects to a target that is the MPA responder and exchanges the start-up frames; the fields of
-- request{...} are those of the Request. target: configuration of the agent's listener; rtr_send:
-- the RTR form to send ("send", "write", "read", false for none); raw: TCP only; octets: TCP only, and
-- nothing is decoded (literal.lua). If this fails the case is INCONCLUSIVE: to judge the start-up, use
-- raw and conn:expect.
function Target:connect(options)
  options = strict.check("t:connect", options or {}, CONNECT)
  local conn = reach(self, options)
  if options.raw or options.octets then return conn end
  conn:send(message.request(startup_fields(options)), { writes = options.writes })
  local item = conn:next(timers.seconds())
  if not (item and message.reply { rejected = false }:matches(item)) then
    if item and message.reply { rejected = true }:matches(item) then self:check_rejection(conn, item.text, item) end
    not_established(self, item, "mpa reply rejected false")
  end
  send_rtr(conn, options.rtr_send)
  agent_side(self, conn)
  return conn
end

-- Has the target connect.
local function called(t, options)
  local raw_listener, port = iw.listen(t.peer.station_host, tcp_options(options))
  if not raw_listener then error(port, 0) end
  local agent
  if t.peer.agent then
    local config = options.target
    if not config and (not t.peer.startup or t.peer.startup.enhanced) and t:takes("enhanced") then
      config = { peer_to_peer = options.first == nil, enhanced = true, revision = 2 }
    end
    config = config or {}
    local private, half_close, stream = config.private, config.half_close, config.stream
    if private or half_close ~= nil or stream ~= nil then
      local rest = {}
      for name, value in pairs(config) do rest[name] = value end
      rest.private, rest.half_close, rest.stream = nil, nil, nil
      config = rest
    end
    agent = t:agent("connect", {
      host = t.peer.station_host, port = port, config = next(config) and config or nil,
      private = private and Conn.show(private), half_close = half_close, stream = stream,
    }).conn
  else
    local done, why = iw.initiate(t.peer.station_host, port)
    if not done then t:inconclusive("the target was not made to connect: " .. why) end
  end
  local raw, why
  if t.peer.agent then
    raw = raw_listener:accept()
  else
    raw, why = raw_listener:await()
  end
  if not raw then
    t:check_death()
    t:inconclusive("the target did not connect" .. (why and ": " .. why or ""))
  end
  t.callers[#t.callers + 1] = raw_listener
  local conn = Conn.new(t, raw)
  conn.agent = agent
  undecoded(conn, options)
  return conn
end

-- Returns a good responder's Reply to this Request.
local function answer(request, options)
  local fields = startup_fields(options)
  local say = iw.target().startup
  if fields.revision == nil then
    -- An end of the RDMA Consortium's answers with its own (RFC 5044 Appendix C.2.5).
    local consortium = say and say.revision == 0 and not (options.target and options.target.revision)
    fields.revision = consortium and request.revision <= 1 and 0
      or request.revision == 2 and 2 or 1
    if fields.revision == 0 and fields.flags == nil then fields.crc, fields.markers = true, true end
  end
  if fields.enhanced == nil then fields.enhanced = request.enhanced and request.revision == 2 end
  fields.rejected = options.rejected
  if not (fields.enhanced and request.enhanced) then return fields end
  if fields.a == nil and fields.peer_to_peer == nil then fields.a = request.a end
  if fields.a and not options.rtr then
    for _, flag in ipairs { "b", "c", "d" } do
      if fields[flag] == nil then fields[flag] = request[flag] end
    end
  end
  if fields.ord == nil and request.ird then fields.ord = math.min(16, request.ird) end
  if fields.ird == nil and request.ord then fields.ird = math.max(16, math.min(request.ord, 0x3ffe)) end
  return fields
end
Target.answer = function(_, request, options) return message.reply(answer(request, options or {})) end

-- Takes the message that lets a responder send: the RTR, or a first FPDU.
local function take_first(t, conn, options)
  local state, posted = conn:state(), nil
  if options.first == false then return end
  if not (state.own.a and state.peer.a) then
    if t.peer.agent then
      agent_side(t, conn)
      posted = t:post { conn = conn, op = "send" }
    end
  end
  local item = conn:next()
  if not item or item.kind ~= "message" then not_established(t, item, "a first FPDU") end
  if posted then t:completion(posted) end
  if item.op == "read-request" then
    conn:send(message.read_response { stag = item.sink_stag, to = item.sink_to })
  end
  conn.first = item
end

-- Has a target that is the MPA initiator connect, and answers its Request; the fields of reply{...}
-- are those of the Reply, by default what the Request asks for. target: the agent's configuration
-- (peer-to-peer unless given, so that the target opens the way with an RTR); first = false leaves
-- the first FPDU alone; raw: TCP only, the case expects the Request itself. The Request is in
-- conn.request, the first FPDU in conn.first.
function Target:target_connects(options)
  options = strict.check("t:target_connects", options or {}, ACCEPT)
  local conn = called(self, options)
  if options.raw or options.octets then return conn end
  local item = conn:next(timers.seconds())
  if not (item and item.kind == "startup" and item.which == "request") then
    not_established(self, item, "mpa request")
  end
  conn.request = item
  conn:send(message.reply(answer(item, options)))
  if options.rejected then return conn end
  take_first(self, conn, options)
  if not conn.agreed then agent_side(self, conn) end
  return conn
end

-- Returns a connection in full operation, in either role; options that both roles know.
function Target:session(options)
  if self.case.role == "initiator" then return self:target_connects(options) end
  return self:connect(options)
end

-- ---- the end of every case ----

local function end_connection(t, conn, patience)
  local state = conn:state()
  if state.ended then return end
  conn:shutdown()
  if conn.agent then t:agent("close", { conn = conn.agent, how = "graceful" }, true) end
  if not conn:drain(patience) then
    t:note(("connection %d was still open %g s after the station had closed its side"):format(conn.number, patience))
  end
end

local END = 0.5 -- seconds

-- After a negative case the target must still accept a connection.
local function alive(t)
  t:check_death()
  if t.case.role == "initiator" and not t.peer.agent then return end
  if not t.peer.agent and not iw.can("reconnect") then return end
  local conn
  if t.case.role == "initiator" then
    conn = called(t, {})
    local item = conn:next(timers.seconds())
    if item and item.kind == "startup" then
      conn:send(message.reply(answer(item, {})))
      return conn
    end
    t:gone("the target no longer connects", "mpa request", item)
  end
  conn = reach(t, {})
  conn:send(message.request {})
  local item = conn:next(timers.seconds())
  if not (item and item.kind == "startup") then
    local ended = item and (item.kind == "fin" or item.kind == "reset")
    if not item then -- the end of the stream shows whether a Reply lacks octets
      conn:shutdown()
      conn:drain(END)
    end
    t:gone(ended and "after the case the target closed a connection on a Request that is in order"
      or "after the case the target did not answer a Request that is in order with a Reply", "mpa reply", item)
  end
  return conn
end

-- Octets that the case left unread must not hold a Terminate, which would report an error.
local function left_over(t, conn)
  local octet = conn.literal and conn.raw:streamed(1, 0)
  if octet then
    t:fail("the target sent octets that the case did not cause", {
      expected = "no more octets", actual = ("%02x, perhaps more"):format(octet:byte()),
    })
  end
  local item = conn:next(0)
  while item do
    if item.op == "terminate" and not conn.terminated then
      t:fail("the target sent a Terminate that the case did not cause", {
        expected = "no Terminate", actual = item.text, item = item,
      })
    end
    item = conn:next(0)
  end
end

-- Ends every connection; `judge`: the case has no verdict yet.
function Target:close_all(judge)
  connected_again(self)
  for _, conn in ipairs(self.conns) do end_connection(self, conn, math.min(iw.patience(), 1)) end
  for _, conn in ipairs(judge and self.conns or {}) do left_over(self, conn) end
end

function Target:check_alive()
  local conn = alive(self)
  if conn then end_connection(self, conn, math.min(iw.patience(), 1)) end
end

-- After a case that went wrong for any reason: a dead target outweighs that. Only TCP decides, since a target that never
-- answered may well not answer now. The station still sends a Request: some targets cannot cope with a connection that
-- ends before the accept (siw loses its listener now and then).
function Target:check_listens()
  self:check_death()
  if self.peer.agent or self.case.role == "initiator" or #self.conns == 0 or not iw.can("reconnect") then return end
  local conn = reach(self, {})
  conn:send(message.request {})
  conn:next(math.min(iw.patience(), 1))
  end_connection(self, conn, math.min(iw.patience(), 1))
end

Target.severity = SEVERITY
return Target
