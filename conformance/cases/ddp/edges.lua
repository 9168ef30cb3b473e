-- SPDX-License-Identifier: BSD-3-Clause

-- Both ends of a buffer of 64 octets, for each operation that names one: its first octet, its last
-- one, all up to the end, the octet after it, and no octet at the end and past it. The buffer lies
-- where the target puts it, at TO 0, or just below 2^64.

local LENGTH = 64

local atomics = use "atomics"

local places = {
  { name = "first", text = "the first octets", offset = 0, size = 1, right = true },
  { name = "last", text = "the last octets", offset = LENGTH - 1, size = 1, right = true },
  { name = "to-end", text = "all octets up to the end", offset = 1, size = LENGTH - 1, right = true },
  { name = "whole", text = "all octets", offset = 0, size = LENGTH, right = true },
  { name = "past-end", text = "the octet after the end", offset = LENGTH, size = 1 },
  { name = "over-end", text = "the last octet and the one after it", offset = LENGTH - 1, size = 2 },
  { name = "empty-at-start", text = "no octet at the start", offset = 0, size = 0, right = true },
  { name = "empty-at-end", text = "no octet at the end", offset = LENGTH, size = 0, right = true },
  { name = "empty-past-end", text = "no octet past the end", offset = LENGTH + 1, size = 0, right = true },
}

-- rules: where the target carries it out; empty, refused: the rule about no octet, and where it does not.
local kinds = {
  { prefix = "ddp-edge-write", text = "Write", remote = "write", fault = fault.past_end_or_wraps,
    rules = { "DDP-5.2-05", "DDP-7.1-13", "RDMAP-5.1-04" }, empty = "DDP-5.2-11", refused = "DDP-7.1-13" },
  { prefix = "rdmap-edge-read", text = "Read", remote = "read", fault = fault.rdmap_past_end_or_wraps,
    rules = { "RDMAP-5.2.1-12", "RDMAP-7.2-12", "RDMAP-5.2.1-11" }, empty = "RDMAP-5.2.1-15", refused = "RDMAP-7.2-12" },
}

local bases = { { suffix = "" }, { suffix = "-base-0", to = 0 }, { suffix = "-base-top", to = -LENGTH - 1 } }

local function exchange(t, kind, place, base)
  local offset, size, right = place.offset, place.size, place.right
  local buf = t:memory { length = LENGTH, remote = kind.remote, fill = "count", to = base }
  local conn = t:session {}
  conn:sanity()
  local payload = bytes(size, 0xee)
  if kind.remote == "read" then
    local sent = conn:send(read_request { source = buf, offset = offset, size = size, sink_stag = 5, sink_to = 6,
                                          comment = not right and place.text or nil })
    if not right then
      conn:expect_terminate { kind.fault, of = sent }
    else
      conn:expect(read_response { stag = 5, to = 6, payload = bytes(LENGTH):sub(offset + 1, offset + size) })
      conn:fence()
    end
    return t:expect_unchanged(buf)
  end
  local sent = conn:send(write { to = buf, offset = offset, payload = payload, comment = not right and place.text or nil })
  if not right then
    conn:expect_terminate { kind.fault, of = sent }
    return t:expect_unchanged(buf)
  end
  conn:fence()
  if size == 0 then return t:expect_unchanged(buf) end
  t:expect_contents(buf, payload, { offset = offset })
end

local atomic_places = {
  { name = "first", text = "the first 8 octets", offset = 0, right = true }, { name = "last", text = "the last 8 octets",
    offset = LENGTH - 8, right = true },
  { name = "past-end", text = "the 8 octets after the end", offset = LENGTH },
}
local atomic_bases = { { suffix = "" }, { suffix = "-base-0", to = 0 }, { suffix = "-base-top", to = -LENGTH - 8 } }
local operations = { { name = "fetch-add", text = "FetchAdd", code = 0 }, { name = "cmp-swap", text = "CmpSwap", code = 2 } }

return family {
  each(kinds, places, bases, function(kind, place, base)
    local both = base.to == nil
    return (both and both_roles or case) {
      id = ("%s-%s%s"):format(kind.prefix, place.name, base.suffix),
      purpose = ("A %s of %s of a buffer%s %s"):format(kind.text, place.text,
        base.to == 0 and " that begins at TO 0" or base.to and " that ends just below TO 2^64" or "",
        place.right and "is carried out, and no other octet changes" or "ends the stream and changes no octet"),
      rules = place.size == 0 and { kind.empty } or place.right and kind.rules or { kind.refused, "SEC-6.2.1-01" },
      level = "must",
      role = not both and "responder" or nil,
      needs = { memory = kind.remote },
      tags = { "boundary" },
      run = function(t) exchange(t, kind, place, base.to) end,
    }
  end),

  -- ---- atomics: 8 octets, aligned ----

  each(operations, atomic_places, atomic_bases, function(operation, place, base)
    local both = base.to == nil
    return (both and both_roles or case) {
      id = ("ext-edge-%s-%s%s"):format(operation.name, place.name, base.suffix),
      purpose = ("A %s on %s of a buffer%s %s"):format(operation.text, place.text,
        base.to == 0 and " that begins at TO 0" or base.to and " that ends just below TO 2^64" or "",
        place.right and "is carried out, and no other octet changes" or "ends the stream and changes no octet"),
      rules = place.right and { operation.code == 0 and "EXT-5.1.1-06" or "EXT-5.1.2-01", "EXT-5-01" } or { "EXT-8.2-08", "SEC-6.2.1-01" },
      level = "must",
      role = not both and "responder" or nil,
      needs = { memory = "atomic", extensions = true },
      tags = { "boundary" },
      run = function(t)
        local conn = t:session {}
        conn:sanity()
        atomics.cells(t, conn, { 0 }) -- finds out the order of the target's octets
        local zeros = bytes(LENGTH, 0)
        local buf = t:memory { length = LENGTH, remote = "atomic", fill = zeros, to = base.to }
        local request = { target = buf, offset = place.offset, atomic = operation.code, request_id = 7, add_swap = 5,
                          add_swap_mask = operation.code == 2 and 0xffffffffffffffff or nil,
                          comment = not place.right and place.text or nil }
        local sent = conn:send(atomic_request(request))
        if not place.right then
          conn:expect_terminate { fault.rdmap_past_end_or_wraps, terminate { rdmap = "protection" }, of = sent }
          return t:expect_unchanged(buf)
        end
        conn:expect(atomic_response { request_id = 7, value = 0 })
        atomics.expect(t, buf, 5, place.offset)
      end,
    }
  end),
}
