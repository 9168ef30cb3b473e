-- SPDX-License-Identifier: BSD-3-Clause

-- The target does not begin Read Requests and Atomic Requests after a gap (RFC 5040 §5.5, RFC 7306
-- §5.4): the answer, when it comes, shows the messages before them.

local segments = use "segments"
local atomics = use "atomics"

local function in_every_way(fields)
  return each(segments.ways(fields), both_roles)
end

return family {
  each({ { name = "first", late = 1 }, { name = "middle", late = 2 }, { name = "last", late = 3 } }, function(one)
    return in_every_way {
      id = "tcp-read-waits-" .. one.name,
      purpose = ("The target does not answer a Read Request while the %s FPDU of the Write before it is missing"):format(one.name),
      rules = { "RDMAP-5.5-07", "RDMAP-5.5-14", "DDP-5.4-01" },
      needs = { memory = "read write" },
      run = function(t, way)
        local buf = t:memory { length = 3000, remote = "read write" }
        local conn = segments.session(t, way)
        local parts = conn:split(function()
          conn:send(write { to = buf, payload = bytes(3000) }, { segments = 1000 })
          conn:send(read_request { source = buf, size = 3000, sink_stag = 7, sink_to = 1 })
        end)
        for _, i in ipairs { 4, 3, 2, 1 } do
          if i ~= one.late then parts:send(i) end
        end
        conn:expect_nothing()
        parts:send(one.late)
        local item = conn:expect(read_response { stag = 7, to = 1 })
        t:expect_after_write(item, buf, bytes(3000), "RDMAP-5.5-14")
        conn:fence()
      end,
    }
  end),

  -- The request's own header, late by one octet.
  in_every_way {
    id = "tcp-read-header-late",
    purpose = "The target answers neither a Read Request of which one octet is missing nor those after it",
    rules = { "RDMAP-5.5-07", "RDMAP-5.5-08" },
    needs = { memory = "read" },
    run = function(t, way)
      local buf = t:memory { length = 64, remote = "read", fill = "count" }
      local conn = segments.session(t, way)
      local parts = conn:split(function()
        conn:send(read_request { source = buf, size = 64, sink_stag = 7, sink_to = 1 })
        conn:send(read_request { source = buf, size = 32, sink_stag = 7, sink_to = 2 })
      end):split(1, 30):split(2, 1)
      parts:send(4, 3, 1)
      conn:expect_nothing()
      parts:send(2)
      conn:expect(read_response { stag = 7, to = 1, payload = bytes(64) })
      conn:expect(read_response { stag = 7, to = 2, payload = bytes(32) })
      conn:fence()
    end,
  },

  in_every_way {
    id = "tcp-empty-read-waits",
    purpose = "The target does not answer a zero-length Read Request before the messages before it have come",
    rules = { "RDMAP-5.5-08", "RDMAP-5.5-07" },
    needs = { memory = "write" },
    run = function(t, way)
      local buf = t:memory { length = 2000, remote = "write" }
      local conn = segments.session(t, way)
      local parts = conn:split(function()
        conn:send(write { to = buf, payload = bytes(2000) }, { segments = 1000 })
        conn:send(read_request { size = 0, sink_stag = 7, sink_to = 1 })
        conn:send(read_request { size = 0, sink_stag = 7, sink_to = 2 })
      end)
      parts:send(4, 3, 2)
      conn:expect_nothing()
      parts:send(1)
      conn:expect(read_response { stag = 7, to = 1, payload = "" })
      -- The answer says that the Write has been placed.
      t:expect_contents(buf, bytes(2000), { rule = "RDMAP-5.5-08" })
      conn:expect(read_response { stag = 7, to = 2, payload = "" })
      conn:fence()
    end,
  },

  in_every_way {
    id = "tcp-atomic-waits",
    purpose = "The target does not begin an Atomic Request before the Write before it has come",
    rules = { "EXT-5.4-04", "EXT-5.4-06" },
    needs = { memory = "write atomic", extensions = true },
    run = function(t, way)
      local conn = segments.session(t, way)
      local cells = atomics.cells(t, conn, { 100 }, { remote = "write atomic" })
      local parts = conn:split(function()
        conn:send(write { to = cells, payload = atomics.octets(t, 7) })
        conn:send(atomic_request { target = cells, add_swap = 1, request_id = 9 })
      end)
      parts:send(2)
      conn:expect_nothing()
      t:expect_unchanged(cells)
      parts:send(1)
      conn:expect(atomic_response { request_id = 9, value = 7 })
      atomics.expect(t, cells, 8)
      conn:fence()
    end,
  },

  in_every_way {
    id = "tcp-atomics-reversed",
    purpose = "FetchAdds whose segments come in reverse see the values of their order on the stream",
    rules = { "EXT-5.4-04", "EXT-5.4-09", "EXT-5.4-10" },
    needs = { memory = "atomic", extensions = true, ird = 4 },
    run = function(t, way)
      local conn = segments.session(t, way)
      local cells = atomics.cells(t, conn, { 0 })
      local parts = conn:split(function()
        for i = 1, 4 do conn:send(atomic_request { target = cells, add_swap = 10 ^ i // 1 | 0, request_id = i }) end
      end)
      segments.behind_a_gap(conn, parts)
      t:expect_unchanged(cells)
      parts:send(1)
      for i, value in ipairs { 0, 10, 110, 1110 } do conn:expect(atomic_response { request_id = i, value = value }) end
      atomics.expect(t, cells, 11110)
      conn:fence()
    end,
  },

  -- Delivering the Send invalidates the STag.
  in_every_way {
    id = "tcp-invalidate-waits",
    purpose = "A Send with Invalidate after a gap leaves its STag valid for the Write before it",
    rules = { "RDMAP-5.5-05", "DDP-5.4-01" },
    needs = { memory = "write" },
    run = function(t, way)
      local buf = t:memory { length = 64, remote = "write", invalidate = true }
      local conn = segments.session(t, way)
      local posted = t:receive { length = 8 }
      local parts = conn:split(function()
        conn:send(write { to = buf, payload = bytes(64) })
        conn:send(send_invalidate { invalidate = buf, payload = "done" })
      end)
      parts:send(2)
      conn:expect_nothing()
      t:expect_no_completion(posted)
      parts:send(1)
      t:completion(posted, { length = 4 })
      t:expect_contents(buf, bytes(64))
      conn:fence()
    end,
  },
}
