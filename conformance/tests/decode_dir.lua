-- SPDX-License-Identifier: BSD-3-Clause
-- Runs the second decoder over every pcapng of a folder: the case captures of a run.
--   lua5.4 decode_dir.lua DIR...
-- Both directions of every TCP connection must be followed to the end: framing, Markers, CRC. A
-- case sends broken frames on purpose; the runner marks them with a packet comment. A comment that
-- holds the word "stimulus" excuses the sender of its frame from that frame on, so it has to stand
-- on the first frame with octets of the stimulus; the other direction is never excused.
-- Exit 0: no problem; 1: problems, one line each; 2: a file or folder is unreadable or empty; 64:
-- usage.
local here = debug.getinfo(1, "S").source:match("^@(.*/)") or "./"
package.path = here .. "?.lua;" .. package.path
local decoder = require "second_decoder"

local function captures(dir)
  local quoted = "'" .. dir:gsub("'", "'\\''") .. "'"
  local pipe = assert(io.popen("find " .. quoted .. " -name '*.pcapng' -type f"))
  local names = {}
  for name in pipe:lines() do names[#names + 1] = name end
  if not pipe:close() or #names == 0 then error(dir .. ": no .pcapng file found there", 0) end
  table.sort(names)
  return names
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
      if decoder.fatal[p.kind] and not (stimulus and p.frame >= stimulus) then
        problems = problems + 1
        print(("%s: connection %d: frame %d: %s %s: %s"):format(name, i, p.frame, p.dir, p.kind,
          p.text))
      end
    end
  end
end

if not arg[1] then
  io.stderr:write("usage: decode_dir.lua DIR...\n")
  os.exit(64)
end
local fine, why = pcall(function()
  for _, dir in ipairs(arg) do
    for _, name in ipairs(captures(dir)) do check(name) end
  end
end)
if not fine then
  io.stderr:write("decode_dir: ", why, "\n")
  os.exit(2)
end
print(("%d captures, %d connections, %d FPDUs, %d directions with a stimulus, %d problems"):format(
  files, connections, fpdus, excused, problems))
os.exit(problems == 0 and 0 or 1)
