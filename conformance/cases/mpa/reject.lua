-- SPDX-License-Identifier: BSD-3-Clause

-- Refusals. OP-01: after a rejecting Reply a target may close TCP or leave it to the ULP; no FPDU may follow.
local mpa = use "mpa"

-- Expects nothing but the end of the stream.
local function nothing_more(t, conn, received, rule)
  conn:shutdown()
  local ended = conn:drain(1)
  if not ended then t:note("the target left TCP open") end
  t:check(conn:state().received == received, "the target sent octets after a refusal", {
    rule = rule, expected = ("%d octets in all"):format(received), actual = conn:state().received .. " octets" })
end

return family {
  each({
    { name = "plain-rev1", revision = 1, octets = 0 }, { name = "private-rev1", revision = 1, octets = 512 },
    { name = "plain", revision = 2, octets = 0 }, { name = "private", revision = 2, octets = 508 },
  }, function(one)
    return {
      case {
        id = "mpa-reject-" .. one.name,
        purpose = ("A responder whose ULP refuses a Request answers with R=1 and %s"):format(
          one.octets > 0 and ("the ULP's %d octets"):format(one.octets) or "no private data"),
        rules = { "MPA-7.1.2-07", "MPA-7.1.2-05", "MPA-7.1.2-19", "MPA-7.1.1-13", "MPA-7.1.2-06", "EMPA-10-05",
          "EMPA-10-06" },
        role = "responder",
        needs = { agent = true, reject = true, revision = one.revision },
        run = function(t)
          local conn = t:connect { raw = true, target = { accept = "ask" } }
          conn:send(request { revision = one.revision, private = "no, thanks" })
          t:check(t:requested(conn) == "no, thanks", "the ULP saw other private data", { rule = "MPA-7.1.1-23" })
          t:reject(conn, bytes(one.octets))
          local answer = conn:expect(reply { rejected = true, private = bytes(one.octets), enhanced = one.revision == 2 })
          nothing_more(t, conn, 20 + answer.pd_length)
        end,
      },
      case {
        id = "mpa-rejected-" .. one.name,
        purpose = ("A refused initiator sends no FPDU and reports the refusal, with %d octets of private data, to its ULP"):format(one.octets),
        rules = { "MPA-7.1.2-13", "MPA-7.1.1-13", "MPA-7.1.2-24" },
        role = "initiator",
        needs = { agent = true, revision = one.revision },
        run = function(t)
          local enhanced = one.revision == 2
          local conn, asked = mpa.called(t, { revision = one.revision, enhanced = enhanced, peer_to_peer = enhanced })
          conn:send(reply { rejected = true, revision = one.revision, a = asked.a, b = asked.b, c = asked.c, d = asked.d,
            private = bytes(one.octets) })
          local event = t:event("rejected", conn, {}, { rule = one.octets > 0 and "MPA-7.1.2-24" or nil })
          t:check(event.private == show(bytes(one.octets)), "the ULP saw other private data", {
            expected = show(bytes(one.octets), 32), actual = event.private:sub(1, 64) })
          nothing_more(t, conn, 20 + asked.pd_length)
        end,
      },
    }
  end),

  case {
    id = "mpa-rejected-bare",
    purpose = "A refused initiator sends no FPDU",
    rules = { "MPA-7.1.2-13" },
    role = "initiator",
    run = function(t)
      local conn, asked = mpa.called(t)
      conn:send(reply { rejected = true, revision = asked.revision, enhanced = asked.enhanced, a = asked.a })
      nothing_more(t, conn, 20 + asked.pd_length)
    end,
  },

  case {
    id = "mpa-reject-then-accept",
    purpose = "A refusal has no effect on the connections before and after it",
    rules = { "MPA-7.1.2-07", "MPA-7.1.2-08" },
    role = "responder",
    needs = { agent = true, reject = true },
    run = function(t)
      local before = t:connect { raw = true, target = { accept = "ask" } }
      before:send(request {})
      t:requested(before)
      t:accept(before)
      before:expect(reply { rejected = false })
      local conn = t:connect { raw = true, target = { accept = "ask" } }
      conn:send(request {})
      t:requested(conn)
      t:reject(conn)
      conn:expect(reply { rejected = true })
      mpa.serves(before)
      local after = t:connect { raw = true, target = { accept = "ask" } }
      after:send(request {})
      t:requested(after)
      t:accept(after)
      after:expect(reply { rejected = false })
      mpa.serves(after)
    end,
  },

  -- The target must not act upon FPDUs sent in spite of a refusal.
  case {
    id = "mpa-reject-fpdu",
    purpose = "An FPDU that comes after the target's refusal has no effect",
    rules = { "MPA-7.1.2-07" },
    role = "responder",
    needs = { memory = "write", reject = true },
    run = function(t)
      local buf = t:memory { length = 64, remote = "write" }
      local conn = t:connect { raw = true, target = { accept = "ask" } }
      conn:send(request {})
      t:requested(conn)
      t:reject(conn)
      local answer = conn:expect(reply { rejected = true })
      conn:write(mpa.fpdu_octets(conn:encode(write { to = buf, payload = bytes(64) })[1].ulpdu),
        { comment = "a Write after the refusal" })
      nothing_more(t, conn, 20 + answer.pd_length)
      t:expect_unchanged(buf)
    end,
  },
}
