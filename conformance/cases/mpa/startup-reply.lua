-- SPDX-License-Identifier: BSD-3-Clause

return case {
  id = "mpa-startup-reply",
  purpose = "The target answers a valid enhanced Request with an accepting enhanced Reply without reserved bits",
  rules = { "EMPA-10-01", "MPA-7.1.1-03", "MPA-7.1.1-14" },
  role = "responder",
  needs = { revision = 2 },
  tags = { "sanity" },
  run = function(t)
    local conn = t:connect { raw = true }
    conn:send(request { revision = 2, enhanced = true })
    local answer = conn:expect(reply { revision = 2, enhanced = true, rejected = false, reserved = 0 })
    t:observe("reply", answer.text)
  end,
}
