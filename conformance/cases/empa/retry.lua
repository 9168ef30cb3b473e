-- SPDX-License-Identifier: BSD-3-Clause

-- RFC 6581 §10: a responder that knows nothing of revision 2 closes the connection; the initiator may
-- then try again without the enhanced start-up.
local mpa = use "mpa"

return case {
  id = "empa-retry-unenhanced",
  purpose = "An initiator reports the close that answers its enhanced Request to its user, and may retry unenhanced",
  rules = { "EMPA-10-08" },
  role = "initiator",
  needs = { agent = true, enhanced = true, revision = 2 },
  run = function(t)
    local conn, asked = mpa.called(t, { peer_to_peer = true, enhanced = true, revision = 2 })
    t:check(asked.revision == 2 and asked.enhanced, "the target sent another Request than the enhanced one it was configured for",
      { item = asked })
    conn:shutdown()
    mpa.ends_after(conn, asked, { quiet = true })
    t:event("closed", conn)
    t:observe("retry", "left to its user")
    local again, second = mpa.called(t, { revision = 1 })
    t:check(second.revision == 1 and not second.enhanced, "the target's second Request is enhanced again",
      { rule = "EMPA-10-03", expected = "mpa request rev 1 enhanced false", actual = second.text, item = second })
    again:send(t:answer(second))
    t:established(again)
    t:post { conn = again, op = "send", payload = "first" }
    again:expect(send { payload = "first" })
    again:fence()
  end,
}
