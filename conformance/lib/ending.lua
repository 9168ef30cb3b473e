-- SPDX-License-Identifier: BSD-3-Clause
-- The end of a case: what the target did wrong in it, and the verdict. The runner calls each step by itself, with the
-- outcome so far: nil, or the table with which the case ended early.

local Target = iw.load("target")

local ending = {}
local current

-- Called when the case begins.
function ending.begin(t) current = t end

local function worse(a, b)
  return not a or Target.severity[b.verdict] > Target.severity[a.verdict]
end

-- ---- what the target did wrong ----

-- What the observer found that the case does not allow, in order of happening. `time`: how many findings came before it.
-- If a case has failed that compares the octets of a connection by itself, the observer judges them now: `time` is nil.
local function findings(t, failed)
  local list = {}
  local function add(finding, time)
    if t.allowed[finding.check] or not finding.verdict then return end
    if time then
      t:observe("finding", finding.check)
      t:note(("finding %s (%s): %s"):format(finding.check, finding.rule, finding.text))
    end
    local text, quirk = finding.text, finding.quirk
    -- Where the case compares octets, only literal.expect_terminate looks through one.
    if not time and finding.check ~= "rdmap-terminate-reversed" then quirk = nil end
    if quirk and finding.check ~= "rdmap-terminate-reversed" then text = ("%s: %s"):format(text, finding.meant) end
    local differ = finding.got ~= finding.want
    list[#list + 1] = {
      verdict = finding.verdict, rule = finding.rule, how = finding.check, reason = text,
      expected = differ and ("0x%x"):format(finding.want) or "nothing that breaks " .. finding.rule,
      actual = ("%s at octet %d of connection %d"):format(differ and ("0x%x"):format(finding.got) or finding.text,
        finding.position, finding.connection),
      connection = finding.connection, position = finding.position, wire = true, time = time, quirk = quirk,
    }
  end
  for n, finding in ipairs(iw.findings()) do add(finding, n - 1) end
  for _, conn in ipairs(t.conns) do
    if conn.literal and (failed or conn.turned) then
      for _, finding in ipairs(conn.raw:judge()) do add(finding) end
    end
  end
  return list
end

-- A quirk of the target is charged, but is looked through where the case is about another rule: nothing follows from it, and it
-- does not decide.
local function looked_through(t, one)
  if not one.quirk then return false end
  for _, rule in ipairs(t.case.rules) do
    if rule == one.rule then return false end
  end
  return true
end

-- The finding from which a deviation follows: a MUST that the target broke before, on the same connection.
local function cause_of(one, found)
  for _, cause in ipairs(found) do
    local before = cause.time and cause.time < one.time or not cause.time and one.received and cause.position < one.received
    if cause.verdict == "FAIL" and before and not cause.quirk and (not one.connection or one.connection == cause.connection) then
      return cause
    end
  end
end

-- The deviations that this case shows, without those that follow from others, the gravest first; of equally grave ones,
-- the first to happen.
local function deviations(t, outcome)
  local own, list, seen = { table.unpack(t.deviations) }, {}, {}
  if outcome and (outcome.verdict == "FAIL" or outcome.verdict == "NOTE") then own[#own + 1] = outcome end
  local found = findings(t, #own > 0)
  for _, one in ipairs(own) do
    one.time, one.rule = one.time or math.huge, one.rule or t.case.rules[1]
    local cause = cause_of(one, found)
    if one.first then
      -- It follows from nothing: a difference from a recording, an answer to octets that are not all there. The observer may
      -- have seen the same.
      one.same = cause and cause.rule == one.rule and cause or nil
      list[#list + 1] = one
    elseif cause then
      cause.shown = true
      t:note(("follows from %s (%s): %s%s"):format(cause.how, cause.rule, one.reason, one.actual and ": " .. one.actual or ""))
    elseif one.verdict ~= "PASS" then
      list[#list + 1] = one
    end
  end
  for _, one in ipairs(found) do
    if (one.time or one.shown or one.quirk) and one.verdict ~= "PASS" and not seen[one.how] then
      seen[one.how] = true
      list[#list + 1] = one
    end
    one.time = one.time or math.huge
  end
  for i, one in ipairs(list) do one.place = i end
  table.sort(list, function(a, b)
    if a.verdict ~= b.verdict then return Target.severity[a.verdict] > Target.severity[b.verdict] end
    if (a.first or false) ~= (b.first or false) then return a.first end
    local at, bt = a.wire and a.time or a.time - 0.5, b.wire and b.time or b.time - 0.5
    if at ~= bt then return at < bt end
    return a.place < b.place
  end)
  return list
end

-- Where in the exchange a deviation shows: at an octet of the target's, or at what we sent last.
local function locate(t, one)
  local item = one.item
  if item then
    one.connection, one.from_target = item.conn.number, true
    one.position = item.finish > item.position and item.finish - 1 or item.finish
  elseif one.wire then
    one.from_target = true
  elseif #t.conns > 0 then
    one.connection, one.from_target = one.connection or t.conns[#t.conns].number, false
  end
end

local function comment(t, one, text)
  if not one.connection then return end
  local raw = t.conns[one.connection + 1].raw
  if one.from_target then raw:comment_received(one.position, text) else one.position = raw:comment_sent(text) end
end

-- ---- the steps ----

-- Of the outcome so far and that of a step, the graver one.
function ending.merge(before, now) return worse(before, now) and now or before end

function ending.close(outcome)
  if current then current:close_all(not outcome) end
end

function ending.alive(outcome)
  if not current then return end
  local verdict = outcome and outcome.verdict or #current.deviations > 0 and "NOTE" or "PASS"
  if current.negative and (verdict == "PASS" or verdict == "NOTE") then
    current:check_alive()
  elseif verdict == "NOTE" or verdict == "INCONCLUSIVE" then
    current:check_listens()
  end
end

-- Returns the verdict of the case, with its deviations; `outcome` ended it early.
function ending.result(outcome)
  local t = current
  if not t then return outcome end
  local list = deviations(t, outcome)
  local decides, quirk
  for i = #list, 1, -1 do
    if looked_through(t, list[i]) then quirk = list[i] else decides = list[i] end
  end
  if outcome and outcome.verdict == "PASS" then outcome.expected, outcome.actual = nil, nil end
  if outcome and (outcome.verdict == "FAIL" or outcome.verdict == "NOTE") then outcome = nil end
  if decides and worse(outcome, decides) then outcome = decides end
  if quirk and (not outcome or outcome.verdict == "PASS") then
    outcome = {
      verdict = "NOTE", rule = quirk.rule, reason = quirk.reason .. ": looked through", expected = quirk.expected,
      actual = quirk.actual, connection = quirk.connection, position = quirk.position, wire = true,
    }
  end
  outcome = outcome or { verdict = "PASS", item = t.deciding }
  for _, one in ipairs(list) do locate(t, one) end
  if outcome ~= decides then locate(t, outcome) end
  comment(t, outcome, "deciding: " .. outcome.verdict .. (outcome.reason and ": " .. outcome.reason or ""))
  for _, one in ipairs(list) do
    if one.same then one.how, one.wire = one.same.how, true end
    if one ~= outcome then comment(t, one, "besides: " .. one.verdict .. ": " .. one.reason) end
  end
  return {
    verdict = outcome.verdict, rule = outcome.rule, reason = outcome.reason, where = outcome.where,
    expected = outcome.expected, actual = outcome.actual, deviations = list,
    observed = t:observations(), notes = #t.notes > 0 and table.concat(t.notes, "\n") or nil,
  }
end

return ending
