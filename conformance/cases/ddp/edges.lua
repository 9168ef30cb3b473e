-- SPDX-License-Identifier: BSD-3-Clause

-- Both ends of a buffer of 64 octets, for each operation that names one: its first octet, its last
-- one, all up to the end, the octet after it, and no octet at the end and past it. The buffer lies
-- where the target puts it, at TO 0, or just below 2^64.

local LENGTH = 64

local atomics = use "atomics"

-- name, text, offset, octets (of an atomic: 8), whether the target carries it out
local places = {
  { "first", "the first octets", 0, 1, true },
  { "last", "the last octets", LENGTH - 1, 1, true },
  { "to-end", "all octets up to the end", 1, LENGTH - 1, true },
  { "whole", "all octets", 0, LENGTH, true },
  { "past-end", "the octet after the end", LENGTH, 1, false },
  { "over-end", "the last octet and the one after it", LENGTH - 1, 2, false },
  { "empty-at-start", "no octet at the start", 0, 0, true },
  { "empty-at-end", "no octet at the end", LENGTH, 0, true },
  { "empty-past-end", "no octet past the end", LENGTH + 1, 0, true },
}

-- name, text, remote access, codes of a refusal, rules when it is right, empty, refused
local kinds = {
  { "ddp-edge-write", "Write", "write", { "1/1/01", "1/1/03" }, { "DDP-5.2-05", "DDP-7.1-13", "RDMAP-5.1-04" }, "DDP-5.2-11", "DDP-7.1-13" },
  { "rdmap-edge-read", "Read", "read", { "0/1/01", "0/1/04" }, { "RDMAP-5.2.1-12", "RDMAP-7.2-12", "RDMAP-5.2.1-11" }, "RDMAP-5.2.1-15", "RDMAP-7.2-12" },
}

local bases = { { "", nil }, { "-base-0", 0 }, { "-base-top", -LENGTH - 1 } }

local function exchange(t, kind, place, base)
  local name, offset, size, right = kind[1], place[3], place[4], place[5]
  local buf = t:memory { length = LENGTH, remote = kind[3], fill = "count", to = base }
  local conn = t:session {}
  conn:sanity()
  local payload = bytes(size, 0xee)
  if name == "rdmap-edge-read" then
    local sent = conn:send(read_request { source = buf, offset = offset, size = size, sink_stag = 5, sink_to = 6,
                                          comment = not right and place[2] or nil })
    if not right then
      conn:expect_terminate { kind[4][1], kind[4][2], of = sent }
    else
      conn:expect(read_response { stag = 5, to = 6, payload = bytes(LENGTH):sub(offset + 1, offset + size) })
      conn:fence()
    end
    return t:expect_unchanged(buf)
  end
  local sent = conn:send(write { to = buf, offset = offset, payload = payload, comment = not right and place[2] or nil })
  if not right then
    conn:expect_terminate { kind[4][1], kind[4][2], of = sent }
    return t:expect_unchanged(buf)
  end
  conn:fence()
  if size == 0 then return t:expect_unchanged(buf) end
  t:expect_contents(buf, payload, { offset = offset })
end

local atomic_places = {
  { "first", "the first 8 octets", 0, true }, { "last", "the last 8 octets", LENGTH - 8, true },
  { "past-end", "the 8 octets after the end", LENGTH, false },
}
local operations = { { "fetch-add", "FetchAdd", 0 }, { "cmp-swap", "CmpSwap", 2 } }

return family {
  each(kinds, places, bases, function(kind, place, base)
    local both = base[2] == nil
    return (both and both_roles or case) {
      id = ("%s-%s%s"):format(kind[1], place[1], base[1]),
      purpose = ("A %s of %s of a buffer%s %s"):format(kind[2], place[2],
        base[2] == 0 and " that begins at TO 0" or base[2] and " that ends just below TO 2^64" or "",
        place[5] and "is carried out, and no other octet changes" or "ends the stream and changes no octet"),
      rules = place[4] == 0 and { kind[6] } or place[5] and kind[5] or { kind[7], "SEC-6.2.1-01" },
      level = "must",
      role = not both and "responder" or nil,
      needs = { memory = kind[3] },
      tags = { "boundary" },
      run = function(t) exchange(t, kind, place, base[2]) end,
    }
  end),

  -- ---- atomics: 8 octets, aligned ----

  each(operations, atomic_places, { { "", nil }, { "-base-0", 0 }, { "-base-top", -LENGTH - 8 } }, function(operation, place, base)
    local both = base[2] == nil
    return (both and both_roles or case) {
      id = ("ext-edge-%s-%s%s"):format(operation[1], place[1], base[1]),
      purpose = ("A %s on %s of a buffer%s %s"):format(operation[2], place[2],
        base[2] == 0 and " that begins at TO 0" or base[2] and " that ends just below TO 2^64" or "",
        place[4] and "is carried out, and no other octet changes" or "ends the stream and changes no octet"),
      rules = place[4] and { operation[3] == 0 and "EXT-5.1.1-06" or "EXT-5.1.2-01", "EXT-5-01" } or { "EXT-8.2-08", "SEC-6.2.1-01" },
      level = "must",
      role = not both and "responder" or nil,
      needs = { memory = "atomic", extensions = true },
      tags = { "boundary" },
      run = function(t)
        local conn = t:session {}
        conn:sanity()
        atomics.cells(t, conn, { 0 }) -- finds out the order of the target's octets
        local zeros = bytes(LENGTH, 0)
        local buf = t:memory { length = LENGTH, remote = "atomic", fill = zeros, to = base[2] }
        local request = { target = buf, offset = place[3], atomic = operation[3], request_id = 7, add_swap = 5,
                          add_swap_mask = operation[3] == 2 and 0xffffffffffffffff or nil,
                          comment = not place[4] and place[2] or nil }
        local sent = conn:send(atomic_request(request))
        if not place[4] then
          conn:expect_terminate { "0/1/01", "0/1/04", terminate { rdmap = "protection" }, of = sent }
          return t:expect_unchanged(buf)
        end
        conn:expect(atomic_response { request_id = 7, value = 0 })
        atomics.expect(t, buf, 5, place[3])
      end,
    }
  end),
}
