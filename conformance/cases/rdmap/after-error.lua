-- SPDX-License-Identifier: BSD-3-Clause

-- The target drops everything that follows an error on the same stream: it places, delivers and
-- answers nothing of it, whether it comes together with the error or after the Terminate. A Read Request may be looked at
-- after the Writes and Sends that follow it have been placed and delivered (RFC 5040 §5.5, 12): its error then comes after them.

local errors = {
  { name = "ddp-tagged", fault = fault.invalid_stag, provoke = function(conn) conn:send(write { stag = 0x5bad57a6, to = 0, payload = bytes(8) }) end },
  { name = "ddp-untagged", fault = fault.invalid_queue, provoke = function(conn) conn:send(send { qn = 77, payload = bytes(8) }) end },
  { name = "ddp-header", provoke = function(conn) conn:send(raw { ulpdu = "\xc1\x40", broken = true, comment = "no DDP header" }) end },
  { name = "rdmap-version", fault = fault.rdmap_version, provoke = function(conn) conn:send(write { rv = 2 }) end },
  { name = "rdmap-read", fault = fault.rdmap_invalid_stag, deferred = true, provoke = function(conn) conn:send(read_request { size = 8, source_stag = 0x5bad57a6 }) end },
}

return family {
  each(errors, function(one)
    return each({ true, false }, function(together)
      local placed = one.deferred and together
      return (together and both_roles or case) {
        id = ("rdmap-after-error-%s-%s"):format(one.name, together and "together" or "later"),
        purpose = ("Write, Send and Read Request %s an error %s"):format(
          together and "in one TCP segment with" or "after the Terminate about",
          placed and "are not answered after the Terminate" or "have no effect"),
        rules = placed and { "RDMAP-5.4-08" } or { "DDP-7.1-19", "RDMAP-7-02", "DDP-3-10", "RDMAP-5.4-08" },
        role = not together and "responder" or nil,
        needs = { memory = "read write" },
        run = function(t)
          local conn = t:session {}
          conn:sanity()
          local buf = t:memory { length = 16, remote = "read write" }
          local posted = t:receive { length = 16 }
          local function harmless()
            conn:send(write { to = buf, payload = bytes(16, 0xee), comment = "after the error" })
            conn:send(send { payload = bytes(16, 0xee), comment = "after the error" })
            conn:send(read_request { source = buf, size = 16, sink_stag = 5, comment = "after the error" })
          end
          if together then
            conn:together(function()
              one.provoke(conn)
              harmless()
            end)
          else
            one.provoke(conn)
          end
          local item = conn:expect(one.fault or terminate {}, terminate { ddp = "tagged" }, terminate { ddp = "untagged" },
            terminate { rdmap = "protection" }, one.fault and terminate { rdmap = "operation" } or closed())
          if not together and item.kind == "message" then harmless() end
          conn:shutdown()
          if item.kind == "message" then conn:expect_close {} end
          if placed then return end
          t:expect_no_completion(posted)
          t:expect_unchanged(buf)
          t:expect_unchanged(posted.memory)
        end,
      }
    end)
  end),

  -- RFC 5042: other streams are unaffected.
  both_roles {
    id = "rdmap-after-error-other-stream",
    purpose = "An error on one stream of a target does not affect another one",
    rules = { "DDP-5.2-05", "RDMAP-5.2.1-12", "RDMAP-5.3-05" },
    needs = { memory = "read write" },
    run = function(t)
      local buf = t:memory { length = 32, remote = "read write" }
      local good, bad = t:session {}, t:session {}
      good:send(write { to = buf, payload = bytes(16) })
      good:fence()
      bad:send(write { to = buf, offset = 17, payload = bytes(16, 0xee) })
      bad:expect_terminate { fault.out_of_bounds }
      local posted = t:receive { length = 16, conn = good }
      good:send(write { to = buf, offset = 16, payload = bytes(16, 7) })
      good:send(send { payload = "still there" })
      t:completion(posted, { length = 11 })
      t:check(good:read(buf) == bytes(16) .. bytes(16, 7), "the other stream read other octets than it wrote", { how = "other payload" })
      t:expect_contents(buf, bytes(16) .. bytes(16, 7), { rule = "DDP-8.3.1-04" })
    end,
  },
}
