-- SPDX-License-Identifier: BSD-3-Clause

-- ULPDU_Length at and beyond its limits (OP-09, OP-10).
local mpa = use "mpa"

-- Field bug: a stack took a length below that of the opcode's header for a negative number of octets
-- to come. Every such length, each on a connection of its own.
local messages = {
  { name = "write", header = 14, message = write {} },
  { name = "read-response", header = 14, message = read_response {} },
  { name = "send", header = 18, message = send {} },
  { name = "send-invalidate", header = 18, message = send_invalidate { invalidate = 1 } },
  { name = "read-request", header = 46, rule = "RDMAP-7.2-15", message = read_request { size = 0 } },
  { name = "terminate", header = 22, message = terminate "2/0/02" },
}

local DDP = 18 -- octets of an untagged segment's header

-- To take a ULPDU this long is free, and so is what a target that refuses it has placed inside the buffer before. What it
-- takes is placed, and nothing lies outside.
local function judge_placed(t, item, buf, size)
  if item.op == "read-response" then return t:expect_contents(buf, bytes(size), { rule = "DDP-5.2-05" }) end
  t:expect_unchanged(buf, { except = { 0, size }, rule = "DDP-5.2-05" })
end

return family {
  each(messages, function(one)
    local name, header = one.name, one.header
    return case {
      id = "mpa-length-underflow-" .. name,
      purpose = ("A %s whose ULPDU_Length is below its %d octets of headers ends the stream and does no harm"):format(
        name, header),
      rules = { "DDP-4.4-02", "MPA-3-08" },
      level = "must",
      role = "responder",
      needs = { agent = true },
      tags = { "field" },
      run = function(t)
        local answers = {}
        for length = 0, header - 1 do
          local conn = t:connect {}
          local posted = t:receive { length = 64 }
          local ulpdu = conn:encode(one.message)[1].ulpdu
          conn:send(raw { ulpdu = ulpdu:sub(1, length) }, { broken = true,
            comment = ("%d octets of a %s"):format(length, name) })
          -- Then send what only a stream that goes on would answer.
          conn:send(read_request { size = 0, sink_stag = 1, sink_to = 2 })
          local item = conn:expect(terminate {}, closed(), { rule = length >= DDP and one.rule or nil })
          answers[item.text] = (answers[item.text] or 0) + 1
          t:expect_no_completion(posted)
          conn:reset()
        end
        local texts = {}
        for text, count in pairs(answers) do texts[#texts + 1] = ("%dx %s"):format(count, text) end
        table.sort(texts)
        t:observe("answers", table.concat(texts, ", "))
      end,
    }
  end),

  each({ 0, 1, 13, 17 }, function(length)
    return both_roles {
      id = ("mpa-length-%d"):format(length),
      purpose = ("An FPDU with ULPDU_Length %d in the middle of a stream ends it, without harm to memory"):format(length),
      rules = { "DDP-4.4-02", "MPA-3-08" },
      level = "must",
      needs = { memory = "write" },
      run = function(t)
        local conn = t:session {}
        local buf = t:memory { length = 64, remote = "write" }
        conn:sanity()
        local ulpdu = length == 17 and conn:encode(send {})[1].ulpdu or conn:encode(write { to = buf })[1].ulpdu
        conn:send(raw { ulpdu = ulpdu:sub(1, length) }, { broken = true })
        conn:send(read_request { size = 0, sink_stag = 1, sink_to = 2 })
        conn:expect(terminate {}, closed())
        t:expect_unchanged(buf)
      end,
    }
  end),

  -- The longest legal ULPDU, and longer ones. A receiver need not take one above its MULPDU, which
  -- depends on its path; it must then end the stream and place nothing outside.
  both_roles {
    id = "mpa-length-64768",
    purpose = "The target places a ULPDU of 64768 octets, or refuses it cleanly",
    rules = { "MPA-3-06", "MPA-3-07" },
    needs = { memory = "write" },
    run = function(t)
      local conn = t:session {}
      local buf = t:memory { length = 70000, remote = "write" }
      local size = 64768 - 14
      conn:sanity()
      conn:together(function()
        conn:send(write { to = buf, payload = bytes(size) }, { segments = size })
        conn:send(read_request { size = 0, sink_stag = 1, sink_to = 2 })
      end)
      local item = conn:expect(read_response { stag = 1, to = 2, payload = "" }, terminate {}, closed(), { rule = "RDMAP-5.2.1-12" })
      t:observe("longest", item.op or item.kind)
      judge_placed(t, item, buf, size)
    end,
  },

  -- The limit binds who sends: a receiver may take such a ULPDU as well (OP-09).
  each({ 64769, 65535 }, function(length)
    return both_roles {
      id = ("mpa-length-%d"):format(length),
      purpose = ("A ULPDU of %d octets is above the limit: it ends the stream, or is taken as a whole"):format(length),
      rules = { "MPA-5.2-01", "MPA-3-05", "MPA-3-04" },
      needs = { memory = "write" },
      run = function(t)
        local conn = t:session {}
        local size = length - 14
        local buf = t:memory { length = 70000, remote = "write" }
        conn:sanity()
        conn:send(write { to = buf, payload = bytes(size) }, { segments = size, broken = true })
        conn:send(read_request { size = 0, sink_stag = 1, sink_to = 2 })
        local item = conn:expect(terminate {}, closed(), read_response { stag = 1, to = 2, payload = "" },
          { silent = "RDMAP-5.2.1-12" })
        t:observe("above-the-limit", item.op or item.kind)
        -- No octet outside the buffer may change; inside, octets break no rule.
        t:observe("placed", t:read(buf, 0, 16) == bytes(16))
        local guard = t:read(buf, -buf.guard, buf.guard)
        t:check(guard == buf.content:sub(1, buf.guard), "the target changed octets before the buffer")
      end,
    }
  end),

  -- A larger ULPDU than fits into one TCP segment (field bug: page and MULPDU edges).
  each({ 1460, 4096, 16384, 60000 }, function(size)
    return case {
      id = ("mpa-ulpdu-large-%d"):format(size),
      purpose = ("The target places a Write of %d octets in one FPDU, in TCP segments of 1000, or refuses it cleanly"):format(size),
      rules = { "MPA-3-07", "MPA-5.1-05", "MPA-A.4-01" },
      role = "responder",
      needs = { memory = "write", read = true },
      run = function(t)
        local conn = t:connect {}
        local buf = t:memory { length = size, remote = "write" }
        conn:send(write { to = buf, payload = bytes(size) }, { segments = size, writes = 1000 })
        conn:send(read_request { size = 0, sink_stag = 1, sink_to = 2 })
        local item = conn:expect(read_response { stag = 1, to = 2, payload = "" }, terminate {}, closed(), { rule = "RDMAP-5.2.1-12" })
        t:observe("large", item.op or item.kind)
        judge_placed(t, item, buf, size)
      end,
    }
  end),

  both_roles {
    id = "mpa-ulpdu-sizes",
    purpose = "The target takes ULPDUs of 14 to 150 octets, with exactly their payload",
    rules = { "MPA-3-08", "MPA-3-06", "MPA-5.2-01", "MPA-4.3-13" },
    needs = { memory = "write" },
    run = function(t)
      local conn = t:session {}
      local buf = t:memory { length = 150, remote = "write" }
      local expected = buf.content:sub(buf.guard + 1, buf.guard + 150)
      for size = 0, 136 do
        conn:send(write { to = buf, payload = bytes(size, size) })
        if size % 17 == 0 then
          conn:fence()
          expected = bytes(size, size) .. expected:sub(size + 1)
          t:expect_contents(buf, expected)
        end
      end
    end,
  },

  -- ---- payload that looks like something else ----

  both_roles {
    id = "mpa-payload-looks-like-mpa",
    purpose = "Payload that holds start-up keys, FPDUs and Markers is payload, wherever TCP segments begin",
    rules = { "MPA-6-02", "MPA-5.2-01", "MPA-4.3-14" },
    needs = { memory = "write" },
    run = function(t)
      local conn = t:session {}
      local stop = hex "00164147 00000000 00000002 00000001 00000000 20020000 7fe42585" -- a Terminate
      local content = octets(request {}) .. octets(reply {}) .. stop .. hex "00000000" .. stop
      local buf = t:memory { length = #content, remote = "write" }
      for at = 0, #content, 5 do
        conn:send(write { to = buf, payload = content }, { writes = { 2 + 14 + at } })
      end
      mpa.serves(conn)
      t:expect_contents(buf, content)
    end,
  },
}
