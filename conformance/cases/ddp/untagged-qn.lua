-- SPDX-License-Identifier: BSD-3-Clause

-- Queues that RDMAP does not have; 256 and 65536 are queue 0 to a stack that looks at the low octets only.

local rules = { "DDP-7.1-01", "DDP-7.1-17", "DDP-4.3-07", "DDP-7.2-01", "RDMAP-7.2-01" }

return family {
  both_roles {
    id = "ddp-untagged-qn",
    purpose = "A Send on a queue that does not exist ends the stream",
    rules = rules,
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local sent = conn:send(send { qn = 77, payload = bytes(8) })
      conn:expect_terminate { fault.invalid_queue, of = sent }
    end,
  },

  each({ 3, 4, 255, 256, 65536, 0x80000000, 0xffffffff }, function(qn)
    local both = qn == 3 or qn == 0xffffffff
    return (both and both_roles or case) {
      id = ("ddp-untagged-qn-%x"):format(qn),
      purpose = ("A Send on queue 0x%x ends the stream and is not delivered"):format(qn),
      rules = rules,
      role = not both and "responder" or nil,
      needs = { agent = true },
      run = function(t)
        local conn = t:session {}
        conn:sanity()
        local posted = t:receive { length = 8 }
        local sent = conn:send(send { qn = qn, payload = bytes(8, 0xee) })
        conn:expect_terminate { fault.invalid_queue_in_turn, of = sent }
        t:expect_no_completion(posted)
        t:expect_unchanged(posted.memory)
      end,
    }
  end),

  each({ 257, 0x80000001, 0xffffffff }, function(qn)
    return case {
      id = ("ddp-untagged-qn-%x-read-request"):format(qn),
      purpose = ("A Read Request on queue 0x%x ends the stream and is not answered"):format(qn),
      rules = { "DDP-7.1-01", "DDP-7.1-17", "DDP-4.3-07", "DDP-7.2-01" },
      role = "responder",
      run = function(t)
        local conn = t:connect {}
        conn:sanity()
        local sent = conn:send(read_request { qn = qn, size = 0, sink_stag = 1 })
        conn:expect_terminate { fault.invalid_queue, of = sent }
      end,
    }
  end),

  both_roles {
    id = "ddp-untagged-qn-first",
    purpose = "A first FPDU on a queue that does not exist ends the stream",
    rules = rules,
    tags = { "field" },
    run = function(t)
      local conn = t:session {}
      local sent = conn:send(send { qn = 77, payload = bytes(8) })
      conn:expect_terminate { fault.invalid_queue, of = sent }
    end,
  },

  -- OP-40: the list of RFC 5041 §7.1 is about segments that are not empty.
  both_roles {
    id = "ddp-untagged-qn-empty",
    purpose = "A zero-length Send on a queue that does not exist ends the stream, too",
    rules = rules,
    level = "should",
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local sent = conn:send(send { qn = 77 })
      conn:expect_terminate { fault.invalid_queue, of = sent }
    end,
  },
}
