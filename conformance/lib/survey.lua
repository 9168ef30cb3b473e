-- SPDX-License-Identifier: BSD-3-Clause
-- Finds out which instruments (instruments.lua) work with a target, before the cases are played. It writes what it finds into
-- the notes of its result, one line each: "works: " or what it does instead ("silent: ", "ends: ", "odd: "), and the name. What cannot be tried has no line. Another line is
-- of no meaning to the runner, which keeps it.

local instruments = iw.load("instruments")
local message = iw.load("message")

local survey = {}

local function finish(conn)
  if conn:state().ended then return end
  conn:shutdown()
  if not conn:drain(math.min(iw.patience(), 0.5)) then conn:reset() end
end

-- Tries one on a connection. Returns whether it works, and what happens.
local function try(t, conn, name)
  local works, item = instruments.complete(conn, instruments.all[name].begin(conn))
  -- One that cannot be decoded reports an error all the same: what is wrong with it, the observer says.
  works = works or name == "terminate" and item ~= nil and item.op == "terminate"
  local how = works and "works" or not item and "silent" or instruments.ends(item) and "ends" or "odd"
  t:note(("%s: %s"):format(how, name))
  return works, how
end

-- A target that was silent to these answers no Reads: another kind would be waited for in vain.
local READS = { "empty-read", "read" }
local function answers_none(found)
  for _, name in ipairs(READS) do
    if found[name] ~= "silent" then return false end
  end
  return true
end

-- Tries Reads after a start-up that agrees on no depths, if the target that listens takes one.
local function take_plain(t)
  local conn = t:connect { raw = true }
  if conn:state().ended then return end
  conn:send(message.request { revision = 1, enhanced = false })
  local answer = conn:next()
  if answer and message.reply { rejected = false, enhanced = false }:matches(answer) and instruments.all["plain-read"].fits(conn) then
    try(t, conn, "plain-read")
  end
  finish(conn)
end

-- Tries each on a connection on which nothing has gone wrong so far. Without another connection the rest is unknown.
function survey.take(t)
  local conn, plain, found = t:session {}, false, {}
  for _, name in ipairs(instruments.order) do
    local one = instruments.all[name]
    if not conn then
      if not iw.can("reconnect") then return end
      conn = t:session {}
    end
    if one.fits(conn) and not (name == "empty-read-of-buffer" and answers_none(found)) then
      if name == "plain-read" then plain = true end
      local works
      works, found[name] = try(t, conn, name)
      if not works then
        finish(conn)
        conn = nil
      end
    end
  end
  if t.case.role == "responder" and not t.peer.agent and not plain and iw.can("reconnect") then take_plain(t) end
  t.negative = false -- whether it lives on is the cases' business
end

return survey
