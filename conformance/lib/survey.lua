-- SPDX-License-Identifier: BSD-3-Clause
-- Finds out which instruments (instruments.lua) work with a target, before the cases are played. It writes what it finds into
-- the notes of its result, one line each: "works: " or what it does instead ("silent: ", "ends: ", "odd: "), and the name. What cannot be tried has no line. Another line is
-- of no meaning to the runner, which keeps it.

local instruments = iw.load("instruments")

local survey = {}

local function finish(conn)
  if conn:state().ended then return end
  conn:shutdown()
  if not conn:drain(math.min(iw.patience(), 0.5)) then conn:reset() end
end

-- Tries each on a connection on which nothing has gone wrong so far. Without another connection the rest is unknown.
function survey.take(t)
  local conn = t:session {}
  for _, name in ipairs(instruments.order) do
    local one = instruments.all[name]
    if not conn then
      if not iw.can("reconnect") then return end
      conn = t:session {}
    end
    if one.fits(conn) then
      local works, item = instruments.complete(conn, one.begin(conn))
      t:note(("%s: %s"):format(works and "works" or not item and "silent" or instruments.ends(item) and "ends" or "odd", name))
      if not works then
        finish(conn)
        conn = nil
      end
    end
  end
  t.negative = false -- whether it lives on is the cases' business
end

return survey
