-- SPDX-License-Identifier: BSD-3-Clause

-- A fault in the very first FPDU: some stacks have not yet set up what serves a stream, and crash.
-- It ends the stream like any other fault, and the target lives on for the next connection.

local mpa = use "mpa"
local seen = use "seen"

local faults = {
  { name = "ddp-version-tagged", text = "a DDP version that was not agreed, T=1", fault = fault.tagged_version, stimulus = function(_, conn)
    return conn:send(write { dv = 2 })
  end },
  { name = "ddp-version-untagged", text = "a DDP version that was not agreed, T=0", fault = fault.untagged_version,
    stimulus = function(_, conn)
    return conn:send(read_request { dv = 3, size = 0 })
  end },
  { name = "rdmap-version-tagged", text = "an RDMAP version that was not agreed, T=1", fault = fault.rdmap_version,
    stimulus = function(_, conn)
    return conn:send(write { rv = 2 })
  end },
  { name = "rdmap-version-untagged", text = "an RDMAP version that was not agreed, T=0", needs = { agent = true },
    fault = fault.rdmap_version, stimulus = function(t, conn)
    t:receive { length = 8 }
    return conn:send(send { rv = 3, payload = bytes(8) })
  end },
  { name = "opcode-tagged", text = "an opcode that is not assigned, T=1", fault = fault.opcode, stimulus = function(_, conn)
    return conn:send(write { opcode = 0xf, stag = 1, payload = bytes(8) })
  end },
  { name = "opcode-untagged", text = "an opcode that is not assigned, T=0", needs = { agent = true }, fault = fault.opcode,
    stimulus = function(t, conn)
    t:receive { length = 8 }
    return conn:send(send { opcode = 0xc, payload = bytes(8) })
  end },
  { name = "queue", text = "a queue that does not exist", fault = fault.invalid_queue, stimulus = function(_, conn)
    return conn:send(send { qn = 0x80000000, payload = bytes(8) })
  end },
  { name = "stag", text = "an invalid STag", fault = fault.invalid_stag, stimulus = function(_, conn)
    return conn:send(write { stag = 0x5bad57a6, payload = bytes(8) })
  end },
  { name = "no-buffer", text = "a Send for which no buffer is posted", needs = { agent = true }, fault = fault.no_buffer,
    stimulus = function(_, conn)
    return conn:send(send { payload = bytes(8) })
  end },
  { name = "read-stag", text = "a Read of an invalid STag", fault = fault.rdmap_invalid_stag, stimulus = function(_, conn)
    conn:need_reads()
    return conn:send(read_request { size = 8, source_stag = 0x5bad57a6 })
  end },
  { name = "response", text = "a Read Response that nobody asked for", fault = fault.unasked_response_nowhere,
    stimulus = function(_, conn)
    return conn:send(read_response { stag = 0x5bad57a6, payload = bytes(8), broken = true, comment = "no Read was asked for" })
  end },
}

return family {
  each(faults, function(one)
    return both_roles {
      id = "bug-first-fpdu-crash-" .. one.name,
      purpose = ("%s in the first FPDU ends the stream, and the target lives on"):format(one.text:sub(1, 1):upper() .. one.text:sub(2)),
      rules = { "RDMAP-7.1-03", "DDP-7.1-17", "RDMAP-5.4-08" },
      needs = one.needs,
      tags = { "known-bug", "field" },
      run = function(t)
        local conn = t:session {}
        local sent = one.stimulus(t, conn)
        conn:expect_terminate { one.fault, of = sent }
        seen.over(conn)
      end,
    }
  end),

  -- The same without anything to answer with: a Terminate, a close, or both.
  both_roles {
    id = "bug-first-fpdu-crash-terminate",
    purpose = "A first FPDU that is a Terminate, good or not, ends the stream, and the target lives on",
    rules = { "RDMAP-5.4-05", "RDMAP-5.4-07" },
    needs = { reconnect = true },
    tags = { "known-bug", "field" },
    run = function(t)
      for _, payload in ipairs { hex "20050000", hex "0000", hex "1101c000", "" } do
        local conn = t:session {}
        conn:send(terminate { payload = payload, broken = #payload ~= 4, comment = ("a Terminate of %d octets"):format(#payload) })
        seen.over(conn, closed(), terminate {})
      end
    end,
  },

  -- A responder that waits for the RTR has reported nothing to its ULP yet, and may not know what has ended then.
  case {
    id = "bug-terminate-in-place-of-rtr",
    purpose = "An initiator that sends a Terminate in place of its RTR ends its own connection, and the target lives on",
    rules = { "RDMAP-5.4-05", "EMPA-9.2-11" },
    role = "responder",
    needs = { peer_to_peer = true, reconnect = true },
    tags = { "known-bug", "field", "hostile" },
    run = function(t)
      local conn = t:connect { peer_to_peer = true, rtr = { "write", "read", "send" }, rtr_send = false }
      conn:send(terminate { layer = 2, etype = 0, code = 7, comment = "no matching RTR" })
      conn:shutdown()
      conn:expect_close {}
      mpa.serves(t:connect {})
    end,
  },

  -- No initiator may send that early (RFC 5044 §7.1.2), so there is no MUST; but an FPDU neither refused nor processed hangs.
  -- If the Reply is faster, the case sees nothing.
  case {
    id = "bug-first-fpdu-not-taken-up",
    purpose = "A first FPDU between Request and Reply is processed, or ends the stream, without waiting for another FPDU",
    rules = { "MPA-7.1.2-10", "MPA-7.1-01" },
    level = "should",
    role = "responder",
    needs = { reconnect = true, enhanced = true, read = true, markers = "off" },
    tags = { "known-bug", "field" },
    run = function(t)
      t:allow("mpa-responder-early", "rdmap-response-unsolicited")
      local function ask(conn, msn)
        local ulpdu = hex "4141 00000000 00000001" .. string.pack(">I4", msn) .. hex "00000000 00000001 0000000000000002 00000000 00000000 0000000000000000"
        conn:write(mpa.fpdu_octets(ulpdu), { comment = "a Read Request of no octets" })
      end
      local held = t.peer.agent -- an agent accepts on demand; others may be faster
      for _ = 1, held and 1 or 50 do
        local conn = t:connect { raw = true, target = held and { accept = "ask" } }
        conn:send(request { ird = 2, ord = 2 })
        local event = held and t:wait_event(function(e) return e.event == "request" or e.event == "closed" end)
        if held or not conn:next(0.001) then
          ask(conn, 1)
          if event and event.event == "request" then t:agent("accept", { conn = event.conn }, true) end
          local _, which = conn:expect(reply {}, closed())
          if which == 2 then return end
          if not conn:next(0.5) then
            ask(conn, 2)
            t:observe("taken-up", conn:next() and "with-the-next" or "never")
            t:fail("the target ignored an FPDU that came before the Reply until another one came",
              { expected = "a Read Response, or the end of the stream", actual = "nothing within 0.5 s" })
          end
        end
        conn:reset()
      end
    end,
  },
}
