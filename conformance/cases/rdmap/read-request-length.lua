-- SPDX-License-Identifier: BSD-3-Clause

-- Read Requests that do not carry 28 octets. Field bugs: 32 octets through a padded struct (OSC 1.2), a
-- length that becomes negative (siw). OP-67: the stream has to end; the RFC assigns no code.

return family {
  each({ 0, 1, 4, 24, 27, 29, 32, 56 }, function(length)
    local both = length == 27 or length == 29
    return (both and both_roles or case) {
      id = ("rdmap-read-request-%d-octets"):format(length),
      purpose = ("A Read Request of %d octets instead of 28 ends the stream and gets no answer"):format(length),
      rules = { "RDMAP-7.2-15", "RDMAP-4.4-01", "RDMAP-4.2-01" },
      level = "must",
      role = not both and "responder" or nil,
      tags = { "field" },
      run = function(t)
        local conn = t:session {}
        conn:sanity()
        conn:send(read_request { payload = bytes(length, 0), broken = true, comment = ("%d octets"):format(length) })
        conn:expect(terminate {}, closed())
      end,
    }
  end),

  -- ULPDUs between the DDP header and a whole Read Request, each as the first FPDU of a connection.
  case {
    id = "rdmap-read-request-cut-anywhere",
    purpose = "A Read Request that ends anywhere in its 28 octets ends the stream and gets no answer",
    rules = { "RDMAP-7.2-15", "RDMAP-4.4-01" },
    level = "must",
    role = "responder",
    needs = { reconnect = true },
    tags = { "field" },
    run = function(t)
      for length = 0, 27 do
        local conn = t:connect {}
        conn:send(read_request { payload = bytes(length, 0), broken = true })
        conn:expect(terminate {}, closed())
      end
    end,
  },

  -- No rule requires a Read Request to be one segment.
  each({ { name = "14-14", segments = { 14, 14 } }, { name = "27-1", segments = { 27, 1 } } }, function(one)
    return case {
      id = "rdmap-read-request-segments-" .. one.name,
      purpose = "The target answers a Read Request in two segments, or ends the stream",
      rules = { "RDMAP-7.2-15" },
      role = "responder",
      run = function(t)
        local conn = t:connect {}
        conn:sanity()
        conn:send(read_request { size = 0, sink_stag = 9, sink_to = 5, broken = true, comment = "in two segments" },
          { segments = one.segments })
        local item = conn:expect(read_response { stag = 9, to = 5, payload = "" }, terminate {}, closed())
        t:observe("answer", item.op or item.kind)
      end,
    }
  end),
}
