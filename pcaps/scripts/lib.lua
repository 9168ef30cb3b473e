-- SPDX-License-Identifier: BSD-3-Clause
-- The functions that the scripts of the golden captures share; see README.md. Messages are those of the cases
-- (conformance/lib): conn:send{...}, conn:split(...) and all constructors mean the same here.

local strict = iw.load("strict")
local Conn = iw.load("conn")
local message = iw.load("message")

local lib = {}
local entries = {} -- of the manifest
local taken = {} -- addresses

-- ---- one direction of a connection, with the interface of conn.lua's station ----

local Raw = {}
Raw.__index = Raw

-- Puts octets after those that have been sent, in `size` octets a segment.
local function emit(raw, text, size)
  if raw.corked then
    raw.corked = raw.corked .. text
    raw.sent = raw.sent + #text
    return
  end
  size = size or #text
  for at = 1, #text, math.max(size, 1) do raw.file:data(raw, text:sub(at, at + size - 1)) end
  raw.sent = raw.sent + #text
end

-- Returns the version of DDP and RDMAP, Markers and CRCs in force (RFC 5044 §7.1.1, Appendix C).
function Raw:state()
  local own, peer = self.own, self.peer.own
  local reply = self.initiator and peer or own
  local consortium = reply and reply.revision == 0
  return {
    number = self.connection.number, initiator = self.initiator, own = own, peer = peer, mss = self.mss, sent = self.sent,
    markers = consortium or peer and peer.flags & 0x80 ~= 0 or false,
    crc = consortium or (own and own.flags or 0) & 0x40 ~= 0 or (peer and peer.flags or 0) & 0x40 ~= 0,
    ended = false, reset = false, -- a written connection ends after all that is sent
  }
end

function Raw:startup(frame, writes)
  emit(self, frame, writes)
  if #frame >= 20 and not self.own then
    local flags, revision, pd_length = (">BBI2"):unpack(frame, 17)
    self.own = { flags = flags, revision = revision, pd_length = pd_length }
    self.start = self.sent
  end
end

-- Without CRCs in force the field is zero, as many stacks leave it.
function Raw:ulpdu(ulpdu, bend, writes)
  local state, how = self:state(), {}
  for name, value in pairs(bend) do how[name] = value end
  if how.crc == nil and not state.crc then how.crc = 0 end
  emit(self, iw.fpdu(self.sent - self.start, state.markers, ulpdu, how), writes)
end

function Raw:write(text, writes) emit(self, text, writes) end
function Raw:comment_sent() end
function Raw:cork() self.corked, self.from = self.corked or "", self.sent end

function Raw:uncork(writes)
  local text = self.corked
  self.corked, self.sent = nil, self.from
  emit(self, text, writes)
end

-- For conn:split: returns the octets that were held back, and where they begin.
function Raw:take()
  local text = self.corked
  self.corked = nil
  return self.from, text
end

function Raw:segment(position, text)
  self.file:note(self, self.file.synth:segment(self.connection.number, self.side, position, text))
end

-- The octets before `position` have been sent, and are acknowledged, though the capture may not have them.
function Raw:unseen(position) self.file.synth:unseen(self.connection.number, self.side, position) end

-- ---- a capture ----

local File = {}
File.__index = File

-- Notes the last frame that was written, and its sender, for finds().
function File:note(raw, first, last)
  self.raw, self.first, self.last = raw, first, last
end

function File:data(raw, text)
  self:note(raw, self.synth:data(raw.connection.number, raw.side, text))
end

local SIDES = { [0] = "initiator", "responder" }

-- Expects the check to fail in the frame that was written last (options.frame, options.side: elsewhere). In the clean
-- twin of a violation none does.
function File:finds(check, options)
  options = strict.check("finds", options or {}, strict.set("frame side"))
  if self.clean then return end
  check = check or self.check
  self.findings[#self.findings + 1] = {
    check = check, rule = iw.of_check(check), frame = options.frame or self.last,
    side = options.side or SIDES[self.raw.side],
  }
end

-- Expects that from here on the direction that was written last cannot be judged.
function File:loses(options)
  options = strict.check("loses", options or {}, strict.set("frame side"))
  if self.clean then return end
  self.lost[#self.lost + 1] = { side = options.side or SIDES[self.raw.side], frame = options.frame or self.last }
end

local function address(name, number)
  for salt = 0, 255 do
    local hash = iw.crc(("%s %d %d"):format(name, number, salt))
    local text = string.pack(">BBBB", 10, hash >> 16 & 0xff, hash >> 8 & 0xff, hash & 0xfe | 1)
    if not taken[text] then
      taken[text] = true
      return text, hash
    end
  end
end

local Connection = {}
Connection.__index = Connection

local OPEN = strict.set("mss told ipv6 isn reuse port")

-- Opens a TCP connection of this capture: SYN, SYN/ACK, ACK. options: mss (of the segments), told (MSS in the SYNs), ipv6,
-- isn = { initiator's, responder's }, reuse = a connection whose addresses and ports it takes over, port = the responder's.
function File:open(options)
  options = strict.check("open", options or {}, OPEN)
  self.opened = self.opened + 1
  local from, hash = address(self.name, self.opened)
  local to = "\10\255\255\1"
  if options.ipv6 then
    from, to = "\xfd\0\0\0\0\0\0\0\0\0\0\0" .. from, "\xfd\0\0\0\0\0\0\0\0\0\0\0" .. to
  end
  local isn = options.isn or { hash, hash * 69069 & 0xffffffff }
  local c = setmetatable({ file = self, key = { from = from, to = to, from_port = 40000, to_port = options.port or 4711 } }, Connection)
  if options.reuse then c.key = options.reuse.key end
  c.number = self.synth:connect {
    from = c.key.from, to = c.key.to, from_port = c.key.from_port, to_port = c.key.to_port, from_isn = isn[1], to_isn = isn[2],
    mss = options.mss, told = options.told,
  }
  local t = { conns = {}, peer = {} }
  local raws = {}
  for side = 0, 1 do
    raws[side] = setmetatable({
      file = self, connection = c, side = side, initiator = side == 0, sent = 0, start = 0,
      mss = options.told or options.mss or 1460,
    }, Raw)
  end
  raws[0].peer, raws[1].peer = raws[1], raws[0]
  c.raws = raws
  c.initiator, c.responder = Conn.new(t, raws[0]), Conn.new(t, raws[1])
  return c
end

local START = strict.set("revision crc markers enhanced a rtr ird ord private request reply")

-- Sends Request and Reply. options: fields that both frames have; request, reply: fields of one.
function Connection:start(options)
  options = strict.check("start", options or {}, START)
  for _, which in ipairs { "request", "reply" } do
    local fields = { revision = 2, crc = true }
    for name, value in pairs(options) do
      if name ~= "request" and name ~= "reply" then fields[name] = value end
    end
    for name, value in pairs(options[which] or {}) do fields[name] = value end
    if fields.enhanced == nil then fields.enhanced = fields.revision == 2 end
    local conn = which == "request" and self.initiator or self.responder
    conn:send(message[which](fields))
  end
  return self
end

function Connection:fin(conn)
  local raw = conn.raw
  self.file:note(raw, self.file.synth:fin(self.number, raw.side))
end

function Connection:reset(conn)
  local raw = conn.raw
  self.file:note(raw, self.file.synth:reset(self.number, raw.side))
end

function Connection:finds(...) return self.file:finds(...) end
function Connection:loses(...) return self.file:loses(...) end

-- Closes both sides, the initiator first.
function Connection:close()
  self:fin(self.initiator)
  self:fin(self.responder)
end

-- ---- two endpoints of libiwarp ----

-- Opens a connection between two endpoints (iw.pair); pair:carry() writes their output to the capture.
function File:pair(options)
  local c = self:open { mss = options.mss }
  options.mss = nil
  local pair = iw.pair(options)
  local function segment(side, kind, octets)
    if kind == "data" then
      self:note(c.raws[side], self.synth:data(c.number, side, octets))
    else
      self:note(c.raws[side], self.synth[kind](self.synth, c.number, side))
    end
  end
  return pair, function() pair:run(segment) end, c
end

-- ---- functions for scripts ----

local CAPTURE = strict.set("file what made run first snap gaps lint rules check twin clean")
local MADE = { station = "constructors of the station (conformance/lib, runner/station/frame.c)", pair = "two endpoints of libiwarp joined in-process" }

-- Builds one capture: file (below pcaps/golden, without its ending), what, made ("station" or "pair"), run(file);
-- first, snap: only from this frame on, only so many octets of each; gaps: octets are missing; lint: options of iwarp-lint; rules: the others that it shows.
function lib.capture(fields)
  strict.check("capture", fields, CAPTURE)
  local f = setmetatable({
    synth = iw.synth(), name = fields.file, opened = 0, findings = {}, lost = {}, check = fields.check, clean = fields.clean,
  }, File)
  fields.run(f)
  local name = fields.file .. ".pcapng"
  f.synth:write(name, fields.what, fields.first, fields.snap)
  for _, id in ipairs(fields.rules or {}) do
    if not iw.rule(id) then error(("%s: unknown rule '%s'"):format(name, id)) end
  end
  for _, list in ipairs { f.findings, f.lost } do
    for _, one in ipairs(list) do one.frame = one.frame - (fields.first or 1) + 1 end
  end
  entries[#entries + 1] = {
    file = name, what = fields.what, made = MADE[fields.made or "station"], findings = f.findings, lost = f.lost,
    lint = fields.lint or {}, check = fields.check, rules = fields.rules or {}, twin = fields.twin and fields.twin .. ".pcapng",
    gaps = fields.gaps or fields.first or fields.snap,
    frames = f.synth:frames() - (fields.first or 1) + 1,
  }
end

local VIOLATION = strict.set("name check what rules run lint made open")

-- Builds a capture in which one check fails, and its twin in which none does, by calling run(connection or file, bad) for
-- both. made = "pair": run gets the file. open: options for its connection.
function lib.violation(fields)
  strict.check("violation", fields, VIOLATION)
  local name = "violations/" .. (fields.name or fields.check)
  for _, bad in ipairs { true, false } do
    lib.capture {
      file = name .. (bad and "-broken" or "-clean"), twin = name .. (bad and "-clean" or "-broken"), what = (bad and "" or "clean twin: not ") .. fields.what, check = fields.check,
      clean = not bad, rules = fields.rules, lint = fields.lint, made = fields.made,
      run = function(f) fields.run(fields.made == "pair" and f or f:open(fields.open), bad) end,
    }
  end
end

-- ---- the manifest ----

local function quote(text)
  return '"' .. text:gsub('[%c"\\]', function(c) return ("\\u%04x"):format(c:byte()) end) .. '"'
end

local function list(values, format)
  local out = {}
  for i, value in ipairs(values) do out[i] = format(value) end
  return "[" .. table.concat(out, ", ") .. "]"
end

local function finding(f)
  return ('{"check": %s, "rule": %s, "side": %s, "frame": %d}'):format(quote(f.check), quote(f.rule), quote(f.side), f.frame)
end

local function lost(f) return ('{"side": %s, "frame": %d}'):format(quote(f.side), f.frame) end

local function entry(e)
  local parts = { '"file": ' .. quote(e.file), '"what": ' .. quote(e.what), '"made": ' .. quote(e.made), '"frames": ' .. e.frames }
  local function add(name, text) parts[#parts + 1] = ('"%s": %s'):format(name, text) end
  if e.check then add("check", quote(e.check)) end
  if e.twin then add("twin", quote(e.twin)) end
  if #e.rules > 0 then add("rules", list(e.rules, quote)) end
  if e.gaps then add("gaps", "true") end
  if #e.lint > 0 then add("lint", list(e.lint, quote)) end
  add("findings", list(e.findings, finding))
  if #e.lost > 0 then add("unknown", list(e.lost, lost)) end
  return "{" .. table.concat(parts, ", ") .. "}"
end

local HEAD = [[
{
"schema": 1,
"made_by": "iwarp-golden of libiwarp, from pcaps/scripts; every octet is the same at every run",
"licence": "BSD-3-Clause",
"captures": [
]]

function lib.manifest()
  table.sort(entries, function(a, b) return a.file < b.file end)
  local lines = {}
  for i, e in ipairs(entries) do lines[i] = entry(e) end
  return HEAD .. table.concat(lines, ",\n") .. "\n]\n}\n"
end

-- The environment of the scripts: that of the cases, and the functions above.
function lib.extend(env)
  rawset(env, "capture", lib.capture)
  rawset(env, "violation", lib.violation)
  return env
end

return lib
