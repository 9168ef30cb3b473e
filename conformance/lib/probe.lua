-- SPDX-License-Identifier: BSD-3-Clause
-- `iwarp-conform probe`: finds out what a peer supports, by the same means as a case. It writes its findings into the
-- notes of its result, one line each: "file: " and a line of the target file, "can: " and "cannot: " and a capability;
-- "none: " and why there is no MPA. The runner combines them with what it knows about reaching the peer.

local message = iw.load("message")
local Conn = iw.load("conn")
local rping = iw.load("rping")
local base = iw.load("facts")
local instruments = iw.load("instruments")

local probe = {}

local FORMS = { { flag = "b", name = "send" }, { flag = "c", name = "write" }, { flag = "d", name = "read" } }
local ALL = { revision = 2, enhanced = true, crc = true, a = true, b = true, c = true, d = true, ird = 16, ord = 16 }
local PLAIN = { revision = 1, enhanced = false, crc = true }
-- What stands in the field for "not limited" is no number (RFC 6581 §9.1).
local MOST = 0x3ffe
local SOURCE, SINK = { stag = 0x52500100, to = 0x10000 }, { stag = 0x52500200, to = 0x20000 }

local function with(fields, more)
  local all = {}
  for name, value in pairs(fields) do all[name] = value end
  for name, value in pairs(more) do all[name] = value end
  return all
end

-- ---- output ----

local Facts = {}
Facts.__index = Facts

function Facts:line(text) self.t:note("file: " .. text) end
function Facts:remark(text, ...) self:line("-- " .. text:format(...):gsub("[%c]", "?")) end
function Facts:set(name, value) self:line(("%s = %s,"):format(name, math.type(value) and value or ("%q"):format(value))) end
function Facts:can(word, whether) self.t:note((whether and "can: " or "cannot: ") .. word) end

local function facts(t) return setmetatable({ t = t, slowest = 0 }, Facts) end

-- Ends the probe. The verdict means nothing: the observer may have found something worse.
local function nothing(t, why)
  t:note("none: " .. why)
  t:inconclusive(why)
end

-- ---- connections ----

local function finish(conn)
  if conn:state().ended then return end
  conn:shutdown()
  if not conn:drain(math.min(iw.patience(), 0.5)) then conn:reset() end
end

local function accepted(item) return item ~= nil and item.kind == "startup" and item.which == "reply" and not item.rejected end

-- Describes the answer that came instead of an accepting Reply.
local function instead(conn, item)
  if not item then return ("said nothing for %g s"):format(iw.patience()) end
  if item.kind == "fin" then return "closed the connection" end
  if item.kind == "reset" then return "reset the connection" end
  if item.kind == "startup" and item.rejected then return "refused it (R): " .. item.text end
  return ("answered with what is no MPA Reply (%d octets)"):format(conn:state().received)
end

-- Connects and sends a Request. Returns the connection and the answer, or nil and why there is none.
local function ask(f, fields)
  local raw, why = iw.connect(f.t.peer.host, f.t.peer.port)
  if not raw then return nil, nil, "gave no connection: " .. why end
  local conn = Conn.new(f.t, raw)
  conn:send(message.request(fields))
  local item = conn:next()
  if item then f.slowest = math.max(f.slowest, conn:state().rtt) end
  if accepted(item) then return conn, item end
  local text = instead(conn, item)
  finish(conn)
  return nil, item, text
end

-- The same for callers that need only the answer.
local function answer(f, fields)
  local conn, item, why = ask(f, fields)
  if conn then finish(conn) end
  return conn and item, why
end

-- Returns a connection in full operation, made in the way that works.
local function open(f) return ask(f, f.good) end

-- ---- questions to a peer that listens ----

-- Neither of the usual Requests was accepted: tries the others, with M and without C. Returns the Reply.
local function particular(f, why_two, why_one)
  local asked, good = base.ask(f.t, base.requests())
  base.finish(asked)
  local reply = good and answer(f, good.request.fields)
  if not reply then
    local all = asked[1].answer.kind ~= "none" and "; nor with M, or without C" or ""
    nothing(f.t, ("the peer at %s port %d accepts TCP connections, but no MPA: to a Request of revision 2 it %s, to one of revision 1 it %s%s")
      :format(f.t.peer.host, f.t.peer.port, why_two, why_one, all))
  end
  f.good = good.request.fields
  f.enhanced = f.good.enhanced and reply.enhanced
  f:remark("to an enhanced Request of revision 2 it %s", why_two)
  f:remark("to a Request of revision 1 it %s", why_one)
  f:remark("it takes %s, and so will a run ask: %s", good.request.name, reply.text)
  f:set("revision", f.good.revision == 2 and reply.revision == 2 and 2 or 1)
  return reply
end

local function revisions(f)
  local two, why_two = answer(f, ALL)
  local one, why_one = answer(f, PLAIN)
  if not (two or one) then return particular(f, why_two, why_one) end
  local highest = two and two.revision == 2 and 2 or 1
  if two then
    f:remark("a Request of revision 2 with RFC 6581's block: %s", two.text)
  else
    f:remark("to a Request of revision 2 with RFC 6581's block it %s", why_two)
  end
  if one then
    f:remark("a Request of revision 1: %s", one.text)
  else
    f:remark("to a Request of revision 1 it %s", why_one)
  end
  f:set("revision", highest)
  if not one then f:can("revision.1", false) end
  if (one or two).revision == 0 then f:remark("an end of the RDMA Consortium: the cases judge it by RFC 5044, which knows revision 1") end
  f.enhanced = highest == 2 and two.enhanced
  f.good = f.enhanced and with(ALL, { a = false, b = false, c = false, d = false })
    or one and PLAIN or { revision = 2, enhanced = false, crc = true }
  return two or one
end

local function crc(f)
  local without, why = answer(f, with(f.good, { crc = false }))
  if without then
    f:remark("a Request without C: %s", without.crc and "C in the Reply, it asks for CRCs" or "no C in the Reply, it can do without")
    f:set("crc", without.crc and "on" or "off")
  else
    f:remark("to a Request without C it %s", why)
    f:set("crc", "on")
  end
end

local function markers(f, reply)
  f:remark(reply.markers and "M in its Reply: it asks for Markers" or "no M in its Reply")
  f:set("markers", reply.markers and "on" or "off")
  local asked, why = answer(f, with(f.good, { markers = true }))
  if not asked then f:remark("it %s where it is asked for Markers, which every end must send", why) end
end

local function peer_to_peer(f)
  if not f.enhanced then return f:can("enhanced", false) end
  local words = {}
  for _, form in ipairs(FORMS) do
    local reply = answer(f, with(f.good, { a = true, [form.flag] = true }))
    if reply and reply.a and reply[form.flag] then words[#words + 1] = form.name end
  end
  f:remark("peer-to-peer (RFC 6581): %s", #words > 0 and "takes the RTR forms " .. table.concat(words, ", ") or "no RTR form is taken")
  if #words == 0 then
    f:can("peer_to_peer", false)
    f:can("rtr", false)
  end
  for _, form in ipairs(FORMS) do
    local taken = false
    for _, word in ipairs(words) do taken = taken or word == form.name end
    if #words > 0 and not taken then f:can("rtr." .. form.name, false) end
  end
end

local function depths(f)
  if not f.enhanced then return end
  local reply, why = answer(f, with(f.good, { ird = MOST, ord = MOST }))
  if not reply then return f:remark("to IRD and ORD of %d it %s", MOST, why) end
  f:remark("asked for all, it offers IRD %d and ORD %d", reply.ird, reply.ord)
  f.ird = reply.ird
  if reply.ird > 0 and reply.ird <= MOST then f:can(("ird.%d"):format(reply.ird), true) end
  if reply.ird == 0 then f:can("ird", false) end
end

local function private(f)
  for _, size in ipairs { f.enhanced and 508 or 512, 256, 128, 64, 32, 16, 1 } do
    if answer(f, with(f.good, { private = ("\0"):rep(size) })) then
      f:remark("takes %d octets of private data", size)
      if size < 508 then
        f:can(("private.%d"):format(size), true)
        f:can("private", false)
      end
      return
    end
  end
  f:remark("takes no private data")
  f:can("private", false)
end

local function several(f)
  if not iw.can("reconnect") then return f:remark("serves one connection") end
  local one = open(f)
  local two, _, why = open(f)
  f:remark("%s", two and "serves two connections at once" or one and "serves one connection at a time: to a second it " .. tostring(why)
    or "did not serve another connection: it " .. tostring(why))
  if one then finish(one) end
  if two then finish(two) end
end

-- A peer with an IRD must answer a zero-length RDMA Read.
local function reads(conn)
  conn:send(message.read_request { size = 0, sink_stag = 7, sink_to = 7 })
  local item = conn:next()
  while item and item.op == "send" do item = conn:next() end
  return item and message.read_response { stag = 7, to = 7, payload = "" }:matches(item), item
end

local function read(f)
  local conn = f.ird ~= 0 and open(f)
  if not conn then return f:can("read", false) end
  local served, item = reads(conn)
  f.reads = served
  f:remark("a zero-length RDMA Read: %s", served and "is answered" or item and item.text or "nothing comes")
  f:can("read", served)
  finish(conn)
end

local function info(buffer, size) return string.pack(">I8I4I4", buffer.to, buffer.stag, size) end

local GO_AHEAD = message.send { payload = function(payload) return #payload == 16 end }

-- Makes one exchange of rping with the peer as server. Returns whether it was complete, and the first item.
local function exchange(f, size)
  local conn = open(f)
  if not conn then return false end
  local data = rping.pattern(size, 0)
  conn:send(message.send { payload = info(SOURCE, size) })
  local first = conn:next()
  local whole = first and message.read_request { size = size, source_stag = SOURCE.stag, source_to = SOURCE.to }:matches(first)
  local function comes(pattern)
    local item = conn:next()
    whole = item and pattern:matches(item)
    return whole
  end
  if whole then
    conn:send(message.read_response { stag = first.sink_stag, to = first.sink_to, payload = data })
    if comes(GO_AHEAD) then
      conn:send(message.send { payload = info(SINK, size) })
      local _ = comes(message.write { stag = SINK.stag, to = SINK.to, payload = data }) and comes(GO_AHEAD)
    end
  end
  if not whole and not first and f.reads then whole, first = false, reads(conn) and "taken" or nil end
  finish(conn)
  return whole, first
end

-- Shows how STags follow each other.
local function entropy(f, stags)
  if #stags < 2 then return end
  local texts, index, all = {}, true, true
  for i, stag in ipairs(stags) do
    texts[i] = ("0x%08x"):format(stag)
    if i > 1 then
      all = all and stag == stags[1]
      index = index and (stag >> 8) - (stags[i - 1] >> 8) == 1
    end
  end
  f:remark("STags of three connections: %s (%s)", table.concat(texts, " "),
    all and "always the same" or index and "one after the other: easily guessed" or "not one after the other")
end

local function class(f)
  local whole, first = exchange(f, 64)
  if whole then
    f:remark("serves the exchange of rping: it Reads the advertised buffer and Writes it back")
    f:set("class", "rping")
    local stags, most = { first.sink_stag }, 64
    for _, size in ipairs { 64, 16384, 65536, 1048576 } do
      local done, asked = exchange(f, size)
      if not done then break end
      most = size
      if #stags < 3 then stags[#stags + 1] = asked.sink_stag end
    end
    f:remark("exchanges rping's buffers of up to %d octets (tried: 64, 16384, 65536, 1048576)", most)
    if most > 64 then f:can(("rping.%d"):format(most), true) end
    return entropy(f, stags)
  end
  f:remark("a Send of 16 octets: %s", first == "taken" and "is taken, and nothing comes" or first and first.text or "nothing comes")
  f:set("class", "bare")
  local sent = first and first ~= "taken" and first.op == "send"
  if first == "taken" or sent then f:can("send", true) end
  if sent and first.payload == info(SOURCE, 64) then f:can("echo", true) end
end

-- An error that every end answers with a Terminate.
local function terminates(f)
  local conn = open(f)
  if not conn then return end
  local one = instruments.all.terminate
  local reported, item = instruments.complete(conn, one.begin(conn))
  while item and item.op == "send" do item = conn:next() end
  reported = reported or item and item.op == "terminate" or false
  f:remark("a Write to an unknown STag: %s", item and item.text or "nothing comes")
  if not reported then f:can("terminate", false) end
  finish(conn)
end

-- An atomic on an invalid STag: a peer that knows RFC 7306 refuses the STag, another one the opcode.
local function extensions(f, conn)
  if not conn then return end
  conn:send(message.atomic_request { remote_stag = 0x5bad57a6, remote_to = 0x1000, atomic = 0, add_swap = 1 })
  local item = conn:next()
  while item and item.op ~= "terminate" and item.kind == "message" do item = conn:next() end
  local opcode = item and item.op == "terminate" and item.layer == 0 and item.etype == 2
  f:remark("RFC 7306: an atomic on an unknown STag: %s", item and item.text or "nothing comes")
  f:can("extensions", item and item.op == "terminate" and item.layer == 0 and item.etype == 1 or false)
  if not (item and item.op == "terminate") then f:remark("(expected a Terminate; 0/2/06 without RFC 7306)") end
  finish(conn)
  return opcode
end

local function times(f)
  local scale = math.max(1, math.ceil(f.slowest * 10 / iw.patience()))
  f:remark("the slowest answer took %.1f ms: --time-scale %d %s", f.slowest * 1e3, scale, scale == 1 and "will do" or "is advised")
end

function probe.listens(t)
  local f = facts(t)
  local reply = revisions(f)
  crc(f)
  markers(f, reply)
  peer_to_peer(f)
  depths(f)
  private(f)
  several(f)
  read(f)
  class(f)
  terminates(f)
  extensions(f, (open(f)))
  times(f)
end

-- ---- a peer that connects ----

-- True if its ULP's first message advertises rping's source buffer; the proof is a Read of it.
local function tells_of_source(conn, first)
  if not (first and first.op == "send" and #first.payload == 16) then return nil end
  local to, stag, size = string.unpack(">I8I4I4", first.payload)
  if size == 0 or size > 1 << 20 then return nil end
  conn:send(message.read_request { source_stag = stag, source_to = to, size = size, sink_stag = 8, sink_to = 8 })
  local item = conn:next()
  return item and item.op == "read-response" and #item.payload == size and size or nil
end

function probe.connects(t)
  local f = facts(t)
  local conn = t:target_connects { raw = true }
  local asked = conn:next()
  if not (asked and asked.kind == "startup" and asked.which == "request") then
    nothing(t, "the peer connects, but sends no MPA Request: it " .. instead(conn, asked))
  end
  f:remark("its Request: %s", asked.text)
  f:set("revision", asked.revision == 2 and 2 or 1)
  f:set("crc", asked.crc and "on" or "off")
  f:set("markers", asked.markers and "on" or "off")
  if not asked.enhanced then f:can("enhanced", false) end
  for _, form in ipairs(FORMS) do
    if asked.a and not asked[form.flag] then f:can("rtr." .. form.name, false) end
  end
  if not asked.a then
    f:can("peer_to_peer", false)
    f:can("rtr", false)
  end
  if asked.ird and asked.ird > 0 and asked.ird <= MOST then f:can(("ird.%d"):format(asked.ird), true) end
  conn:send(t:answer(asked))
  local first = conn:next()
  if asked.a and first and first.kind == "message" and first.payload == "" or first and first.op == "read-request" and first.size == 0 then
    f:remark("its RTR indication: %s", first.text)
    if first.op == "read-request" then conn:send(message.read_response { stag = first.sink_stag, to = first.sink_to }) end
    first = conn:next()
  end
  f:remark("its ULP's first message: %s", first and first.text or "nothing")
  local size = tells_of_source(conn, first)
  f:set("class", size and "rping" or "bare")
  if size then
    f:remark("rping's client, with buffers of %d octets", size)
    if size > 64 then f:can(("rping.%d"):format(size), true) end
  end
  f:can("read", (reads(conn)) or false)
  extensions(f, conn)
end

return probe
