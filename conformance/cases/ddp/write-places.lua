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

-- The run of a case: writes to these places (or those that a function of the connection returns) of a buffer of `length`
-- octets that begins at `to`.
local function writes(options)
  return function(t)
    local buf = t:memory { length = options.length, remote = "write", to = options.to }
    local conn = t:session {}
    local picture = buf.content:sub(buf.guard + 1, buf.guard + options.length)
    for _, one in ipairs(type(options.places) == "function" and options.places(conn) or options.places) do
      conn:send(write { to = buf, offset = one.offset, payload = one.payload }, { segments = one.segments })
      picture = put(picture, one.offset, one.payload)
    end
    conn:fence()
    t:expect_contents(buf, picture)
  end
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
  both_roles {
    id = "ddp-write-alignments",
    purpose = "Writes of 1 to 8 octets at every alignment are placed exactly",
    rules = EXACT,
    needs = { memory = "write" },
    run = writes { length = 4096, places = alignments },
  },

  case {
    id = "ddp-write-both-ends",
    purpose = "Writes of the first octet, of the last one and of the whole buffer are placed exactly",
    rules = { "DDP-5.2-05", "DDP-7.1-12", "DDP-7.1-13", "RDMAP-5.1-04" },
    role = "responder",
    needs = { memory = "write" },
    run = writes {
      length = 64,
      places = { place(0, bytes(64, 1)), place(0, "\2"), place(63, "\3"), place(1, bytes(62)) },
    },
  },

  case {
    id = "ddp-write-page-edges",
    purpose = "Writes of 1, 2 and 4 pages, an octet less and an octet more, are placed exactly",
    rules = EXACT,
    role = "responder",
    needs = { memory = "write" },
    run = writes { length = at, places = edges },
  },

  both_roles {
    id = "ddp-write-mulpdu-edges",
    purpose = "Writes that just fill a segment, and that leave one octet for the next, are placed exactly",
    rules = { "DDP-5.2-05", "DDP-3-04", "DDP-4.1-01" },
    needs = { memory = "write" },
    run = writes {
      length = 132000,
      places = function(conn)
        local full, places, from = room(conn), {}, 3
        for _, size in ipairs { full, full + 1 } do
          places[#places + 1] = place(from, bytes(size))
          from = from + size + 5
        end
        return places
      end,
    },
  },

  case {
    id = "ddp-write-tiny-segments",
    purpose = "A Write of 100 octets in segments of one octet each is placed exactly",
    rules = { "DDP-5.2-05", "DDP-3-04" },
    role = "responder",
    needs = { memory = "write" },
    run = writes { length = 128, places = { place(7, bytes(100), octet_by_octet) } },
  },

  case {
    id = "ddp-write-uneven-segments",
    purpose = "A Write in segments of very different lengths is placed exactly",
    rules = { "DDP-5.2-05", "DDP-3-04" },
    role = "responder",
    needs = { memory = "write" },
    run = writes { length = 4096, places = { place(0, bytes(3333), { 1, 1000, 2, 3, 700, 1500 }) } },
  },

  case {
    id = "ddp-write-base-zero",
    purpose = "A buffer that begins at TO 0 is written to at both ends",
    rules = { "DDP-5.2-05", "DDP-4.2-10", "RDMAP-5.1-03" },
    role = "responder",
    needs = { memory = "write" },
    run = writes { length = 64, to = 0, places = { place(0, bytes(8)), place(56, bytes(8, 9)) } },
  },

  case {
    id = "ddp-write-base-odd",
    purpose = "A buffer that begins at an odd TO is written to at both ends",
    rules = { "DDP-5.2-05", "RDMAP-5.1-03" },
    role = "responder",
    needs = { memory = "write" },
    run = writes { length = 64, to = 0x123456789abcdef1, places = { place(0, bytes(3)), place(61, bytes(3, 9)) } },
  },

  case {
    id = "ddp-write-base-half",
    purpose = "A buffer that lies across TO 2^63 is written to at both ends and across the middle",
    rules = { "DDP-5.2-05", "RDMAP-5.1-03" },
    role = "responder",
    needs = { memory = "write" },
    run = writes {
      length = 64,
      to = math.maxinteger - 31,
      places = { place(0, bytes(8)), place(56, bytes(8, 9)), place(28, bytes(8, 7)) },
    },
  },

  case {
    id = "ddp-write-base-top",
    purpose = "A buffer that ends just below TO 2^64 is written to at both ends",
    rules = { "DDP-5.2-05", "RDMAP-5.1-03" },
    role = "responder",
    needs = { memory = "write" },
    run = writes { length = 64, to = -65, places = { place(0, bytes(8)), place(56, bytes(8, 9)) } },
  },
}
