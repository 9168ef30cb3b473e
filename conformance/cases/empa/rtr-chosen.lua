-- SPDX-License-Identifier: BSD-3-Clause

-- Field bug: an initiator that sent another RTR form than the responder had chosen.
local forms = {
  send = send { payload = "", qn = 0, msn = 1 },
  write = write { payload = "" },
  read = read_request { size = 0, qn = 1, msn = 1 },
}

return family {
  each({ "send", "write", "read" }, function(form)
    return case {
      id = "empa-rtr-chosen-" .. form,
      purpose = ("The first FPDU of an initiator is the RTR form that the Reply left (%s)"):format(form),
      rules = { "EMPA-9.2-10" },
      role = "initiator",
      needs = { rtr = form },
      tags = { "field" },
      run = function(t)
        local conn = t:target_connects { rtr = { form }, first = false,
          target = { peer_to_peer = true, enhanced = true, rtr = { "send", "write", "read" } } }
        t:check(conn.request.a, "the target's Request does not ask for peer-to-peer", { expected = "mpa request A" })
        conn:expect(forms[form])
      end,
    }
  end),
}
