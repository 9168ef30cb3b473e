-- SPDX-License-Identifier: BSD-3-Clause

-- Where a Write lies relative to its buffer of 64 octets. base: the buffer's first TO, else the target's choice. offset: the Write's
-- first octet, from the buffer's first one; else it begins at TO 2^64-8.
local wrong = {
  { name = "before-base", offset = -1, length = 1, fault = fault.out_of_bounds, rule = "DDP-7.1-12",
    text = "names the octet before its buffer" },
  { name = "straddling-base", offset = -4, length = 8, fault = fault.out_of_bounds, rule = "DDP-7.1-12",
    text = "begins before its buffer and runs into it" },
  { name = "far-before-base", base = 0x100000000, offset = -0x100000000, length = 8, fault = fault.out_of_bounds,
    rule = "DDP-7.1-12", text = "has TO 0 where the buffer begins at 2^32" },
  { name = "at-end", offset = 64, length = 1, fault = fault.out_of_bounds, rule = "DDP-7.1-12", text = "names the octet after its buffer" },
  { name = "4-gib-above", offset = 0x100000000, length = 8, fault = fault.out_of_bounds, rule = "DDP-7.1-12",
    text = "is right in the low 32 bits of its TO only" },
  { name = "sign-of-to", offset = math.mininteger, length = 8, fault = fault.out_of_bounds, rule = "DDP-7.1-12",
    text = "is right but for the top bit of its TO" },
  { name = "past-end-by-one", offset = 63, length = 2, fault = fault.out_of_bounds, rule = "DDP-7.1-13",
    text = "runs one octet past the end of its buffer" },
  { name = "longer-by-one", offset = 0, length = 65, fault = fault.out_of_bounds, rule = "DDP-7.1-13",
    text = "begins with its buffer and is one octet longer" },
  { name = "wrap", length = 16, fault = fault.to_wraps, rule = "DDP-7.1-14", text = "wraps at 2^64, far from its buffer" },
  { name = "wrap-into-buffer", base = 0, offset = -8, length = 16, fault = fault.to_wraps, rule = "DDP-7.1-14",
    text = "wraps at 2^64 and would end in its buffer, which begins at TO 0" },
}

return family {
  each(wrong, function(one)
    local both = one.name == "before-base" or one.name == "past-end-by-one" or one.name == "wrap"
    return (both and both_roles or case) {
      id = "ddp-write-" .. one.name,
      purpose = ("A Write that %s ends the stream and changes no octet"):format(one.text),
      rules = { one.rule, "DDP-7.1-17", "DDP-8.3.1-04", "RDMAP-8.1.1-03", "DDP-7.2-01", "SEC-6.2.1-01", "RDMAP-7.2-01" },
      role = not both and "responder" or nil,
      needs = { memory = "write" },
      run = function(t)
        local buf = t:memory { length = 64, remote = "write", to = one.base }
        local conn = t:session {}
        conn:sanity()
        local to = one.offset and buf.to + one.offset or -8
        local sent = conn:send(write { stag = buf.stag, to = to, payload = bytes(one.length, 0xee), comment = one.text })
        conn:expect_terminate { one.fault, of = sent }
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
      conn:expect_terminate { fault.out_of_bounds, of = sent.segments[3] }
      -- RFC 5041 §7.1: the first two were right; whether they were placed shows in the buffer.
      t:expect_unchanged(buf, { except = { 0, 48 } })
      t:expect_contents(buf, bytes(48, 0xee), { rule = "DDP-5.2-05" })
    end,
  },
}
