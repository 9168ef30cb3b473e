-- SPDX-License-Identifier: BSD-3-Clause

-- The target reads, and is given more than it asked for: octets land behind its buffer. Here the
-- buffer ends where the Read ends, so that any octet too many would lie outside of it (OP-66).

local list = {}

local SIZE = 64

local function answer(conn, asked, shift, payload, comment, segments)
  return conn:send(read_response { stag = asked.sink_stag, to = asked.sink_to + shift, payload = payload, broken = comment ~= nil,
                                   comment = comment }, { segments = segments })
end

-- name, text, octets asked for, whether the Read may complete, stimulus
local more = {
  { "by-one-octet", "one octet more than it asked for", SIZE, false, function(conn, asked)
    answer(conn, asked, 0, bytes(SIZE + 1, 0xee), "65 octets for 64")
  end },
  { "by-one-segment", "one segment more than it asked for", SIZE, false, function(conn, asked)
    answer(conn, asked, 0, bytes(SIZE + 16, 0xee), "80 octets for 64, in segments of 16", { 16, 16, 16, 16, 16 })
  end },
  { "twice", "twice the octets that it asked for", SIZE, false, function(conn, asked)
    answer(conn, asked, 0, bytes(2 * SIZE, 0xee), "128 octets for 64")
  end },
  { "by-a-lot", "64 KiB for the octet that it asked for", 1, false, function(conn, asked)
    answer(conn, asked, 0, bytes(65536, 0xee), "65536 octets for 1")
  end },
  { "for-nothing", "an octet for a Read of size zero", 0, false, function(conn, asked)
    answer(conn, asked, 0, "\xee", "an octet for a Read of size 0")
  end },
  { "after-completion", "another segment behind the last one", SIZE, true, function(conn, asked)
    answer(conn, asked, 0, bytes(SIZE, 0xee))
    answer(conn, asked, SIZE, bytes(8, 0xee), "the Read is complete")
  end },
  { "over-again", "the whole response again, one octet further on", SIZE, true, function(conn, asked)
    answer(conn, asked, 0, bytes(SIZE, 0xee))
    answer(conn, asked, 1, bytes(SIZE, 0xee), "the Read is complete")
  end },
}
for _, one in ipairs(more) do
  local name, text, size, completes, stimulus = table.unpack(one, 1, 5)
  list[#list + 1] = both_roles {
    id = "bug-read-response-longer-than-asked-" .. name,
    purpose = ("A target that reads and is given %s ends the stream; no octet outside the buffer changes"):format(text),
    rules = { "DDP-8.3.1-04", "RDMAP-8.1.1-03", "RDMAP-5.2.2-07" },
    needs = { agent = true },
    tags = { "known-bug", "field" },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      -- A guard that takes in whatever the response could reach.
      local memory = t:memory { length = math.max(size, 1), guard = 4096 }
      local handle = t:post { op = "read", memory = memory, length = size, stag = 0x11223344, to = 0x5000 }
      local asked = conn:expect(read_request { size = size })
      stimulus(conn, asked)
      conn:expect(terminate { rdmap = "protection" }, terminate { ddp = "tagged" }, terminate {}, closed())
      if not completes then t:expect_no_completion(handle) end
      t:expect_unchanged(memory, { except = { 0, size } })
    end,
  }
end
return list
