-- SPDX-License-Identifier: BSD-3-Clause

-- RDMAP versions other than one, in the first FPDU and in a later one. Field bug: a stack that
-- dereferenced a null pointer when the very first FPDU had a wrong version or opcode (siw,
-- CVE-2026-23242).

local seen = use "seen"

-- The message with the wrong version, and the check that it had no effect.
local stimuli = {
  ["empty-write"] = { make = function() return write end },
  ["read-request"] = { rule = "RDMAP-7.2-08", make = function() return read_request, { size = 0, sink_stag = 1 } end },
  ["write"] = { needs = { memory = "write" }, make = function(t)
    local buf = t:memory { length = 16, remote = "write" }
    return write, { to = buf, payload = bytes(16, 0xee) }, function() seen.placed(t, buf) end
  end },
  ["send"] = { needs = { agent = true }, make = function(t)
    local posted = t:receive { length = 16 }
    return send, { payload = bytes(16, 0xee) }, function()
      t:expect_no_completion(posted)
      seen.placed(t, posted.memory)
    end
  end },
}

return family {
  each({ "empty-write", "read-request", "write", "send" }, function(name)
    local stimulus = stimuli[name]
    return each({ 0, 2, 3 }, { "first", "later" }, function(version, place)
      local both = place == "first" and version == 2
      return (both and both_roles or case) {
        id = ("rdmap-version-%d-%s-%s"):format(version, name, place),
        purpose = ("A %s with RDMAP version %d in the %s FPDU ends the stream"):format(
          name:gsub("-", " "), version, place == "first" and "first" or "second"),
        rules = { stimulus.rule or "RDMAP-7.2-03", "RDMAP-4.1-08" },
        role = not both and "responder" or nil,
        needs = stimulus.needs,
        tags = place == "first" and { "field" } or nil,
        run = function(t)
          local conn = t:session {}
          if conn:version() == version then t:skip("this version is the one that was agreed on") end
          if place == "later" then conn:sanity() end
          local message, fields, check = stimulus.make(t)
          fields = fields or {}
          fields.rv = version
          local sent = conn:send(message(fields))
          conn:expect_terminate { fault.rdmap_version, of = sent }
          if check then check() end
        end,
      }
    end)
  end),
}
