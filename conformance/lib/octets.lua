-- SPDX-License-Identifier: BSD-3-Clause
-- Strings of octets.

local octets = {}

-- n octets: 00 01 02 ... ff 00 ..., or all of them `fill`.
function octets.bytes(n, fill)
  if fill then return string.char(fill):rep(n) end
  local parts = {}
  for i = 0, 255 do parts[i + 1] = string.char(i) end
  local period = table.concat(parts)
  return period:rep(n // 256) .. period:sub(1, n % 256)
end

-- The digits of an octet, and the octet of a pair of digits.
local DIGITS, OCTETS = {}, {}
for value = 0, 255 do
  DIGITS[string.char(value)] = ("%02x"):format(value)
  OCTETS[("%02x"):format(value)] = string.char(value)
end

-- Octets from hexadecimal digits; blanks are ignored.
function octets.hex(text)
  local digits = text:gsub("%s+", "")
  if #digits % 2 ~= 0 or digits:find("%X") then
    error(("'%s' is not a row of hexadecimal octets"):format(text), 0)
  end
  return (digits:lower():gsub("%x%x", OCTETS))
end

-- Hexadecimal digits of octets, cut after `most` octets.
function octets.show(text, most)
  local cut = most and #text > most
  local digits = (cut and text:sub(1, most) or text):gsub(".", DIGITS)
  return cut and digits .. "..." or digits
end

-- The first place (from 0) where two strings differ, or nil.
function octets.difference(a, b)
  if a == b then return nil end
  local low, high = 0, math.min(#a, #b)
  while low < high do
    local middle = (low + high + 1) // 2
    if a:sub(1, middle) == b:sub(1, middle) then low = middle else high = middle - 1 end
  end
  return low
end

-- The place (from 0) where two strings of one length differ, if it is the only one.
function octets.sole_difference(a, b)
  local at = #a == #b and octets.difference(a, b)
  return at and a:sub(at + 2) == b:sub(at + 2) and at or nil
end

local FIELD, MARKERS = 8, 8

-- Where in a stream the field begins that has the octet at `at` (nil: there is none), counted from position `start`, as t:fail takes it.
-- Markers may lie between the two.
function octets.around(at, start, markers)
  return at and { from = start + at - FIELD + 1, to = start + at + (markers and MARKERS or 0) } or nil
end

return octets
