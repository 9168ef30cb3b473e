-- SPDX-License-Identifier: BSD-3-Clause

-- Valid RDMA Reads: sizes, places, and the request's fields that come back in the response.

local function check(t, got, wanted, what)
  t:check(got == wanted, "the RDMA Read of " .. what .. " returned other octets than the buffer holds",
    { rule = "RDMAP-5.2.1-12", how = "another answer", expected = show(wanted, 32), actual = show(got, 32) })
end

return family {
  both_roles {
    id = "rdmap-read-every-alignment",
    purpose = "RDMA Reads of 1 to 8 octets at every alignment return those octets",
    rules = { "RDMAP-5.2.1-12", "RDMAP-5.2.1-11", "RDMAP-4.4-05" },
    needs = { memory = "read" },
    run = function(t)
      local buf = t:memory { length = 24, remote = "read", fill = "count" }
      local conn = t:session {}
      for offset = 0, 15 do
        for size = 1, 8 do
          check(t, conn:read(buf, offset, size), bytes(24):sub(offset + 1, offset + size),
            ("%d octets at %d"):format(size, offset))
        end
      end
    end,
  },

  case {
    id = "rdmap-read-both-ends",
    purpose = "RDMA Reads of the first octet, of the last one and of the whole buffer return them",
    rules = { "RDMAP-5.2.1-12", "RDMAP-7.2-11", "RDMAP-7.2-12", "RDMAP-5.2.1-11" },
    role = "responder",
    needs = { memory = "read" },
    run = function(t)
      local buf = t:memory { length = 1000, remote = "read", fill = "count" }
      local conn = t:session {}
      check(t, conn:read(buf, 0, 1), "\0", "the first octet")
      check(t, conn:read(buf, 999, 1), bytes(1000):sub(1000), "the last octet")
      check(t, conn:read(buf), bytes(1000), "the whole buffer")
    end,
  },

  case {
    id = "rdmap-read-page-edges",
    purpose = "RDMA Reads of 1 and 4 pages, an octet less and an octet more, return those octets",
    rules = { "RDMAP-5.2.1-12", "RDMAP-4.4-06" },
    role = "responder",
    needs = { memory = "read" },
    tags = { "field" },
    run = function(t)
      local buf = t:memory { length = 16400, remote = "read", fill = "count" }
      local conn = t:session {}
      for _, size in ipairs { 4095, 4096, 4097, 16383, 16384, 16385 } do
        check(t, conn:read(buf, 3, size), bytes(16400):sub(4, size + 3), size .. " octets")
      end
    end,
  },

  both_roles {
    id = "rdmap-read-large",
    purpose = "An RDMA Read of more than a segment can hold returns every octet",
    rules = { "RDMAP-5.2.1-12", "RDMAP-4.4-06" },
    needs = { memory = "read" },
    run = function(t)
      local buf = t:memory { length = 100000, remote = "read", fill = "count" }
      check(t, t:session {}:read(buf), bytes(100000), "100000 octets")
    end,
  },

  -- Segments of the response: the MULPDU is 128, so that 114 octets fit.
  each({ 113, 114, 115, 228, 229, 1000 }, function(size)
    local fields = {
      id = ("rdmap-read-segments-%d"):format(size),
      purpose = ("The response to an RDMA Read of %d octets comes in as few segments as a MULPDU of 128 allows"):format(size),
      rules = { "DDP-5.2-02", "RDMAP-4.4-03", "DDP-5.2-08", "DDP-4.1-03", "RDMAP-5.2.2-01" },
      needs = { memory = "read" },
      run = function(t)
        local buf = t:memory { length = size, remote = "read", fill = "count" }
        local conn = t:session { target = { mulpdu = 128 } }
        conn:send(read_request { source = buf, size = size, sink_stag = 0x01020304, sink_to = 0x1000 })
        local item = conn:expect(read_response { stag = 0x01020304, to = 0x1000, payload = bytes(size) })
        t:observe("segments", #item.segments)
        for i, segment in ipairs(item.segments) do
          t:check(#segment.ulpdu <= 128, "the target sent a segment larger than the MULPDU",
            { rule = "DDP-5.2-02", how = "above the MULPDU", expected = "128 octets at most", actual = #segment.ulpdu .. " octets" })
          t:check(segment.to == 0x1000 + 114 * (i - 1), "the target sent a segment whose TO does not follow the Sink TO",
            { rule = "RDMAP-4.4-03", expected = ("TO %x"):format(0x1000 + 114 * (i - 1)), actual = ("TO %x"):format(segment.to) })
        end
      end,
    }
    if size == 115 then return both_roles(fields) end
    fields.role = "responder"
    return case(fields)
  end),

  -- The target must not judge the request's Sink STag and Sink TO.
  case {
    id = "rdmap-read-sink-echoed",
    purpose = "The target returns any Sink STag and Sink TO unchanged",
    rules = { "RDMAP-4.4-02", "RDMAP-4.4-03", "RDMAP-4.4-04" },
    role = "responder",
    needs = { memory = "read" },
    run = function(t)
      local buf = t:memory { length = 300, remote = "read", fill = "count" }
      local conn = t:session { target = { mulpdu = 128 } }
      for _, stag in ipairs { 0, 1, 0x80000000, 0xdeadbeef, 0xffffffff, buf.stag } do
        for _, to in ipairs { 0, 1, 0xffffffff, 0xffffff00, math.maxinteger - 100, -301 } do
          conn:send(read_request { source = buf, size = 300, sink_stag = stag, sink_to = to })
          local item = conn:expect(read_response { stag = stag, to = to, payload = bytes(300) })
          for i, segment in ipairs(item.segments) do
            t:check(segment.stag == stag and segment.to == to + 114 * (i - 1),
              "the target sent a segment whose STag or TO does not follow the sink",
              { rule = "RDMAP-4.4-03", expected = ("stag %x to %x"):format(stag, to + 114 * (i - 1)),
                actual = ("stag %x to %x"):format(segment.stag, segment.to) })
          end
        end
      end
    end,
  },

  -- Where the source lies.
  each({
    { name = "zero", to = 0 }, { name = "odd", to = 0x123456789abcdef1 }, { name = "half", to = math.maxinteger - 31 },
    { name = "top", to = -65 },
  }, function(one)
    return case {
      id = "rdmap-read-base-" .. one.name,
      purpose = ("A buffer that begins at TO 0x%x is read at both ends"):format(one.to),
      rules = { "RDMAP-5.2.1-12", "RDMAP-4.4-05" },
      role = "responder",
      needs = { memory = "read" },
      run = function(t)
        local buf = t:memory { length = 64, remote = "read", fill = "count", to = one.to }
        local conn = t:session {}
        check(t, conn:read(buf, 0, 8), bytes(8), "the beginning")
        check(t, conn:read(buf, 56, 8), bytes(64):sub(57), "the end")
        check(t, conn:read(buf), bytes(64), "all")
      end,
    }
  end),

  case {
    id = "rdmap-read-after-local-change",
    purpose = "An RDMA Read returns what the buffer holds when the request comes",
    rules = { "RDMAP-5.5-14", "RDMAP-5.5-07" },
    role = "responder",
    needs = { memory = "read" },
    run = function(t)
      local buf = t:memory { length = 64, remote = "read" }
      local conn = t:session {}
      for i = 1, 3 do
        t:fill(buf, bytes(64, i))
        check(t, conn:read(buf), bytes(64, i), "octets that were just put there")
      end
    end,
  },

  -- ---- size zero ----

  both_roles {
    id = "rdmap-read-zero",
    purpose = "The target answers an RDMA Read of size zero although STag and TO of its source are invalid",
    rules = { "RDMAP-5.2.1-15", "RDMAP-5.2.1-16", "RDMAP-5.2.1-13" },
    tags = { "field" },
    run = function(t)
      local conn = t:session {}
      conn:need_reads()
      -- Who answers no empty Read at all need not have looked at STag and TO.
      local none = t:instrument("empty-read") == false and t:instrument("empty-read-of-buffer") == nil
      for i, source in ipairs { { stag = 0, to = 0 }, { stag = 0x5bad57a6, to = 0x1000 }, { stag = 0xffffffff, to = -1 } } do
        conn:send(read_request { size = 0, source_stag = source.stag, source_to = source.to, sink_stag = 9, sink_to = i })
        local item = conn:expect(read_response { stag = 9, to = i, payload = "" }, { rule = none and "RDMAP-5.2.1-16" or nil })
        t:check(#item.segments == 1, "the target sent a zero-length message in more than one segment",
          { rule = "DDP-5.2-09" })
      end
    end,
  },

  each({ { name = "write-only", text = "permits no reading", remote = "write" }, { name = "local", text = "permits no remote access" },
                         { name = "revoked", text = "was invalidated", remote = "read", revoke = true } }, function(one)
    return case {
      id = "rdmap-read-zero-" .. one.name,
      purpose = ("The target answers an RDMA Read of size zero although the STag of its source %s"):format(one.text),
      rules = { "RDMAP-5.2.1-15", "RDMAP-5.2.1-16", one.name == "write-only" and "SEC-6.3.5-02" or nil },
      role = "responder",
      needs = { memory = one.remote or "write" },
      run = function(t)
        local buf = t:memory { length = 16, remote = one.remote }
        local conn = t:connect {}
        if one.revoke then t:invalidate(buf) end
        conn:send(read_request { source = buf, size = 0, sink_stag = 9, sink_to = 5 })
        conn:expect(read_response { stag = 9, to = 5, payload = "" })
        conn:fence()
      end,
    }
  end),
}
