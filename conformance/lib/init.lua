-- SPDX-License-Identifier: BSD-3-Clause
-- The vocabulary as a whole: the names that a case file sees, and the functions that the runner calls.

local strict = iw.load("strict")
local octets = iw.load("octets")
local message = iw.load("message")
local Target = iw.load("target")
local ending = iw.load("ending")
local duty = iw.load("duty")

-- ---- describing a case ----

local CASE = strict.set("id purpose rules level role needs tags deadline run")
local ROLES = strict.set("responder initiator")
local LEVELS = { must = "FAIL", should = "NOTE", may = "PASS" }
-- What a case may need: see README.md.
local NEEDS = {}
while iw.capability(#NEEDS + 1) do NEEDS[#NEEDS + 1] = iw.capability(#NEEDS + 1) end
NEEDS = strict.set(NEEDS)
local Case = {}

local function want(ok, text, ...)
  if not ok then error(text:format(...), 0) end
end

local function check_rules(rules)
  want(type(rules) == "table" and #rules > 0, "a case needs rules = { \"RULE-ID\", ... }")
  for _, id in ipairs(rules) do
    if type(id) ~= "string" or not iw.rule(id) then
      error(("unknown rule '%s'%s"):format(tostring(id), strict.suggest(id, "rule")), 0)
    end
  end
end

local function normal_needs(needs)
  strict.check("needs", needs, NEEDS)
  local list = {}
  for name, value in pairs(needs) do
    for word in (value and value ~= true and tostring(value) or ""):gmatch("%S+") do
      local wrong = iw.capability(name .. "." .. word)
      want(not wrong, "needs %s = \"%s\": expected %s", name, tostring(value), wrong)
    end
    if value ~= false then list[#list + 1] = { name = name, value = tostring(value) } end
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

-- Describes a case.
local function case(fields)
  strict.check("case", fields, CASE)
  want(type(fields.id) == "string" and fields.id:match("^[a-z0-9][a-z0-9%-]*$"),
    "a case needs an id of small letters, digits and hyphens")
  want(type(fields.purpose) == "string" and not fields.purpose:find("\n"), "a case needs a purpose of one line")
  if fields.role then strict.word("role", fields.role, ROLES) end
  want(fields.role, "a case needs role = \"responder\" or \"initiator\" (of the target)")
  want(type(fields.run) == "function", "a case needs run = function(t) ... end")
  if fields.level then strict.word("level", fields.level, LEVELS) end
  want(fields.deadline == nil or type(fields.deadline) == "number" and fields.deadline > 0,
    "deadline is a number of seconds")
  check_rules(fields.rules)
  local worst = fields.level and LEVELS[fields.level] or (iw.rule(fields.rules[1]))
  local wrong = duty.wrong(fields.rules[1], fields.role, worst)
  want(not wrong, "%s", wrong)
  for _, tag in ipairs(fields.tags or {}) do want(type(tag) == "string", "a tag is a string") end
  return setmetatable({
    id = fields.id, purpose = fields.purpose, rules = fields.rules, role = fields.role,
    tags = fields.tags or {}, needs = normal_needs(fields.needs or {}), run = fields.run,
    deadline = fields.deadline or 0,
    worst = worst,
    line = tonumber((iw.where() or ""):match(":(%d+)$")),
  }, Case)
end

-- The same case for both roles of the target: two cases, the second one's id ends in "-initiator".
local function both_roles(fields)
  want(fields.role == nil, "both_roles gives the role itself")
  local list = {}
  for i, role in ipairs { "responder", "initiator" } do
    local one = {}
    for name, value in pairs(fields) do one[name] = value end
    one.role = role
    if role == "initiator" then one.id = tostring(fields.id) .. "-initiator" end
    list[i] = case(one)
  end
  return list
end

-- ---- describing a family ----

-- Adds a case, or all cases of a list, to `cases`.
local function take(cases, value, what)
  if getmetatable(value) == Case then
    cases[#cases + 1] = value
    return
  end
  want(type(value) == "table", "%s takes case{...} and lists of them, not a %s", what, type(value))
  for name in pairs(value) do
    want(math.type(name) == "integer", "%s takes case{...}, not a table with the field '%s'", what, tostring(name))
  end
  for i = 1, #value do take(cases, value[i], what) end
end

-- The cases of a file, in order.
local function family(members)
  want(type(members) == "table", "family takes a table in braces, not a %s", type(members))
  local cases = {}
  take(cases, members, "family")
  return cases
end

-- The cases that `make` describes for each row of a list: it returns one, a list of them, or nil. Given several lists
-- ahead of `make`, it gets a row of each, in every combination; the row of the last list changes first.
local function each(rows, ...)
  local rest = table.pack(...)
  local make = rest[rest.n]
  want(type(rows) == "table" and type(make) == "function", "each takes lists, and then a function")
  local cases = {}
  for _, row in ipairs(rows) do
    local made
    if rest.n == 1 then
      made = make(row)
    else
      rest[rest.n] = function(...) return make(row, ...) end
      made = each(table.unpack(rest, 1, rest.n))
    end
    if made ~= nil then take(cases, made, "each") end
  end
  return cases
end

-- The numbers from `first` to `last`, as rows for each.
local function range(first, last)
  local numbers = {}
  for number = first, last do numbers[#numbers + 1] = number end
  return numbers
end

-- ---- functions that the runner calls ----

-- Lists the cases that a file returned.
local function collect(value)
  want(type(value) == "table", "a case file returns case{...} or family{...}")
  local cases, seen = {}, {}
  take(cases, value, "a case file")
  want(#cases > 0, "a case file returns case{...} or family{...}")
  for _, one in ipairs(cases) do
    want(not seen[one.id], "two cases have the id '%s'", one.id)
    seen[one.id] = true
  end
  return cases
end

local function play(one)
  local t = Target.new(one)
  ending.begin(t)
  one.run(t)
end

-- ---- the names that a case file sees ----

local env = {
  case = case, both_roles = both_roles, family = family, each = each, range = range, use = iw.load,
  fault = iw.load("fault"), bytes = octets.bytes, hex = octets.hex, show = octets.show, octets = message.octets,
  request = message.request, reply = message.reply, raw = message.raw, terminate = message.terminate,
  fin = message.fin, reset = message.reset, closed = message.closed, one_of = message.one_of,
  crc32c = iw.crc, mulpdu = iw.mulpdu,
  assert = assert, error = error, ipairs = ipairs, next = next, pairs = pairs, select = select,
  tonumber = tonumber, tostring = tostring, type = type,
  math = math, string = string, table = table, utf8 = utf8,
}
for name in pairs(message.specs) do env[name] = message[name] end
-- Also the standard name of the spec's "string.pack" family, for fields that nothing else makes.
env.pack, env.unpack = string.pack, string.unpack

setmetatable(env, {
  __index = function(_, name)
    error(("unknown name '%s'%s"):format(tostring(name), strict.suggest(tostring(name), env)), 0)
  end,
})

return { env = env, collect = collect, play = play, ending = ending }
