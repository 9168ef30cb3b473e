-- SPDX-License-Identifier: BSD-3-Clause

-- The target asks for an atomic, and the station answers wrongly. The atomic must not complete with
-- anything but its own answer.

local RULES = { "EXT-5.2.2-08", "EXT-8.2-01" }

local function add(t) return t:post { op = "fetch-add", stag = 0x11223344, to = 0x1000, add_swap = 1 } end

-- count: atomics that the target asks for.
local wrong = {
  { name = "id", text = "the identifier of no request", fault = fault.atomic_response, stimulus = function(conn, asked)
    return conn:send(atomic_response { request_id = asked[1].request_id ~ 0x80000001, value = 5, broken = true, comment = "another identifier" })
  end },
  { name = "length-0", text = "no octet", fault = fault.atomic_response, stimulus = function(conn)
    return conn:send(atomic_response { payload = "", broken = true, comment = "0 octets for 12" })
  end },
  { name = "length-11", text = "11 octets", fault = fault.atomic_response, stimulus = function(conn, asked)
    return conn:send(atomic_response { payload = pack(">I4", asked[1].request_id) .. bytes(7), broken = true, comment = "11 octets for 12" })
  end },
  { name = "length-13", text = "13 octets", fault = fault.atomic_response_too_long, stimulus = function(conn, asked)
    return conn:send(atomic_response { payload = pack(">I4", asked[1].request_id) .. bytes(9), broken = true, comment = "13 octets for 12" })
  end },
  -- OP-80: the text of section 4 says 32, the figure 12.
  { name = "length-32", text = "32 octets", fault = fault.atomic_response_too_long, stimulus = function(conn, asked)
    return conn:send(atomic_response { payload = pack(">I4", asked[1].request_id) .. bytes(28), broken = true, comment = "32 octets for 12" })
  end },
  { name = "swapped", text = "the identifier of the next request", fault = fault.atomic_response,
    stimulus = function(conn, asked)
      return conn:send(atomic_response { request_id = asked[2].request_id, value = 5, broken = true, comment = "the first one is open" })
    end, count = 2 },
}

return family {
  each(wrong, function(one)
    return both_roles {
      id = "ext-atomic-response-" .. one.name,
      purpose = ("An Atomic Response with %s ends the stream and completes nothing"):format(one.text),
      rules = RULES,
      level = "must",
      needs = { agent = true, extensions = true },
      run = function(t)
        local conn = t:session {}
        conn:sanity()
        local handles, asked = {}, {}
        for i = 1, one.count or 1 do
          handles[i] = add(t)
          asked[i] = conn:expect(atomic_request {})
        end
        local sent = one.stimulus(conn, asked)
        conn:expect_terminate { one.fault, of = sent }
        for _, handle in ipairs(handles) do t:expect_no_completion(handle) end
      end,
    }
  end),

  -- ---- nobody asked ----

  both_roles {
    id = "ext-atomic-response-unsolicited",
    purpose = "An Atomic Response that nobody asked for ends the stream",
    rules = { "EXT-5.2.2-08", "EXT-5.2.2-01", "EXT-8.2-02" },
    level = "must",
    needs = { extensions = true },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local sent = conn:send(atomic_response { request_id = 1, value = 1, broken = true, comment = "no atomic was asked for" })
      conn:expect_terminate { fault.no_buffer, fault.opcode, of = sent }
    end,
  },

  each({
    { name = "again", msn = 2, text = "with the next MSN", fault = fault.no_buffer },
    { name = "repeated", msn = 1, text = "with its old MSN", fault = fault.invalid_msn },
  }, function(one)
    return both_roles {
      id = "ext-atomic-response-" .. one.name,
      purpose = ("An Atomic Response that comes a second time, %s, ends the stream"):format(one.text),
      rules = { "EXT-5.2.2-01", "EXT-5.2.2-08", "EXT-8.2-02" },
      needs = { agent = true, extensions = true },
      run = function(t)
        local conn = t:session {}
        conn:sanity()
        local handle = add(t)
        local asked = conn:expect(atomic_request {})
        conn:send(atomic_response { request_id = asked.request_id, value = 5 })
        t:completion(handle, { original = 5 })
        local sent = conn:send(atomic_response { request_id = asked.request_id, value = 6, msn = one.msn, broken = true,
                                               comment = "the atomic is complete" })
        conn:expect_terminate { one.fault, of = sent }
        for _, event in ipairs(t.events) do t:check(event.work ~= handle.work, "the target completed the atomic twice") end
      end,
    }
  end),

  -- ---- against the order (RFC 7306 §7) ----

  both_roles {
    id = "ext-atomic-response-before-read-response",
    purpose = "An Atomic Response that overtakes the response to an earlier Read ends the stream and completes nothing",
    rules = { "EXT-5.2.2-08", "EXT-7-05" },
    level = "must",
    needs = { agent = true, extensions = true },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local memory = t:memory { length = 16 }
      local reading = t:post { op = "read", memory = memory, length = 16, stag = 1, to = 8 }
      conn:expect(read_request {})
      local adding = add(t)
      local asked = conn:expect(atomic_request {})
      local sent = conn:send(atomic_response { request_id = asked.request_id, value = 5, broken = true, comment = "the Read is still open" })
      conn:expect_terminate { fault.early_atomic_response, of = sent }
      t:expect_no_completion(reading)
      t:expect_no_completion(adding)
      t:expect_unchanged(memory)
    end,
  },

  both_roles {
    id = "ext-read-response-before-atomic-response",
    purpose = "A Read Response that overtakes the response to an earlier atomic ends the stream and completes nothing",
    rules = { "EXT-7-05", "EXT-5.2.2-08", "RDMAP-5.2.2-04" },
    level = "must",
    needs = { agent = true, extensions = true },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local memory = t:memory { length = 16 }
      local adding = add(t)
      conn:expect(atomic_request {})
      local reading = t:post { op = "read", memory = memory, length = 16, stag = 1, to = 8 }
      local asked = conn:expect(read_request {})
      local sent = conn:send(read_response { stag = asked.sink_stag, to = asked.sink_to, payload = bytes(16, 0xee), broken = true,
                                             comment = "the atomic is still open" })
      conn:expect_terminate { fault.early_read_response, of = sent }
      t:expect_no_completion(reading)
      t:expect_no_completion(adding)
      t:expect_unchanged(memory, { except = { 0, 16 } })
      t:observe("placed", t:read(memory, 0, 16) == bytes(16, 0xee))
    end,
  },
}
