-- SPDX-License-Identifier: BSD-3-Clause

-- Send with Invalidate: its effect on the STag, and STags that it must not touch.

local function invalidatable(t, conn) return t:memory { length = 32, remote = "read write", invalidate = true, conn = conn } end

-- The target refuses the STag and delivers nothing.
local function refused(t, conn, kind, stag, set)
  local posted = t:receive { length = 8, conn = conn }
  local sent = conn:send(kind { invalidate = stag, payload = bytes(8, 0xee) })
  conn:expect_terminate { set, of = sent }
  t:expect_no_completion(posted)
end

-- The STag still opens the buffer, here on another connection.
local function still_valid(t, conn, buf)
  conn:send(write { to = buf, payload = bytes(32, 3) })
  conn:fence()
  t:expect_contents(buf, bytes(32, 3))
end

return family {
  -- ---- effect ----

  both_roles {
    id = "rdmap-send-invalidate",
    purpose = "Send with Invalidate makes the STag unusable: a Write that follows ends the stream",
    rules = { "RDMAP-5.3-15", "DDP-7.1-10", "DDP-8.3.1-07", "RDMAP-8.1.1-06" },
    needs = { memory = "read write" },
    run = function(t)
      local conn = t:session {}
      local buf = invalidatable(t, conn)
      local posted = t:receive { length = 8 }
      conn:send(write { to = buf, payload = bytes(32) })
      conn:send(send_invalidate { invalidate = buf, payload = bytes(8) })
      t:completion(posted, { length = 8, invalidated = buf.stag })
      t:expect_contents(buf, bytes(32))
      local sent = conn:send(write { to = buf, payload = bytes(32, 0xee), comment = "its STag is invalidated" })
      conn:expect_terminate { fault.invalid_stag, of = sent }
      t:expect_unchanged(buf, { rule = "DDP-8.3.1-07" })
    end,
  },

  both_roles {
    id = "rdmap-send-invalidate-at-once",
    purpose = "A Write that comes together with the Send with Invalidate before it finds the STag invalidated",
    rules = { "RDMAP-5.3-15", "DDP-7.1-10", "DDP-8.3.1-07" },
    needs = { memory = "read write" },
    run = function(t)
      local conn = t:session {}
      local buf = invalidatable(t, conn)
      t:receive { length = 8 }
      local sent
      conn:together(function()
        conn:send(write { to = buf, payload = bytes(16) })
        conn:send(send_invalidate { invalidate = buf, payload = bytes(8) })
        sent = conn:send(write { to = buf, payload = bytes(32, 0xee), comment = "its STag is invalidated" })
      end)
      conn:expect_terminate { fault.invalid_stag, of = sent }
      t:expect_contents(buf, bytes(16), { rule = "DDP-8.3.1-07" })
    end,
  },

  both_roles {
    id = "rdmap-send-se-invalidate-write",
    purpose = "Send with SE and Invalidate makes the STag unusable for Writes",
    rules = { "RDMAP-5.3-15", "DDP-7.1-10" },
    needs = { memory = "read write" },
    run = function(t)
      local conn = t:session {}
      local buf = invalidatable(t, conn)
      local posted = t:receive { length = 8 }
      conn:send(send_se_invalidate { invalidate = buf })
      t:completion(posted, { length = 0, invalidated = buf.stag })
      local sent = conn:send(write { to = buf, payload = bytes(32, 0xee), comment = "its STag is invalidated" })
      conn:expect_terminate { fault.invalid_stag, of = sent }
      t:expect_unchanged(buf, { rule = "DDP-8.3.1-07" })
    end,
  },

  both_roles {
    id = "rdmap-send-invalidate-read",
    purpose = "Send with Invalidate makes the STag unusable for RDMA Reads",
    rules = { "RDMAP-5.3-15", "RDMAP-7.2-09" },
    needs = { memory = "read write" },
    run = function(t)
      local conn = t:session {}
      local buf = invalidatable(t, conn)
      local posted = t:receive { length = 8 }
      conn:read(buf)
      conn:send(send_invalidate { invalidate = buf })
      t:completion(posted, { length = 0, invalidated = buf.stag })
      local sent = conn:send(read_request { source = buf, size = 8, sink_stag = 1, comment = "its STag is invalidated" })
      conn:expect_terminate { fault.rdmap_invalid_stag, of = sent }
    end,
  },

  both_roles {
    id = "rdmap-send-invalidate-only-that",
    purpose = "Send with Invalidate leaves all other STags as they are",
    rules = { "RDMAP-5.3-15", "RDMAP-5.3-12" },
    needs = { memory = "read write" },
    run = function(t)
      local conn = t:session {}
      local before, buf, after = invalidatable(t, conn), invalidatable(t, conn), invalidatable(t, conn)
      local posted = t:receive { length = 8 }
      conn:send(send_invalidate { invalidate = buf })
      t:completion(posted, { length = 0, invalidated = buf.stag })
      conn:send(write { to = before, payload = bytes(32, 1) })
      conn:send(write { to = after, payload = bytes(32, 2) })
      conn:fence()
      t:expect_contents(before, bytes(32, 1))
      t:expect_contents(after, bytes(32, 2))
    end,
  },

  -- ---- STags that it must not touch ----

  each({
    { name = "send-invalidate", text = "Send with Invalidate", make = send_invalidate },
    { name = "send-se-invalidate", text = "Send with SE and Invalidate", make = send_se_invalidate },
  }, function(one)
    return {
      each({ { name = "unknown", stag = 0x5bad57a6 }, { name = "zero", stag = 0 } }, function(wrong)
        local both = wrong.name == "unknown"
        return (both and both_roles or case) {
          id = ("rdmap-%s-%s"):format(one.name, wrong.name),
          purpose = ("%s of the invalid STag 0x%x ends the stream"):format(one.text, wrong.stag),
          rules = { "RDMAP-7.2-04", "RDMAP-5.3-16" },
          role = not both and "responder" or nil,
          needs = { agent = true },
          run = function(t)
            local conn = t:session {}
            conn:sanity()
            refused(t, conn, one.make, wrong.stag, fault.invalidate_invalid_stag)
          end,
        }
      end),

      both_roles {
        id = ("rdmap-%s-shared"):format(one.name),
        purpose = ("%s of an STag that streams share ends the stream and leaves the STag valid"):format(one.text),
        rules = { "RDMAP-8.1.1-07", "RDMAP-5.3-16" },
        needs = { memory = "write" },
        run = function(t)
          local other, conn = t:session {}, t:session {}
          local buf = t:memory { length = 32, remote = "write" }
          refused(t, conn, one.make, buf, fault.not_invalidatable)
          still_valid(t, other, buf)
        end,
      },

      both_roles {
        id = ("rdmap-%s-other-stream"):format(one.name),
        purpose = ("%s of an STag that is bound to another stream ends the stream and leaves the STag valid"):format(one.text),
        rules = { "RDMAP-5.3-16", "RDMAP-5.3-14", "RDMAP-7.2-05", "RDMAP-8.1.1-02" },
        needs = { memory = "write" },
        run = function(t)
          local other, conn = t:session {}, t:session {}
          local buf = t:memory { length = 32, remote = "write", invalidate = true, conn = other }
          refused(t, conn, one.make, buf, fault.not_invalidatable)
          still_valid(t, other, buf)
        end,
      },

      both_roles {
        id = ("rdmap-%s-other-pd"):format(one.name),
        purpose = ("%s of an STag of another protection domain ends the stream"):format(one.text),
        rules = { "RDMAP-5.3-16", "RDMAP-7.2-05", "RDMAP-8.1.1-01" },
        needs = { memory = "write" },
        run = function(t)
          local conn = t:session {}
          local buf = t:memory { length = 32, remote = "write", invalidate = true, pd = t:protection_domain() }
          refused(t, conn, one.make, buf, fault.not_invalidatable)
        end,
      },
    }
  end),

  both_roles {
    id = "rdmap-send-invalidate-twice",
    purpose = "A second Send with Invalidate of the same STag ends the stream",
    rules = { "RDMAP-7.2-04", "RDMAP-5.3-15" },
    needs = { memory = "read write" },
    run = function(t)
      local conn = t:session {}
      local buf = invalidatable(t, conn)
      local posted = t:receive { length = 8 }
      conn:send(send_invalidate { invalidate = buf })
      t:completion(posted, { length = 0, invalidated = buf.stag })
      refused(t, conn, send_invalidate, buf, fault.invalidate_invalid_stag)
    end,
  },
}
