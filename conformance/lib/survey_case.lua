-- SPDX-License-Identifier: BSD-3-Clause
-- The cases with which the runner finds out what a target can do: one for each role of the target.

local function one(role)
  return case {
    id = "survey-" .. role,
    purpose = "Finds out which instruments work with the target",
    rules = { "RDMAP-5.2.2-07" },
    role = role,
    deadline = 60,
    run = function(t) use("survey").take(t) end,
  }
end

return { one("responder"), one("initiator") }
