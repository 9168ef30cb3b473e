-- SPDX-License-Identifier: BSD-3-Clause

-- A start-up frame that ends early. OP-06: the target learns that octets promised by PD_Length are
-- missing when the stream ends, or by a time-out.
local mpa = use "mpa"

local at = {
  { name = "empty", octets = 0 }, { name = "one-octet", octets = 1 }, { name = "key-short", octets = 15 },
  { name = "key-only", octets = 16 }, { name = "no-revision", octets = 17 }, { name = "no-length", octets = 18 },
  { name = "half-length", octets = 19 }, { name = "no-private", octets = 20 }, { name = "half-block", octets = 22 },
  { name = "block-only", octets = 24 }, { name = "last-missing", octets = 31 },
}

return family {
  each(at, function(one)
    return {
      case {
        id = "mpa-startup-cut-" .. one.name,
        purpose = ("The target closes without a Reply on a Request of 32 octets that ends after %d"):format(one.octets),
        rules = { "MPA-7.1.1-21", "MPA-7.1.2-03", "MPA-7.1.2-26", "MPA-7.1.2-23", "MPA-8-01" },
        role = "responder",
        needs = { revision = 2 },
        run = function(t)
          local conn = t:connect { raw = true }
          if one.octets > 0 then
            conn:write(octets(request { private = bytes(8) }):sub(1, one.octets), { comment = "the Request, cut short" })
          end
          conn:expect_silence {} -- bug-closed-before-accepted-* tests ends before the accept
          conn:shutdown()
          conn:expect_close {}
        end,
      },
      case {
        id = "mpa-reply-cut-" .. one.name,
        purpose = ("The target closes without an FPDU on a Reply of 32 octets that ends after %d"):format(one.octets),
        rules = { "MPA-7.1.1-21", "MPA-7.1.2-11", "MPA-7.1.2-26", "MPA-8-01" },
        role = "initiator",
        needs = { enhanced = true },
        run = function(t)
          local conn, asked = mpa.called(t, { peer_to_peer = true, enhanced = true, revision = 2 })
          local frame = octets(reply { private = bytes(8), a = asked.a, b = asked.b, c = asked.c, d = asked.d })
          if one.octets > 0 then conn:write(frame:sub(1, one.octets), { comment = "the Reply, cut short" }) end
          conn:shutdown()
          mpa.ends_after(conn, asked)
        end,
      },
    }
  end),

  case {
    id = "mpa-startup-cut-reported",
    purpose = "A Request that ends inside its private data never reaches the ULP",
    rules = { "MPA-7.1.1-21", "MPA-8-07", "MPA-8-01", "MPA-8-13" },
    role = "responder",
    needs = { agent = true },
    run = function(t)
      local conn = t:connect { raw = true, target = { accept = "ask" } }
      conn:write(octets(request { revision = 1, private = bytes(100) }):sub(1, 70), { comment = "50 of 100 octets" })
      conn:expect_silence {} -- bug-closed-before-accepted-*
      conn:shutdown()
      conn:expect_close {}
      local event = t:wait_event(function(e) return e.event == "request" or e.event == "closed" end)
      t:check(event, "the target did not report the failed start-up to its ULP", { rule = "MPA-8-13", expected = "closed" })
      t:check(event.event == "closed", "the target passed a Request that was cut short to its ULP",
        { expected = "closed", actual = event.event })
      t:observe("graceful", event.graceful)
    end,
  },

  -- A target whose ULP would keep its own direction open after a FIN: MPA has to close then.
  case {
    id = "mpa-startup-cut-half-close",
    purpose = "The target closes on a Request that is cut short even if its ULP keeps half-closed connections",
    rules = { "MPA-7.1.1-21", "MPA-7.1.2-26", "MPA-8-08" },
    role = "responder",
    needs = { agent = true },
    run = function(t)
      local conn = t:connect { raw = true, target = { half_close = true } }
      conn:write(octets(request { private = bytes(8) }):sub(1, 25), { comment = "the Request, cut short" })
      conn:shutdown()
      conn:expect_close {}
    end,
  },

  case {
    id = "mpa-reply-cut-half-close",
    purpose = "The target closes on a Reply that is cut short even if its ULP keeps half-closed connections",
    rules = { "MPA-7.1.1-21", "MPA-7.1.2-26", "MPA-8-08" },
    role = "initiator",
    needs = { agent = true },
    run = function(t)
      local conn, asked = mpa.called(t, { half_close = true })
      conn:write(octets(reply { private = bytes(8) }):sub(1, 25), { comment = "the Reply, cut short" })
      conn:shutdown()
      mpa.ends_after(conn, asked)
    end,
  },

  case {
    id = "mpa-startup-reset",
    purpose = "A connection that is reset inside the Request does no harm",
    rules = { "MPA-8-01" },
    role = "responder",
    run = function(t)
      for _, octet in ipairs { 0, 7, 20, 23 } do
        local conn = t:connect { raw = true }
        if octet > 0 then conn:write(octets(request {}):sub(1, octet), { comment = "the Request, cut short" }) end
        conn:next(0.05) -- the target has accepted it by then
        conn:reset()
      end
      local conn = t:connect { raw = true }
      conn:send(request {})
      conn:expect(reply { rejected = false })
    end,
  },
}
