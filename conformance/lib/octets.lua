-- SPDX-License-Identifier: BSD-3-Clause
-- Strings of octets.

local octets = {}

-- All values of an octet, in their order.
local PERIOD = ""
for value = 0, 255 do PERIOD = PERIOD .. string.char(value) end

-- n octets: 00 01 02 ... ff 00 ..., or all of them `fill`.
function octets.bytes(n, fill)
  if fill then return string.char(fill):rep(n) end
  return PERIOD:rep(n // 256) .. PERIOD:sub(1, n % 256)
end

-- Octets from hexadecimal digits; blanks are ignored.
function octets.hex(text)
  return iw.octets(text) or error(("'%s' is not a row of hexadecimal octets"):format(text), 0)
end

-- Hexadecimal digits of octets, cut after `most` octets.
function octets.show(text, most)
  local cut = most and #text > most
  local digits = iw.digits(cut and text:sub(1, most) or text)
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
