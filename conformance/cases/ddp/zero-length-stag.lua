-- SPDX-License-Identifier: BSD-3-Clause

-- Field bug: hardware that refuses a zero-length tagged message because of its STag.
local list = {}
for _, stag in ipairs { 0, 0xdeadbeef } do
  list[#list + 1] = case {
    id = ("ddp-zero-length-stag-%x"):format(stag),
    purpose = ("A zero-length Write with STag 0x%x, which is not valid, is accepted"):format(stag),
    rules = { "DDP-5.2-11", "RDMAP-5.1-08" },
    role = "responder",
    tags = { "field" },
    run = function(t)
      local conn = t:connect {}
      conn:send(write { stag = stag, to = 0xffffffffffffffff, payload = "" })
      conn:fence()
    end,
  }
end
return list
