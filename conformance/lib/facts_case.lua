-- SPDX-License-Identifier: BSD-3-Clause
-- The case of the base facts, which the runner plays before all others: against a peer that listens.

return case {
  id = "base-facts",
  purpose = "Finds out how the peer starts up",
  rules = { "MPA-7.1.2-08" },
  role = "responder",
  deadline = 120,
  run = function(t) use("facts").find(t) end,
}
