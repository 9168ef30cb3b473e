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

local FIELD, MARKERS = 8, 8

-- Where in a stream the one field begins in which two strings differ, of which the second begins at position `start`, as t:fail
-- takes it; nil if more differs than a field has. Markers may lie between the two.
function octets.field(a, b, start, markers)
  local first = #a == #b and octets.difference(a, b)
  if not first then return nil end
  local last = #a - 1
  while a:byte(last + 1) == b:byte(last + 1) do last = last - 1 end
  if last - first >= FIELD then return nil end
  return { from = start + last - FIELD + 1, to = start + first + (markers and MARKERS or 0) }
end

return octets
