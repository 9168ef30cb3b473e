-- SPDX-License-Identifier: BSD-3-Clause
-- Segments of the station's own (needs = { tcp = "crafted" }): methods of a connection.

local strict = iw.load("strict")
local message = iw.load("message")

local Conn = {}
local Segments = {}
Segments.__index = Segments

-- Splits everything that `action` sends into TCP segments, none of which leaves by itself: one for each FPDU or frame; or of
-- these sizes (a number of octets for all, or one after the other, and the rest in the last). overlap: octets of the one before
-- with which each begins. Returns their list, see Segments:send.
function Conn:split(action, options)
  options = strict.check("conn:split", options or {}, strict.set("sizes overlap"))
  self.raw:cork()
  self.ends = {}
  action()
  local position, text = self.raw:take()
  local ends = self.ends
  self.ends = nil
  local list = setmetatable({ conn = self }, Segments)
  local at = 0
  while at < #text do
    local i = #list + 1
    local sizes = options.sizes
    local size = type(sizes) == "table" and (sizes[i] or #text) or sizes or ends[i] - position - at
    if size <= 0 then error("a segment of no octets", 0) end
    local from = math.max(0, at - (options.overlap or 0))
    list[i] = { position = position + from, octets = text:sub(from + 1, at + size) }
    at = at + size
  end
  return list
end

-- Splits segment `number` in two, the first of them of `size` octets. Returns the list.
function Segments:split(number, size)
  local one = self[number]
  table.insert(self, number + 1, { position = one.position + size, octets = one.octets:sub(size + 1) })
  one.octets = one.octets:sub(1, size)
  return self
end

-- Sends these segments by their numbers, in this order and each as often as it is named; without
-- numbers all of them in their order. Can be called again. Returns the list.
function Segments:send(...)
  local order = { ... }
  for i = 1, #order == 0 and #self or 0 do order[i] = i end
  for _, number in ipairs(order) do
    local one = self[number] or error(("there are %d segments, no %s"):format(#self, tostring(number)), 0)
    self.conn.raw:segment(one.position, one.octets)
  end
  return self
end

-- Checks that the target's TCP has answered the last segment, as it does at once for one after a gap
-- (RFC 5681 §4.2), and that its MPA has sent nothing so far. options: rule.
function Conn:expect_nothing(options)
  options = strict.check("conn:expect_nothing", options or {}, strict.set("rule"))
  if not self.raw:answered() then self.t:note("the target's TCP did not answer a segment after a gap") end
  if self.agent then self.t:agent("hello") end -- its program had its turn, too
  local item = self:next(0)
  if item then
    local refused = not self.t.negative and item.op == "terminate" -- no answer to what is behind the gap
    self.t:fail("the target answered octets that it cannot have delivered yet", {
      rule = options.rule, expected = "nothing before the gap is closed", actual = item.text, item = item,
      how = refused and "refused" or nil, fault = refused and message.code_of(item) or nil,
      first = not refused and "early" or nil,
    })
  end
end

-- Withholds acknowledgements (false), or sends one and goes on (true).
function Conn:acknowledge(on) self.raw:acknowledge(on) end
-- With acknowledgements withheld: checks that the target's TCP retransmits. options: rule.
function Conn:expect_repeat(options)
  options = strict.check("conn:expect_repeat", options or {}, strict.set("rule"))
  if self.raw:repeated() then return end
  self.t:fail("the target's TCP did not send unacknowledged octets again", {
    rule = options.rule, expected = "a retransmission", actual = ("none within %g s"):format(iw.patience()),
  })
end

-- Offers the target another window.
function Conn:window(octets) self.raw:window(octets) end

return Conn
