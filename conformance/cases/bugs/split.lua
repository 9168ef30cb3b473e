-- SPDX-License-Identifier: BSD-3-Clause

-- Headers that TCP brings in parts: bad stacks copy the rest without bound, leave it on the stream, or
-- take a short read for an error. rdmap-split-* splits the messages of RFC 5040 once at every octet;
-- here are three parts, the other messages, and single octets.

local atomics = use "atomics"
local known_bug = use "known_bug"
local mpa = use "mpa"

local RULES = { "MPA-5.1-05", "MPA-A.4-01", "DDP-3-08" }

-- The octets of the first two of three parts.
local function places(most)
  local all = {}
  for first = 1, most, 3 do
    for _, second in ipairs { 1, 2, 7, 16 } do all[#all + 1] = { first = first, second = second } end
  end
  return all
end

return family {
  known_bug {
    id = "bug-header-split-in-three",
    purpose = "Writes, Sends and Read Requests that come in three parts, split inside and after their headers, are understood",
    rules = RULES,
    needs = { memory = "read write" },
    run = function(t)
      local conn = t:session {}
      local buf = t:memory { length = 64, remote = "read write" }
      local posted = t:memory { length = 16 }
      for i, place in ipairs(places(24)) do
        local payload, writes = bytes(13, i), { place.first, place.second }
        local handle = t:receive { memory = posted, length = 16 }
        conn:send(write { to = buf, offset = i % 8, payload = payload }, { writes = writes })
        conn:send(send { payload = payload }, { writes = writes })
        conn:send(read_request { source = buf, offset = i % 8, size = 13, sink_stag = 5, sink_to = i },
          { writes = { place.first * 2, place.second } })
        conn:expect(read_response { stag = 5, to = i, payload = payload })
        t:completion(handle, { length = 13 })
        t:expect_contents(posted, payload)
      end
    end,
  },

  known_bug {
    id = "bug-header-left-over-when-split",
    purpose = "The target takes a whole untagged header off the stream when its last two octets come with the rest",
    rules = RULES,
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      local memory = t:memory { length = 40 }
      for first = 14, 20 do
        local one, two = t:receive { memory = memory, length = 40 }, t:receive { memory = memory, length = 40 }
        conn:send(send { payload = bytes(33, first) }, { writes = { first } })
        -- If the target had left octets of the header over, it would not find this one.
        conn:send(send { payload = bytes(40, first + 1) }, { writes = { first } })
        t:completion(one, { length = 33 })
        t:completion(two, { length = 40 })
        t:expect_contents(memory, bytes(40, first + 1))
      end
      conn:fence()
    end,
  },

  known_bug {
    id = "bug-header-split-terminate",
    purpose = "A Terminate that comes in two parts, split at any octet, is understood",
    rules = { "RDMAP-5.4-06", "MPA-A.4-01", "DDP-3-08" },
    needs = { agent = true, reconnect = true },
    run = function(t)
      for at = 1, 43, 2 do
        local conn = t:session {}
        conn:send(terminate { payload = hex "1101c000 0012 c140 11223344 0000000000001000", comment = "1/1/01 in two parts" },
          { writes = { at } })
        conn:expect_close {}
        t:event("terminated", conn, { layer = 1, type = 1, code = 1 })
      end
    end,
  },

  known_bug {
    id = "bug-header-split-immediate",
    purpose = "Immediate Data that comes in two parts, split at any octet, is delivered",
    rules = { "EXT-6.3-06", "MPA-A.4-01" },
    needs = { agent = true, extensions = true },
    run = function(t)
      local conn = t:session {}
      for at = 1, 31 do
        local posted = t:receive { length = 0 }
        conn:send(immediate { payload = bytes(8, at) }, { writes = { at } })
        t:completion(posted, { immediate = bytes(8, at) })
      end
    end,
  },

  known_bug {
    id = "bug-header-split-atomic",
    purpose = "An Atomic Request and an Atomic Response that come in two parts, split at any octet, are understood",
    rules = { "EXT-5.2.1-12", "EXT-5.2.2-07", "MPA-A.4-01" },
    needs = { memory = "atomic", extensions = true },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local cell = atomics.cells(t, conn, { 0 })
      for at = 1, 75 do
        conn:send(atomic_request { target = cell, add_swap = 1, request_id = at }, { writes = { at } })
        conn:expect(atomic_response { request_id = at, value = at - 1 })
      end
      for at = 1, 35 do
        local handle = t:post { op = "fetch-add", stag = 1, to = 8, add_swap = 1 }
        local asked = conn:expect(atomic_request {})
        conn:send(atomic_response { request_id = asked.request_id, value = 1000 + at }, { writes = { at } })
        t:completion(handle, { original = 1000 + at })
      end
    end,
  },

  -- Each octet is a read of its own at the other end.
  each({ false, true }, function(markers)
    return known_bug {
      id = "bug-short-read-is-no-error" .. (markers and "-markers" or ""),
      purpose = ("FPDUs that come one octet at a time, %s Markers, are all understood"):format(markers and "with" or "without"),
      rules = { "MPA-A.4-01", "MPA-5.1-05", "MPA-5.2-01" },
      needs = { memory = "read write", markers = markers and "on" or "off" },
      run = function(t)
        local initiator = t.case.role == "initiator"
        local conn = t:session { target = { markers = markers, peer_to_peer = initiator or nil, enhanced = initiator or nil,
                                            revision = initiator and 2 or nil } }
        local buf = t:memory { length = 100, remote = "read write" }
        local posted = { t:receive { length = 64 }, t:receive { length = 64 } }
        conn:together(function()
          conn:send(write { to = buf, payload = bytes(100) }, { segments = 33 })
          conn:send(send { payload = bytes(50, 1) })
          conn:send(send { payload = bytes(64, 2) }, { segments = 9 })
          conn:send(read_request { source = buf, size = 100, sink_stag = 5, sink_to = 6 })
        end, { writes = 1 })
        conn:expect(read_response { stag = 5, to = 6, payload = bytes(100) })
        t:completion(posted[1], { length = 50 })
        t:completion(posted[2], { length = 64 })
        t:expect_contents(posted[1].memory, bytes(50, 1))
        t:expect_contents(posted[2].memory, bytes(64, 2))
        t:expect_contents(buf, bytes(100))
      end,
    }
  end),

  known_bug {
    id = "bug-short-read-of-request",
    purpose = "A Request that comes one octet at a time, with any number of octets of private data, is answered",
    rules = { "MPA-A.4-01", "MPA-7.1.2-24" },
    role = "responder",
    run = function(t)
      for _, length in ipairs { 0, 1, 4, 5, 508 } do
        local conn = t:connect { private = bytes(length), writes = 1 }
        conn:send(write {}, { writes = 1 })
        mpa.leaves(conn)
      end
    end,
  },

  known_bug {
    id = "bug-short-read-of-reply",
    purpose = "A Reply that comes one octet at a time, with any number of octets of private data, is taken",
    rules = { "MPA-A.4-01", "MPA-7.1.2-24" },
    role = "initiator",
    needs = { agent = true },
    run = function(t)
      for _, length in ipairs { 0, 1, 4, 5, 508 } do
        local conn = t:target_connects { raw = true }
        local asked = conn:expect(request {})
        conn:send(t:answer(asked, { private = bytes(length) }), { writes = 1 })
        local event = t:event("established", conn, {}, { rule = length > 0 and "MPA-7.1.2-24" or "MPA-7.1.2-14" })
        t:check(event.private == show(bytes(length)), "the ULP saw other private data than the Reply's",
          { rule = "MPA-7.1.1-23", expected = show(bytes(length), 32), actual = event.private:sub(1, 64) })
      end
    end,
  },
}
