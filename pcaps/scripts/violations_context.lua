-- SPDX-License-Identifier: BSD-3-Clause
-- One violation per capture, of a rule that depends on context, which an option of iwarp-lint supplies.

violation {
  check = "mpa-crc-default", what = "the Request does without CRCs, as it was made", lint = { "--assume", "default-config" },
  rules = { "MPA-1.2-02", "MPA-4.4-02", "MPA-4.4-03" },
  run = function(c, bad)
    c.initiator:send(request { revision = 2, crc = not bad })
    c:finds()
    c.responder:send(reply { revision = 2 })
    c:close()
  end,
}

-- Makes the second of three messages of the initiator wrong, with segments of 512 octets.
local function sized(name, check, what, setting, way, rules)
  violation {
    name = name, check = check, what = what, rules = rules, lint = { "--mss", "512" }, open = { mss = 512 },
    run = function(c, bad)
      c:start(setting)
      c.initiator:send(send { payload = "first" })
      way(c.initiator, bad, c)
      c.initiator:send(send { payload = "last" })
      c:close()
    end,
  }
end

-- MULPDU is 506 without Markers, 502 with them (RFC 5044 §4.5); a tagged header has 14 octets.
local function one(i, payload, c)
  i:send(write { stag = 1, payload = bytes(payload) }, { segments = payload })
  c:finds(nil, { frame = c.file.first })
end
sized("mpa-mulpdu-over", "mpa-mulpdu-over", "a ULPDU is an octet longer than MULPDU", {},
  function(i, bad, c) one(i, bad and 493 or 492, c) end, { "MPA-4.5-02", "MPA-3-03", "MPA-5.1-01", "DDP-5.2-02" })
sized("mpa-mulpdu-over-markers", "mpa-mulpdu-over", "a ULPDU leaves no room for a Marker", { markers = true },
  function(i, bad, c) one(i, bad and 489 or 488, c) end, { "MPA-4.5-01" })
sized("mpa-mulpdu-under", "mpa-mulpdu-under", "a long Write is cut into pieces smaller than they had to be", {}, function(i, bad, c)
  i:send(write { stag = 1, l = false, payload = bytes(bad and 200 or 492) })
  c:finds()
  i:send(write { stag = 1, to = bad and 200 or 492, payload = bytes(20) })
end, { "MPA-4.5-05" })
sized("mpa-fpdu-cut", "mpa-fpdu-cut", "an FPDU lies in two segments, though it would fit into one", {}, function(i, bad, c)
  local list = i:split(function()
    i:send(write { stag = 1, payload = bytes(300) })
    i:send(write { stag = 1, payload = bytes(300) })
  end, bad and { sizes = { 500 } } or {})
  list:send()
  c:finds()
end, { "MPA-5.1-03" })
