-- SPDX-License-Identifier: BSD-3-Clause

-- The messages of RFC 7306 with one wrong header field (§8.2). Before the Atomic Response the target
-- has asked for one, so that there is a buffer for it.

local messages = {
  { 0x8, "immediate", immediate, 0 }, { 0x9, "immediate-se", immediate_se, 0 },
  { 0xa, "atomic-request", atomic_request, 1 }, { 0xb, "atomic-response", atomic_response, 3 },
}

-- Returns a connection, the fields of a correct message of this kind, and a function that checks that
-- the message had no effect.
local function prepared(t, opcode)
  local conn = t:session {}
  conn:sanity()
  if opcode == 0xa then
    local cell = t:memory { length = 8, remote = "atomic", fill = "count" }
    return conn, { target = cell, add_swap = 1, request_id = 9 }, function() t:expect_unchanged(cell) end
  elseif opcode == 0xb then
    local handle = t:post { op = "fetch-add", stag = 0x11223344, to = 0x1000, add_swap = 1 }
    local asked = conn:expect(atomic_request {})
    return conn, { request_id = asked.request_id, value = 5 }, function() t:expect_no_completion(handle) end
  end
  local posted = t:receive { length = 16 }
  return conn, { payload = "8 octets" }, function() t:expect_no_completion(posted) end
end

local fields = {
  { "dv-0", { dv = 0 }, { "1/2/06" }, "EXT-8.2-02", "DDP version 0" },
  { "dv-2", { dv = 2 }, { "1/2/06" }, "EXT-8.2-02", "DDP version 2" },
  { "dv-3", { dv = 3 }, { "1/2/06" }, "EXT-8.2-02", "DDP version 3" },
  { "rv-0", { rv = 0 }, { "0/2/05" }, "EXT-8.2-04", "RDMAP version 0" },
  { "rv-2", { rv = 2 }, { "0/2/05" }, "EXT-8.2-04", "RDMAP version 2" },
  { "rv-3", { rv = 3 }, { "0/2/05" }, "EXT-8.2-04", "RDMAP version 3" },
  { "qn-4", { qn = 4 }, { "1/2/01", "0/2/06" }, "EXT-8.2-02", "QN 4" },
  { "qn-most", { qn = 0xffffffff }, { "1/2/01", "0/2/06" }, "EXT-8.2-02", "QN 2^32-1" },
  { "msn-0", { msn = 0 }, { "1/2/03", "1/2/02" }, "EXT-8.2-02", "MSN 0" },
  { "msn-ahead", { msn = 9 }, { "1/2/03", "1/2/02" }, "EXT-8.2-02", "an MSN that is ahead" },
  { "mo-far", { mo = 0x10000 }, { "1/2/04", "1/2/05" }, "EXT-8.2-02", "an MO far outside of the buffer" },
  { "mo-most", { mo = 0xfffffff8 }, { "1/2/04", "1/2/05" }, "EXT-8.2-02", "an MO of 2^32-8" },
}

-- Both kinds of a queue share its MSNs: a message of the other kind goes before.
local shared = {
  { "immediate-with-msn-of-send", "Immediate Data with the MSN of the Send before it", function(conn)
    conn:send(send { payload = "in front" })
    return conn:send(immediate { msn = 1, payload = "8 octets" })
  end },
  { "send-with-msn-of-immediate", "A Send with the MSN of the Immediate Data before it", function(conn)
    conn:send(immediate { payload = "in front" })
    return conn:send(send { msn = 1, payload = "8 octets" })
  end },
  { "atomic-with-msn-of-read", "An Atomic Request with the MSN of the Read before it", function(conn, cell)
    conn:send(read_request { size = 0, sink_stag = 1, sink_to = 1 })
    conn:expect(read_response { stag = 1, to = 1 })
    return conn:send(atomic_request { target = cell, add_swap = 1, msn = 1 })
  end },
  { "read-with-msn-of-atomic", "A Read with the MSN of the Atomic Request before it", function(conn, cell)
    conn:send(atomic_request { target = cell })
    conn:expect(atomic_response {})
    return conn:send(read_request { size = 0, sink_stag = 1, sink_to = 1, msn = 1 })
  end },
}

return family {
  each(fields, function(one)
    local field, bend, codes, rule, how = table.unpack(one)
    return each(messages, function(kind)
      local opcode, name, message = table.unpack(kind)
      local both = field == "dv-2" or field == "msn-ahead"
      return (both and both_roles or case) {
        id = ("ext-%s-%s"):format(name, field),
        purpose = ("%s with %s ends the stream and has no effect"):format(name, how),
        -- A message delivered ahead of its turn is out of order.
        rules = { rule, "EXT-8.2-01", field == "msn-ahead" and opcode < 0xa and "EXT-6.3-04" or nil },
        role = not both and "responder" or nil,
        needs = { memory = "atomic", extensions = true },
        run = function(t)
          local conn, right, check = prepared(t, opcode)
          for key, value in pairs(bend) do right[key] = value end
          local sent = conn:send(message(right))
          conn:expect_terminate { codes[1], codes[2], of = sent }
          check()
        end,
      }
    end)
  end),

  -- On the wrong queue (OP-68: DDP's or RDMAP's code). On queue 2 it may look like a Terminate (OP-69).
  each(messages, function(kind)
    local opcode, name, message, queue = table.unpack(kind)
    return {
      each(range(0, 3), function(qn)
        if qn == queue then return nil end
        local both = qn == 1 or (qn == 3 and opcode == 0xa)
        return (both and both_roles or case) {
          id = ("ext-%s-on-queue-%d"):format(name, qn),
          purpose = ("%s on queue %d ends the stream and has no effect"):format(name, qn),
          rules = { "EXT-8.2-03", "EXT-8.2-01" },
          role = not both and "responder" or nil,
          needs = { memory = "atomic", extensions = true },
          run = function(t)
            local conn, right, check = prepared(t, opcode)
            if qn == 0 then t:receive { length = 64 } end
            right.qn = qn
            local sent = conn:send(message(right))
            local set = { terminate "0/2/06", terminate { ddp = "untagged" } }
            if qn == 2 then set[3] = closed() end
            local item = conn:expect(table.unpack(set))
            if item.d then
              t:check(item.segment.qn == qn and item.segment.opcode == opcode, "the target's Terminate is about another segment",
                { expected = sent.text, actual = item.text, item = item })
            end
            check()
          end,
        }
      end),
      both_roles {
        id = ("ext-%s-tagged"):format(name),
        purpose = ("%s in a tagged message ends the stream and has no effect"):format(name),
        rules = { "EXT-8.2-03", "EXT-8.2-01" },
        needs = { memory = "write atomic", extensions = true },
        run = function(t)
          local conn, _, check = prepared(t, opcode)
          local buf = t:memory { length = 64, remote = "write" }
          local sent = conn:send(write { opcode = opcode, to = buf, payload = bytes(52, 0) })
          conn:expect_terminate { "0/2/06", terminate { ddp = "tagged" }, of = sent }
          check()
        end,
      },
    }
  end),

  each(shared, function(one)
    local name, text, stimulus = table.unpack(one)
    return both_roles {
      id = "ext-" .. name,
      purpose = text .. " ends the stream",
      rules = { "EXT-8.2-02", "EXT-8.2-01" },
      needs = { memory = "atomic", extensions = true },
      run = function(t)
        local conn = t:session {}
        local cell = t:memory { length = 8, remote = "atomic", fill = "count" }
        t:receive { length = 16 }
        local second = t:receive { length = 16 }
        local sent = stimulus(conn, cell)
        conn:expect_terminate { "1/2/03", "1/2/02", of = sent }
        t:expect_no_completion(second)
        t:expect_unchanged(cell)
      end,
    }
  end),
}
