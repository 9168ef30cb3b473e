-- SPDX-License-Identifier: BSD-3-Clause

-- Sends and the buffers posted for them: Sends that fit, Sends that do not, and which buffer takes them.

local LONG = { "DDP-7.1-08", "RDMAP-5.3-04", "DDP-7.1-17", "RDMAP-7.2-01" }
local AWAY = { "DDP-7.1-07", "DDP-7.1-17", "RDMAP-7.2-01" }
local long, away = { "1/2/05" }, { "1/2/04", "1/2/05" }

-- name, MO of the only segment (nil: of a right message), payload, segments, which segment is at
-- fault, codes (OP-73), rules, text. The buffer has 16 octets.
local wrong = {
  { "longer-by-one", nil, 17, nil, 1, long, LONG, "is one octet longer than its buffer" },
  { "twice-as-long", nil, 32, nil, 1, long, LONG, "is twice as long as its buffer" },
  { "second-segment-too-long", nil, 17, { 8, 9 }, 2, long, LONG, "runs past the end of its buffer with its second segment" },
  { "one-segment-more", nil, 17, { 16, 1 }, 2, { "1/2/05", "1/2/04" }, LONG, "fills its buffer and has a segment more" },
  { "mo-at-end", 16, 1, nil, 1, away, AWAY, "has an MO just after its buffer" },
  { "mo-past-end", 17, 1, nil, 1, away, AWAY, "has an MO beyond its buffer" },
  { "mo-64-kib", 65536, 8, nil, 1, away, AWAY, "has an MO of 64 KiB" },
  { "mo-sign", 0x80000000, 8, nil, 1, away, AWAY, "has an MO of 2^31" },
  { "mo-wrap", 0xfffffff8, 16, nil, 1, away, AWAY, "has an MO just below 2^32, and wraps into its buffer" },
}

return family {
  -- ---- Sends that do not fit ----

  each(wrong, function(one)
    local name, mo, length, segments, at, codes, rules, how = table.unpack(one, 1, 8)
    local both = name == "longer-by-one" or name == "second-segment-too-long" or name == "mo-at-end"
    return (both and both_roles or case) {
      id = "ddp-send-" .. name,
      purpose = ("A Send that %s ends the stream and changes no octet beside the buffer"):format(how),
      rules = rules,
      role = not both and "responder" or nil,
      needs = { agent = true },
      run = function(t)
        local conn = t:session {}
        conn:sanity()
        local memory = t:memory { length = 48 }
        local posted = t:receive { memory = memory, offset = 16, length = 16 }
        local sent = conn:send(send { mo = mo, payload = bytes(length, 0xee), comment = "it " .. how }, { segments = segments })
        conn:expect_terminate { codes[1], codes[2], of = sent.segments[at] }
        t:expect_no_completion(posted)
        -- RFC 5040 §5.5: the target may have placed the correct part, but only there.
        local right = segments and segments[1] or 0
        t:expect_unchanged(memory, { except = { 16, right } })
      end,
    }
  end),

  both_roles {
    id = "ddp-send-to-empty-buffer",
    purpose = "A Send of one octet for which a buffer of no octets is posted ends the stream",
    rules = { "DDP-7.1-08", "DDP-7.1-07", "RDMAP-5.3-04" },
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      local memory = t:memory { length = 16 }
      local posted = t:receive { memory = memory, length = 0 }
      local sent = conn:send(send { payload = "\xee" })
      conn:expect_terminate { "1/2/05", "1/2/04", of = sent }
      t:expect_no_completion(posted)
      t:expect_unchanged(memory)
    end,
  },

  both_roles {
    id = "ddp-send-no-buffer-first",
    purpose = "A Send in the first FPDU, for which no buffer is posted, ends the stream",
    rules = { "DDP-7.1-02", "DDP-7.1-17", "RDMAP-5.3-02" },
    needs = { agent = true },
    tags = { "field" },
    run = function(t)
      local conn = t:session {}
      local sent = conn:send(send { payload = bytes(8) })
      conn:expect_terminate { "1/2/02", "1/2/03", of = sent }
    end,
  },

  both_roles {
    id = "ddp-send-empty-uses-buffer",
    purpose = "A zero-length Send uses up a buffer: the next Send has none and ends the stream",
    rules = { "RDMAP-5.3-11", "RDMAP-5.3-02", "DDP-7.1-02" },
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      local posted = t:receive { length = 16 }
      conn:send(send {})
      t:completion(posted, { length = 0 })
      t:expect_unchanged(posted.memory)
      local sent = conn:send(send { payload = bytes(16, 0xee), comment = "no receive is left for it" })
      conn:expect_terminate { "1/2/02", "1/2/03", of = sent }
      t:expect_unchanged(posted.memory)
    end,
  },

  -- OP-40: an empty segment is not in the list of RFC 5041 §7.1, but it needs a buffer all the same.
  both_roles {
    id = "ddp-send-empty-no-buffer",
    purpose = "A zero-length Send for which no buffer is posted ends the stream",
    rules = { "RDMAP-5.3-11", "DDP-7.1-02" },
    level = "should",
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local sent = conn:send(send {})
      conn:expect_terminate { "1/2/02", "1/2/03", of = sent }
    end,
  },

  -- ---- Sends that fit ----

  both_roles {
    id = "ddp-send-fits-exactly",
    purpose = "Sends that just fill their buffers, in one segment and in several, are delivered whole",
    rules = { "RDMAP-5.3-03", "DDP-7.1-08", "DDP-5.2-05" },
    level = "must",
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      for _, segments in ipairs { { 16 }, { 15, 1 }, { 1, 15 }, { 5, 5, 6 } } do
        local memory = t:memory { length = 48 }
        local posted = t:receive { memory = memory, offset = 16, length = 16 }
        conn:send(send { payload = bytes(16) }, { segments = segments })
        t:completion(posted, { length = 16 })
        t:expect_contents(memory, bytes(16), { offset = 16 })
      end
    end,
  },

  both_roles {
    id = "ddp-send-sizes",
    purpose = "Sends of 0 to 40 octets are delivered with their lengths and contents",
    rules = { "DDP-5.2-05", "RDMAP-5.3-05", "DDP-5.3-08" },
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      local memory = t:memory { length = 41 * 64 }
      local posted, picture = {}, ""
      for size = 0, 40 do
        posted[size] = t:receive { memory = memory, offset = size * 64, length = 48 }
        picture = picture .. bytes(size, 0x80 + size) .. bytes(64 - size, 0x5a)
      end
      conn:together(function()
        for size = 0, 40 do conn:send(send { payload = bytes(size, 0x80 + size) }) end
      end)
      -- In the order in which they were sent.
      for size = 0, 40 do
        t:event("completion", conn, { work = posted[size].work, status = "ok", length = size }, { rule = "RDMAP-5.3-05" })
      end
      t:expect_contents(memory, picture)
    end,
  },

  both_roles {
    id = "ddp-send-mulpdu-edges",
    purpose = "Sends that just fill a segment, and that leave one octet for the next, are delivered whole",
    rules = { "DDP-5.2-05", "DDP-3-04" },
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      local state = conn:state()
      local full = mulpdu(state.mss > 0 and state.mss or 1460, state.markers) - 18
      for _, size in ipairs { full, full + 1 } do
        local posted = t:receive { length = size }
        conn:send(send { payload = bytes(size) })
        t:completion(posted, { length = size })
        t:expect_contents(posted.memory, bytes(size))
      end
    end,
  },

  both_roles {
    id = "ddp-send-tiny-segments",
    purpose = "A Send in segments of one octet each is delivered once, whole, when its last segment has come",
    rules = { "DDP-5.4-01", "DDP-4.1-07", "DDP-5.2-05", "DDP-5.3-07" },
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      local one, two = t:receive { length = 40 }, t:receive { length = 40 }
      conn:send(send { payload = bytes(40) }, { segment = 1 })
      conn:fence()
      t:completion(one, { length = 40 })
      t:expect_contents(one.memory, bytes(40))
      t:expect_no_completion(two)
      t:expect_unchanged(two.memory)
    end,
  },

  both_roles {
    id = "ddp-send-delivered-once",
    purpose = "A Send uses one of two posted buffers; the second one is for the next Send",
    rules = { "DDP-5.3-07", "RDMAP-5.3-02" },
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      local one, two = t:receive { length = 16 }, t:receive { length = 16 }
      conn:send(send { payload = bytes(16) })
      conn:fence()
      t:completion(one, { length = 16 })
      t:expect_no_completion(two)
      t:expect_unchanged(two.memory)
      conn:send(send { payload = bytes(9, 7) })
      t:completion(two, { length = 9 })
      t:expect_contents(two.memory, bytes(9, 7))
      t:expect_contents(one.memory, bytes(16))
    end,
  },

  both_roles {
    id = "ddp-send-scattered-buffer",
    purpose = "A Send whose segments cross the pieces of a posted list is placed piece by piece",
    rules = { "DDP-5.2-05", "DDP-4.1-02" },
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      local memory = t:memory { length = 96 }
      local posted = t:receive { sge = { { memory, 64, 7 }, { memory, 0, 1 }, { memory, 20, 24 } } }
      conn:send(send { payload = bytes(32) }, { segments = { 6, 3, 23 } })
      t:completion(posted, { length = 32 })
      local all = bytes(32)
      t:expect_contents(memory, all:sub(8, 8) .. bytes(19, 0x5a) .. all:sub(9) .. bytes(20, 0x5a) .. all:sub(1, 7))
    end,
  },
}
