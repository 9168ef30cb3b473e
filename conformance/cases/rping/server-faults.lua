-- SPDX-License-Identifier: BSD-3-Clause

-- A target that is rping's server, with its RDMA Read open, and wrong messages instead of the Read Response. The server's
-- buffer may be larger than its Read (rping allots it once), so a response that runs past the Read may still be in bounds:
-- to compare a response with its request is only a MAY (OP-66).
local rping = use "rping"
local seen = use "seen"

local function server(fields)
  fields.role = "responder"
  fields.needs = fields.needs or {}
  fields.needs.class = "rping agent"
  return case(fields)
end

-- Nothing succeeds on a failed connection: the server never sends its go-ahead.
local function refused(t, r, sent, ...)
  r.conn:expect_terminate { { ... }, of = sent }
  t:check(not r.conn:next(0) or r.conn:state().ended, "the target went on after its Terminate", { rule = "RDMAP-5.4-08" })
end

local BOUNDS = { "DDP-7.1-13", "DDP-8.3.1-04", "RDMAP-5.2.2-07" }
local WRONG_STAG = { "DDP-7.1-10", "RDMAP-5.2.2-04", "DDP-7.1-17" }

local function broken(name, text, rules, set, send_it)
  return server {
    id = "rping-server-amid-" .. name,
    purpose = ("While its Read is open, %s ends the server's stream"):format(text),
    rules = rules,
    run = function(t)
      local r = t:rping { stage = "reading" }
      refused(t, r, send_it(r.conn, r), set)
    end,
  }
end

return family {
  -- ---- places outside of every buffer of the server ----

  each({
    { name = "4-gib-above", fields = { shift = 0x100000000 }, text = "octets 4 GiB above the Sink TO",
      fault = fault.out_of_bounds, rules = BOUNDS },
    { name = "4-gib-below", fields = { shift = -0x100000000 }, text = "octets 4 GiB below the Sink TO",
      fault = fault.out_of_bounds, rules = BOUNDS },
    { name = "sign-of-to", fields = { shift = math.mininteger }, text = "a TO with the top bit inverted",
      fault = fault.out_of_bounds, rules = BOUNDS },
    { name = "in-front", fields = { shift = -8 }, text = "octets that begin 8 before the Sink TO", fault = fault.out_of_bounds,
      rules = BOUNDS },
    { name = "wrap", fields = { to = -8 }, text = "a range that wraps at 2^64", fault = fault.to_wraps,
      rules = { "DDP-7.1-14", "RDMAP-5.2.2-07" } },
    { name = "stag-unknown", fields = { stag = 0x5bad57a6 }, text = "an STag that is not valid", fault = fault.invalid_stag,
      rules = WRONG_STAG },
    { name = "stag-zero", fields = { stag = 0 }, text = "STag 0", fault = fault.invalid_stag, rules = WRONG_STAG },
    { name = "stag-of-source", fields = { stag = 0x52500100 }, text = "the source's STag", fault = fault.invalid_stag, rules = WRONG_STAG },
  }, function(one)
    return server {
      id = "rping-server-response-" .. one.name,
      purpose = ("A Read Response with %s ends the stream, and the server's Read does not complete"):format(one.text),
      rules = one.rules,
      run = function(t)
        local r = t:rping { stage = "reading" }
        local any = one.name == "in-front" and r.asked.sink_to & 0xfff ~= 0 and not r.agent
        one.fields.broken, one.fields.comment = true, one.text
        local sent = r:answer(one.fields)
        refused(t, r, sent, one.fault, any and terminate {} or {}, terminate { rdmap = "protection" })
      end,
    }
  end),

  each({ 0, 7, 8, 16, 31 }, function(bit)
    return server {
      id = ("rping-server-response-stag-bit-%d"):format(bit),
      purpose = ("A Read Response whose STag differs from the Sink STag in bit %d ends the stream"):format(bit),
      rules = { "DDP-7.1-10", "RDMAP-5.2.2-04" },
      run = function(t)
        local r = t:rping { stage = "reading" }
        local sent = r:answer { stag = r.asked.sink_stag ~ (1 << bit), broken = true, comment = "another STag" }
        refused(t, r, sent, fault.invalid_stag, terminate { rdmap = "protection" })
      end,
    }
  end),

  each({
    { name = "stag-unknown", fields = { stag = 0x5bad57a6 }, text = "an STag that is not valid", fault = fault.invalid_stag,
      rules = { "DDP-7.1-10", "RDMAP-4.4-02" } },
    { name = "stag-key", fields = { key = 0xff }, text = "an STag that differs in its last octet", fault = fault.invalid_stag,
      rules = { "DDP-7.1-10", "RDMAP-4.4-02" } },
    { name = "4-gib-above", fields = { shift = 0x100000000 }, text = "a TO 4 GiB above its own", fault = fault.out_of_bounds,
      rules = { "DDP-7.1-12", "RDMAP-4.4-03" } },
  }, function(one)
    return server {
      id = "rping-server-response-second-segment-" .. one.name,
      purpose = ("A Read Response whose second segment has %s ends the stream, and the server's Read does not complete"):format(one.text),
      rules = { one.rules[1], one.rules[2], "RDMAP-5.2.2-04", "RDMAP-5.2.2-07" },
      run = function(t)
        local r = t:rping { stage = "reading" }
        local sent
        r.conn:together(function()
          r:answer { payload = r.data:sub(1, 32), l = false }
          sent = r:answer { payload = r.data:sub(33), stag = one.fields.stag or r.asked.sink_stag ~ (one.fields.key or 0),
                            shift = 32 + (one.fields.shift or 0), broken = true, comment = one.text }
          r.conn:send(read_request { size = 0, sink_stag = 7, sink_to = 7 })
        end)
        refused(t, r, sent, one.fault, terminate { rdmap = "protection" })
      end,
    }
  end),

  -- ---- too long, too short, too often: the check is a MAY, but the octets must not do harm ----

  each({
    { name = "one-more", stimulus = function(r) return r:answer { payload = r.data .. "\xee", broken = true, comment = "an octet more" } end,
      text = "an octet more than the Read asked for" },
    { name = "twice", stimulus = function(r) return r:answer { payload = r.data .. r.data, broken = true, comment = "twice the size" } end,
      text = "twice the octets that the Read asked for" },
    { name = "short", stimulus = function(r) return r:answer { payload = r.data:sub(1, -2), broken = true, comment = "an octet less" } end,
      text = "an octet less than the Read asked for" },
    { name = "empty", stimulus = function(r) return r:answer { payload = "", broken = true, comment = "no octets" } end,
      text = "no octets at all" },
    { name = "shifted", stimulus = function(r) return r:answer { shift = 8, broken = true, comment = "8 octets off" } end,
      text = "octets that begin 8 after the Sink TO" },
  }, function(one)
    return server {
      id = "rping-server-response-" .. one.name,
      purpose = ("The server refuses a Read Response with %s, or takes it within its buffer"):format(one.text),
      rules = { "RDMAP-5.2.2-07", "RDMAP-4.4-03" },
      run = function(t)
        local r = t:rping { stage = "reading" }
        one.stimulus(r)
        r.conn:send(read_request { size = 0, sink_stag = 7, sink_to = 7 })
        local item = r.conn:expect(terminate {}, closed(), read_response { stag = 7, to = 7, payload = "" },
          { ignoring = send { payload = function(payload) return #payload == 16 end }, rule = "RDMAP-5.2.1-12" })
        t:observe("answer", item.op == "read-response" and "taken" or item.op or item.kind)
      end,
    }
  end),

  server {
    id = "rping-server-response-again",
    purpose = "A second Read Response after the right one ends the stream",
    rules = { "RDMAP-5.2.2-04", "RDMAP-5.2-01" },
    run = function(t)
      local r = t:rping { stage = "read" }
      local sent = r:answer { broken = true, comment = "the response once more" }
      r.conn:expect_terminate { fault.unasked_response, terminate { rdmap = "protection" }, terminate { rdmap = "operation" },
        terminate { ddp = "tagged" }, of = sent }
    end,
  },

  -- ---- other messages, and broken ones, while the Read is open ----

  broken("write-unknown-stag", "a Write with an STag that is not valid", { "DDP-7.1-10", "DDP-7.1-17" }, fault.invalid_stag,
    function(conn) return conn:send(write { stag = 0x5bad57a6, to = 0x1000, payload = bytes(8, 0xee) }) end),
  broken("read-unknown-stag", "a Read Request with an STag that is not valid", { "RDMAP-7.2-09", "RDMAP-5.2.1-14" },
    fault.rdmap_invalid_stag,
    function(conn) return conn:send(read_request { source_stag = 0x5bad57a6, source_to = 0, size = 1 }) end),
  broken("send-too-long", "a Send that is longer than rping's receive", { "DDP-7.1-08", "RDMAP-5.3-04" }, fault.too_long,
    function(conn) return conn:send(send { payload = bytes(17, 0xee) }) end),
  broken("send-far-too-long", "a Send of 1000 octets", { "DDP-7.1-08", "RDMAP-5.3-04" }, fault.too_long,
    function(conn) return conn:send(send { payload = bytes(1000, 0xee) }) end),
  broken("send-mo", "a Send whose MO is not 0", { "DDP-7.1-07" }, fault.invalid_mo,
    function(conn) return conn:send(send { mo = 0x10000, payload = bytes(8, 0xee) }) end),
  broken("msn-repeated", "a Send with the MSN of the one before", { "DDP-7.1-09", "DDP-7.1-02" }, fault.invalid_msn,
    function(conn) return conn:send(send { msn = 1, payload = bytes(16, 0) }) end),
  broken("msn-far", "a Send with an MSN far ahead", { "DDP-7.1-09", "DDP-7.1-02" }, fault.invalid_msn,
    function(conn) return conn:send(send { msn = 0x80000001, payload = bytes(16, 0) }) end),
  broken("queue-3", "a Send on queue 3", { "DDP-7.1-01" }, fault.invalid_queue,
    function(conn) return conn:send(send { qn = 3, msn = 1, payload = bytes(16, 0) }) end),
  broken("queue-top", "a Send on queue 2^32-1", { "DDP-7.1-01" }, fault.invalid_queue,
    function(conn) return conn:send(send { qn = 0xffffffff, msn = 1, payload = bytes(16, 0) }) end),
  broken("dv-2", "a DDP version of 2", { "DDP-7.1-15", "DDP-4.1-13" }, fault.tagged_version,
    function(conn, r) return r:answer { dv = 2 } end),
  broken("rv-2", "an RDMAP version of 2", { "RDMAP-7.2-03" }, fault.rdmap_version,
    function(conn, r) return r:answer { rv = 2 } end),
  broken("opcode-f", "an opcode that is not assigned", { "RDMAP-7.2-02" }, fault.opcode,
    function(conn) return conn:send(send { opcode = 0xf, payload = bytes(16, 0) }) end),
  broken("send-on-tagged", "a Send with T=1", { "RDMAP-7.2-02", "RDMAP-4.1-05" }, { fault.opcode, fault.invalid_stag },
    function(conn) return conn:send(send { t = true, stag = 0, to = 0, payload = bytes(8, 0xee) }) end),

  each({ { name = "bad", text = "a wrong CRC", crc = "bad" }, { name = "zero", text = "a CRC of 0", crc = 0 } }, function(one)
    return server {
      id = "rping-server-response-crc-" .. one.name,
      purpose = ("A Read Response with %s does not complete the server's Read"):format(one.text),
      rules = { "MPA-4.4-17", "MPA-8-02", "MPA-4.4-16" },
      run = function(t)
        local r = t:rping { stage = "reading", start = { crc = true } }
        r:answer({}, { crc = one.crc })
        use("mpa").expect_crc_fault(r.conn)
      end,
    }
  end),

  -- ---- the end, at each stage ----

  each({ "reading", "read", "writing", "done" }, function(stage)
    return {
      each(rping.TERMINATES, function(one)
        return server {
          id = ("rping-server-%s-terminate-%s"):format(stage, one.name),
          purpose = ("A Terminate (%s) at the stage '%s' of the exchange ends the stream and gets no answer"):format(one.name, stage),
          rules = { "RDMAP-5.4-05", "RDMAP-5.4-03", "RDMAP-5.4-07", "RDMAP-7-02" },
          run = function(t)
            local r = t:rping { stage = stage }
            if stage == "writing" and not r.agent then r:go_ahead() end
            r.conn:send(one.terminate)
            seen.over(r.conn)
          end,
        }
      end),
      server {
        id = ("rping-server-%s-fin"):format(stage),
        purpose = ("The server ends its stream after a FIN at the stage '%s' of the exchange"):format(stage),
        rules = { "MPA-7.2-02", "DDP-6.2.1-04" },
        run = function(t)
          local r = t:rping { stage = stage }
          if stage == "writing" and not r.agent then r:go_ahead() end
          r.conn:shutdown()
          r.conn:expect(closed(), terminate {})
        end,
      },
    }
  end),
}
