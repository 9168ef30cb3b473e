-- SPDX-License-Identifier: BSD-3-Clause

-- The messages of RFC 7306 with one wrong header field (§8.2). Before the Atomic Response the target
-- has asked for one, so that there is a buffer for it.

local messages = {
  { opcode = 0x8, name = "immediate", message = immediate, queue = 0 },
  { opcode = 0x9, name = "immediate-se", message = immediate_se, queue = 0 },
  { opcode = 0xa, name = "atomic-request", message = atomic_request, queue = 1 },
  { opcode = 0xb, name = "atomic-response", message = atomic_response, queue = 3 },
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
  { field = "dv-0", bend = { dv = 0 }, fault = fault.untagged_version, rule = "EXT-8.2-02", text = "DDP version 0" },
  { field = "dv-2", bend = { dv = 2 }, fault = fault.untagged_version, rule = "EXT-8.2-02", text = "DDP version 2" },
  { field = "dv-3", bend = { dv = 3 }, fault = fault.untagged_version, rule = "EXT-8.2-02", text = "DDP version 3" },
  { field = "rv-0", bend = { rv = 0 }, fault = fault.rdmap_version, rule = "EXT-8.2-04", text = "RDMAP version 0" },
  { field = "rv-2", bend = { rv = 2 }, fault = fault.rdmap_version, rule = "EXT-8.2-04", text = "RDMAP version 2" },
  { field = "rv-3", bend = { rv = 3 }, fault = fault.rdmap_version, rule = "EXT-8.2-04", text = "RDMAP version 3" },
  { field = "qn-4", bend = { qn = 4 }, fault = fault.invalid_queue_in_turn, rule = "EXT-8.2-02", text = "QN 4" },
  { field = "qn-most", bend = { qn = 0xffffffff }, fault = fault.invalid_queue_in_turn, rule = "EXT-8.2-02", text = "QN 2^32-1" },
  { field = "msn-0", bend = { msn = 0 }, fault = fault.invalid_msn, rule = "EXT-8.2-02", text = "MSN 0" },
  { field = "msn-ahead", bend = { msn = 9 }, fault = fault.invalid_msn, rule = "EXT-8.2-02", text = "an MSN that is ahead" },
  { field = "mo-far", bend = { mo = 0x10000 }, fault = fault.invalid_mo, rule = "EXT-8.2-02", text = "an MO far outside of the buffer" },
  { field = "mo-most", bend = { mo = 0xfffffff8 }, fault = fault.invalid_mo, rule = "EXT-8.2-02", text = "an MO of 2^32-8" },
}

-- Both kinds of a queue share its MSNs: a message of the other kind goes before.
local shared = {
  { name = "immediate-with-msn-of-send", text = "Immediate Data with the MSN of the Send before it", stimulus = function(conn)
    conn:send(send { payload = "in front" })
    return conn:send(immediate { msn = 1, payload = "8 octets" })
  end },
  { name = "send-with-msn-of-immediate", text = "A Send with the MSN of the Immediate Data before it", stimulus = function(conn)
    conn:send(immediate { payload = "in front" })
    return conn:send(send { msn = 1, payload = "8 octets" })
  end },
  { name = "atomic-with-msn-of-read", text = "An Atomic Request with the MSN of the Read before it", stimulus = function(conn, cell)
    conn:send(read_request { size = 0, sink_stag = 1, sink_to = 1 })
    conn:expect(read_response { stag = 1, to = 1 })
    return conn:send(atomic_request { target = cell, add_swap = 1, msn = 1 })
  end },
  { name = "read-with-msn-of-atomic", text = "A Read with the MSN of the Atomic Request before it", stimulus = function(conn, cell)
    conn:send(atomic_request { target = cell })
    conn:expect(atomic_response {})
    return conn:send(read_request { size = 0, sink_stag = 1, sink_to = 1, msn = 1 })
  end },
}

return family {
  each(fields, function(one)
    return each(messages, function(kind)
      local both = one.field == "dv-2" or one.field == "msn-ahead"
      return (both and both_roles or case) {
        id = ("ext-%s-%s"):format(kind.name, one.field),
        purpose = ("%s with %s ends the stream and has no effect"):format(kind.name, one.text),
        -- A message delivered ahead of its turn is out of order.
        rules = { one.rule, "EXT-8.2-01", one.field == "msn-ahead" and kind.opcode < 0xa and "EXT-6.3-04" or nil },
        role = not both and "responder" or nil,
        needs = { memory = "atomic", extensions = true },
        run = function(t)
          local conn, right, check = prepared(t, kind.opcode)
          for key, value in pairs(one.bend) do right[key] = value end
          local sent = conn:send(kind.message(right))
          conn:expect_terminate { one.fault, of = sent }
          check()
        end,
      }
    end)
  end),

  -- On the wrong queue (OP-68: DDP's or RDMAP's code). On queue 2 it may look like a Terminate (OP-69).
  each(messages, function(kind)
    return {
      each(range(0, 3), function(qn)
        if qn == kind.queue then return nil end
        local both = qn == 1 or (qn == 3 and kind.opcode == 0xa)
        return (both and both_roles or case) {
          id = ("ext-%s-on-queue-%d"):format(kind.name, qn),
          purpose = ("%s on queue %d ends the stream and has no effect"):format(kind.name, qn),
          rules = { "EXT-8.2-03", "EXT-8.2-01" },
          role = not both and "responder" or nil,
          needs = { memory = "atomic", extensions = true },
          run = function(t)
            local conn, right, check = prepared(t, kind.opcode)
            if qn == 0 then t:receive { length = 64 } end
            right.qn = qn
            local sent = conn:send(kind.message(right))
            local item = conn:expect(fault.opcode_on_queue, qn == 2 and closed() or {})
            if item.d then
              t:check(item.segment.qn == qn and item.segment.opcode == kind.opcode, "the target's Terminate is about another segment",
                { expected = sent.text, actual = item.text, item = item })
            end
            check()
          end,
        }
      end),
      both_roles {
        id = ("ext-%s-tagged"):format(kind.name),
        purpose = ("%s in a tagged message ends the stream and has no effect"):format(kind.name),
        rules = { "EXT-8.2-03", "EXT-8.2-01" },
        needs = { memory = "write atomic", extensions = true },
        run = function(t)
          local conn, _, check = prepared(t, kind.opcode)
          local buf = t:memory { length = 64, remote = "write" }
          local sent = conn:send(write { opcode = kind.opcode, to = buf, payload = bytes(52, 0) })
          conn:expect_terminate { fault.opcode_with_t, of = sent }
          check()
        end,
      },
    }
  end),

  each(shared, function(one)
    return both_roles {
      id = "ext-" .. one.name,
      purpose = one.text .. " ends the stream",
      rules = { "EXT-8.2-02", "EXT-8.2-01" },
      needs = { memory = "atomic", extensions = true },
      run = function(t)
        local conn = t:session {}
        local cell = t:memory { length = 8, remote = "atomic", fill = "count" }
        t:receive { length = 16 }
        local second = t:receive { length = 16 }
        local sent = one.stimulus(conn, cell)
        conn:expect_terminate { fault.invalid_msn, of = sent }
        t:expect_no_completion(second)
        t:expect_unchanged(cell)
      end,
    }
  end),
}
