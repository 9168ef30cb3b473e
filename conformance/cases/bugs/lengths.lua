-- SPDX-License-Identifier: BSD-3-Clause

-- ULPDU_Length and lengths computed from it. OP-09: a length below that of the headers ends the
-- stream, by any Terminate or by a close.

-- header: octets of headers that the opcode calls for. rule: about those that come after DDP's. asked: mpa-length-underflow-* asks a responder.
local messages = {
  { name = "write", header = 14, asked = true, message = write {} },
  { name = "read-response", header = 14, asked = true, message = read_response {} },
  { name = "send", header = 18, asked = true, message = send {} },
  { name = "send-invalidate", header = 18, asked = true, message = send_invalidate { invalidate = 1 } },
  { name = "read-request", header = 46, rule = "RDMAP-7.2-15", asked = true, message = read_request { size = 0 } },
  { name = "terminate", header = 22, asked = true, message = terminate "2/0/02" },
  { name = "send-se", header = 18, message = send_se {} },
  { name = "send-se-invalidate", header = 18, message = send_se_invalidate { invalidate = 1 } },
  { name = "immediate", header = 26, rule = "EXT-6.3-08", extension = true, message = immediate { payload = bytes(8) } },
  { name = "immediate-se", header = 26, rule = "EXT-6.3-08", extension = true, message = immediate_se { payload = bytes(8) } },
  { name = "atomic-request", header = 70, rule = "EXT-8.2-01", extension = true, message = atomic_request { request_id = 1, remote_stag = 1, remote_to = 8 } },
  { name = "atomic-response", header = 30, rule = "EXT-5.2.2-08", extension = true, message = atomic_response { request_id = 1, value = 1 } },
}

local DDP = 18 -- octets of an untagged segment's header

return family {
  -- A length that is read as a negative number of octets to come.
  each(messages, function(one)
    local name, header = one.name, one.header
    return (one.asked and case or both_roles) {
      id = "bug-length-underflow-" .. name,
      purpose = ("A %s whose ULPDU_Length is below its %d octets of headers, by any number, ends the stream and does no harm"):format(
        name:gsub("-", " "), header),
      rules = { "DDP-4.4-02", "MPA-3-08" },
      level = "must",
      role = one.asked and "initiator" or nil,
      needs = { agent = true, reconnect = true, extensions = one.extension },
      tags = { "known-bug", "field" },
      run = function(t)
        local guard = t:memory { length = 64 }
        for length = 0, header - 1 do
          local conn = t:session {}
          local posted = t:receive { length = 64, memory = guard }
          local ulpdu = conn:encode(one.message)[1].ulpdu
          conn:send(raw { ulpdu = ulpdu:sub(1, length), broken = true, comment = ("%d octets of a %s"):format(length, name) })
          -- Then send what only a stream that goes on would answer.
          conn:send(read_request { size = 0, sink_stag = 1, sink_to = 2 })
          conn:expect(terminate {}, closed(), { rule = length >= DDP and one.rule or nil })
          t:expect_no_completion(posted)
          conn:reset()
        end
        t:expect_unchanged(guard)
      end,
    }
  end),

  -- 2 octets of length, the ULPDU, pad and CRC: in 16 bits the sum of these lengths is small.
  both_roles {
    id = "bug-length-sum-wraps",
    purpose = "A ULPDU_Length that makes an FPDU of 2^16 octets or more ends the stream; what follows is no FPDU of its own",
    rules = { "MPA-5.2-01", "MPA-3-05", "MPA-3-04" },
    needs = { memory = "write", reconnect = true },
    tags = { "known-bug", "field" },
    run = function(t)
      local buf = t:memory { length = 64, remote = "write" }
      for _, length in ipairs { 0xffff, 0xfffe, 0xfffc, 0xfffb, 0xfffa, 0xfff8 } do
        local conn = t:session {}
        conn:send(write { to = buf, payload = "" }, { length = length, broken = true })
        conn:send(write { to = buf, payload = bytes(8, 0xee), broken = true, comment = "within the length of the FPDU before" })
        conn:send(read_request { size = 0, sink_stag = 1, sink_to = 2 })
        conn:shutdown() -- for a target that waits for the rest
        conn:expect(closed(), terminate {})
      end
      t:expect_unchanged(buf)
    end,
  },

  -- An assertion on what the opcode calls for is an assertion on the peer's octets.
  each({ true, false }, function(tagged)
    return both_roles {
      id = "bug-opcode-contradicts-t-" .. (tagged and "tagged" or "untagged"),
      purpose = ("Every opcode that does not go with T=%d ends the stream, as the first FPDU and with payload or without"):format(
        tagged and 1 or 0),
      rules = { "RDMAP-7.2-02", "RDMAP-4.1-05", "RDMAP-4.1-04" },
      needs = { agent = true, reconnect = true },
      tags = { "known-bug", "field" },
      run = function(t)
        for opcode = 0, 15 do
          local goes = tagged and (opcode == 0 or opcode == 2) or not tagged and opcode ~= 0 and opcode ~= 2 and opcode < 12
          for _, size in ipairs(goes and {} or { 0, 12 }) do
            local conn = t:session {}
            t:receive { length = 16 }
            conn:send((tagged and write or send) { opcode = opcode, payload = bytes(size, 0xee), broken = true,
                                                   comment = ("opcode %x with T=%d"):format(opcode, tagged and 1 or 0) })
            conn:expect(fault.opcode, terminate {}, closed())
            conn:reset()
          end
        end
      end,
    }
  end),
}
