-- SPDX-License-Identifier: BSD-3-Clause
-- The end of a case: what the target did wrong in it, and the verdict. The runner calls each step by itself, with the
-- outcome so far: nil, or the table with which the case ended early.

local field_rule = iw.load("field_rule")
local strict = iw.load("strict")
local Target = iw.load("target")

local ending = {}
local current

-- Called when the case begins.
function ending.begin(t) current = t end

local function worse(a, b)
  return not a or Target.severity[b.verdict] > Target.severity[a.verdict]
end

-- ---- what the target did wrong ----

-- What the observer sees where a target answers what comes after a Read, but not the Read: it takes the answer for the Read's,
-- since "The Data Source RDMAP layer MUST pass RDMA Read Response Messages to the DDP layer, in the order that the RDMA Read Request
-- Messages were received" (RFC 5040 §5.2.2; for atomics likewise RFC 7306 §5.2.2).
local UNANSWERED = strict.set("rdmap-response-order rdmap-response-stag rdmap-response-to rdmap-response-size rdmap-response-past"
  .. " rdmap-response-data rdmap-atomic-response-order rdmap-atomic-response-unsolicited")

-- What the observer found that the case does not allow, in order of happening. `time`: how many findings came before it.
-- Where a case compares the octets of a connection by itself, the observer judges them now: `time` is nil.
local function findings(t)
  local list = {}
  local function add(finding, time)
    if not finding.verdict then return end
    local conn = t.conns[finding.connection + 1]
    if conn and conn.failing and UNANSWERED[finding.check] then
      t:note(("%s (%s) on connection %d follows from a Read without an answer: %s"):format(finding.check, finding.rule, finding.connection,
        finding.text))
      return
    end
    local text, quirk = finding.text, finding.quirk
    -- Where the case compares octets, only literal.expect_terminate looks through one. Of a start-up frame it is said all the same:
    -- the run has one finding for it.
    if not time and finding.check ~= "rdmap-terminate-reversed" and finding.check ~= "mpa-pd-order" then quirk = nil end
    if quirk and finding.check ~= "rdmap-terminate-reversed" then text = ("%s: %s"):format(text, finding.meant) end
    if not time and finding.check == "mpa-pd-order" then quirk = nil end
    local allowed = t.allowed[finding.check]
    t:note(("finding %s (%s) on connection %d%s: %s%s"):format(finding.check, finding.rule, finding.connection,
      allowed and ", allowed" or "", text, finding.count > 1 and (", %d times"):format(finding.count) or ""))
    if allowed then return end
    t:observe("finding", finding.check)
    local differ = finding.got ~= finding.want
    list[#list + 1] = {
      verdict = finding.verdict, rule = finding.rule, how = finding.check, reason = text,
      expected = differ and ("0x%x"):format(finding.want) or "nothing that breaks " .. finding.rule,
      actual = ("%s at octet %d of connection %d"):format(differ and ("0x%x"):format(finding.got) or finding.text,
        finding.position, finding.connection),
      got = finding.got, connection = finding.connection, position = finding.position, wire = true, time = time, quirk = quirk,
      cause = finding.cause, by = finding.by,
    }
  end
  for n, finding in ipairs(iw.findings()) do add(finding, n - 1) end
  for _, conn in ipairs(t.conns) do
    if conn.literal then
      for _, finding in ipairs(conn.raw:judge()) do add(finding) end
    end
  end
  return list
end

-- A Marker that was not at its place says no more than that; a second one proves that they stand elsewhere, and what the first was:
-- "MPA senders MUST insert a Marker into the data stream at a 512-octet periodic interval in the TCP Sequence Number Space" (RFC 5044
-- §4.3).
local MARKER = strict.set("mpa-marker-pointer mpa-marker-rsvd mpa-marker-low")
local function is_elsewhere(one, found)
  for _, other in ipairs(MARKER[one.how] and found or {}) do
    if other.how == "mpa-marker-place" and other.connection == one.connection and other.position > one.position then return true end
  end
end

-- Without the findings that follow from others, as the observer says, if the case does not allow those.
local function of_their_own(t, found)
  local list, charged = {}, {}
  for _, one in ipairs(found) do charged[one.connection .. " " .. one.how] = true end
  for _, one in ipairs(found) do
    if one.cause and charged[one.connection .. " " .. one.cause] then
      t:note(("%s (%s) on connection %d follows from %s: %s"):format(one.how, one.rule, one.connection, one.cause, one.by))
    else
      list[#list + 1] = one
    end
  end
  return list
end

-- That the target went on after an error is no cause, but what comes of missing the error: "If the DDP layer detects any of
-- the receive errors listed in this section, it MUST cease placing the remainder of the DDP Segment and report the error(s) to
-- the ULP" (RFC 5041 §7.1). Who does not detect it never gets there.
local WENT_ON = "rdmap-terminate-stop"

-- A quirk of the target is charged, but is looked through where the case is about another rule: nothing follows from it, and it
-- does not decide.
local function looked_through(t, one)
  if not one.quirk then return false end
  for _, rule in ipairs(t.case.rules) do
    if rule == one.rule then return false end
  end
  return true
end

-- Whether a finding is about what is missing where the target's octets ended: for good, or a field that was waited for in vain.
local function lacks_the_rest(cause, one)
  return cause.position == one.received and (cause.how == "mpa-fin-inside" and one.ended or cause.how == "mpa-crc-absent")
end

-- Whether the target's start-up frame lacked octets that its PD_Length announces: only the end of its stream proves it, but what was
-- waited for could not come before.
local function lacks_octets_of_frame(cause, one)
  return cause.how == "mpa-startup-cut" and one.received ~= nil and cause.position <= one.received
end

-- Whether a finding is about the target's Terminate, which it sent after the message that is a deviation. (What others are about may
-- have begun before the octet that proves it.)
local function is_later(cause, one)
  return one.item and cause.how:find("^rdmap%-terminate") and one.within and cause.connection == one.connection and cause.position >= one.within.to
end

-- The finding from which a deviation follows: a MUST that the target broke before, on the same connection.
local function cause_of(one, found)
  for _, cause in ipairs(found) do
    if cause.how == WENT_ON or is_later(cause, one) then goto continue end
    local before = cause.time and cause.time < one.time or not cause.time and one.received
      and (cause.position < one.received or lacks_the_rest(cause, one)) or lacks_octets_of_frame(cause, one)
    if cause.verdict == "FAIL" and before and not cause.quirk and (not one.connection or one.connection == cause.connection) then
      return cause
    end
    ::continue::
  end
end

-- A message of another length than its kind has holds no fields that could be compared: one deviation, which a case and the observer
-- see in two ways.
local LENGTH = strict.set("rdmap-read-length rdmap-immediate-length rdmap-atomic-length rdmap-atomic-response-length")

-- The finding that is about the very field in which the target's octets are other ones than the case expects, and all others are
-- right, or about the length of its message: they are one, whatever the case is about, and whatever the verdict on that.
local function same_field(one, found)
  local octet, within = one.octet, one.within
  for _, cause in ipairs((octet or within) and found or {}) do
    if within and LENGTH[cause.how] and cause.position >= within.from and cause.position < within.to
      and cause.connection == one.connection then
      return cause
    end
    if octet and cause.position >= octet.from and cause.position <= octet.to and cause.connection == one.connection
      and (not octet.value or octet.value == cause.got) then
      return cause
    end
  end
end

-- A message whose last segment lacks L is still open where the stream ends: L "MUST be set to one on the last DDP Segment of every DDP
-- Message" (RFC 5041 §4.1).
local OPEN = "ddp-fin-open"

-- The case's own deviation from which it follows that the target went on after an error, or that a message is open at the end.
local function missed(one, own)
  if one.how ~= WENT_ON and one.how ~= OPEN then return nil end
  for _, cause in ipairs(own) do
    if cause.verdict == "FAIL" and (one.how == WENT_ON or cause.how == field_rule.UNFINISHED)
      and (not cause.connection or cause.connection == one.connection) then
      return cause
    end
  end
end

local function follows(t, one, cause)
  cause.shown = true
  t:note(("follows from %s (%s): %s%s"):format(cause.how, cause.rule, one.reason, one.actual and ": " .. one.actual or ""))
end

-- The deviations that this case shows, without those that follow from others, the gravest first; of equally grave ones,
-- the first to happen.
local function deviations(t, outcome)
  local own, list, seen = { table.unpack(t.deviations) }, {}, {}
  if outcome and (outcome.verdict == "FAIL" or outcome.verdict == "NOTE") then own[#own + 1] = outcome end
  local found = of_their_own(t, findings(t))
  for _, one in ipairs(own) do
    one.time, one.rule = one.time or math.huge, one.rule or t.case.rules[1]
    for _, later in ipairs(found) do
      if later.time and is_later(later, one) then one.time = math.min(one.time, later.time) end
    end
    local cause = cause_of(one, found) or same_field(one, found)
    if cause and (one.first == true or one.first == "early" and cause.position < one.item.position) then
      follows(t, one, cause)
    elseif one.first then
      -- It follows from nothing: a difference from a recording, an early answer to octets that are not all there, unless the
      -- stream was wrong before that answer. The observer may have seen the same.
      one.same = cause and cause.rule == one.rule and cause or nil
      list[#list + 1] = one
    elseif cause then
      follows(t, one, cause)
    elseif one.verdict ~= "PASS" then
      list[#list + 1] = one
    end
  end
  for _, one in ipairs(found) do
    local from = missed(one, own)
    if from then
      t:note(("follows from %s: %s"):format(from.reason, one.reason))
    elseif (one.time or one.shown or one.quirk or #own == 0) and one.verdict ~= "PASS" and not seen[one.how]
      and not is_elsewhere(one, found) then
      seen[one.how] = true
      list[#list + 1] = one
    end
    one.time = one.time or math.huge
  end
  for i, one in ipairs(list) do one.place = i end
  table.sort(list, function(a, b)
    if a.verdict ~= b.verdict then return Target.severity[a.verdict] > Target.severity[b.verdict] end
    if not a.first ~= not b.first then return a.first end
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
    expected = outcome.expected, actual = outcome.actual, deviations = list, blocked = outcome.blocked,
    observed = t:observations(), notes = #t.notes > 0 and table.concat(t.notes, "\n") or nil,
  }
end

return ending
