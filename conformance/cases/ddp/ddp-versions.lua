-- SPDX-License-Identifier: BSD-3-Clause

-- DDP versions other than one, in the first FPDU and in a later one. Field bug: a stack that
-- dereferenced a null pointer when the very first FPDU had a wrong version or opcode (siw,
-- CVE-2026-23242). The FPDU itself is good, so that also a responder may send from there on.

-- The message with the wrong version, and the check that it had no effect.
local stimuli = {
  ["empty-write"] = { tagged = true, make = function() return write end },
  ["read-request"] = { make = function() return read_request, { size = 0, sink_stag = 1 } end },
  ["write"] = { tagged = true, needs = { memory = "write" }, make = function(t)
    local buf = t:memory { length = 16, remote = "write" }
    return write, { to = buf, payload = bytes(16, 0xee) }, function() t:expect_unchanged(buf) end
  end },
  ["send"] = { needs = { agent = true }, make = function(t)
    local posted = t:receive { length = 16 }
    return send, { payload = bytes(16, 0xee) }, function()
      t:expect_no_completion(posted)
      t:expect_unchanged(posted.memory)
    end
  end },
}

return family {
  each({ "empty-write", "read-request", "write", "send" }, function(name)
    local stimulus = stimuli[name]
    return each({ 0, 2, 3 }, { "first", "later" }, function(version, place)
      local both = place == "first" and version == 2
      return (both and both_roles or case) {
        id = ("ddp-version-%d-%s-%s"):format(version, name, place),
        purpose = ("A %s with DDP version %d in the %s FPDU ends the stream and has no effect"):format(
          name:gsub("-", " "), version, place == "first" and "first" or "second"),
        rules = { stimulus.tagged and "DDP-7.1-15" or "DDP-7.1-16", "DDP-4.1-13", "DDP-7.1-17", "DDP-7.2-01",
                  name ~= "read-request" and "RDMAP-7.2-01" or nil },
        level = "must", -- OP-45: the check is missing from the RFC's list, but it has codes
        role = not both and "responder" or nil,
        needs = stimulus.needs,
        tags = place == "first" and { "field" } or nil,
        run = function(t)
          local conn = t:session {}
          if conn:version() == version then t:skip("this version is the one that was agreed on") end
          if place == "later" then conn:sanity() end
          local message, fields, check = stimulus.make(t)
          fields = fields or {}
          fields.dv = version
          local sent = conn:send(message(fields))
          conn:expect_terminate { stimulus.tagged and fault.tagged_version or fault.untagged_version, of = sent }
          if check then check() end
        end,
      }
    end)
  end),
}
