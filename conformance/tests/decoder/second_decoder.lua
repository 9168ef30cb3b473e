-- SPDX-License-Identifier: BSD-3-Clause
-- A second iWARP decoder, written from RFC 5040, 5041, 5044, 6581 and 7306 alone. It shares nothing
-- with libiwarp, so that a fault of that library cannot hide itself.
--   lua5.4 second_decoder.lua [--summary-json] [--expect-problems] CAPTURE...
-- prints a line per start-up frame and FPDU, and a SUMMARY line per file. Exit 0: all followed to
-- the end; 1: framing lost, a Marker wrong or a CRC in force bad (0 with --expect-problems); 2: a
-- file is unreadable; 64: usage. As a module: M.decode(i2r, r2i) takes octets or streams,
-- M.decode_file(name) a capture.
local here = debug.getinfo(1, "S").source:match("^@(.*/)") or "./"
package.path = here .. "?.lua;" .. package.path
local tcp = require "tcp_streams"

local M = {}
local unpack = string.unpack

-- Problems of these kinds mean that a stream could not be followed. The others: "cut" (ends inside
-- an FPDU, without FIN), "header" (DDP, RDMAP, pad, reserved bits), "order" (RFC 5044 7.1.2).
M.fatal = { framing = true, marker = true, crc = true }

local crc_table = {}
for i = 0, 255 do
  local c = i
  for _ = 1, 8 do c = c & 1 == 1 and (c >> 1) ~ 0x82F63B78 or c >> 1 end
  crc_table[i] = c
end

function M.crc32c(s)
  local c = 0xFFFFFFFF
  for i = 1, #s do c = crc_table[(c ~ s:byte(i)) & 0xFF] ~ (c >> 8) end
  return c ~ 0xFFFFFFFF
end

local function hex(s)
  return (s:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

local function bit(v, mask) return v & mask ~= 0 and 1 or 0 end

-- What happened at octet `pos` of a stream: a line of the listing, or a problem.
local function event(x, dir, pos, text, ...)
  local frame = tcp.locate(x.streams[dir], pos)
  table.insert(x.events, { frame = frame, n = #x.events,
    text = ("%d %s "):format(frame, dir) .. text:format(...) })
end

local function problem(x, kind, dir, pos, text, ...)
  event(x, dir, pos, "PROBLEM %s: " .. text, kind, ...)
  table.insert(x.problems, { kind = kind, dir = dir, frame = x.events[#x.events].frame, pos = pos,
    text = text:format(...) })
end

---------------------------------------------------------------- MPA start-up (RFC 5044 7.1, 6581 9)
-- A direction's start-up frame, after any octets of streaming mode; nil if there is no good one.
local function startup(x, dir, kind)
  local s = x.streams[dir].data
  local at = s:find("MPA ID " .. kind .. " Frame", 1, true)
  if not at or #s < at + 19 then
    if s ~= "" then problem(x, "framing", dir, #s - 1, "no whole MPA %s Frame", kind) end
    return nil
  end
  local flags, rev, pd = unpack(">BBI2", s, at + 16)
  local f = { M = bit(flags, 0x80), C = bit(flags, 0x40), R = bit(flags, 0x20), rev = rev,
    S = bit(flags, 0x10), stop = at + 19 + pd, private = s:sub(at + 20, at + 19 + pd) }
  local text = ("%s rev=%d M=%d C=%d R=%d S=%d res=%x pd=%d"):format(
    kind == "Req" and "Request" or "Reply", rev, f.M, f.C, f.R, f.S, flags & 15, pd)
  local enhanced = f.S == 1 and rev >= 2
  if pd > 512 or #f.private < pd or enhanced and pd < 4 then
    problem(x, "framing", dir, #s - 1, "%s: private data malformed, %d octets", text, #f.private)
    return nil
  end
  if enhanced then
    local a, b = unpack(">I2I2", f.private)
    text = text .. (" A=%d B=%d IRD=%d C=%d D=%d ORD=%d"):format(bit(a, 0x8000), bit(a, 0x4000),
      a & 0x3FFF, bit(b, 0x8000), bit(b, 0x4000), b & 0x3FFF)
  end
  event(x, dir, f.stop - 1, "%s", text)
  return f
end

-------------------------------------------- DDP and RDMAP (RFC 5041 4, RFC 5040 4, RFC 7306 4 to 6)
-- name, queue (none: tagged), size of the RDMAP header where that is all the payload there is
local OPS = { [0] = { "Write" }, { "Read Request", 1, 28 }, { "Read Response" }, { "Send", 0 },
  { "Send with Invalidate", 0 }, { "Send with SE", 0 }, { "Send with SE and Invalidate", 0 },
  { "Terminate", 2 }, { "Immediate Data", 0, 8 }, { "Immediate Data with SE", 0, 8 },
  { "Atomic Request", 1, 52 }, { "Atomic Response", 3, 12 } }

local function immediate(p) return " data=" .. hex(p) end

local DETAIL = { [8] = immediate, [9] = immediate,
  [1] = function(p)
    return (" sink=%08x:%x size=%d source=%08x:%x"):format(unpack(">I4I8I4I4I8", p))
  end,
  [10] = function(p)
    return (" aop=%x id=%08x at=%08x:%x data=%x mask=%x compare=%x comparemask=%x"):format(
      p:byte(4) & 15, unpack(">I4I4I8I8I8I8I8", p, 5))
  end,
  [11] = function(p) return (" id=%08x value=%x"):format(unpack(">I4I8", p)) end }

-- The text of a Terminate header; nil if it is shorter than its HdrCt bits say.
local function terminate(p)
  if #p < 4 then return nil end
  local kind, code, hdrct = unpack("BBB", p)
  local text = (" layer=%x etype=%x code=%02x M=%d D=%d R=%d"):format(kind >> 4, kind & 15, code,
    bit(hdrct, 0x80), bit(hdrct, 0x40), bit(hdrct, 0x20))
  local at = 5
  if hdrct & 0x40 ~= 0 then
    if #p < 7 then return nil end
    local size = p:byte(7) & 0x80 ~= 0 and 14 or 18
    text = text .. (" length=%d ddp=%s"):format(unpack(">I2", p, 5), hex(p:sub(7, 6 + size)))
    at = 7 + size
  end
  if hdrct & 0x20 ~= 0 then
    text, at = text .. " rdmap=" .. hex(p:sub(at, at + 27)), at + 28
  end
  return #p >= at - 1 and text or nil
end

-- Puts a segment beside those of its direction: a new message, or more of the open one. A Terminate
-- may come after any segment of a message (RFC 5040 5.4).
local function follow(d, m, last, bad)
  local open = m.op ~= 7 and d.open or nil
  if open then
    if open.op ~= m.op or open.stag ~= m.stag or open.qn ~= m.qn or open.msn ~= m.msn
      or open.next ~= m.at then
      bad("segment does not continue the message before it")
    end
    m.size, m.first = open.size + m.size, open.first
  elseif m.qn then
    local expected = d.msn[m.qn] or 1
    if m.msn ~= expected then bad("MSN %d on queue %d, expected %d", m.msn, m.qn, expected) end
    if m.at ~= 0 then bad("first segment with MO %d", m.at) end
    d.msn[m.qn] = (m.msn + 1) & 0xFFFFFFFF
  end
  if m.op ~= 7 then d.open = not last and m or nil end
end

-- Decodes the DDP segment that ends at `pos`; returns its text for the listing.
local function segment(x, dir, pos, u)
  local d, version = x.dirs[dir], x.rev == 0 and 0 or 1
  local function bad(...) problem(x, "header", dir, pos, ...) end
  local ddp, rdmap = u:byte(1, 2)
  local tagged = ddp & 0x80 ~= 0
  local header = tagged and 14 or 18
  if #u < header then
    bad("ULPDU of %d octets, DDP header of %d", #u, header)
    return "ulpdu=" .. hex(u)
  end
  local op, last, payload = rdmap & 15, ddp & 0x40 ~= 0, u:sub(header + 1)
  local known = OPS[op] or { ("Opcode %x"):format(op), not tagged and -1 or nil }
  local name, queue, size = known[1], known[2], known[3]
  if ddp & 3 ~= version or rdmap >> 6 ~= version then bad("DV %d, RV %d", ddp & 3, rdmap >> 6) end
  if ddp & 0x3C ~= 0 or rdmap & 0x30 ~= 0 then bad("reserved bits %02x %02x", ddp, rdmap) end
  if not OPS[op] then bad("opcode %x is not assigned", op) end
  if tagged ~= (queue == nil) then bad("%s with T=%d", name, bit(ddp, 0x80)) end
  local m = { op = op, size = #payload }
  local text = ("%s L=%d"):format(name, bit(ddp, 0x40))
  if tagged then
    m.stag, m.at = unpack(">I4I8", u, 3)
    text = text .. (" stag=%08x to=%x"):format(m.stag, m.at)
  else
    m.stag, m.qn, m.msn, m.at = unpack(">I4I4I4I4", u, 3)
    text = text .. (" qn=%d msn=%d mo=%d"):format(m.qn, m.msn, m.at)
    if op == 4 or op == 6 then
      text = text .. (" invalidate=%08x"):format(m.stag)
    elseif m.stag ~= 0 then
      bad("reserved octets 2 to 5 of the header are %08x", m.stag)
    end
    if OPS[op] and queue and queue ~= m.qn then bad("%s on queue %d", name, m.qn) end
  end
  m.first, m.next = { m.stag, m.at }, m.at + #payload
  follow(d, m, last, bad)
  d.octets, d.segments[name] = d.octets + #payload, (d.segments[name] or 0) + 1
  text = text .. (" payload=%d"):format(#payload)
  if last then
    d.messages[name] = (d.messages[name] or 0) + 1
    text = text .. (" message=%d"):format(m.size)
    if op == 2 then
      table.insert(d.responses, { pos = pos, ("%x:%x:%x"):format(m.first[1], m.first[2], m.size) })
    end
  end
  if size and size ~= #payload then
    bad("%s with a header of %d octets, expected %d", name, #payload, size)
  elseif op == 7 then
    text = text .. (terminate(payload) or "")
    if not terminate(payload) then bad("Terminate header cut short") end
  elseif DETAIL[op] then
    text = text .. DETAIL[op](payload)
    if op == 1 then table.insert(d.requests, ("%x:%x:%x"):format(unpack(">I4I8I4", payload))) end
    local id = op > 9 and ("atomic %x"):format(unpack(">I4", payload, op == 10 and 5 or 1))
    if op == 10 then table.insert(d.requests, id) end
    if op == 11 then table.insert(d.responses, { pos = pos, id }) end
  end
  return text
end

--------------------------------------------------------------- MPA framing (RFC 5044 4.1 to 4.4, 6)
local function deframe(x, dir, start, markers, crc_on)
  local d, s = x.dirs[dir], x.streams[dir].data
  local p, last, fpdu = 0, #s - start, nil -- counted from the first octet of Full Operation
  local function take(n) -- the next n octets that are not Markers; nil if the stream ends before
    local out = {}
    while n > 0 do
      if markers and p % 512 == 0 and last - p >= 4 then
        local reserved, ptr = unpack(">I2I2", s, start + p + 1)
        local expected = fpdu and p - fpdu or 0
        d.markers = d.markers + 1
        if ptr & 0xFFFC ~= expected & 0xFFFF then
          problem(x, "marker", dir, start + p, "Marker at %d points back %d octets, expected %d", p,
            ptr, expected)
        end
        if reserved ~= 0 or ptr & 3 ~= 0 then
          problem(x, "header", dir, start + p, "reserved bits %04x%04x in a Marker", reserved, ptr)
        end
        p = p + 4
      end
      local k = math.min(n, last - p, markers and 512 - p % 512 or n)
      if k == 0 then return nil end
      out[#out + 1] = s:sub(start + p + 1, start + p + k)
      p, n = p + k, n - k
    end
    return table.concat(out)
  end
  while p < last do
    local begin = p
    fpdu = nil
    local field = take(2)
    if not field and markers and begin % 512 == 0 and p == last then break end -- a lone Marker
    fpdu = p - 2
    local length = field and unpack(">I2", field) or 0
    if field and (length == 0 or length > 64768) then
      return problem(x, "framing", dir, start + fpdu, "ULPDU_Length %d at %d", length, fpdu)
    end
    local ulpdu = field and take(length)
    local pad = ulpdu and take((2 - length) % 4)
    local crc = pad and take(4)
    if not crc then
      return problem(x, x.streams[dir].ended and "framing" or "cut", dir, #s - 1,
        "stream ends %d octets into the FPDU at %d", last - begin, begin)
    end
    local stop, state = start + p - 1, "unchecked"
    d.fpdus = d.fpdus + 1
    if crc_on then
      local good = unpack("<I4", crc) == M.crc32c(s:sub(start + begin + 1, start + p - 4))
      state = good and "good" or "bad"
      if not good then problem(x, "crc", dir, stop, "FPDU %d, field %s", d.fpdus, hex(crc)) end
    end
    d.crc[state] = d.crc[state] + 1
    if pad:find("[^\0]") then problem(x, "header", dir, stop, "pad is %s", hex(pad)) end
    local text = segment(x, dir, stop, ulpdu)
    event(x, dir, stop, "FPDU %d at=%d len=%d crc=%s %s", d.fpdus, fpdu, length, state, text)
    table.insert(d.list, { pos = start + fpdu, length = length, size = p - fpdu, text = text,
      frame = x.events[#x.events].frame })
  end
end

------------------------------------------------------------------------------------ the connection
-- A response answers the other direction's oldest Read or Atomic Request (RFC 5040 5.2, 7306 7).
local function match_reads(x, dir, from)
  for i, response in ipairs(x.dirs[dir].responses) do
    local is, asked = response[1], x.dirs[from].requests[i] or "nothing"
    if is ~= asked and not (is:match(":0$") and asked:match(":0$")) then
      problem(x, "header", dir, response.pos, "response %d is %s, asked %s", i, is, asked)
    end
  end
end

-- Decodes a connection from its two streams: octets, or streams of tcp_streams.
function M.decode(i2r, r2i)
  local x = { streams = {}, dirs = {}, events = {}, problems = {} }
  for dir, s in pairs { ["I>R"] = i2r, ["R>I"] = r2i } do
    x.streams[dir] = type(s) == "table" and s or { data = s, chunks = {}, ended = true }
    x.dirs[dir] = { fpdus = 0, markers = 0, octets = 0, crc = { good = 0, bad = 0, unchecked = 0 },
      messages = {}, segments = {}, msn = {}, requests = {}, responses = {}, list = {} }
  end
  local request, reply = startup(x, "I>R", "Req"), startup(x, "R>I", "Rep")
  x.request, x.reply = request, reply
  local I, R = x.dirs["I>R"], x.dirs["R>I"]
  if request and reply and reply.R == 0 then
    local both = reply.rev == 0 -- CRCs and Markers both ways, whatever the flags (RFC 5044 Appendix C)
    x.rev, x.crc = reply.rev, both or request.C == 1 or reply.C == 1
    deframe(x, "I>R", request.stop, both or reply.M == 1, x.crc)
    deframe(x, "R>I", reply.stop, both or request.M == 1, x.crc)
    match_reads(x, "I>R", "R>I")
    match_reads(x, "R>I", "I>R")
    if R.list[1] and (not I.list[1] or R.list[1].frame < I.list[1].frame) then
      problem(x, "order", "R>I", reply.stop, "Responder's first FPDU is ahead of the Initiator's")
    end
  elseif request and x.streams["R>I"].data == "" and #x.streams["I>R"].data > request.stop then
    problem(x, "framing", "I>R", request.stop, "octets after the Request, but there is no Reply")
  end
  for _, dir in ipairs { "I>R", "R>I" } do
    if x.streams[dir].hole then
      problem(x, "framing", dir, #x.streams[dir].data, "octets are missing in the capture")
    end
  end
  table.sort(x.events, function(a, b)
    if a.frame ~= b.frame then return a.frame < b.frame end
    return a.n < b.n
  end)
  return x
end

-- The connections in the octets of a capture; `name` is for messages only.
function M.decode_capture(octets, name)
  local all = {}
  for _, pair in ipairs(tcp.connections(tcp.read_capture(octets, name))) do
    local a, b = pair[1], pair[2]
    local function has(s, key) return s.data:find("MPA ID " .. key .. " Frame", 1, true) end
    if not has(a, "Req") and (has(a, "Rep") or has(b, "Req")) then a, b = b, a end
    all[#all + 1] = M.decode(a, b)
  end
  return all
end

function M.decode_file(name) return M.decode_capture(tcp.read_file(name), name) end

-- What is compared with other decoders, of one connection.
function M.summary(x)
  local dirs, problems = {}, { list = true }
  for dir, d in pairs(x.dirs) do
    dirs[dir] = { fpdus = d.fpdus, markers = d.markers, octets = d.octets, crc = d.crc,
      messages = d.messages, segments = d.segments }
  end
  for i, p in ipairs(x.problems) do
    problems[i] = { kind = p.kind, dir = p.dir, frame = p.frame, text = p.text }
  end
  return { initiator = x.streams["I>R"].addr, responder = x.streams["R>I"].addr, rev = x.rev,
    crc = x.crc or false, directions = dirs, problems = problems }
end

local function json(v)
  if type(v) == "string" then
    return '"' .. v:gsub('[%c"\\]', function(c) return ("\\u%04x"):format(c:byte()) end) .. '"'
  end
  if type(v) ~= "table" then return tostring(v) end
  local out, keys = {}, {}
  if v.list then
    for _, item in ipairs(v) do out[#out + 1] = json(item) end
    return "[" .. table.concat(out, ",") .. "]"
  end
  for key in pairs(v) do keys[#keys + 1] = key end
  table.sort(keys)
  for _, key in ipairs(keys) do out[#out + 1] = json(key) .. ":" .. json(v[key]) end
  return "{" .. table.concat(out, ",") .. "}"
end

local function counts(dir, all)
  local fpdus, markers, crc, messages, names = 0, 0, {}, {}, {}
  for _, x in ipairs(all) do
    local d = x.dirs[dir]
    fpdus, markers = fpdus + d.fpdus, markers + d.markers
    for state, n in pairs(d.crc) do crc[state] = (crc[state] or 0) + n end
    for name, n in pairs(d.messages) do
      if not messages[name] then names[#names + 1] = name end
      messages[name] = (messages[name] or 0) + n
    end
  end
  table.sort(names)
  for i, name in ipairs(names) do names[i] = (" %s: %d"):format(name, messages[name]) end
  return (" | %s fpdus=%d crc=%d/%d/%d markers=%d%s"):format(dir, fpdus, crc.good or 0,
    crc.bad or 0, crc.unchecked or 0, markers, table.concat(names, ","))
end

local function main(args)
  local files, opts, files_json, status = {}, {}, { list = true }, 0
  for _, word in ipairs(args) do
    if word == "--summary-json" or word == "--expect-problems" then opts[word] = true
    else files[#files + 1] = word end
  end
  if not files[1] or files[1]:sub(1, 1) == "-" then
    io.stderr:write("usage: second_decoder.lua [--summary-json] [--expect-problems] CAPTURE...\n")
    return 64
  end
  for _, name in ipairs(files) do
    local ok, all = pcall(M.decode_file, name)
    if not ok then
      io.stderr:write("second_decoder: ", all, "\n")
      return 2
    end
    local found, list = 0, { list = true }
    for i, x in ipairs(all) do
      list[i], found = M.summary(x), found + #x.problems
      if not opts["--summary-json"] then
        print(("CONNECTION %d I=%s R=%s"):format(i, x.streams["I>R"].addr, x.streams["R>I"].addr))
        for _, e in ipairs(x.events) do print(e.text) end
      end
      for _, p in ipairs(x.problems) do
        if M.fatal[p.kind] and not opts["--expect-problems"] then status = 1 end
      end
    end
    table.insert(files_json, { file = name, connections = list })
    if not opts["--summary-json"] then
      print(("SUMMARY %s connections=%d problems=%d%s%s"):format(name, #all, found,
        counts("I>R", all), counts("R>I", all)))
    end
  end
  if opts["--summary-json"] then print(json(files_json)) end
  return status
end

if arg and "@" .. arg[0] == debug.getinfo(1, "S").source then os.exit(main(arg)) end
return M
