-- SPDX-License-Identifier: BSD-3-Clause

-- How streams end: inside an FPDU, at its end, after a Terminate.
local mpa = use "mpa"

return family {
  -- A Send of 20 octets: 2 + 18 + 20 octets, then the CRC.
  each({
    { name = "half-length", octets = 1 }, { name = "no-ulpdu", octets = 2 }, { name = "in-header", octets = 11 },
    { name = "no-payload", octets = 20 }, { name = "in-payload", octets = 33 }, { name = "no-crc", octets = 40 },
    { name = "in-crc", octets = 43 },
  }, function(one)
    return both_roles {
      id = "mpa-fin-" .. one.name,
      purpose = ("A stream that ends after %d of 44 octets of a Send ends at the target, and nothing is delivered"):format(one.octets),
      rules = { "MPA-6-05", "MPA-8-01", "MPA-7.2-02" },
      needs = { agent = true },
      run = function(t)
        local conn = t:session {}
        local posted = t:receive { length = 64 }
        mpa.good(conn)
        conn:hold(function() conn:send(send { payload = bytes(20) }, { broken = true, comment = "cut short" }) end)
        conn:release(one.octets)
        conn:shutdown()
        conn:expect_close {}
        t:expect_no_completion(posted)
        local event = t:event("closed", conn, {})
        t:observe("graceful", event.graceful)
      end,
    }
  end),

  both_roles {
    id = "mpa-reset-inside",
    purpose = "The target delivers nothing of an FPDU that a reset cuts short, and reports the end",
    rules = { "MPA-8-01", "MPA-6-05" },
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      local posted = t:receive { length = 64 }
      mpa.good(conn)
      conn:hold(function() conn:send(send { payload = bytes(20) }, { broken = true, comment = "cut short" }) end)
      conn:release(30)
      conn:reset()
      local event = t:event("closed", conn, {})
      t:check(event.graceful == false, "the target reported a reset as a graceful close")
      t:expect_no_completion(posted)
      t.negative = true
    end,
  },

  both_roles {
    id = "mpa-fin-between",
    purpose = "The target closes a stream that ends between two FPDUs gracefully, and delivers everything before",
    rules = { "MPA-7.2-01", "MPA-3-12", "MPA-7.2-02" },
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      local posted = { t:receive { length = 64 }, t:receive { length = 64 } }
      mpa.good(conn)
      conn:together(function()
        conn:send(send { payload = bytes(30) })
        conn:send(send { payload = bytes(31) })
      end)
      conn:shutdown()
      conn:expect_close { by = "fin" }
      t:completion(posted[1], { length = 30 })
      t:completion(posted[2], { length = 31 })
      t:expect_contents(posted[2].memory, bytes(31))
      local event = t:event("closed", conn, {})
      t:check(event.graceful, "the target reported a graceful close as something else", { rule = "MPA-7.2-01" })
    end,
  },

  -- OP-08: a Marker that is due belongs to the next FPDU, but may go out before the end.
  both_roles {
    id = "mpa-fin-after-marker",
    purpose = "The target closes a stream that ends with a Marker after its last FPDU gracefully, and delivers the FPDU",
    rules = { "MPA-7.2-01", "MPA-4.3-06" },
    needs = { agent = true, markers = "on" },
    run = function(t)
      local conn = t:session { target = { markers = true } }
      local posted = t:receive { length = 484 }
      -- A Marker, 2 + 18 + 484 octets and the CRC are 512.
      conn:send(send { payload = bytes(484) })
      conn:write(bytes(4, 0), { comment = "a Marker that no FPDU follows" })
      conn:shutdown()
      conn:expect_close { by = "fin" }
      t:completion(posted, { length = 484 })
      local event = t:event("closed", conn, {})
      t:check(event.graceful, "the target reported a graceful close as something else")
    end,
  },

  -- With its own direction kept open: a FIN is an error inside an FPDU, but none between two.
  both_roles {
    id = "mpa-half-close",
    purpose = "A target whose peer has closed its direction between FPDUs goes on sending what its ULP posts",
    rules = { "MPA-7.2-01", "MPA-7.2-02" },
    needs = { agent = true },
    run = function(t)
      local config = { half_close = true }
      if t.case.role == "initiator" then
        config.peer_to_peer, config.enhanced, config.revision = true, true, 2
      end
      local conn = t:session { target = config }
      mpa.good(conn)
      conn:shutdown()
      t:event("peer-closed", conn)
      t:post { op = "send", payload = "afterwards" }
      conn:expect(send { payload = "afterwards" })
      t:target_close(conn, "graceful")
      conn:expect(fin())
      t:check(t:event("closed", conn).graceful, "the target reported a graceful close as something else")
    end,
  },

  both_roles {
    id = "mpa-fin-inside-half-close",
    purpose = "The target ends a stream that ends inside an FPDU even if its ULP keeps half-closed connections",
    rules = { "MPA-8-01", "MPA-6-05" },
    needs = { agent = true },
    run = function(t)
      local config = { half_close = true }
      if t.case.role == "initiator" then
        config.peer_to_peer, config.enhanced, config.revision = true, true, 2
      end
      local conn = t:session { target = config }
      mpa.good(conn)
      conn:hold(function() conn:send(send { payload = bytes(20) }, { broken = true, comment = "cut short" }) end)
      conn:release(30)
      conn:shutdown()
      conn:expect_close {}
    end,
  },

  both_roles {
    id = "mpa-close-by-target",
    purpose = "A target that closes gracefully sends all that was posted, whole FPDUs, and then FIN",
    rules = { "MPA-7.2-02", "MPA-4.1-01" },
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      for i = 1, 8 do t:post { op = "send", payload = bytes(1000, i) } end
      t:target_close(conn, "graceful")
      for i = 1, 8 do conn:expect(send { payload = bytes(1000, i) }) end
      conn:expect(fin())
    end,
  },

  both_roles {
    id = "mpa-close-by-target-idle",
    purpose = "A target that closes an idle connection ends it with FIN and without a Terminate",
    rules = { "MPA-7.2-02" },
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      t:target_close(conn, "graceful")
      conn:expect(fin())
    end,
  },

  both_roles {
    id = "mpa-after-terminate",
    purpose = "The target neither places nor delivers FPDUs after the station's own Terminate",
    rules = { "MPA-8-11", "RDMAP-5.4-08" },
    needs = { memory = "write" },
    run = function(t)
      local conn = t:session {}
      local buf = t:memory { length = 64, remote = "write" }
      local posted = t:receive { length = 64 }
      conn:sanity()
      conn:together(function()
        conn:send(terminate "2/0/02")
        conn:send(write { to = buf, payload = bytes(64) }, { broken = true, comment = "after a Terminate" })
        conn:send(send { payload = bytes(16) }, { broken = true, comment = "after a Terminate" })
      end)
      conn:expect_close {}
      t:expect_unchanged(buf)
      t:expect_no_completion(posted)
      t:event("terminated", conn, { layer = 2, type = 0, code = 2 })
    end,
  },

  -- Unread octets in the target's socket must not make its Terminate get lost.
  both_roles {
    id = "mpa-terminate-arrives",
    purpose = "The target's Terminate arrives although the station goes on sending after its error",
    rules = { "MPA-8-12", "RDMAP-7.1-01", "MPA-8-02" },
    needs = { read = true },
    run = function(t)
      local conn = t:session { crc = true }
      mpa.good(conn)
      conn:send(write {}, { crc = "bad" })
      for _ = 1, 50 do conn:send(write {}, { broken = true }) end
      conn:expect(fault.crc, { dropped = true })
    end,
  },
}
