-- SPDX-License-Identifier: BSD-3-Clause

-- Opcodes that are unassigned, that belong to RFC 7306, or that go with another T bit or queue. Field
-- bugs: a null pointer after an opcode above 7 in the first FPDU (siw, CVE-2026-23242), an assertion
-- on opcodes that do not match T (SoftUiWARP).

local seen = use "seen"

-- Whether RFC 7306 puts this opcode there.
local function extension(opcode, form)
  return (opcode == 0x8 or opcode == 0x9) and form == "queue-0" or opcode == 0xa and form == "queue-1"
end

local forms = {
  ["tagged-empty"] = { first = true, text = "in a zero-length tagged message", make = function()
    return write, {}
  end },
  ["queue-1"] = { first = true, text = "on the queue of Read Requests", rule = "RDMAP-7.2-07", make = function()
    return read_request, { size = 0, sink_stag = 1 }
  end },
  ["tagged"] = { needs = { memory = "write" }, text = "in a tagged message", make = function(t)
    local buf = t:memory { length = 16, remote = "write" }
    return write, { to = buf, payload = bytes(16, 0xee) }, function() seen.placed(t, buf) end
  end },
  ["queue-0"] = { needs = { agent = true }, text = "on the queue of Sends", make = function(t)
    local posted = t:receive { length = 8 }
    return send, { payload = bytes(8, 0xee) }, function()
      t:expect_no_completion(posted)
      seen.placed(t, posted.memory)
    end
  end },
}

local messages = {
  { opcode = 0x0, name = "write" }, { opcode = 0x1, name = "read-request", queue = 1 }, { opcode = 0x2, name = "read-response" },
  { opcode = 0x3, name = "send", queue = 0 }, { opcode = 0x4, name = "send-invalidate", queue = 0 },
  { opcode = 0x5, name = "send-se", queue = 0 }, { opcode = 0x6, name = "send-se-invalidate", queue = 0 },
  { opcode = 0x7, name = "terminate", queue = 2 },
}

-- OP-69: a target need not answer with a Terminate to what looks like one.
local function refused(conn, set, quiet)
  conn:expect(set, quiet and closed() or {})
end

return family {
  -- ---- not assigned ----

  each(range(0x8, 0xf), function(opcode)
    return each({ "tagged-empty", "queue-1", "tagged", "queue-0" }, function(name)
      local form = forms[name]
      local what = opcode < 0xc and "which belongs to RFC 7306," or "which is not assigned,"
      local both = form.first and (opcode == 0x8 or opcode == 0xc)
      return (both and both_roles or case) {
        id = ("rdmap-opcode-%x-%s"):format(opcode, name),
        purpose = ("Opcode 0x%x, %s %s ends the stream"):format(opcode, what, form.text),
        rules = { form.rule or "RDMAP-7.2-02", "RDMAP-4.1-06" },
        role = not both and "responder" or nil,
        needs = form.needs,
        tags = form.first and { "field" } or nil,
        run = function(t)
          local options = {}
          if extension(opcode, name) and t:can("extensions.off") then
            options.target = { extensions = false }
          elseif extension(opcode, name) and t:can("extensions") then
            t:skip("the target has RFC 7306 and cannot turn it off")
          end
          local conn = t:session(options)
          if not form.first then conn:sanity() end
          local message, fields, check = form.make(t)
          fields.opcode = opcode
          local sent = conn:send(message(fields))
          conn:expect_terminate { opcode < 0xc and fault.opcode_of_rfc7306 or fault.opcode, of = sent }
          if check then check() end
        end,
      }
    end)
  end),

  -- ---- against the T bit, against the queue (OP-68: DDP's or RDMAP's code) ----

  each(messages, function(one)
    local opcode, name, queue = one.opcode, one.name, one.queue
    local words = name:gsub("-", " ")
    return {
      queue and (name == "send" and both_roles or case) {
        id = ("rdmap-opcode-%s-tagged"):format(name),
        purpose = ("A zero-length tagged message with the opcode of a %s ends the stream"):format(words),
        rules = { "RDMAP-7.2-02", "RDMAP-4.1-05", "RDMAP-4.1-04" },
        role = name ~= "send" and "responder" or nil,
        run = function(t)
          local conn = t:session {}
          conn:sanity()
          conn:send(write { opcode = opcode })
          refused(conn, fault.opcode_with_t, opcode == 0x7)
        end,
      } or {},
      queue and case {
        id = ("rdmap-opcode-%s-tagged-payload"):format(name),
        purpose = ("A tagged message to a good buffer with the opcode of a %s ends the stream"):format(words),
        rules = { "RDMAP-7.2-02", "RDMAP-4.1-05", "RDMAP-4.1-04" },
        role = "responder",
        needs = { memory = "write" },
        run = function(t)
          local buf = t:memory { length = 46, remote = "write" }
          local conn = t:connect {}
          conn:sanity()
          conn:send(write { opcode = opcode, to = buf, payload = bytes(46, 0xee) })
          refused(conn, fault.opcode_with_t, opcode == 0x7)
          seen.placed(t, buf)
        end,
      } or {},
      each(range(0, 2), function(qn)
        if qn == queue then return nil end
        local both = qn == 1 and (name == "send" or name == "write")
        return (both and both_roles or case) {
          id = ("rdmap-opcode-%s-on-queue-%d"):format(name, qn),
          purpose = ("An untagged message with the opcode of a %s on queue %d ends the stream"):format(words, qn),
          rules = { qn == 1 and "RDMAP-7.2-07" or "RDMAP-7.2-02", queue and "RDMAP-3.1-02" or "RDMAP-4.1-05", "RDMAP-4.1-07" },
          level = "must",
          role = not both and "responder" or nil,
          needs = qn == 0 and { agent = true } or nil,
          run = function(t)
            local conn = t:session {}
            conn:sanity()
            local posted = qn == 0 and t:receive { length = 28 }
            -- 28 octets, as a Read Request of size 0 has them.
            conn:send(send { opcode = opcode, qn = qn, payload = bytes(28, 0) })
            refused(conn, fault.opcode_on_queue, opcode == 0x7 or qn == 2)
            if posted then t:expect_no_completion(posted) end
          end,
        }
      end),
    }
  end),
}
