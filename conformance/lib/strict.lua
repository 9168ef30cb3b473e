-- SPDX-License-Identifier: BSD-3-Clause
-- Checks of names written by hand: a misspelt one is an error with a suggestion.

local strict = {}

-- " (did you mean 'x'?)", or "" if no known name is near. `known` has the names as keys; or it is "rule" or
-- "check", whose names the runner has.
function strict.suggest(name, known)
  local list = known
  if type(known) == "table" then
    list = {}
    for candidate in pairs(known) do
      if type(candidate) == "string" then list[#list + 1] = candidate end
    end
    table.sort(list)
  end
  local best = iw.near(tostring(name), list)
  return best and (" (did you mean '%s'?)"):format(best) or ""
end

-- Describes the fault of a value that must be one of a few words.
function strict.word(what, value, known)
  if known[value] then return value end
  local list = {}
  for word in pairs(known) do list[#list + 1] = tostring(word) end
  table.sort(list)
  error(("%s: '%s' is none of %s%s"):format(what, tostring(value), table.concat(list, ", "),
    strict.suggest(value, known)), 0)
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

-- For __index of a metatable: the methods, and nil for names that may be absent; any other name is an
-- error.
function strict.only(what, methods, absent)
  return function(_, name)
    local value = methods[name]
    if value == nil and not absent[name] then
      local known = {}
      for one in pairs(methods) do known[one] = true end
      for one in pairs(absent) do known[one] = true end
      error(("%s has no '%s'%s"):format(what, tostring(name), strict.suggest(name, known)), 0)
    end
    return value
  end
end

return strict
