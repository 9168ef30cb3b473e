-- SPDX-License-Identifier: BSD-3-Clause

-- RDMA Reads whose source the peer may not read: the target sends a Terminate with the header of the
-- request, and no octet of a response.

local function refused(conn, request, codes, how)
  request.sink_stag, request.sink_to, request.comment = 0x51a70001, 0x1000, how
  local sent = conn:send(read_request(request))
  conn:expect_terminate { codes[1], codes[2], codes[3], of = sent }
end

local bounds, wrap = { "0/1/01" }, { "0/1/04", "0/1/01" }
-- name, first TO of the buffer (nil: the target's choice), first octet (from the buffer's first
-- one; nil: TO 2^64-8), size, codes, rule, text
local places = {
  { "before-base", nil, -1, 1, bounds, "RDMAP-7.2-11", "names the octet before its buffer" },
  { "straddling-base", nil, -4, 8, bounds, "RDMAP-7.2-11", "begins before its buffer and runs into it" },
  { "at-end", nil, 64, 1, bounds, "RDMAP-7.2-11", "names the octet after its buffer" },
  { "4-gib-above", nil, 0x100000000, 8, bounds, "RDMAP-7.2-11", "is right in the low 32 bits of its TO only" },
  { "sign-of-to", nil, math.mininteger, 8, bounds, "RDMAP-7.2-11", "is right but for the top bit of its TO" },
  { "past-end-by-one", nil, 63, 2, bounds, "RDMAP-7.2-12", "runs one octet past the end of its buffer" },
  { "longer-by-one", nil, 0, 65, bounds, "RDMAP-7.2-12", "begins with its buffer and is one octet longer" },
  { "size-sign", nil, 0, 0x80000000, bounds, "RDMAP-7.2-12", "asks for 2^31 octets" },
  { "size-most", nil, 0, 0xffffffff, bounds, "RDMAP-7.2-12", "asks for 2^32-1 octets" },
  { "wrap", nil, nil, 16, wrap, "RDMAP-7.2-13", "wraps at 2^64, far from its buffer" },
  { "wrap-into-buffer", 0, -8, 16, wrap, "RDMAP-7.2-13", "wraps at 2^64 and would end in its buffer, which begins at TO 0" },
}

-- OP-50: a design that cannot distinguish such an STag from an unknown one may use that code.
local association = { "0/1/03", "0/1/00" }
local stags = {
  { "other-pd", { "RDMAP-7.2-10", "RDMAP-8.1.1-01", "SEC-6.1.1-02" }, association, "belongs to another protection domain",
    function(t) return t:memory { length = 64, remote = "read", pd = t:protection_domain() } end },
  { "other-stream", { "RDMAP-7.2-10", "RDMAP-8.1.1-02", "SEC-6.1.1-03" }, association, "is bound to another stream",
    function(t) return t:memory { length = 64, remote = "read", conn = t:session {} } end },
  { "write-only", { "RDMAP-7.2-14" }, { "0/1/02", "0/1/00" }, "permits writing only",
    function(t) return t:memory { length = 64, remote = "write" } end },
  { "local-only", { "RDMAP-7.2-14" }, { "0/1/02", "0/1/00" }, "permits no remote access",
    function(t) return t:memory { length = 64 } end },
}

return family {
  -- ---- the place: a buffer of 64 octets ----

  each(places, function(one)
    local name, base, offset, size, codes, rule, how = table.unpack(one, 1, 7)
    local both = name == "before-base" or name == "past-end-by-one" or name == "wrap"
    return (both and both_roles or case) {
      id = "rdmap-read-" .. name,
      purpose = ("An RDMA Read that %s ends the stream and gets no answer"):format(how),
      rules = { rule, "RDMAP-5.2.1-14", "RDMAP-8.1.1-03", "RDMAP-7.1-04", "SEC-6.2.1-01" },
      role = not both and "responder" or nil,
      needs = { memory = "read" },
      run = function(t)
        local buf = t:memory { length = 64, remote = "read", to = base }
        local conn = t:session {}
        conn:sanity()
        refused(conn, { source_stag = buf.stag, source_to = offset and buf.to + offset or -8, size = size }, codes, how)
      end,
    }
  end),

  -- ---- the STag ----

  each(stags, function(one)
    local name, rules, codes, how, prepare = table.unpack(one)
    return both_roles {
      id = "rdmap-read-stag-" .. name,
      purpose = ("An RDMA Read of a buffer whose STag %s ends the stream and gets no answer"):format(how),
      rules = { rules[1], rules[2] or "RDMAP-5.2.1-14", "RDMAP-7.1-04", rules[3] },
      -- RFC 5040 names the right to read only in its table of codes, but giving out octets is serious.
      level = "must",
      needs = { memory = "read write" },
      run = function(t)
        local buf = prepare(t)
        local conn = t:session {}
        conn:sanity()
        refused(conn, { source = buf, size = 64 }, codes, "the STag " .. how)
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
        refused(conn, { source_stag = stag, source_to = 0x1000, size = 1 }, { "0/1/00", "0/1/03" })
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
        refused(conn, { source_stag = buf.stag ~ (1 << bit), source_to = buf.to, size = 64 }, { "0/1/00", "0/1/03" })
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
      refused(conn, { source = buf, size = 64 }, { "0/1/00", "0/1/03" }, "the STag was invalidated")
    end,
  },
}
