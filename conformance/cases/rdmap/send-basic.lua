-- SPDX-License-Identifier: BSD-3-Clause

return both_roles {
  id = "rdmap-send-basic",
  purpose = "Sends of several lengths each take one buffer and are delivered in order",
  rules = { "RDMAP-5.3-02" },
  needs = { agent = true },
  tags = { "sanity" },
  run = function(t)
    local conn = t:session {}
    local lengths = { 0, 1, 64, 4096 }
    local posted = {}
    for i, length in ipairs(lengths) do posted[i] = t:receive { length = 4096 } end
    for _, length in ipairs(lengths) do conn:send(send { payload = bytes(length) }, { segments = 1000 }) end
    for i, length in ipairs(lengths) do
      t:completion(posted[i], { length = length, solicited = false })
      t:expect_contents(posted[i].memory, bytes(length))
    end
  end,
}
