-- SPDX-License-Identifier: BSD-3-Clause

-- Every reason why an STag does not open its buffer to a Write.

local wrong = {
  { name = "other-pd", rules = { "DDP-8.2-01", "DDP-8.3.1-02", "RDMAP-8.1.1-01", "SEC-6.1.1-02" }, fault = fault.foreign_stag,
    text = "belongs to another protection domain",
    prepare = function(t) return t:memory { length = 64, remote = "write", pd = t:protection_domain() } end },
  { name = "other-stream", rules = { "DDP-8.2-02", "DDP-8.3.1-03", "RDMAP-8.1.1-02", "SEC-6.1.1-03" }, fault = fault.foreign_stag,
    text = "is bound to another stream",
    prepare = function(t) return t:memory { length = 64, remote = "write", conn = t:session {} } end },
  { name = "read-only", rules = { "DDP-7.1-11", "DDP-7.1-17" }, fault = fault.no_write_access, text = "permits reading only",
    prepare = function(t) return t:memory { length = 64, remote = "read" } end },
  { name = "local-only", rules = { "DDP-7.1-11", "DDP-7.1-17" }, fault = fault.no_write_access, text = "permits no remote access",
    prepare = function(t) return t:memory { length = 64 } end },
}

return family {
  each(wrong, function(one)
    return both_roles {
      id = "ddp-stag-" .. one.name,
      purpose = ("A Write to a buffer whose STag %s ends the stream and changes no octet"):format(one.text),
      rules = one.rules,
      needs = { memory = "write" },
      run = function(t)
        local buf = one.prepare(t)
        local conn = t:session {}
        conn:sanity()
        local sent = conn:send(write { to = buf, payload = bytes(64, 0xee), comment = "the STag " .. one.text })
        conn:expect_terminate { one.fault, of = sent }
        t:expect_unchanged(buf)
      end,
    }
  end),

  both_roles {
    id = "ddp-stag-unknown",
    purpose = "A Write with an STag that the target never gave out ends the stream",
    rules = { "DDP-7.1-10", "DDP-4.2-05", "DDP-7.1-17", "DDP-7.2-01", "RDMAP-7.2-01" },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local sent = conn:send(write { stag = 0x5bad57a6, to = 0x1000, payload = bytes(8, 0xee) })
      conn:expect_terminate { fault.invalid_stag, of = sent }
    end,
  },

  both_roles {
    id = "ddp-stag-zero",
    purpose = "A Write with STag 0 that is not empty ends the stream",
    rules = { "DDP-7.1-10", "DDP-4.2-05" },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local sent = conn:send(write { stag = 0, to = 0, payload = bytes(1, 0xee) })
      conn:expect_terminate { fault.invalid_stag, of = sent }
    end,
  },

  -- In many designs an STag consists of an index and a key: the target must compare both.
  each({ 0, 7, 8, 15, 31 }, function(bit)
    return case {
      id = ("ddp-stag-bit-%d"):format(bit),
      purpose = ("A Write whose STag differs from a valid one in bit %d ends the stream and changes no octet"):format(bit),
      rules = { "DDP-7.1-10", "DDP-4.2-05" },
      role = "responder",
      needs = { memory = "write" },
      run = function(t)
        local buf = t:memory { length = 64, remote = "write" }
        local conn = t:connect {}
        conn:sanity()
        local sent = conn:send(write { stag = buf.stag ~ (1 << bit), to = buf.to, payload = bytes(64, 0xee) })
        conn:expect_terminate { fault.invalid_stag, of = sent }
        t:expect_unchanged(buf)
      end,
    }
  end),

  both_roles {
    id = "ddp-stag-revoked",
    purpose = "A Write to an STag that its owner has invalidated ends the stream and changes no octet",
    rules = { "DDP-8.3.1-07", "RDMAP-8.1.1-06", "DDP-7.1-10" },
    needs = { memory = "write" },
    run = function(t)
      local buf = t:memory { length = 64, remote = "write" }
      local conn = t:session {}
      conn:send(write { to = buf, payload = bytes(32) })
      conn:fence()
      t:expect_contents(buf, bytes(32))
      t:invalidate(buf)
      local sent = conn:send(write { to = buf, payload = bytes(64, 0xee), comment = "the STag was invalidated" })
      conn:expect_terminate { fault.invalid_stag, of = sent }
      t:expect_unchanged(buf)
    end,
  },

  case {
    id = "ddp-stag-released",
    purpose = "A Write to an STag whose memory was deregistered ends the stream",
    rules = { "DDP-7.1-10", "DDP-8.3.1-07" },
    role = "responder",
    needs = { memory = "write" },
    run = function(t)
      local buf = t:memory { length = 64, remote = "write" }
      local conn = t:connect {}
      conn:send(write { to = buf, payload = bytes(64) })
      conn:fence()
      t:release(buf)
      local sent = conn:send(write { to = buf, payload = bytes(64, 0xee), comment = "the memory was deregistered" })
      conn:expect_terminate { fault.invalid_stag, of = sent }
    end,
  },

  case {
    id = "ddp-stag-revoked-within-message",
    purpose = "An STag that is invalidated between two segments of a Write refuses the second one",
    rules = { "DDP-8.3.1-07", "RDMAP-8.1.1-06", "SEC-6.2.2-02" },
    role = "responder",
    needs = { memory = "write" },
    run = function(t)
      local buf = t:memory { length = 64, remote = "write" }
      local conn = t:connect {}
      conn:sanity()
      conn:send(write { to = buf, payload = bytes(32), l = false })
      t:invalidate(buf)
      conn:send(write { to = buf, offset = 32, payload = bytes(32, 0xee), comment = "the STag was invalidated" })
      -- Nothing shows whether the first segment came before the invalidation: it may be the one at fault.
      conn:expect_terminate { fault.invalid_stag }
      t:expect_unchanged(buf, { except = { 0, 32 } })
    end,
  },

  case {
    id = "ddp-stag-bound-to-this-stream",
    purpose = "An STag that is bound to a stream works on that stream, also after the target refused it on another one",
    rules = { "DDP-8.2-02", "DDP-8.3.1-03" },
    role = "responder",
    needs = { memory = "write" },
    run = function(t)
      local conn, other = t:connect {}, t:connect {}
      local buf = t:memory { length = 64, remote = "write", conn = conn }
      conn:send(write { to = buf, payload = bytes(16) })
      conn:fence()
      t:expect_contents(buf, bytes(16))
      local sent = other:send(write { to = buf, payload = bytes(64, 0xee), comment = "the STag is bound to the other stream" })
      other:expect_terminate { fault.foreign_stag, of = sent }
      t:expect_unchanged(buf)
      conn:send(write { to = buf, offset = 16, payload = bytes(48, 0xdd) })
      conn:fence()
      t:expect_contents(buf, bytes(48, 0xdd), { offset = 16 })
    end,
  },

  case {
    id = "ddp-stag-shared-by-streams",
    purpose = "An STag that is bound to no stream works on every stream of its protection domain",
    rules = { "DDP-7.1-10", "DDP-5.2-05" },
    role = "responder",
    needs = { memory = "write" },
    run = function(t)
      local one, two = t:connect {}, t:connect {}
      local buf = t:memory { length = 64, remote = "write" }
      one:send(write { to = buf, payload = bytes(32) })
      one:fence()
      two:send(write { to = buf, offset = 32, payload = bytes(32, 7) })
      two:fence()
      t:expect_contents(buf, bytes(32) .. bytes(32, 7))
    end,
  },
}
