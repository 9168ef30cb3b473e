-- SPDX-License-Identifier: BSD-3-Clause

-- Sends and the buffers posted for them: Sends that fit, Sends that do not, and which buffer takes them.

local LONG = { "DDP-7.1-08", "RDMAP-5.3-04", "DDP-7.1-17", "RDMAP-7.2-01" }
local AWAY = { "DDP-7.1-07", "DDP-7.1-17", "RDMAP-7.2-01" }

-- The buffer has 16 octets. at: which segment is at fault.
local wrong = {
  { name = "longer-by-one", length = 17, at = 1, fault = fault.too_long, rules = LONG, text = "is one octet longer than its buffer" },
  { name = "twice-as-long", length = 32, at = 1, fault = fault.too_long, rules = LONG, text = "is twice as long as its buffer" },
  { name = "second-segment-too-long", length = 17, segments = { 8, 9 }, at = 2, fault = fault.too_long, rules = LONG,
    text = "runs past the end of its buffer with its second segment" },
  { name = "one-segment-more", length = 17, segments = { 16, 1 }, at = 2, fault = fault.runs_past_buffer, rules = LONG,
    text = "fills its buffer and has a segment more" },
  { name = "mo-at-end", mo = 16, length = 1, at = 1, fault = fault.invalid_mo, rules = AWAY, text = "has an MO just after its buffer" },
  { name = "mo-past-end", mo = 17, length = 1, at = 1, fault = fault.invalid_mo, rules = AWAY, text = "has an MO beyond its buffer" },
  { name = "mo-64-kib", mo = 65536, length = 8, at = 1, fault = fault.invalid_mo, rules = AWAY, text = "has an MO of 64 KiB" },
  { name = "mo-sign", mo = 0x80000000, length = 8, at = 1, fault = fault.invalid_mo, rules = AWAY, text = "has an MO of 2^31" },
  { name = "mo-wrap", mo = 0xfffffff8, length = 16, at = 1, fault = fault.invalid_mo, rules = AWAY,
    text = "has an MO just below 2^32, and wraps into its buffer" },
}

return family {
  -- ---- Sends that do not fit ----

  each(wrong, function(one)
    local both = one.name == "longer-by-one" or one.name == "second-segment-too-long" or one.name == "mo-at-end"
    return (both and both_roles or case) {
      id = "ddp-send-" .. one.name,
      purpose = ("A Send that %s ends the stream and changes no octet beside the buffer"):format(one.text),
      rules = one.rules,
      role = not both and "responder" or nil,
      needs = { agent = true },
      run = function(t)
        local conn = t:session {}
        conn:sanity()
        local memory = t:memory { length = 48 }
        local posted = t:receive { memory = memory, offset = 16, length = 16 }
        local sent = conn:send(send { mo = one.mo, payload = bytes(one.length, 0xee), comment = "it " .. one.text }, { segments = one.segments })
        conn:expect_terminate { one.fault, of = sent.segments[one.at] }
        t:expect_no_completion(posted)
        -- RFC 5040 §5.5: the target may have placed the correct part, but only there.
        local right = one.segments and one.segments[1] or 0
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
      conn:expect_terminate { fault.runs_past_buffer, of = sent }
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
      conn:expect_terminate { fault.no_buffer, of = sent }
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
      conn:expect_terminate { fault.no_buffer, of = sent }
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
      conn:expect_terminate { fault.no_buffer, of = sent }
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
      conn:send(send { payload = bytes(40) }, { segments = 1 })
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
      local posted = t:receive { sge = {
        { memory = memory, offset = 64, length = 7 }, { memory = memory, offset = 0, length = 1 },
        { memory = memory, offset = 20, length = 24 },
      } }
      conn:send(send { payload = bytes(32) }, { segments = { 6, 3, 23 } })
      t:completion(posted, { length = 32 })
      local all = bytes(32)
      t:expect_contents(memory, all:sub(8, 8) .. bytes(19, 0x5a) .. all:sub(9) .. bytes(20, 0x5a) .. all:sub(1, 7))
    end,
  },
}
