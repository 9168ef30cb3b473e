-- SPDX-License-Identifier: BSD-3-Clause
-- Help for names that are written by hand: a misspelt one is an error that says what was meant.

local strict = {}

local function distance(a, b)
  local row = {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local corner = row[0]
    row[0] = i
    for j = 1, #b do
      local change = corner + (a:byte(i) == b:byte(j) and 0 or 1)
      corner = row[j]
      row[j] = math.min(change, row[j] + 1, row[j - 1] + 1)
    end
  end
  return row[#b]
end

-- " (did you mean 'x'?)", or "" if no known name is near. `known` has the names as keys.
function strict.suggest(name, known)
  local best, least = nil, math.min(3, (#name + 1) // 2 + 1)
  for candidate in pairs(known) do
    if type(candidate) == "string" then
      local d = distance(name, candidate)
      if d < least or d == least and best and candidate < best then best, least = candidate, d end
    end
  end
  return best and (" (did you mean '%s'?)"):format(best) or ""
end

-- A set from a list of names, or from one string of names.
function strict.set(names)
  local set = {}
  if type(names) == "string" then
    for name in names:gmatch("%S+") do set[name] = true end
  else
    for _, name in ipairs(names) do set[name] = true end
  end
  return set
end

-- Error unless `fields` is a table whose keys are all in the set `known`.
function strict.check(what, fields, known)
  if type(fields) ~= "table" then
    error(("%s takes a table in braces, not a %s"):format(what, type(fields)), 0)
  end
  for name in pairs(fields) do
    if not known[name] then
      if type(name) ~= "string" then
        error(("%s has a value without a name"):format(what), 0)
      end
      error(("%s has no field '%s'%s"):format(what, name, strict.suggest(name, known)), 0)
    end
  end
  return fields
end

-- A table that holds its keys only: reading another one is an error.
function strict.seal(what, values)
  return setmetatable(values, {
    __index = function(_, name)
      error(("unknown %s '%s'%s"):format(what, tostring(name), strict.suggest(tostring(name), values)), 0)
    end,
  })
end

return strict
