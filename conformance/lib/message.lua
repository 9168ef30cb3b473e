-- SPDX-License-Identifier: BSD-3-Clause
-- Messages, to send and to expect: the same constructor makes both. In a message to send, fields left
-- out are computed; in an expected one they may be anything.

local strict = iw.load("strict")
local octets = iw.load("octets")

local message = {}
local Message = {}
Message.__index = Message

local REQUEST_KEY = "MPA ID Req Frame"
local REPLY_KEY = "MPA ID Rep Frame"

-- Fields that every RDMAP message has: those of the DDP header (RFC 5041 §4) and RDMAP's control
-- octet (RFC 5040 §4.1).
local HEADER = "t l rsvd dv rv rsv opcode payload broken comment"
local TAGGED = HEADER .. " to stag offset"
local UNTAGGED = HEADER .. " qn msn mo invalidate"
-- A header of the other kind, when t is overridden.
local BOTH = " qn msn mo invalidate to stag offset"

local READ = "source offset size sink_stag sink_to source_stag source_to"
local ATOMIC = "target offset atomic request_id remote_stag remote_to add_swap add_swap_mask"
  .. " compare compare_mask"
local TERMINATE = "rdmap ddp llp code layer etype m d r reserved of segment_length headers trailing"

-- `tell`: a field that an observed message has only if its header is whole.
local specs = {
  write = { opcode = 0x0, t = true, fields = TAGGED },
  read_request = { opcode = 0x1, qn = 1, fields = UNTAGGED .. " " .. READ, header = "read_request",
                   tell = "size" },
  read_response = { opcode = 0x2, t = true, fields = TAGGED },
  send = { opcode = 0x3, qn = 0, fields = UNTAGGED },
  send_invalidate = { opcode = 0x4, qn = 0, fields = UNTAGGED },
  send_se = { opcode = 0x5, qn = 0, fields = UNTAGGED },
  send_se_invalidate = { opcode = 0x6, qn = 0, fields = UNTAGGED },
  terminate = { opcode = 0x7, qn = 2, fields = UNTAGGED .. " " .. TERMINATE, header = "terminate",
                tell = "layer" },
  immediate = { opcode = 0x8, qn = 0, fields = UNTAGGED },
  immediate_se = { opcode = 0x9, qn = 0, fields = UNTAGGED },
  atomic_request = { opcode = 0xa, qn = 1, fields = UNTAGGED .. " " .. ATOMIC,
                     header = "atomic_request", tell = "request_id" },
  atomic_response = { opcode = 0xb, qn = 3, fields = UNTAGGED .. " request_id value",
                      header = "atomic_response", tell = "request_id" },
}
for name, spec in pairs(specs) do
  spec.known = strict.set(spec.fields .. BOTH)
  spec.name = name
end

local STARTUP = strict.set("revision crc markers rejected enhanced a b c d peer_to_peer rtr ird ord"
  .. " private key flags reserved pd_length comment")

-- ---- names of Terminates (RFC 5040 §4.8, RFC 5041 §7.2, RFC 5044 §8, RFC 6581 §8) ----

local layers = {
  rdmap = { number = 0, types = { catastrophic = 0, protection = 1, operation = 2 } },
  ddp = { number = 1, types = { catastrophic = 0, tagged = 1, untagged = 2 } },
  llp = { number = 2, types = { mpa = 0 } },
}
local codes = {
  ["0/1"] = { stag = 0, bounds = 1, access = 2, association = 3, wrap = 4, invalidate = 9,
              unspecified = 0xff },
  ["0/2"] = { version = 5, opcode = 6, stream = 7, global = 8, invalidate = 9, unspecified = 0xff },
  ["1/0"] = { catastrophic = 0 },
  ["1/1"] = { stag = 0, bounds = 1, association = 2, wrap = 3, version = 4 },
  ["1/2"] = { qn = 1, buffer = 2, msn = 3, mo = 4, length = 5, version = 6 },
  ["2/0"] = { closed = 1, crc = 2, marker = 3, startup = 4, catastrophic = 5, ird = 6, rtr = 7 },
}

local function named(what, value, names)
  if type(value) == "number" then return value end
  local number = names[value]
  if not number then
    error(("terminate: unknown %s '%s'%s"):format(what, tostring(value),
      strict.suggest(tostring(value), names)), 0)
  end
  return number
end

-- Fills layer, etype and code from names or from "1/1/01".
local function name_terminate(fields)
  for layer, entry in pairs(layers) do
    if fields[layer] then
      fields.layer = entry.number
      fields.etype = named("error type", fields[layer], entry.types)
      fields[layer] = nil
    end
  end
  if type(fields.code) == "string" then
    local key = ("%d/%d"):format(fields.layer or -1, fields.etype or -1)
    fields.code = named("code of " .. key, fields.code, codes[key] or {})
  end
end

local function parse_terminate(text)
  local layer, etype, code = text:match("^(%x)/(%x)/(%x%x)$")
  if not layer then
    error(("terminate: '%s' is not layer/type/code as in \"1/1/01\""):format(text), 0)
  end
  return { layer = tonumber(layer, 16), etype = tonumber(etype, 16), code = tonumber(code, 16) }
end

-- ---- constructors ----

local function new(kind, name, fields, spec)
  return setmetatable({ kind = kind, name = name, fields = fields, spec = spec }, Message)
end

local function copy(fields)
  local result = {}
  for name, value in pairs(fields) do result[name] = value end
  return result
end

-- Turns a place in a buffer (t:memory) into STag and TO.
local function place(fields, buffer, offset, stag, to)
  local value = fields[buffer]
  if type(value) == "table" and value.stag then
    if fields[stag] == nil then fields[stag] = value.stag end
    fields[buffer] = nil
    if fields[to] == nil then fields[to] = value.to + (fields[offset] or 0) end
  elseif fields[offset] then
    error(("'offset' goes with a buffer in '%s'"):format(buffer), 0)
  end
  fields[offset] = nil
end

local function construct(spec, fields)
  fields = copy(strict.check(spec.name, fields, spec.known))
  if type(fields.invalidate) == "table" then fields.invalidate = fields.invalidate.stag end
  local buffer
  if spec.name == "read_request" then
    buffer = type(fields.source) == "table"
    place(fields, "source", "offset", "source_stag", "source_to")
  elseif spec.name == "atomic_request" then
    place(fields, "target", "offset", "remote_stag", "remote_to")
  elseif spec.name == "terminate" then
    name_terminate(fields)
  else
    place(fields, "to", "offset", "stag", "to")
  end
  local m = new("message", spec.name, fields, spec)
  m.buffer = buffer -- whether a Read Request names a buffer that there is
  return m
end

for name, spec in pairs(specs) do
  message[name] = function(fields) return construct(spec, fields or {}) end
end

function message.terminate(fields)
  if type(fields) == "string" then fields = parse_terminate(fields) end
  return construct(specs.terminate, fields or {})
end

-- A Terminate, also one that cannot be decoded.
function message.any_terminate()
  local m = construct(specs.terminate, {})
  m.spec = setmetatable({ tell = false }, { __index = specs.terminate })
  return m
end

-- A ULPDU as it is.
function message.raw(fields)
  strict.check("raw", fields, strict.set("ulpdu broken comment"))
  return new("message", "raw", copy(fields))
end

local RTR = { send = "b", write = "c", read = "d" }

local function startup(name, fields)
  fields = copy(strict.check(name, fields or {}, STARTUP))
  if fields.peer_to_peer ~= nil then
    fields.a, fields.peer_to_peer = fields.peer_to_peer, nil
  end
  if fields.rtr then
    for _, flag in pairs(RTR) do
      if fields[flag] == nil then fields[flag] = false end
    end
    for _, form in ipairs(fields.rtr) do
      if not RTR[form] then error(("unknown RTR form '%s'%s"):format(form, strict.suggest(form, RTR)), 0) end
      fields[RTR[form]] = true
    end
    fields.rtr = nil
  end
  return new("startup", name, fields)
end

function message.request(fields) return startup("request", fields) end
function message.reply(fields) return startup("reply", fields) end

-- Ends of the peer's direction, to be expected only.
function message.fin() return new("end", "fin", {}) end
function message.reset() return new("end", "reset", {}) end
function message.closed() return new("end", "closed", {}) end

function message.is(value) return getmetatable(value) == Message end

-- A field that may have one of several values, in what is expected.
local OneOf = {}
function message.one_of(values) return setmetatable(values, OneOf) end

-- ---- octets ----

local function flags_octet(f)
  local flags = f.reserved or 0
  if f.markers then flags = flags | 0x80 end
  if f.crc ~= false then flags = flags | 0x40 end
  if f.rejected then flags = flags | 0x20 end
  if f.enhanced then flags = flags | 0x10 end
  return flags
end

-- The whole start-up frame.
function Message:frame()
  local f = copy(self.fields)
  if f.revision == nil then f.revision = f.enhanced == false and 1 or 2 end
  if f.enhanced == nil then f.enhanced = f.revision == 2 end
  local body = f.private or ""
  if f.enhanced then
    if f.ird == nil then f.ird = 16 end
    if f.ord == nil then f.ord = 16 end
    body = iw.enhanced(f) .. body
  end
  return iw.startup {
    key = f.key or (self.name == "request" and REQUEST_KEY or REPLY_KEY),
    flags = f.flags or flags_octet(f),
    revision = f.revision,
    pd_length = f.pd_length or #body,
  } .. body
end

-- Returns the Terminate's fields about the segment at fault; `of` was returned by conn:send.
local function terminate_body(f)
  local part = { layer = f.layer, etype = f.etype, code = f.code, reserved = f.reserved,
                 m = f.m, d = f.d, r = f.r, segment_length = f.segment_length }
  local headers = f.headers or ""
  if f.of and not f.headers then
    local header = f.of.t and 14 or 18
    if part.m == nil then part.m = true end
    if part.d == nil then part.d = true end
    headers = f.of.ulpdu:sub(1, header)
    if part.r then headers = headers .. f.of.ulpdu:sub(header + 1, header + 28) end
    part.segment_length = part.segment_length or #f.of.ulpdu
  end
  return iw.terminate(part) .. headers
end

-- Returns the octets after the DDP header.
function Message:body()
  local f, header = self.fields, self.spec.header
  if f.payload then return f.payload end
  if header == "terminate" then return terminate_body(f) end
  if header then return iw[header](f) end
  if self.spec.opcode == 0x8 or self.spec.opcode == 0x9 then return ("\0"):rep(8) end
  return ""
end

-- ---- comparing ----

local function fits(wanted, got)
  if getmetatable(wanted) == OneOf then
    for _, value in ipairs(wanted) do
      if value == got then return true end
    end
    return false
  end
  if type(wanted) == "function" then return got ~= nil and wanted(got) end
  if math.type(wanted) == "integer" and type(got) == "boolean" then return (wanted ~= 0) == got end
  return wanted == got
end

local NOT_COMPARED = strict.set("broken comment of")

-- Returns the names of the fields in which an item of the peer differs from this message, empty if it
-- matches; nil if it is another kind of message altogether.
function Message:differences(item)
  if self.kind == "end" then
    local closed = self.name == "closed" and (item.kind == "fin" or item.kind == "reset")
    return (closed or item.kind == self.name) and {} or nil
  end
  if item.kind ~= self.kind then return nil end
  if self.kind == "startup" and item.which ~= self.name then return nil end
  if self.name == "raw" then return item.ulpdu == self.fields.ulpdu and {} or nil end
  local list = {}
  if self.spec then
    local opcode, t = self.fields.opcode, self.fields.t
    if item.opcode ~= (opcode or self.spec.opcode) then return nil end
    if t == nil and item.t ~= (self.spec.t or false) then list[1] = "t" end
    -- An item too short for its own header is another kind: it lacks the fields that cases read.
    if t == nil and self.spec.tell and item[self.spec.tell] == nil then return nil end
  end
  for name, wanted in pairs(self.fields) do
    if not NOT_COMPARED[name] and not fits(wanted, item[name]) then list[#list + 1] = name end
  end
  table.sort(list)
  return list
end

-- True if an item of the peer matches this message.
function Message:matches(item)
  local list = self:differences(item)
  return list ~= nil and #list == 0
end

-- ---- text ----

-- In the order of the one-line syntax: a field, its word there and its format; a flag, its words if it is
-- set and if it is not; two fields that stand on either side of a stroke.
local SYNTAX = {
  { "revision", "rev", "%d" }, { "markers", flag = { "M", "no-M" } }, { "crc", flag = { "C", "no-C" } },
  { "rejected", flag = { "R", "no-R" } }, { "enhanced", flag = { "S", "no-S" } }, { "pd_length", "pd", "%d" },
  { "m", flag = { "M", "no-M" } }, { "a", flag = { "A", "no-A" } }, { "b", flag = { "B", "no-B" } }, { "c", flag = { "C", "no-C" } },
  { "d", flag = { "D", "no-D" } }, { "r", flag = { "R", "no-R" } }, { "ird", "ird", "%d" }, { "ord", "ord", "%d" }, { "private", "data" },
  { "l", flag = { "L", "not-last" } }, { "t", flag = { "tagged", "untagged" } }, { "stag", "stag", "%08x" },
  { "to", "to", "%x" }, { "qn", "qn", "%d" }, { "msn", "msn", "%d" }, { "mo", "mo", "%d" },
  { "invalidate", "invalidate", "%08x" }, { "dv", "dv", "%d" }, { "rv", "rv", "%d" }, { "rsvd", "rsvd", "%x" },
  { "rsv", "rsv", "%x" }, { "sink_stag", "sink", "%08x", with = { "sink_to", "%x" } }, { "size", "size", "%d" },
  { "source_stag", "source", "%08x", with = { "source_to", "%x" } }, { "request_id", "id", "%08x" },
  { "remote_stag", "at", "%08x", with = { "remote_to", "%x" } },
  { "add_swap", "add-swap", "%x", with = { "add_swap_mask", "%x" } },
  { "compare", "compare", "%x", with = { "compare_mask", "%x" } }, { "value", "value", "%x" },
}

local function value_text(value, format)
  if getmetatable(value) == OneOf then
    local parts = {}
    for i, one in ipairs(value) do parts[i] = value_text(one, format) end
    return table.concat(parts, "|")
  elseif value == nil then
    return "*"
  elseif type(value) == "function" then
    return "(some)"
  elseif type(value) == "string" then
    return octets.show(value, 32)
  elseif math.type(value) == "integer" and format then
    return format:format(value)
  end
  return tostring(value)
end

local function entry_text(entry, f)
  local value = f[entry[1]]
  if entry.flag and type(value) == "boolean" then return entry.flag[value and 1 or 2] end
  local text = (entry[2] or entry[1]) .. " " .. value_text(value, entry[3])
  if entry.with then text = text .. "/" .. value_text(f[entry.with[1]], entry.with[2]) end
  return text
end

local function payload_text(payload)
  if type(payload) ~= "string" then return "payload " .. value_text(payload) end
  return ("len %d"):format(#payload) .. (#payload > 0 and " payload " .. octets.show(payload, 32) or "")
end

local LAYERS = { [0] = "RDMAP", "DDP", "LLP" }

local function terminate_text(f)
  if not f.layer then return "terminate" end
  if not f.code then return ("terminate %x/%s/*"):format(f.layer, f.etype or "*") end
  return ("terminate %x/%x/%02x \"%s: %s\""):format(f.layer, f.etype, f.code,
    LAYERS[f.layer] or "unknown", iw.term_name(f.layer, f.etype, f.code))
end

-- One line, in the syntax of traces and reports.
function Message:text()
  if self.kind == "end" then return self.name == "closed" and "the end of the stream" or self.name end
  if self.name == "raw" then return "ulpdu " .. octets.show(self.fields.ulpdu, 32) end
  local f, done = self.fields, strict.set("payload broken comment of")
  local parts = { self.kind == "startup" and "mpa " .. self.name or self.name:gsub("_", "-") }
  if self.name == "terminate" then
    parts[1] = terminate_text(f)
    for _, name in ipairs { "layer", "etype", "code" } do done[name] = true end
  end
  for _, entry in ipairs(SYNTAX) do
    local second = entry.with and entry.with[1]
    if f[entry[1]] ~= nil or second and f[second] ~= nil then parts[#parts + 1] = entry_text(entry, f) end
    done[entry[1]] = true
    if second then done[second] = true end
  end
  local rest = {}
  for name in pairs(f) do
    if not done[name] then rest[#rest + 1] = name end
  end
  table.sort(rest)
  for _, name in ipairs(rest) do parts[#parts + 1] = name:gsub("_", "-") .. " " .. value_text(f[name], "%d") end
  if f.payload ~= nil then parts[#parts + 1] = payload_text(f.payload) end
  return table.concat(parts, " ")
end

-- The messages of a list, which may have lists of them in it; "1/1/01" is that Terminate.
function message.flat(list, messages)
  messages = messages or {}
  for _, one in ipairs(list) do
    if type(one) == "string" then one = message.terminate(one) end
    if type(one) == "table" and not message.is(one) then
      message.flat(one, messages)
    else
      messages[#messages + 1] = one
    end
  end
  return messages
end

-- Returns the octets of a message: a start-up frame, or the ULPDU of a raw one.
function message.octets(m)
  if not message.is(m) then error("octets() takes a message", 0) end
  if m.kind == "startup" then return m:frame() end
  if m.name == "raw" then return m.fields.ulpdu end
  error("octets() takes a start-up frame; conn:encode() makes the ULPDUs of other messages", 0)
end

-- Fields that an item, or a record of a sent message, may have; reading any other is an error.
local ITEM = {}
for name in pairs(STARTUP) do ITEM[name] = true end
for name in pairs(strict.set("kind which op text conn position finish ulpdu crc_good segments segment request dv rv"
  .. " check side frame")) do ITEM[name] = true end
for _, spec in pairs(specs) do
  for name in pairs(spec.known) do ITEM[name] = true end
end
local sealed = { __index = strict.only("a message", {}, ITEM) }
function message.seal(item) return setmetatable(item, sealed) end

-- The code of a Terminate, "1/1/00"; nil unless it has one.
function message.code_of(f) return f.layer and f.code and ("%x/%x/%02x"):format(f.layer, f.etype, f.code) or nil end

message.specs = specs
return message
