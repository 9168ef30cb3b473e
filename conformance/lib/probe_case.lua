-- SPDX-License-Identifier: BSD-3-Clause
-- The cases of `iwarp-conform probe`: the first against a peer that listens, the second against one that connects.

local function one(role, run)
  return case {
    id = "probe-" .. role,
    purpose = "Finds out what the peer supports",
    rules = { "RDMAP-5.2.2-07" },
    role = role,
    deadline = 300,
    run = run,
  }
end

return {
  one("responder", function(t) use("probe").listens(t) end),
  one("initiator", function(t) use("probe").connects(t) end),
}
