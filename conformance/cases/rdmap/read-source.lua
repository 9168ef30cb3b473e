-- SPDX-License-Identifier: BSD-3-Clause

-- RDMA Reads whose source the peer may not read: the target sends a Terminate with the header of the
-- request, and no octet of a response.

local function refused(conn, request, set, how)
  request.sink_stag, request.sink_to, request.comment = 0x51a70001, 0x1000, how
  local sent = conn:send(read_request(request))
  conn:expect_terminate { set, of = sent }
end

-- base: the buffer's first TO, else the target's choice. offset: the first octet, from the buffer's first one; else TO 2^64-8.
local places = {
  { name = "before-base", offset = -1, size = 1, fault = fault.rdmap_out_of_bounds, rule = "RDMAP-7.2-11",
    text = "names the octet before its buffer" },
  { name = "straddling-base", offset = -4, size = 8, fault = fault.rdmap_out_of_bounds, rule = "RDMAP-7.2-11",
    text = "begins before its buffer and runs into it" },
  { name = "at-end", offset = 64, size = 1, fault = fault.rdmap_out_of_bounds, rule = "RDMAP-7.2-11",
    text = "names the octet after its buffer" },
  { name = "4-gib-above", offset = 0x100000000, size = 8, fault = fault.rdmap_out_of_bounds, rule = "RDMAP-7.2-11",
    text = "is right in the low 32 bits of its TO only" },
  { name = "sign-of-to", offset = math.mininteger, size = 8, fault = fault.rdmap_out_of_bounds, rule = "RDMAP-7.2-11",
    text = "is right but for the top bit of its TO" },
  { name = "past-end-by-one", offset = 63, size = 2, fault = fault.rdmap_out_of_bounds, rule = "RDMAP-7.2-12",
    text = "runs one octet past the end of its buffer" },
  { name = "longer-by-one", offset = 0, size = 65, fault = fault.rdmap_out_of_bounds, rule = "RDMAP-7.2-12",
    text = "begins with its buffer and is one octet longer" },
  { name = "size-sign", offset = 0, size = 0x80000000, fault = fault.rdmap_out_of_bounds, rule = "RDMAP-7.2-12",
    text = "asks for 2^31 octets" },
  { name = "size-most", offset = 0, size = 0xffffffff, fault = fault.rdmap_out_of_bounds, rule = "RDMAP-7.2-12",
    text = "asks for 2^32-1 octets" },
  { name = "wrap", size = 16, fault = fault.rdmap_to_wraps, rule = "RDMAP-7.2-13", text = "wraps at 2^64, far from its buffer" },
  { name = "wrap-into-buffer", base = 0, offset = -8, size = 16, fault = fault.rdmap_to_wraps, rule = "RDMAP-7.2-13",
    text = "wraps at 2^64 and would end in its buffer, which begins at TO 0" },
}

local stags = {
  { name = "other-pd", rules = { "RDMAP-7.2-10", "RDMAP-8.1.1-01", "SEC-6.1.1-02" }, fault = fault.rdmap_foreign_stag,
    text = "belongs to another protection domain",
    prepare = function(t) return t:memory { length = 64, remote = "read", pd = t:protection_domain() } end },
  { name = "other-stream", rules = { "RDMAP-7.2-10", "RDMAP-8.1.1-02", "SEC-6.1.1-03" }, fault = fault.rdmap_foreign_stag,
    text = "is bound to another stream",
    prepare = function(t) return t:memory { length = 64, remote = "read", conn = t:session {} } end },
  { name = "write-only", rules = { "RDMAP-7.2-14" }, fault = fault.rdmap_no_access, text = "permits writing only",
    prepare = function(t) return t:memory { length = 64, remote = "write" } end },
  { name = "local-only", rules = { "RDMAP-7.2-14" }, fault = fault.rdmap_no_access, text = "permits no remote access",
    prepare = function(t) return t:memory { length = 64 } end },
}

return family {
  -- ---- the place: a buffer of 64 octets ----

  each(places, function(one)
    local both = one.name == "before-base" or one.name == "past-end-by-one" or one.name == "wrap"
    return (both and both_roles or case) {
      id = "rdmap-read-" .. one.name,
      purpose = ("An RDMA Read that %s ends the stream and gets no answer"):format(one.text),
      rules = { one.rule, "RDMAP-5.2.1-14", "RDMAP-8.1.1-03", "RDMAP-7.1-04", "SEC-6.2.1-01" },
      role = not both and "responder" or nil,
      needs = { memory = "read" },
      run = function(t)
        local buf = t:memory { length = 64, remote = "read", to = one.base }
        local conn = t:session {}
        conn:sanity()
        refused(conn, { source_stag = buf.stag, source_to = one.offset and buf.to + one.offset or -8, size = one.size }, one.fault, one.text)
      end,
    }
  end),

  -- ---- the STag ----

  each(stags, function(one)
    return both_roles {
      id = "rdmap-read-stag-" .. one.name,
      purpose = ("An RDMA Read of a buffer whose STag %s ends the stream and gets no answer"):format(one.text),
      rules = { one.rules[1], one.rules[2] or "RDMAP-5.2.1-14", "RDMAP-7.1-04", one.rules[3] },
      -- RFC 5040 names the right to read only in its table of codes, but giving out octets is serious.
      level = "must",
      needs = { memory = "read write" },
      run = function(t)
        local buf = one.prepare(t)
        local conn = t:session {}
        conn:sanity()
        refused(conn, { source = buf, size = 64 }, one.fault, "the STag " .. one.text)
      end,
    }
  end),

  each({ 0, 0x5bad57a6 }, function(stag)
    return both_roles {
      id = ("rdmap-read-stag-%x"):format(stag),
      purpose = ("An RDMA Read of the invalid STag 0x%x ends the stream and gets no answer"):format(stag),
      rules = { "RDMAP-7.2-09", "RDMAP-5.2.1-14", "RDMAP-5.2.1-05", "RDMAP-7.1-04" },
      run = function(t)
        local conn = t:session {}
        conn:sanity()
        refused(conn, { source_stag = stag, source_to = 0x1000, size = 1 }, fault.rdmap_invalid_stag)
      end,
    }
  end),

  each({ 0, 8, 31 }, function(bit)
    return case {
      id = ("rdmap-read-stag-bit-%d"):format(bit),
      purpose = ("An RDMA Read whose STag differs from a valid one in bit %d ends the stream"):format(bit),
      rules = { "RDMAP-7.2-09", "RDMAP-5.2.1-14" },
      role = "responder",
      needs = { memory = "read" },
      run = function(t)
        local buf = t:memory { length = 64, remote = "read" }
        local conn = t:connect {}
        conn:sanity()
        refused(conn, { source_stag = buf.stag ~ (1 << bit), source_to = buf.to, size = 64 }, fault.rdmap_invalid_stag)
      end,
    }
  end),

  both_roles {
    id = "rdmap-read-stag-revoked",
    purpose = "An RDMA Read of an STag that its owner has invalidated ends the stream and gets no answer",
    rules = { "RDMAP-7.2-09", "RDMAP-5.2.1-14" },
    needs = { memory = "read" },
    run = function(t)
      local buf = t:memory { length = 64, remote = "read", fill = "count" }
      local conn = t:session {}
      conn:read(buf)
      t:invalidate(buf)
      refused(conn, { source = buf, size = 64 }, fault.rdmap_invalid_stag, "the STag was invalidated")
    end,
  },
}
