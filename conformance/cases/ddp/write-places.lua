-- SPDX-License-Identifier: BSD-3-Clause

-- Valid Writes of many sizes, places and segmentations: every octet lands where it belongs, and no
-- other octet changes.

local MULPDU = 14 -- less the tagged header: the payload of a full segment

local function room(conn)
  local state = conn:state()
  return mulpdu(state.mss > 0 and state.mss or 1460, state.markers) - MULPDU
end

-- Puts octets into the expected content of a buffer.
local function put(picture, at, octets) return picture:sub(1, at) .. octets .. picture:sub(at + #octets + 1) end

local function place(offset, payload, segments) return { offset = offset, payload = payload, segments = segments } end

-- A buffer of `length` octets is written to at these places.
local function written(t, length, options, places)
  local buf = t:memory { length = length, remote = "write", to = options.to }
  local conn = t:session {}
  local picture = buf.content:sub(buf.guard + 1, buf.guard + length)
  for _, one in ipairs(type(places) == "function" and places(conn) or places) do
    conn:send(write { to = buf, offset = one.offset, payload = one.payload }, { segments = one.segments })
    picture = put(picture, one.offset, one.payload)
  end
  conn:fence()
  t:expect_contents(buf, picture)
end

local function writes(id, purpose, rules, length, places, options)
  local both = id == "alignments" or id == "mulpdu-edges"
  return (both and both_roles or case) {
    id = "ddp-write-" .. id,
    purpose = purpose,
    rules = rules,
    role = not both and "responder" or nil,
    needs = { memory = "write" },
    run = function(t) written(t, length, options or {}, places) end,
  }
end

local EXACT = { "DDP-5.2-05", "DDP-4.1-01", "DDP-4.2-10" }

-- Sizes 1 to 8 at each of 16 alignments, 32 octets of room each.
local alignments = {}
for size = 1, 8 do
  for align = 0, 15 do
    alignments[#alignments + 1] = place(((size - 1) * 16 + align) * 32 + align, bytes(size, 0x80 + size))
  end
end

local edges = {}
local at = 0
for _, pages in ipairs { 1, 2, 4 } do
  for step = -1, 1 do
    edges[#edges + 1] = place(at, bytes(pages * 4096 + step))
    at = at + pages * 4096 + 3
  end
end

local octet_by_octet = {}
for i = 1, 99 do octet_by_octet[i] = 1 end

return family {
  writes("alignments", "Writes of 1 to 8 octets at every alignment are placed exactly", EXACT, 4096, alignments),
  writes("both-ends", "Writes of the first octet, of the last one and of the whole buffer are placed exactly",
    { "DDP-5.2-05", "DDP-7.1-12", "DDP-7.1-13", "RDMAP-5.1-04" }, 64,
    { place(0, bytes(64, 1)), place(0, "\2"), place(63, "\3"), place(1, bytes(62)) }),
  writes("page-edges", "Writes of 1, 2 and 4 pages, an octet less and an octet more, are placed exactly", EXACT, at, edges),
  writes("mulpdu-edges", "Writes that just fill a segment, and that leave one octet for the next, are placed exactly",
    { "DDP-5.2-05", "DDP-3-04", "DDP-4.1-01" }, 132000, function(conn)
      local full, places, from = room(conn), {}, 3
      for _, size in ipairs { full, full + 1 } do
        places[#places + 1] = place(from, bytes(size))
        from = from + size + 5
      end
      return places
    end),
  writes("tiny-segments", "A Write of 100 octets in segments of one octet each is placed exactly",
    { "DDP-5.2-05", "DDP-3-04" }, 128, { place(7, bytes(100), octet_by_octet) }),
  writes("uneven-segments", "A Write in segments of very different lengths is placed exactly",
    { "DDP-5.2-05", "DDP-3-04" }, 4096, { place(0, bytes(3333), { 1, 1000, 2, 3, 700, 1500 }) }),
  writes("base-zero", "A buffer that begins at TO 0 is written to at both ends",
    { "DDP-5.2-05", "DDP-4.2-10", "RDMAP-5.1-03" }, 64, { place(0, bytes(8)), place(56, bytes(8, 9)) }, { to = 0 }),
  writes("base-odd", "A buffer that begins at an odd TO is written to at both ends",
    { "DDP-5.2-05", "RDMAP-5.1-03" }, 64, { place(0, bytes(3)), place(61, bytes(3, 9)) }, { to = 0x123456789abcdef1 }),
  writes("base-half", "A buffer that lies across TO 2^63 is written to at both ends and across the middle",
    { "DDP-5.2-05", "RDMAP-5.1-03" }, 64, { place(0, bytes(8)), place(56, bytes(8, 9)), place(28, bytes(8, 7)) },
    { to = math.maxinteger - 31 }),
  writes("base-top", "A buffer that ends just below TO 2^64 is written to at both ends",
    { "DDP-5.2-05", "RDMAP-5.1-03" }, 64, { place(0, bytes(8)), place(56, bytes(8, 9)) }, { to = -65 }),
}
