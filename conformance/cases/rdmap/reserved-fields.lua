-- SPDX-License-Identifier: BSD-3-Clause

-- A receiver ignores the reserved bits and fields of RDMAP.

local RSV = { "RDMAP-4.1-10" }
local FIELD = { "RDMAP-4.1-12", "RDMAP-4.1-11" }

return family {
  both_roles {
    id = "rdmap-rsv-empty-write",
    purpose = "Reserved bits of the RDMAP control octet are ignored in a zero-length Write",
    rules = RSV,
    run = function(t)
      local conn = t:session {}
      for bits = 1, 3 do conn:send(write { rsv = bits }) end
      conn:fence()
    end,
  },
  both_roles {
    id = "rdmap-rsv-read-request",
    purpose = "Reserved bits of the RDMAP control octet are ignored in a Read Request",
    rules = RSV,
    run = function(t)
      local conn = t:session {}
      conn:need_reads()
      for bits = 1, 3 do
        conn:send(read_request { rsv = bits, size = 0, sink_stag = 1, sink_to = bits })
        conn:expect(read_response { stag = 1, to = bits, payload = "" })
      end
    end,
  },
  both_roles {
    id = "rdmap-rsv-write",
    purpose = "Reserved bits of the RDMAP control octet are ignored in every segment of a Write",
    rules = RSV,
    needs = { memory = "write" },
    run = function(t)
      local buf = t:memory { length = 30, remote = "write" }
      local conn = t:session {}
      for bits = 1, 3 do
        conn:send(write { rsv = bits, to = buf, offset = 10 * (bits - 1), payload = bytes(10, bits) }, { segments = 4 })
      end
      conn:fence()
      t:expect_contents(buf, bytes(10, 1) .. bytes(10, 2) .. bytes(10, 3))
    end,
  },
  both_roles {
    id = "rdmap-rsv-sends",
    purpose = "Reserved bits of the RDMAP control octet are ignored in Sends of each kind",
    rules = RSV,
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      for _, kind in ipairs { send, send_se, send_invalidate, send_se_invalidate } do
        for bits = 1, 3 do
          local buf = t:memory { length = 4, remote = "write", invalidate = true, conn = conn }
          local posted = t:receive { length = 10 }
          local invalidate = (kind == send_invalidate or kind == send_se_invalidate) and buf or nil
          conn:send(kind { rsv = bits, invalidate = invalidate, payload = bytes(10, bits) }, { segments = 4 })
          t:completion(posted, { length = 10, invalidated = invalidate and buf.stag })
          t:expect_contents(posted.memory, bytes(10, bits))
        end
      end
    end,
  },
  both_roles {
    id = "rdmap-invalidate-field-read-request",
    purpose = "The target ignores the Invalidate STag field of a Read Request",
    rules = FIELD,
    run = function(t)
      local conn = t:session {}
      conn:need_reads()
      for i, stag in ipairs { 1, 0x11223344, 0xffffffff } do
        conn:send(read_request { invalidate = stag, size = 0, sink_stag = 1, sink_to = i })
        conn:expect(read_response { stag = 1, to = i, payload = "" })
      end
    end,
  },
  both_roles {
    id = "rdmap-invalidate-field-sends",
    purpose = "The target ignores the Invalidate STag field of a Send and of a Send with SE: the STag in it stays valid",
    rules = FIELD,
    needs = { memory = "write" },
    run = function(t)
      local conn = t:session {}
      local buf = t:memory { length = 16, remote = "write", invalidate = true, conn = conn }
      for _, kind in ipairs { send, send_se } do
        for _, stag in ipairs { buf.stag, 0x11223344 } do
          local posted = t:receive { length = 10 }
          conn:send(kind { invalidate = stag, payload = bytes(10) }, { segments = 4 })
          t:completion(posted, { length = 10 })
        end
      end
      conn:send(write { to = buf, payload = bytes(16) })
      conn:fence()
      t:expect_contents(buf, bytes(16))
    end,
  },
}
