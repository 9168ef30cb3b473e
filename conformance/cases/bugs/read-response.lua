-- SPDX-License-Identifier: BSD-3-Clause

-- The target reads, and gets more octets or other places than it asked for: a bad stack writes them past the end of its
-- buffer, or to a wrong place. Here the buffer ends where the Read ends, so that any octet too many lies outside (OP-66).

local SIZE = 64

local function answer(conn, asked, shift, payload, comment, segments)
  return conn:send(read_response { stag = asked.sink_stag, to = asked.sink_to + shift, payload = payload, broken = comment ~= nil,
                                   comment = comment }, { segments = segments })
end

-- size: octets that the target asks for. completes: the Read may complete.
local more = {
  { name = "by-one-octet", text = "one octet more than it asked for", size = SIZE, stimulus = function(conn, asked)
    answer(conn, asked, 0, bytes(SIZE + 1, 0xee), "65 octets for 64")
  end },
  { name = "by-one-segment", text = "one segment more than it asked for", size = SIZE, stimulus = function(conn, asked)
    answer(conn, asked, 0, bytes(SIZE + 16, 0xee), "80 octets for 64, in segments of 16", { 16, 16, 16, 16, 16 })
  end },
  { name = "twice", text = "twice the octets that it asked for", size = SIZE, stimulus = function(conn, asked)
    answer(conn, asked, 0, bytes(2 * SIZE, 0xee), "128 octets for 64")
  end },
  { name = "by-a-lot", text = "64 KiB for the octet that it asked for", size = 1, stimulus = function(conn, asked)
    answer(conn, asked, 0, bytes(65536, 0xee), "65536 octets for 1")
  end },
  { name = "for-nothing", text = "an octet for a Read of size zero", size = 0, stimulus = function(conn, asked)
    answer(conn, asked, 0, "\xee", "an octet for a Read of size 0")
  end },
  { name = "after-completion", text = "another segment after the last one", size = SIZE, completes = true, stimulus = function(conn, asked)
    answer(conn, asked, 0, bytes(SIZE, 0xee))
    answer(conn, asked, SIZE, bytes(8, 0xee), "the Read is complete")
  end },
  { name = "over-again", text = "the whole response again, one octet further on", size = SIZE, completes = true,
    stimulus = function(conn, asked)
    answer(conn, asked, 0, bytes(SIZE, 0xee))
    answer(conn, asked, 1, bytes(SIZE, 0xee), "the Read is complete")
  end },
}

-- Some look at STag and TO of a response's first segment only. A correct one answers by DDP's rules; others compare
-- with the request first, as RDMAP allows (OP-66).
local HALF = SIZE // 2
local STAG = { fault = fault.invalid_stag, rules = { "DDP-7.1-10", "RDMAP-4.4-02" } }
local BASE = { fault = fault.out_of_bounds, rules = { "DDP-7.1-12", "RDMAP-4.4-03" } }
local BOUNDS = { fault = fault.out_of_bounds, rules = { "DDP-7.1-13", "RDMAP-4.4-03" } }

-- Sends the correct first half, the second half bent by `fields`, and a Read that the target must not answer any more.
local function halves(conn, asked, fields, text)
  local sent
  conn:together(function()
    conn:send(read_response { stag = asked.sink_stag, to = asked.sink_to, payload = bytes(HALF), l = false })
    sent = conn:send(read_response { stag = fields.stag or asked.sink_stag ~ (fields.key or 0), payload = bytes(HALF, 0xee),
                                     to = asked.sink_to + HALF + (fields.shift or 0), broken = true, comment = text })
    conn:send(read_request { size = 0, sink_stag = 7, sink_to = 7 })
  end)
  return sent
end

local function read_half(t, fill)
  local conn = t:session {}
  conn:sanity()
  local memory = t:memory { length = SIZE, guard = 4096, fill = fill }
  local handle = t:post { op = "read", memory = memory, length = SIZE, stag = 0x11223344, to = 0x5000 }
  return conn, memory, handle, conn:expect(read_request { size = SIZE })
end

local elsewhere = {
  { name = "stag-unknown", text = "an invalid STag", fields = { stag = 0x5bad57a6 }, refused = STAG },
  { name = "stag-key", text = "an STag that differs in its last octet", fields = { key = 0xff }, refused = STAG },
  { name = "4-gib-above", text = "a TO 4 GiB above its own", fields = { shift = 0x100000000 }, refused = BASE },
  { name = "in-front", text = "a TO 8 octets before the buffer", fields = { shift = -HALF - 8 }, refused = BASE },
  { name = "after", text = "a TO just after the buffer", fields = { shift = HALF }, refused = BASE },
  { name = "past-end", text = "a TO one octet above its own", fields = { shift = 1 }, refused = BOUNDS },
}

return family {
  each(more, function(one)
    return both_roles {
      id = "bug-read-response-longer-than-asked-" .. one.name,
      purpose = ("A target that reads and gets %s ends the stream; no octet outside the buffer changes"):format(one.text),
      rules = { "DDP-8.3.1-04", "RDMAP-8.1.1-03", "RDMAP-5.2.2-07" },
      needs = { agent = true },
      tags = { "known-bug", "field" },
      run = function(t)
        local conn = t:session {}
        conn:sanity()
        -- A guard that covers everything the response could reach.
        local memory = t:memory { length = math.max(one.size, 1), guard = 4096 }
        local handle = t:post { op = "read", memory = memory, length = one.size, stag = 0x11223344, to = 0x5000 }
        local asked = conn:expect(read_request { size = one.size })
        one.stimulus(conn, asked)
        conn:expect(terminate { rdmap = "protection" }, terminate { ddp = "tagged" }, terminate {}, closed())
        if not one.completes then t:expect_no_completion(handle) end
        t:expect_unchanged(memory, { except = { 0, one.size } })
      end,
    }
  end),

  -- ---- the second of two segments goes elsewhere ----

  each(elsewhere, function(one)
    return both_roles {
      id = "bug-read-response-second-segment-" .. one.name,
      purpose = ("A Read Response whose second segment has %s ends the stream; that segment is placed nowhere"):format(one.text),
      rules = { one.refused.rules[1], one.refused.rules[2], "RDMAP-5.2.2-04", "DDP-8.3.1-04", "RDMAP-5.2.2-07", "DDP-7.1-17" },
      needs = { agent = true },
      tags = { "known-bug", "field" },
      run = function(t)
        local conn, memory, handle, asked = read_half(t)
        local sent = halves(conn, asked, one.fields, one.text)
        conn:expect_terminate { one.refused.fault, terminate { rdmap = "protection" }, of = sent }
        t:expect_no_completion(handle)
        t:expect_unchanged(memory, { except = { 0, HALF } })
      end,
    }
  end),

  both_roles {
    id = "bug-read-response-second-segment-over-first",
    purpose = "A Read Response whose second segment has the first one's TO is refused, or placed there",
    rules = { "DDP-5.2-05", "RDMAP-4.4-03", "RDMAP-5.2.2-07" },
    needs = { agent = true },
    tags = { "known-bug", "field" },
    run = function(t)
      local conn, memory, _, asked = read_half(t, 0x5a)
      local sent = halves(conn, asked, { shift = -HALF }, "the first one's TO")
      local item = conn:expect(terminate { rdmap = "protection" }, terminate { ddp = "tagged" }, terminate {}, closed(),
        read_response { stag = 7, to = 7, payload = "" }, { silent = "RDMAP-5.2.1-12" })
      t:observe("answer", item.op == "read-response" and "taken" or "refused")
      t:expect_unchanged(memory, { except = { 0, HALF } })
      if item.op == "read-response" then t:expect_contents(memory, sent.payload) end
    end,
  },
}
