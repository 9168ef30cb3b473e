-- SPDX-License-Identifier: BSD-3-Clause

-- MSNs that are not the next one of their queue.

local RULES = { "DDP-7.1-09", "DDP-4.3-08", "DDP-7.1-17", "DDP-7.2-01", "RDMAP-7.2-06" }

-- MSNs wrap from 2^32-1 to 0 (RFC 5041 §4.3): either side of that wrap is far from a queue's first MSN,
-- whatever width a receiver compares them in. To get there in order takes 2^32 messages.
local queues = {
  { name = "send", text = "Send", make = function(msn) return send { msn = msn, payload = bytes(8) } end },
  { name = "read-request", text = "Read Request", make = function(msn) return read_request { msn = msn, size = 0, sink_stag = 1 } end },
  { name = "immediate", text = "Immediate Data message", needs = { agent = true, extensions = true },
    make = function(msn) return immediate { msn = msn, payload = bytes(8) } end },
  { name = "atomic-request", text = "Atomic Request", needs = { agent = true, extensions = true }, make = function(msn)
    return atomic_request { msn = msn, remote_stag = 1, remote_to = 8 } end },
}

-- Read Requests: after two, MSN 3 is the next.
local requests = {
  { name = "zero", msn = 0, text = "0" }, { name = "repeated", msn = 2, text = "that of the one before" },
  { name = "skipped", msn = 4, text = "one more than the next" }, { name = "far", msn = 0x80000003, text = "far ahead" },
}

return family {
  -- On a queue that is still unused, with no buffer posted.
  each({ 0, 2, 0x80000001, 0xffffffff }, function(msn)
    local both = msn == 2
    return (both and both_roles or case) {
      id = ("ddp-msn-first-%x"):format(msn),
      purpose = ("A first Send with MSN 0x%x ends the stream"):format(msn),
      rules = { "DDP-7.1-09", "DDP-4.3-13", "DDP-4.3-09", "RDMAP-7.2-01" },
      role = not both and "responder" or nil,
      needs = { agent = true },
      run = function(t)
        local conn = t:session {}
        conn:sanity()
        local sent = conn:send(send { msn = msn, payload = bytes(8, 0xee) })
        conn:expect_terminate { fault.invalid_msn, of = sent }
      end,
    }
  end),

  each(queues, function(one)
    return each({ 0xfffffffe, 0xffffffff, 0, 0x7fffffff, 0x80000000 }, function(msn)
      local both = msn == 0xffffffff or msn == 0
      return (both and both_roles or case) {
        id = ("ddp-msn-wrap-%s-%x"):format(one.name, msn),
        purpose = ("A first %s with MSN 0x%x ends the stream"):format(one.text, msn),
        rules = { "DDP-7.1-09", "DDP-4.3-09", "DDP-4.3-13" },
        role = not both and "responder" or nil,
        needs = one.needs,
        tags = { "boundary" },
        run = function(t)
          local conn = t:session {}
          if one.needs then t:receive { length = 8 } end
          local sent = conn:send(one.make(msn))
          conn:expect_terminate { fault.invalid_msn, of = sent }
        end,
      }
    end)
  end),

  each(requests, function(one)
    local both = one.name == "repeated"
    return (both and both_roles or case) {
      id = "ddp-msn-read-request-" .. one.name,
      purpose = ("A Read Request whose MSN is %s ends the stream and is not answered"):format(one.text),
      rules = RULES,
      role = not both and "responder" or nil,
      run = function(t)
        local conn = t:session {}
        conn:sanity()
        conn:sanity()
        local sent = conn:send(read_request { msn = one.msn, size = 0, sink_stag = 1, comment = "its MSN is " .. one.text })
        conn:expect_terminate { fault.invalid_msn, of = sent }
      end,
    }
  end),

  both_roles {
    id = "ddp-msn-repeated",
    purpose = "A Send that comes again with its old MSN is not delivered again and ends the stream",
    rules = { "DDP-7.1-09", "DDP-5.3-07", "DDP-3-14" },
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      local one, two = t:receive { length = 16 }, t:receive { length = 16 }
      conn:send(send { payload = bytes(16) })
      t:completion(one, { length = 16 })
      local sent = conn:send(send { msn = 1, payload = bytes(16), comment = "sent a second time" })
      conn:expect_terminate { fault.invalid_msn, of = sent }
      t:expect_no_completion(two)
      t:expect_unchanged(two.memory)
    end,
  },

  -- OP-41: within the posted buffers the range check may pass, but the message can never be complete.
  -- The target must not deliver it; keeping it is worth a warning.
  each({ { name = "ahead-by-one", msn = 2 }, { name = "ahead-by-two", msn = 3 }, { name = "behind-by-one", msn = 0 } }, function(one)
    local both = one.name == "ahead-by-one"
    return (both and both_roles or case) {
      id = "ddp-msn-" .. one.name,
      purpose = ("Of three posted buffers none is used for a first Send with MSN %d, which ends the stream"):format(one.msn),
      rules = { "DDP-7.1-09", "DDP-4.3-13", "DDP-5.4-01" },
      role = not both and "responder" or nil,
      needs = { agent = true },
      run = function(t)
        local conn = t:session {}
        local posted = {}
        for i = 1, 3 do posted[i] = t:receive { length = 16 } end
        conn:send(send { msn = one.msn, payload = bytes(16, 0xee) })
        conn:send(read_request { size = 0, sink_stag = 7, sink_to = 7 })
        local item = conn:expect(fault.invalid_msn,
          read_response { stag = 7, to = 7, payload = "" }, { rule = "DDP-4.3-13" })
        for _, handle in ipairs(posted) do
          t:expect_no_completion(handle, { rule = "DDP-7.1-09" })
          -- The target may have placed into a buffer ahead of its turn, but only into that one.
          if handle ~= posted[one.msn] then t:expect_unchanged(handle.memory, { rule = "DDP-7.1-09" }) end
        end
        if item.op ~= "terminate" then
          t:deviates("the target keeps a message that it can never deliver", {
            rule = "DDP-4.3-13", expected = "terminate 1/2/03", actual = item.text, item = item,
          })
        end
      end,
    }
  end),

  both_roles {
    id = "ddp-msn-beyond-buffers",
    purpose = "A Send whose MSN is beyond all posted buffers ends the stream and has no effect",
    rules = { "DDP-7.1-09", "DDP-7.1-02" },
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      local one, two = t:receive { length = 16 }, t:receive { length = 16 }
      local sent = conn:send(send { msn = 1000, payload = bytes(16, 0xee) })
      conn:expect_terminate { fault.invalid_msn, of = sent }
      for _, handle in ipairs { one, two } do
        t:expect_no_completion(handle)
        t:expect_unchanged(handle.memory)
      end
    end,
  },

  -- Field bug: one counter of MSNs for all queues (OSC 1.2).
  both_roles {
    id = "ddp-msn-queues-independent",
    purpose = "Sends and Read Requests that alternate are counted on their own queues",
    rules = { "DDP-4.3-08", "DDP-4.3-09", "DDP-7.1-09" },
    needs = { agent = true },
    tags = { "field" },
    run = function(t)
      local conn = t:session {}
      for i = 1, 4 do
        local one, two = t:receive { length = 8 }, t:receive { length = 8 }
        conn:send(send { payload = bytes(8, i) })
        conn:send(read_request { size = 0, sink_stag = 1, sink_to = i })
        conn:send(send_se { payload = bytes(4, i) })
        conn:expect(read_response { stag = 1, to = i, payload = "" })
        t:completion(one, { length = 8 })
        t:completion(two, { length = 4 })
        t:expect_contents(one.memory, bytes(8, i))
        t:expect_contents(two.memory, bytes(4, i))
      end
    end,
  },
}
