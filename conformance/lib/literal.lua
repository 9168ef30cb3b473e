-- SPDX-License-Identifier: BSD-3-Clause
-- Cases in literal octets: use "literal". Station, observer and reference stack share proto/wire, so a header that all of
-- them lay out in the same wrong way is right to each. These functions write and compare octets: the connection is made
-- with octets = true, so that nothing decodes it, and the CRC is computed here from its polynomial.

local octets = iw.load("octets")
local field_rule = iw.load("field_rule")
local strict = iw.load("strict")
local instruments = iw.load("instruments")
local refusal = iw.load("refusal")
local timers = iw.load("timers")

local literal = {}

-- "MPA ID Req Frame" and "MPA ID Rep Frame" (RFC 5044 §7.1.1).
literal.REQUEST = "4d5041204944205265712046 72616d65"
literal.REPLY = "4d5041204944205265702046 72616d65"

-- Describes a case in literal octets, with a responder as the target and level "must" unless `fields` has others.
function literal.case(fields)
  fields.role, fields.level = fields.role or "responder", fields.level or "must"
  return iw.load("init").env.case(fields) -- here, since the vocabulary loads this file
end

local R = 0x20 -- of their flags

-- ---- numbers as hexadecimal digits, the most significant octet first ----

function literal.x16(value) return ("%04x"):format(value & 0xffff) end
function literal.x32(value) return ("%08x"):format(value & 0xffffffff) end
function literal.x64(value) return ("%016x"):format(value) end

-- ---- CRC32c (RFC 5044 §4.4) ----

local CRC = {}
for i = 0, 255 do
  local value = i
  for _ = 1, 8 do value = value & 1 == 1 and value >> 1 ~ 0x82f63b78 or value >> 1 end
  CRC[i] = value
end

-- The CRC field of an FPDU whose octets before it are `text`.
function literal.crc(text)
  local value = 0xffffffff
  for i = 1, #text do value = CRC[(value ~ text:byte(i)) & 0xff] ~ value >> 8 end
  value = value ~ 0xffffffff
  return string.char(value & 0xff, value >> 8 & 0xff, value >> 16 & 0xff, value >> 24)
end

-- ---- patterns ----

-- Words of hexadecimal digits; {name:n} stands for n octets of any value.
local function parse(pattern)
  local parts, size = {}, 0
  for word in pattern:gsub("%b{}", " %0 "):gmatch("%S+") do
    local name, count = word:match("^{(%l[%w_]*):(%d+)}$")
    local part = name and { name = name, size = tonumber(count) } or { octets = octets.hex(word) }
    part.size = part.size or #part.octets
    parts[#parts + 1], size = part, size + part.size
  end
  return parts, size
end

-- Returns the octets for the names of the pattern, or nil if the text does not match.
local function match(pattern, text)
  local parts, size = parse(pattern)
  if size ~= #text then return nil end
  local found, at = {}, 1
  for _, part in ipairs(parts) do
    local piece = text:sub(at, at + part.size - 1)
    if part.name then found[part.name] = piece elseif piece ~= part.octets then return nil end
    at = at + part.size
  end
  return found
end

local function alternatives(what, list)
  local options = {}
  if type(list[#list]) == "table" then options = strict.check(what, table.remove(list), strict.set("rule reason premise whole")) end
  if #list == 0 then error(what .. " needs a pattern", 0) end
  return list, options
end

-- ---- sending ----

-- Sends octets as they are. A comment about octets that no correct stack sends begins with "stimulus: ".
function literal.send(conn, digits, comment)
  local text = octets.hex(digits)
  if text:sub(1, 7) ~= "MPA ID " then instruments.depend(conn, nil, text:sub(3)) end
  conn.raw:write(text)
  if comment then conn.raw:comment_sent(comment) end
end

-- Sends an FPDU: `digits` are ULPDU_Length, ULPDU and pad; this adds the CRC.
function literal.send_fpdu(conn, digits, comment)
  local text = octets.hex(digits)
  literal.send(conn, octets.show(text .. literal.crc(text)), comment)
end

-- ---- expecting ----

-- Takes octets of the target; nil if they do not come.
local function hear(conn, size, seconds)
  local text = conn.raw:streamed(size, seconds)
  conn.heard = (conn.heard or 0) + #(text or "")
  return text
end

-- Returns all octets that have come and that nobody took.
local function rest(conn)
  local parts = {}
  repeat
    local one = hear(conn, 1, 0)
    parts[#parts + 1] = one
  until not one
  return table.concat(parts)
end

-- The DDP header of a Terminate: a Terminate on queue 2, with MSN 1 and MO 0, all of it.
literal.TERMINATE = "4147 00000000 00000002 00000001 00000000"

-- The code of the Terminate among these octets, "1/1/00", and what follows it; nil if there is none.
local function code_in(text)
  local _, ends = text:find(octets.hex(literal.TERMINATE), 1, true)
  if not ends or #text < ends + 2 then return nil end
  return ("%x/%x/%02x"):format(text:byte(ends + 1) >> 4, text:byte(ends + 1) & 0xf, text:byte(ends + 2)), text:sub(ends + 3)
end

-- Returns the code of the Terminate that has come and that nobody took; nil if there is none.
function literal.terminated(conn) return (code_in(rest(conn))) end

-- An Atomic Response in one segment: ULPDU_Length, DDP's and RDMAP's control; its value ends it.
local ATOMIC_RESPONSE, VALUE = "^%s*001e%s*414b", 8

-- Whether octets are those of an Atomic Response as expected, but for the value that memory held.
local function other_value(pattern, text)
  local wanted = pattern:gsub("%s", "")
  local digits = octets.show(text)
  return not wanted:find("{", 1, true) and #digits == #wanted and digits:sub(1, -2 * VALUE - 1) == wanted:sub(1, -2 * VALUE - 1)
end

-- As in conn.lua: a word for what came, the code of the Terminate that was expected or came, and the rule if what came shows it.
local function compared(conn, pattern, text)
  local layer, code = pattern:match("^" .. literal.TERMINATE .. " (%x%x)(%x%x)$")
  local terminate = text:find(octets.hex(literal.TERMINATE):sub(1, 2), 1, true)
  if layer then
    return not terminate and (conn:state().ended and "closed" or "missed") or "another Terminate",
      ("%s/%s/%s"):format(layer:sub(1, 1), layer:sub(2), code)
  end
  local came, returned = code_in(text)
  if came then return "refused", came, refusal.rule_of_octets(conn.t, came, returned) end
  if terminate then return "refused" end
  local atomic = pattern:match(ATOMIC_RESPONSE)
  if text ~= "" then return atomic and other_value(pattern, text) and "another value" or "another answer" end
  if not conn:state().ended then return "unanswered", atomic and refusal.ATOMIC end
  local startup = pattern:sub(1, #literal.REPLY) == literal.REPLY or conn.heard and conn.heard == conn.heard_request
  return "refused", startup and refusal.CLOSE or nil
end

local CRC_FIELD = 4

-- The octets of a pattern, those of its names from the text; nil if that is of another size.
local function filled(pattern, text)
  local parts, size = parse(pattern)
  if size ~= #text then return nil end
  local wanted, from = {}, 1
  for _, part in ipairs(parts) do
    wanted[#wanted + 1] = part.octets or text:sub(from, from + part.size - 1)
    from = from + part.size
  end
  return table.concat(wanted)
end

-- Returns the one field in which octets are others than the pattern's, as t:fail takes it; `behind`: how many were heard since.
local function other_field(conn, pattern, text, behind)
  local wanted = filled(pattern, text)
  return wanted and octets.field(wanted, text, conn.heard - behind - #text)
end

-- The rule about the only field in which an FPDU is another one than the pattern, and a word for that.
local function rule_of_field(pattern, text, behind)
  local wanted = filled(pattern, text)
  if not wanted then return nil end
  local rule, how = field_rule.of_fpdu(text, wanted)
  if not rule and behind == 0 then rule, how = field_rule.of_stream(text, wanted) end
  if rule then return rule, how end
  return field_rule.of_octets(text:sub(3), wanted:sub(3))
end

-- Whether these are the octets of a Reply with R=1.
local function rejects(text)
  local key = octets.hex(literal.REPLY)
  return text:sub(1, #key) == key and (text:byte(#key + 1) or 0) & R ~= 0
end

-- `behind`: the text is all of an FPDU or frame, and so many octets were heard since.
local function unexpected(conn, patterns, options, text, behind)
  local reason = options.reason or "the target sent other octets than expected"
  local why = {
    rule = options.rule, expected = table.concat(patterns, " or "),
    actual = text == "" and (conn:state().ended and "the end of the stream" or "nothing") or octets.show(text, 160),
  }
  if options.premise then conn.t:inconclusive(reason, why) end
  conn.t.asked = conn
  if behind == 0 and rejects(text) then conn.t:check_rejection(conn, why.actual) end
  local shown, word
  why.how, why.fault, shown = compared(conn, patterns[1], text)
  if why.how == "another Terminate" then why.came = code_in(text) end
  if behind and not shown then shown, word = rule_of_field(patterns[1], text, behind) end
  why.how = word or why.how
  reason = field_rule.REASON[word] or reason
  if behind then why.within = { from = conn.heard - behind - #text, to = conn.heard } end
  why.rule = shown or why.rule
  for _, pattern in ipairs(behind and patterns or {}) do why.octet = why.octet or other_field(conn, pattern, text, behind) end
  conn.t:fail(reason, why)
end

local function take(conn, size, patterns, options, before)
  if size == 0 then return "" end
  local text = hear(conn, size, options.startup and timers.seconds() or nil)
  if not text then unexpected(conn, patterns, options, (before or "") .. rest(conn)) end
  return text
end

-- Expects these octets next. Options come last: rule, reason. Returns the octets for the names.
function literal.expect(conn, ...)
  local patterns, options = alternatives("literal.expect", { ... })
  local _, size = parse(patterns[1])
  options.startup = true
  local text = take(conn, size, patterns, options)
  if patterns[1]:sub(1, #literal.REQUEST) == literal.REQUEST then conn.heard_request = conn.heard end
  for _, pattern in ipairs(patterns) do
    local found = match(pattern, text)
    if found and found.flags and rejects(text) then conn.t:check_rejection(conn, "flags " .. octets.show(found.flags)) end
    if found then return found end
  end
  unexpected(conn, patterns, options, text, 0)
end

-- No MULPDU is below 128 (RFC 5044 §3). Above that a target may split a message smaller than its peers would: to fill its
-- MULPDU is a SHOULD (§4.5), and only the target knows its MULPDU. Ends the case INCONCLUSIVE if the target has split this
-- message, whose first FPDU has a ULPDU of `size` octets instead of `whole`.
function literal.not_split(conn, size, whole)
  if size < 128 or size >= whole then return end
  conn.t:inconclusive("the target split the message into several FPDUs", {
    expected = ("a ULPDU of %d octets"):format(whole), actual = ("%d octets"):format(size),
  })
end

-- Expects one of these FPDUs next, each ULPDU_Length, ULPDU and pad, and checks its CRC. Options come last: rule, reason,
-- premise (INCONCLUSIVE if it is another one), whole (INCONCLUSIVE if it is only the beginning of the first pattern's
-- message). Returns the octets for the names, and which of the patterns it was.
function literal.expect_fpdu(conn, ...)
  local patterns, options = alternatives("literal.expect_fpdu", { ... })
  local length = take(conn, 2, patterns, options)
  local size = length:byte(1) << 8 | length:byte(2)
  if options.whole then literal.not_split(conn, size, tonumber(patterns[1]:match("^%s*(%x%x%x%x)"), 16)) end
  local text = length .. take(conn, size + -(2 + size) % 4, patterns, options, length)
  local crc = take(conn, 4, patterns, options, text)
  if crc ~= literal.crc(text) then
    unexpected(conn, { patterns[1] .. " with the CRC " .. octets.show(literal.crc(text)) },
      { rule = options.rule or "MPA-4.4-11", reason = "the target sent a CRC field without the CRC32c of the FPDU" }, text .. crc)
  end
  for i, pattern in ipairs(patterns) do
    local found = match(pattern, text)
    if found then return found, i end
  end
  unexpected(conn, patterns, options, text, CRC_FIELD)
end

-- Returns the octets between ULPDU_Length, already taken, and pad.
local function ulpdu_of(conn, length, options)
  local what = { "an FPDU" }
  local size = length:byte(1) << 8 | length:byte(2)
  local text = take(conn, size + -(2 + size) % 4 + 4, what, options, length)
  if text:sub(-4) ~= literal.crc(length .. text:sub(1, -5)) then
    unexpected(conn, what,
      { rule = "MPA-4.4-11", reason = "the target sent a CRC field without the CRC32c of the FPDU" }, length .. text)
  end
  return text:sub(1, size)
end

-- Returns the octets between ULPDU_Length and pad of the next FPDU of any length. For messages that the target splits itself.
function literal.next_ulpdu(conn, options)
  options = strict.check("literal.next_ulpdu", options or {}, strict.set("rule reason"))
  return ulpdu_of(conn, take(conn, 2, { "an FPDU" }, options), options)
end

-- The position in the target's stream of such a ULPDU, the last one that was taken.
function literal.position(conn, ulpdu) return conn.heard - 4 - -(2 + #ulpdu) % 4 - #ulpdu end

-- ---- Terminates (RFC 5040 §4.8) ----

-- DDP Segment Length. "The length handed up by the DDP layer" can be read in several ways (OP-48), but not as more than the
-- FPDU has: 2 octets of ULPDU_Length, at most 3 of pad, 4 of CRC.
local function segment_length(t, got, ulpdu)
  if got == #ulpdu then return end
  local why = { rule = "RDMAP-4.8-09", expected = literal.x16(#ulpdu), actual = literal.x16(got) }
  t:check(got <= #ulpdu + 9, "the target's Terminate has a DDP Segment Length above the whole FPDU at fault", why)
  why.rule, why.how = "RDMAP-4.8-04", refusal.LENGTH
  t:deviates("the target's Terminate has a DDP Segment Length other than the ULPDU_Length of the segment at fault (OP-48)", why)
end

local function header_of(ulpdu) return ulpdu:sub(1, ulpdu:byte() & 0x80 ~= 0 and 14 or 18) end

local function same(t, got, wanted, rule, what)
  t:check(got == wanted, ("the target's Terminate holds another %s than that of the segment at fault"):format(what),
    { rule = rule, how = "another segment", expected = octets.show(wanted, 64), actual = octets.show(got, 64) })
end

-- Which of M, D and R should be set (figure 10) is a SHOULD; the fields that they announce must be there.
local function announced(t, m, d, r, options)
  local function should(is, wanted, name, rule)
    if is == wanted then return end
    t:deviates(("%s is %s"):format(name, is and "set for an error that calls for no such header" or "not set"),
      { rule = rule, how = refusal.HEADERS, expected = name .. (wanted and "=1" or "=0"), actual = name .. (is and "=1" or "=0") })
  end
  local of = options.of ~= nil
  should(m, of, "M", "RDMAP-4.8-04")
  should(d, of, "D", "RDMAP-4.8-05")
  should(r, options.request or false, "R", options.request and "RDMAP-4.8-06" or "RDMAP-4.8-14")
end

-- Checks the fields after the control word. OP-60: fields that are not valid are absent, or zeros.
local function fields(t, flags, text, options)
  local m, d, r = flags & 0x80 ~= 0, flags & 0x40 ~= 0, flags & 0x20 ~= 0
  announced(t, m, d, r, options)
  local ulpdu, at = options.of, 1
  if m or d then
    t:check(#text >= 2, "the target's Terminate lacks the DDP Segment Length", { rule = m and "RDMAP-4.8-09" or "RDMAP-4.8-10" })
    if m and ulpdu then segment_length(t, text:byte(1) << 8 | text:byte(2), ulpdu) end
    at = 3
  end
  if d and ulpdu then
    local header = header_of(ulpdu)
    same(t, text:sub(at, at + #header - 1), header, "RDMAP-4.8-11", "DDP header")
    at = at + #header
  end
  if r and options.request then
    same(t, text:sub(math.max(at, #text - 27)), ulpdu:sub(19, 46), "RDMAP-4.8-13", "Read Request")
    text = text:sub(1, -29)
  elseif d and not ulpdu or r then
    -- The segment is unknown; R must have its header all the same.
    t:check(not r or #text - at + 1 >= 28, "the target's Terminate has R set and no Read Request header", { rule = "RDMAP-4.8-13" })
    return
  end
  t:check(not text:sub(at):find("[^%z]"), "the target's Terminate is longer than its flags say",
    { rule = "RDMAP-4.8-01", how = refusal.LONGER, actual = octets.show(text:sub(at), 64) })
end

-- Fails if a ULPDU has the DDP header of a Terminate but for L.
local function unfinished(t, text)
  local rule, how = field_rule.of_octets(text:sub(1, 18), octets.hex(literal.TERMINATE))
  if how == field_rule.UNFINISHED then
    t:fail(field_rule.NO_END, { rule = rule, how = how, expected = "L=1", actual = octets.show(text, 160) })
  end
end

-- Expects a Terminate next, with layer, type and code out of `codes` ("1100": the preferred one first) and the fields that
-- its flags announce. options: of (digits of the FPDU at fault, from ULPDU_Length on; none: no segment is at fault), request
-- (that is a Read Request), dropped (the end of the stream passes, too, and so does silence if the target's TCP has not
-- acknowledged the octets sent: RFC 5044 §8). A control word in reversed bit order is looked through; the case says so at its
-- end. Returns "terminate", "closed" or "dropped".
function literal.expect_terminate(conn, codes, options)
  options = strict.check("literal.expect_terminate", options or {}, strict.set("of request dropped"))
  local t, patterns = conn.t, {}
  t:may_accuse(nil, options.of ~= nil)
  for i, code in ipairs(codes) do patterns[i] = literal.TERMINATE .. " " .. code end
  local length = hear(conn, 2)
  if not length then
    local text, state = rest(conn), conn:state()
    local how = text == "" and options.dropped and (state.ended and "closed" or state.unacked > 0 and "dropped")
    if not how then unexpected(conn, patterns, {}, text) end
    t:observe("answer", how)
    return how
  end
  local text = ulpdu_of(conn, length, {})
  unfinished(t, text)
  local turned = text:sub(1, 18) == octets.hex(literal.TERMINATE) and iw.turned(text:sub(19))
  if turned then
    conn.turned, text = true, text:sub(1, 18) .. turned
  end
  local code = octets.show(text:sub(19, 20))
  local known = false
  for _, one in ipairs(codes) do known = known or one == code end
  if text:sub(1, 18) ~= octets.hex(literal.TERMINATE) or #text < 22 or not known then unexpected(conn, patterns, {}, text) end
  t:check(text:byte(21) & 0x1f == 0 and text:byte(22) == 0, "the target set reserved bits in its Terminate",
    { rule = "RDMAP-4.8-07", actual = octets.show(text:sub(21, 22)) })
  local of = options.of and octets.hex(options.of)
  fields(t, text:byte(21), text:sub(23), {
    of = of and of:sub(3, 2 + (of:byte(1) << 8 | of:byte(2))), request = options.request,
  })
  t:observe("terminate", octets.show(text:sub(19, 21)))
  return "terminate"
end

-- After a Terminate of either end: ends the station's direction. The target ends its own, and sends nothing more. options: rule, open
-- (it need not end its own).
function literal.expect_end(conn, options)
  options = strict.check("literal.expect_end", options or {}, strict.set("rule open"))
  conn.t.negative = true
  conn:shutdown()
  conn:drain(timers.seconds())
  local text, ended = rest(conn), conn:state().ended
  if text == "" and (ended or options.open) then return end
  local why = { rule = options.rule, expected = "the end of the stream", actual = text == "" and "nothing" or octets.show(text, 160) }
  if text == "" then
    timers.check(conn.t, why)
    why.rule = options.rule or "RDMAP-7-03"
  end
  conn.t:fail("the target did not end the stream where it should", why)
end

-- ---- a connection in full operation ----

-- Exchanges start-up frames of revision 1, with CRCs and without Markers, and opens the way with a zero-length Write.
-- options: target (configuration of the agent), flags of the Request ("40"), first = false (no Write).
function literal.start(t, options)
  options = strict.check("literal.start", options or {}, strict.set("target flags first"))
  local say = not t.peer.agent and t.peer.startup
  if say and (say.markers or not say.crc) then t:skip("the target takes no Request without M and with C") end
  local conn = t:connect { octets = true, target = options.target }
  literal.send(conn, literal.REQUEST .. (options.flags or "40") .. " 01 0000", "Request")
  local reply = literal.expect(conn, literal.REPLY .. " {flags:1} 01 {length:2}",
    { rule = "MPA-7.1.1-03", reason = "the target did not answer with a Reply of revision 1" })
  local flags = reply.flags:byte()
  if flags & 0x80 ~= 0 and not (options.target and options.target.markers) then t:skip("the target asks for Markers") end
  if flags & R ~= 0 then t:inconclusive("the target refused the Request", { actual = "flags " .. octets.show(reply.flags) }) end
  t:check(flags & 0x1f == 0, "the target set reserved bits in its Reply",
    { rule = "MPA-7.1.1-14", actual = "flags " .. octets.show(reply.flags) })
  take(conn, reply.length:byte(1) << 8 | reply.length:byte(2), { "the Reply's private data" }, {})
  t:established(conn)
  if options.first ~= false then literal.send_fpdu(conn, "000e c140 00000000 0000000000000000", "a Write of no octets") end
  return conn
end

return literal
