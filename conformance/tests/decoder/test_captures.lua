-- SPDX-License-Identifier: BSD-3-Clause
-- Runs the second decoder over every capture of pcaps/manifest.json and compares what it finds
-- with what the manifest expects; compares tshark's counts as well, if tshark is there; flips an
-- octet in each of ten places of the captures with CRC and sees that each is found. Prints TAP.
--   lua5.4 test_captures.lua [PCAPS_DIR [TSHARK]]
local here = debug.getinfo(1, "S").source:match("^@(.*/)") or "./"
package.path = here .. "?.lua;" .. package.path
local decoder = require "second_decoder"
local json = require "cjson"
local streams = require "tcp_streams"
local tap = require "tap"
local ok, is = tap.ok, tap.is

local pcaps, tshark = arg[1] or here .. "../../../pcaps", arg[2] or "tshark"
local manifest = json.decode(streams.read_file(pcaps .. "/manifest.json"))
local DIRS = { "I>R", "R>I" }

local function counts(t)
  local out = {}
  for name, n in pairs(t) do out[#out + 1] = ("%s: %d"):format(name, n) end
  table.sort(out)
  return table.concat(out, ", ")
end

local function findings(list, out)
  for _, f in ipairs(list) do
    if f.kind then out[#out + 1] = ("%s %s in frame %d"):format(f.kind, f.dir, f.frame) end
  end
  return out
end

-- The decoder against the manifest.
local found = {} -- connections by file
for _, capture in ipairs(manifest.captures) do
  local file, all_problems = capture.file, {}
  local connections = decoder.decode_file(pcaps .. "/" .. file)
  found[file] = connections
  is(#connections, #capture.connections, file .. ": TCP connections")
  for i, expected in ipairs(capture.connections) do
    local x, name = connections[i], ("%s, connection %d"):format(file, i)
    is(x.streams["I>R"].addr, expected.initiator, name .. ": Initiator")
    is(x.streams["R>I"].addr, expected.responder, name .. ": Responder")
    is(("%d %d %s %s"):format(x.request.rev, x.reply.rev, x.crc, x.request.M + x.reply.M > 0),
      ("%d %d %s %s"):format(capture.mpa.rev, capture.mpa.rev, capture.mpa.crc,
        capture.mpa.markers), name .. ": revisions, CRC, Markers")
    for _, dir in ipairs(DIRS) do
      local d, e = x.dirs[dir], expected.directions[dir]
      is(d.fpdus, e.fpdus, ("%s %s: FPDUs"):format(name, dir))
      is(counts(d.messages), counts(e.messages), ("%s %s: messages"):format(name, dir))
      is(counts(d.segments), counts(e.segments), ("%s %s: segments"):format(name, dir))
      is(counts(d.crc), counts { good = capture.mpa.crc and e.fpdus or 0, bad = 0,
        unchecked = capture.mpa.crc and 0 or e.fpdus }, ("%s %s: CRCs"):format(name, dir))
    end
    findings(x.problems, all_problems)
  end
  is(table.concat(all_problems, "; "), table.concat(findings(capture.findings, {}), "; "),
    file .. ": findings")
end

-- No file lies about unmentioned.
do
  local listed, stray = {}, {}
  for _, capture in ipairs(manifest.captures) do listed[capture.file] = true end
  local pipe = assert(io.popen(("cd '%s' && ls */*.pcap*"):format(pcaps)))
  for name in pipe:lines() do
    if not listed[name] then stray[#stray + 1] = name end
  end
  pipe:close()
  is(table.concat(stray, " "), "", "every capture is in the manifest")
end

-- tshark's dissector, by TCP connection and sender: messages and segments by RDMAP opcode.
local NAMES = { [0] = "Write", "Read Request", "Read Response", "Send", "Send with Invalidate",
  "Send with SE", "Send with SE and Invalidate", "Terminate" }
local function tshark_counts(file)
  local pipe = assert(io.popen(("'%s' -n -r '%s/%s' -T fields -E occurrence=a -e tcp.stream "
    .. "-e ip.src -e tcp.srcport -e iwarp_rdma.opcode -e iwarp_ddp.last_flag 2>/dev/null"):format(
    tshark, pcaps, file)))
  local out = {}
  for line in pipe:lines() do
    local sender, opcodes, lasts = line:match("^([^\t]*\t[^\t]*\t[^\t]*)\t([^\t]*)\t(.*)$")
    local last = (lasts or ""):gmatch("%w+")
    for op in (opcodes or ""):gmatch("%w+") do
      local name, c = NAMES[tonumber(op)] or op, out[sender] or { messages = {}, segments = {} }
      out[sender] = c
      c.segments[name] = (c.segments[name] or 0) + 1
      local flag = last()
      if flag == "1" or flag == "True" then c.messages[name] = (c.messages[name] or 0) + 1 end
    end
  end
  pipe:close()
  return out
end

local present = os.execute(("'%s' --version >/dev/null 2>&1"):format(tshark))
for _, capture in ipairs(present and manifest.captures or {}) do
  local file, by_sender = capture.file, tshark_counts(capture.file)
  for i, expected in ipairs(capture.connections) do
    for _, dir in ipairs(DIRS) do
      local sender = dir == "I>R" and expected.initiator or expected.responder
      local key = ("%d\t%s"):format(i - 1, sender:gsub(":", "\t"))
      local c = by_sender[key] or { messages = {}, segments = {} }
      local e, name = expected.directions[dir], ("%s, connection %d %s"):format(file, i, dir)
      is(counts(c.messages), counts(e.messages), name .. ": tshark's messages")
      is(counts(c.segments), counts(e.segments), name .. ": tshark's segments")
    end
  end
end
if not present then ok(true, "tshark's counts # SKIP no " .. tshark) end

-- Ten flips: file, connection, direction, FPDU, offset from its ULPDU_Length, what lies there.
local FLIPS = {
  { "siw-rping-64B-crcon", 1, "I>R", 1, 0, "ULPDU_Length, high octet" },
  { "siw-rping-64B-crcon", 1, "I>R", 2, 1, "ULPDU_Length, low octet" },
  { "siw-rping-64B-crcon", 1, "R>I", 3, 2, "DDP control of a Write" },
  { "siw-rping-p2p-crcon", 1, "I>R", 1, 3, "RDMAP control of the RTR" },
  { "siw-rping-64B-crcon", 1, "R>I", 3, 5, "STag of a Write" },
  { "siw-rping-16K-crcon", 1, "I>R", 10, 15, "TO in the middle of a Read Response" },
  { "siw-ib_send_lat-64B-crcon", 2, "R>I", 50, 15, "MSN of the last Send" },
  { "siw-ib_write_bw-32K-crcon", 2, "I>R", 300, 700, "payload of a Write" },
  { "siw-ib_write_bw-32K-crcon", 1, "I>R", 4, 22, "pad of a Send" },
  { "siw-rping-16K-crcon", 1, "I>R", 2, 1447, "CRC field in a TCP segment of its own" },
}
for _, flip in ipairs(FLIPS) do
  local file = "siw/" .. flip[1] .. ".pcap"
  local name = ("%s: %s"):format(flip[1], flip[6])
  local x = found[file][flip[2]]
  local fpdu = x.dirs[flip[3]].list[flip[4]]
  if ok(flip[5] < fpdu.size, name .. " lies in the FPDU") then
    local frame, at = streams.locate(x.streams[flip[3]], fpdu.pos + flip[5])
    local octets = streams.read_file(pcaps .. "/" .. file)
    octets = octets:sub(1, at - 1) .. string.char(octets:byte(at) ~ 0x01) .. octets:sub(at + 1)
    local problem
    for _, p in ipairs(decoder.decode_capture(octets, file)[flip[2]].problems) do
      if decoder.fatal[p.kind] and p.dir == flip[3] then problem = problem or p end
    end
    ok(problem and problem.frame >= frame, name .. " flipped: found",
      problem and ("in frame %d, before frame %d"):format(problem.frame, frame) or "nothing found")
  end
end

tap.done()
