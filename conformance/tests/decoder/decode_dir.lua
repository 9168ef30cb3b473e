-- SPDX-License-Identifier: BSD-3-Clause
-- Runs the second decoder over every pcapng of a folder: the case captures of a run.
--   lua5.4 decode_dir.lua [--known FILE] DIR...
-- Both directions of every TCP connection must be followed to the end: framing, Markers, CRC; and
-- every header must be as the RFCs lay it out, on the queue, with the MSN, MO or TO and with the
-- response that go with what was sent before. A case sends broken frames on purpose; the runner marks them with a packet comment. A comment that
-- holds the word "stimulus" excuses the sender of its frame from that frame on, so it has to stand
-- on the first frame with octets of the stimulus; the other direction is never excused. FILE returns more rows of the table
-- KNOWN below, for a target whose own deviations are known.
-- Exit 0: no problem; 1: problems, one line each, or no FPDU in all of them; 2: a file or folder is unreadable or empty; 64:
-- usage.
local here = debug.getinfo(1, "S").source:match("^@(.*/)") or "./"
package.path = here .. "?.lua;" .. package.path
local decoder = require "second_decoder"
local json = require "cjson"

local function captures(dir)
  local quoted = "'" .. dir:gsub("'", "'\\''") .. "'"
  local pipe = assert(io.popen("find " .. quoted .. " -name '*.pcapng' -type f"))
  local names = {}
  for name in pipe:lines() do names[#names + 1] = name end
  if not pipe:close() or #names == 0 then error(dir .. ": no .pcapng file found there", 0) end
  table.sort(names)
  return names
end

-- What the station sends in these cases is odd and yet nothing that a receiver may refuse, so that it
-- is no stimulus: pattern of the capture's name, pattern of the problem, why. `target`: the problem shows in what the
-- target sends, and must not be in the station's direction; of all others it is the other way round.
local KNOWN = {
  { "^ext%-.*%-segments", " with a header of %d+ octets, expected", "a message of RFC 7306 in several segments" },
  { "^rdmap%-invalidate%-field%-", "^reserved octets 2 to 5", "octets that a receiver ignores are set" },
  { "^ddp%-tagged%-", "does not continue", "segments of a tagged message in another order, twice or with a gap" },
  { "^bug%-write%-that%-never%-ends", "does not continue", "other messages among the segments of a Write" },
  { "^rdmap%-terminate%-received%-busy", "does not continue", "Read Requests after an unfinished Send" },
  { "^rdmap%-terminate%-received%-busy", "^MSN %d+ on queue 1", "the first of them was taken for more of the Send" },
  { "^rping%-server%-waits", "does not continue", "a fence in the midst of a Read Response" },
  { "^rping%-server%-waits", "^response 1 is", "the rest of that Read Response" },
  { "^mpa%-streaming%-like%-a%-request", "^response 1 is .*, asked nothing$",
    "MPA begins later than it looks, so that the Read it answers was not seen", target = true },
  { "^mpa%-streaming%-like%-a%-request", "^ULPDU_Length 0 at 0$",
    "and with other flags: there are Markers that the octets of streaming mode did not ask for", target = true },
}

-- Reads the target's role in each case from the report beside a folder of captures, if there is one.
local function read_roles(dir)
  local found, file = {}, io.open(dir .. "/../run.json")
  if not file then return found end
  for _, case in ipairs(json.decode(file:read("a")).cases) do found[case.id] = case.role end
  file:close()
  return found
end

local roles = {}

-- The direction in which the station sends. Without a report, only cases that end in -initiator have a target that connects.
local function from_station(case)
  local role = roles[case] or (case:find("%-initiator$") and "initiator" or "responder")
  return role == "initiator" and "R>I" or "I>R"
end

local function known(name, p)
  local case = name:match("([^/]*)%.pcapng$")
  local station = p.dir == from_station(case)
  for _, one in ipairs(KNOWN) do
    if station == not one.target and case:find(one[1]) and p.text:find(one[2]) then return true end
  end
  return false
end

local files, connections, fpdus, excused, problems = 0, 0, 0, 0, 0
local function check(name)
  files = files + 1
  for i, x in ipairs(decoder.decode_file(name)) do
    connections = connections + 1
    for dir, d in pairs(x.dirs) do
      fpdus = fpdus + d.fpdus
      if x.streams[dir].stimulus then excused = excused + 1 end
    end
    for _, p in ipairs(x.problems) do
      local stimulus = x.streams[p.dir].stimulus
      local counts = (decoder.fatal[p.kind] or p.kind == "header") and not known(name, p)
      if counts and not (stimulus and p.frame >= stimulus) then
        problems = problems + 1
        print(("%s: connection %d: frame %d: %s %s: %s"):format(name, i, p.frame, p.dir, p.kind,
          p.text))
      end
    end
  end
end

local dirs = { table.unpack(arg) }
local more
if dirs[1] == "--known" then
  table.remove(dirs, 1)
  more = table.remove(dirs, 1)
end
if not dirs[1] then
  io.stderr:write("usage: decode_dir.lua [--known FILE] DIR...\n")
  os.exit(64)
end
local fine, why = pcall(function()
  for _, one in ipairs(more and dofile(more) or {}) do KNOWN[#KNOWN + 1] = one end
  for _, dir in ipairs(dirs) do
    roles = read_roles(dir)
    for _, name in ipairs(captures(dir)) do check(name) end
  end
end)
if not fine then
  io.stderr:write("decode_dir: ", why, "\n")
  os.exit(2)
end
print(("%d captures, %d connections, %d FPDUs, %d directions with a stimulus, %d problems"):format(
  files, connections, fpdus, excused, problems))
os.exit(problems == 0 and fpdus > 0 and 0 or 1)
