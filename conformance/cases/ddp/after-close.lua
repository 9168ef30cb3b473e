-- SPDX-License-Identifier: BSD-3-Clause

-- RFC 5041 §6.2.1: octets that arrive after the peer's graceful close. TCP itself does not hand them
-- up; it drops them or resets the connection.

return both_roles {
  id = "ddp-data-after-fin",
  purpose = "A Write and a Send whose octets come after the peer's FIN have no effect",
  rules = { "DDP-6.2.1-03", "DDP-6.2.1-04" },
  needs = { memory = "write", tcp = "crafted" },
  run = function(t)
    local buf = t:memory { length = 64, remote = "write" }
    local conn = t:session { target = { half_close = true } }
    conn:sanity()
    local posted = t:receive { length = 64 }
    conn:shutdown()
    t:event("peer-closed", conn)
    local list = conn:split(function()
      conn:send(write { to = buf, payload = bytes(64, 0xee), broken = true, comment = "after the FIN" })
      conn:send(send { payload = bytes(64, 0xee), broken = true, comment = "after the FIN" })
    end)
    list:send()
    -- TCP resets the connection, or drops the octets silently.
    local item = conn:next()
    t:check(not item or item.kind == "reset", "the target answered octets that came after the FIN",
      { expected = "reset, or nothing", actual = item and item.text, item = item })
    t:observe("answer", item and item.kind or "dropped")
    t:expect_no_completion(posted)
    t:expect_unchanged(buf)
    t:expect_unchanged(posted.memory)
  end,
}
