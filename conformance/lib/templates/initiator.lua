-- SPDX-License-Identifier: BSD-3-Clause
-- A case to begin with: the target is the MPA initiator, it connects to the station. README.md in the folder
-- above this one teaches it. Copy this file, then change the id, and what you do not need goes.

return case {
  id = "my-sends-in-order", -- small letters, digits, hyphens; never changes again
  purpose = "Sends that the target posts leave in the order of posting, whole and numbered",
  rules = { "RDMAP-5.3-09", "DDP-5.3-02" }, -- the primary one first: it decides FAIL or NOTE
  role = "initiator", -- of the TARGET
  needs = { agent = true }, -- what the target must be able to do, else the case is skipped
  run = function(t)
    -- The target connects, and the station answers its Request as a good responder would.
    local conn = t:target_connects {}
    -- A good exchange first: any later failure is about the stimulus.
    conn:sanity()
    -- The RTR that opened the way may have been a Send of its own (RFC 6581 section 9).
    local msn = conn.first.op == "send" and 2 or 1

    -- The stimulus: work for the target's ULP.
    local first = t:post { op = "send", payload = "one" }
    local second = t:post { op = "send", payload = "second" }

    -- The answer of a correct target; fields that are left out may be anything.
    conn:expect(send { qn = 0, msn = msn, mo = 0, l = true, payload = "one" })
    conn:expect(send { qn = 0, msn = msn + 1, mo = 0, l = true, payload = "second" })
    -- The report to its ULP.
    t:completion(first)
    t:completion(second)
  end,
}
