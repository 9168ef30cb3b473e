-- SPDX-License-Identifier: BSD-3-Clause

-- Streaming mode before MPA: in each direction MPA begins after the last streamed octet.

local ASK, GO = "iwarp?\n", "go\n"

local function streaming(one)
  one.needs = { streaming = true, memory = "read" }
  return both_roles(one)
end

-- A connection on which both ends stream these octets, and then MPA begins at both.
local function switched(t, from_station, from_target, options, comment)
  local target = { stream = true }
  for name, value in pairs(options or {}) do target[name] = value end
  local conn = t:session { raw = true, target = target }
  if comment then
    conn:write(from_station, { comment = comment })
  else
    conn:stream(from_station)
  end
  t:check(t:streamed(conn, #from_station) == from_station,
    "the target's application got other streamed octets than the station sent")
  t:stream(conn, from_target)
  t:check(conn:take(#from_target) == from_target, "the target streamed other octets than its application sent")
  conn:begin()
  t:start(conn)
  return conn
end

-- The start-up and a first FPDU, in which the station has the role that the target has not.
local function start_up(t, conn, options)
  if t.case.role == "responder" then
    conn:send(request(options))
    conn:expect(reply { rejected = false })
    t:established(conn)
  else
    local item = conn:expect(request {})
    conn:send(t:answer(item, options))
    t:established(conn)
    local posted = t:post { conn = conn, op = "write" }
    conn:expect(write { payload = "" })
    t:completion(posted)
  end
end

-- Octets streamed by the station and by the target: none, and some around the distance of Markers.
local amounts = {
  { ours = 0, theirs = 0 }, { ours = 1, theirs = 0 }, { ours = 0, theirs = 1 }, { ours = 511, theirs = 512 },
  { ours = 512, theirs = 513 }, { ours = 4099, theirs = 2 }, { ours = 3, theirs = 16384 },
}

return family {
  each(amounts, function(amount)
    return each({ false, true }, function(markers)
      return streaming {
        id = ("mpa-streaming-%d-%d%s"):format(amount.ours, amount.theirs, markers and "-markers" or ""),
        purpose = ("MPA begins after %d octets streamed to the target and %d streamed by it%s"):format(amount.ours, amount.theirs,
          markers and "; Markers are counted from there" or ""),
        rules = { "MPA-7.1-01" },
        run = function(t)
          local plain = t.peer.startup and t.peer.startup.revision == 0
          local config = not plain and { markers = markers } or nil
          local conn = switched(t, bytes(amount.ours), bytes(amount.theirs, 0xfe), config)
          start_up(t, conn, not plain and { markers = markers } or {})
          conn:sanity()
          local buf = t:memory { length = 3000, remote = "read", fill = "count" }
          t:check(conn:read(buf, 0, 3000) == bytes(3000),
            "the RDMA Read after the start-up returned other octets than the target holds")
        end,
      }
    end)
  end),

  streaming {
    id = "mpa-streaming-like-a-request",
    purpose = "The target takes octets that look like a Request for streamed ones while MPA has not begun",
    rules = { "MPA-7.1-01" },
    run = function(t)
      local conn = switched(t, octets(request {}) .. ASK, GO, nil, "streaming mode, though it looks like a Request")
      start_up(t, conn, {})
      conn:sanity()
    end,
  },

  case {
    id = "mpa-streaming-request-at-once",
    purpose = "A target that begins MPA between the last streamed octets and a Request in the same segment does not lose the Request",
    rules = { "MPA-7.1-01" },
    role = "responder",
    needs = { streaming = true },
    run = function(t)
      local conn = t:connect { raw = true, target = { stream = true } }
      conn:begin()
      conn:together(function()
        conn:stream(ASK)
        conn:send(request {})
      end)
      t:check(t:streamed(conn, #ASK) == ASK, "the target's application got other streamed octets than the station sent")
      t:start(conn)
      conn:expect(reply { rejected = false })
      t:established(conn)
      conn:sanity()
    end,
  },

  case {
    id = "mpa-streaming-silent-responder",
    purpose = "A target that has begun MPA as responder sends nothing before a Request",
    rules = { "MPA-7.1.2-03", "MPA-7.1-01" },
    role = "responder",
    needs = { streaming = true },
    run = function(t)
      local conn = switched(t, ASK, GO)
      conn:expect_silence {}
      conn:send(request {})
      conn:expect(reply { rejected = false })
    end,
  },

  -- One octet too many, where MPA has begun.
  case {
    id = "mpa-streaming-octet-too-many",
    purpose = "An octet of streaming mode after the beginning of MPA, before the Request, ends the connection",
    rules = { "MPA-7.1.1-02", "MPA-7.1.2-04", "MPA-7.1-01" },
    role = "responder",
    needs = { streaming = true },
    run = function(t)
      local conn = switched(t, ASK, "")
      conn:write("\n" .. octets(request {}), { comment = "one more streamed octet and a Request" })
      conn:expect_close {}
    end,
  },

  case {
    id = "mpa-streaming-octet-too-many-initiator",
    purpose = "An octet of streaming mode before the Reply ends the connection, and the target sends no FPDU",
    rules = { "MPA-7.1.1-04", "MPA-7.1.2-12", "MPA-7.1-01" },
    role = "initiator",
    needs = { streaming = true },
    run = function(t)
      local conn = switched(t, ASK, GO)
      local item = conn:expect(request {})
      conn:write("\n" .. octets(t:answer(item)), { comment = "one more streamed octet and a Reply" })
      conn:expect(closed(), fault.malformed_startup)
    end,
  },
}
