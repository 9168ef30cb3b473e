-- SPDX-License-Identifier: BSD-3-Clause

-- A target without the extensions of RFC 7306 (§1.1, OP-86): a valid message of theirs has an
-- unassigned opcode.

local ONES = 0xffffffffffffffff

local function without(t)
  if t:can("extensions.off") then return { target = { extensions = false } } end
  if t:can("extensions") then t:skip("the target has RFC 7306 and cannot turn it off") end
  return {}
end

local messages = {
  { name = "immediate", make = immediate, fields = { payload = "8 octets" } },
  { name = "immediate-se", make = immediate_se, fields = { payload = "8 octets" } },
  { name = "fetch-add", make = atomic_request, fields = { add_swap = 1 } },
  { name = "probe", make = atomic_request, fields = {}, rule = "EXT-1.1-04" },
  { name = "cmp-swap", make = atomic_request,
    fields = { atomic = 2, add_swap = ONES, add_swap_mask = ONES, compare_mask = 0 } },
  { name = "atomic-response", make = atomic_response, fields = { request_id = 1, value = 1 },
    fault = fault.atomic_response_of_rfc7306 },
}

return family {
  each(messages, function(one)
    return both_roles {
      id = "ext-unsupported-" .. one.name,
      purpose = ("To a target without RFC 7306 %s is an unexpected opcode, which ends the stream"):format(one.name),
      rules = { one.rule or "EXT-1.1-02", "EXT-1.1-02" },
      level = "must",
      needs = { agent = true },
      run = function(t)
        local options = without(t)
        local buf = t:memory { length = 16, remote = "read write", fill = "count" }
        local conn = t:session(options)
        conn:sanity()
        local posted = t:receive { length = 16 }
        local bent = { broken = true, comment = "the target has no RFC 7306" }
        for field, value in pairs(one.fields) do bent[field] = value end
        if one.make == atomic_request then bent.target = buf end
        local sent = conn:send(one.make(bent))
        conn:expect_terminate { one.fault or fault.opcode_of_rfc7306, of = sent }
        t:expect_no_completion(posted)
        t:expect_unchanged(buf)
      end,
    }
  end),

  -- Its own user cannot use them either.
  case {
    id = "ext-unsupported-post",
    purpose = "A target without RFC 7306 takes no atomics and no Immediate Data from its own user and sends none",
    rules = { "EXT-1.1-02" },
    level = "may",
    role = "responder",
    needs = { agent = true, extensions = "off" },
    run = function(t)
      local conn = t:connect { target = { extensions = false } }
      conn:sanity()
      for _, op in ipairs { "immediate", "immediate-se", "fetch-add", "cmp-swap" } do
        local reply = t:agent("post", { conn = conn.agent, work = 1, op = op, immediate = "0000000000000000", remote_stag = 1 }, true)
        t:observe(op, reply and "taken" or "refused")
      end
      conn:fence { rule = "RDMAP-5.2.1-12" }
    end,
  },
}
