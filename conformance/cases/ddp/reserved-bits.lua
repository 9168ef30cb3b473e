-- SPDX-License-Identifier: BSD-3-Clause

-- A receiver ignores the four reserved bits of the DDP control octet.
local values = { 1, 2, 4, 8, 15 }

return family {
  both_roles {
    id = "ddp-rsvd-empty-write",
    purpose = "Reserved bits of the DDP control octet are ignored in a zero-length Write",
    rules = { "DDP-4.1-10" },
    run = function(t)
      local conn = t:session {}
      for _, bits in ipairs(values) do conn:send(write { rsvd = bits }) end
      conn:fence()
    end,
  },
  both_roles {
    id = "ddp-rsvd-read-request",
    purpose = "Reserved bits of the DDP control octet are ignored in a Read Request",
    rules = { "DDP-4.1-10" },
    run = function(t)
      local conn = t:session {}
      conn:need_reads()
      for _, bits in ipairs(values) do
        conn:send(read_request { rsvd = bits, size = 0, sink_stag = 1, sink_to = bits })
        conn:expect(read_response { stag = 1, to = bits, payload = "" })
      end
    end,
  },
  both_roles {
    id = "ddp-rsvd-write",
    purpose = "Reserved bits of the DDP control octet are ignored in every segment of a Write",
    rules = { "DDP-4.1-10", "DDP-5.2-05" },
    needs = { memory = "write" },
    run = function(t)
      local buf = t:memory { length = 50, remote = "write" }
      local conn = t:session {}
      for i, bits in ipairs(values) do
        conn:send(write { rsvd = bits, to = buf, offset = 10 * (i - 1), payload = bytes(10, i) }, { segments = 4 })
      end
      conn:fence()
      t:expect_contents(buf, bytes(10, 1) .. bytes(10, 2) .. bytes(10, 3) .. bytes(10, 4) .. bytes(10, 5))
    end,
  },
  both_roles {
    id = "ddp-rsvd-send",
    purpose = "Reserved bits of the DDP control octet are ignored in every segment of a Send",
    rules = { "DDP-4.1-10", "DDP-5.2-05" },
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      for i, bits in ipairs(values) do
        local posted = t:receive { length = 10 }
        conn:send(send { rsvd = bits, payload = bytes(10, i) }, { segments = 4 })
        t:completion(posted, { length = 10 })
        t:expect_contents(posted.memory, bytes(10, i))
      end
    end,
  },
}
