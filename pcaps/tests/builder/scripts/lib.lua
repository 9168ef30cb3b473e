-- SPDX-License-Identifier: BSD-3-Clause
-- For the scripts of this folder, which ask iwarp-golden's own functions: what they refuse, and what they return.

local lib = {}

local env = setmetatable({ iw = iw }, { __index = _G })

-- f(...) fails with this text, after the place in a script. Scripts have no pcall: the test gives them iw.attempt.
function env.refuses(text, f, ...)
  local good, got = iw.attempt(f, ...)
  if good then error("not refused: " .. text, 2) end
  got = tostring(got):gsub("^[^:]*%.lua:%d+: ", "")
  if got ~= text then error(("refused with '%s', not '%s'"):format(got, text), 2) end
end

-- Two lists are the same.
function env.same(got, want)
  local a, b = {}, {}
  for i, v in ipairs(got) do a[i] = tostring(v) end
  for i, v in ipairs(want) do b[i] = tostring(v) end
  if table.concat(a, ", ") ~= table.concat(b, ", ") then
    error(("%s, not %s"):format(table.concat(a, ", "), table.concat(b, ", ")), 2)
  end
end

local order = {}
function env.passed(name) order[#order + 1] = name end

function lib.extend() return env end
function lib.manifest() return table.concat(order, " ") .. "\n" end

return lib
