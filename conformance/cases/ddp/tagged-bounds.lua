-- SPDX-License-Identifier: BSD-3-Clause

-- Where a Write lies relative to its buffer of 64 octets: name, first TO of the buffer (nil: the
-- target's choice), first octet of the Write (from the buffer's first one, or absolute), length,
-- acceptable codes, rule, text.
local bounds, wrap = { "1/1/01" }, { "1/1/03", "1/1/01" }
local wrong = {
  { "before-base", nil, -1, 1, bounds, "DDP-7.1-12", "names the octet before its buffer" },
  { "straddling-base", nil, -4, 8, bounds, "DDP-7.1-12", "begins before its buffer and runs into it" },
  { "far-before-base", 0x100000000, -0x100000000, 8, bounds, "DDP-7.1-12", "has TO 0 where the buffer begins at 2^32" },
  { "at-end", nil, 64, 1, bounds, "DDP-7.1-12", "names the octet after its buffer" },
  { "4-gib-above", nil, 0x100000000, 8, bounds, "DDP-7.1-12", "is right in the low 32 bits of its TO only" },
  { "sign-of-to", nil, math.mininteger, 8, bounds, "DDP-7.1-12", "is right but for the top bit of its TO" },
  { "past-end-by-one", nil, 63, 2, bounds, "DDP-7.1-13", "runs one octet past the end of its buffer" },
  { "longer-by-one", nil, 0, 65, bounds, "DDP-7.1-13", "begins with its buffer and is one octet longer" },
  { "wrap", nil, nil, 16, wrap, "DDP-7.1-14", "wraps at 2^64, far from its buffer" },
  { "wrap-into-buffer", 0, -8, 16, wrap, "DDP-7.1-14", "wraps at 2^64 and would end in its buffer, which begins at TO 0" },
}

return family {
  each(wrong, function(one)
    local name, base, offset, length, codes, rule, how = table.unpack(one, 1, 7)
    local both = name == "before-base" or name == "past-end-by-one" or name == "wrap"
    return (both and both_roles or case) {
      id = "ddp-write-" .. name,
      purpose = ("A Write that %s ends the stream and changes no octet"):format(how),
      rules = { rule, "DDP-7.1-17", "DDP-8.3.1-04", "RDMAP-8.1.1-03", "DDP-7.2-01", "SEC-6.2.1-01", "RDMAP-7.2-01" },
      role = not both and "responder" or nil,
      needs = { memory = "write" },
      run = function(t)
        local buf = t:memory { length = 64, remote = "write", to = base }
        local conn = t:session {}
        conn:sanity()
        local to = offset and buf.to + offset or -8
        local sent = conn:send(write { stag = buf.stag, to = to, payload = bytes(length, 0xee), comment = how })
        conn:expect_terminate { codes[1], codes[2], of = sent }
        t:expect_unchanged(buf)
      end,
    }
  end),

  both_roles {
    id = "ddp-write-later-segment-past-end",
    purpose = "The target places nothing of a Write's third segment when that one runs past the end",
    rules = { "DDP-7.1-13", "DDP-7.1-17", "DDP-8.3.1-04" },
    needs = { memory = "write" },
    run = function(t)
      local buf = t:memory { length = 64, remote = "write" }
      local conn = t:session {}
      conn:sanity()
      local sent = conn:send(write { to = buf, payload = bytes(65, 0xee), comment = "the third segment is an octet too long" },
        { segments = { 24, 24, 17 } })
      conn:expect_terminate { "1/1/01", of = sent.segments[3] }
      -- RFC 5041 §7.1: the first two were right; whether they were placed shows in the buffer.
      t:expect_unchanged(buf, { except = { 0, 48 } })
      t:expect_contents(buf, bytes(48, 0xee), { rule = "DDP-5.2-05" })
    end,
  },
}
