-- SPDX-License-Identifier: BSD-3-Clause

-- A target that is rping's client, and wrong uses of the memory that it advertises. rping opens both of its buffers to
-- Reads and Writes, so these cases cannot test a buffer open to only one of them.
local rping = use "rping"
local seen = use "seen"

local function client(fields)
  fields.role = "initiator"
  fields.needs = fields.needs or {}
  fields.needs.class = "rping agent"
  return case(fields)
end

local function refused(r, sent, set)
  r.conn:expect_terminate { set, of = sent }
end

local far = math.mininteger

local function broken(name, text, rules, set, send_it)
  return each({ "source", "sink" }, function(stage)
    return client {
      id = ("rping-client-%s-%s"):format(stage, name),
      purpose = ("%s ends the stream of rping's client (stage '%s')"):format(text, stage),
      rules = rules,
      run = function(t)
        local r = t:rping { stage = stage }
        refused(r, send_it(r.conn, r), set)
      end,
    }
  end)
end

return family {
  -- ---- places: how many octets from the buffer's first one (n: its size), length; one that wraps begins at TO 2^64-8 ----

  each({
    { name = "before-base", where = function() return -1, 1 end, text = "names the octet before the buffer",
      read_rule = "RDMAP-7.2-11", write_rule = "DDP-7.1-12" },
    { name = "straddling-base", where = function() return -4, 8 end, text = "begins before the buffer and runs into it",
      read_rule = "RDMAP-7.2-11", write_rule = "DDP-7.1-12" },
    { name = "at-end", where = function(n) return n, 1 end, text = "names the octet after the buffer", read_rule = "RDMAP-7.2-11",
      write_rule = "DDP-7.1-12" },
    { name = "past-end", where = function(n) return n - 1, 2 end, text = "runs one octet past the end",
      read_rule = "RDMAP-7.2-12", write_rule = "DDP-7.1-13" },
    { name = "longer", where = function(n) return 0, n + 1 end, text = "begins with the buffer and is an octet longer",
      read_rule = "RDMAP-7.2-12", write_rule = "DDP-7.1-13" },
    { name = "4-gib-above", where = function() return 0x100000000, 8 end, text = "is right in the low 32 bits of its TO only",
      read_rule = "RDMAP-7.2-11", write_rule = "DDP-7.1-12" },
    { name = "4-gib-below", where = function() return -0x100000000, 8 end, text = "is 4 GiB below the buffer",
      read_rule = "RDMAP-7.2-11", write_rule = "DDP-7.1-12" },
    { name = "sign-of-to", where = function() return far, 8 end, text = "is right but for the top bit of its TO",
      read_rule = "RDMAP-7.2-11", write_rule = "DDP-7.1-12" },
    { name = "wrap", text = "wraps at 2^64", read_rule = "RDMAP-7.2-13", write_rule = "DDP-7.1-14" },
  }, function(one)
    return {
      client {
        id = "rping-client-read-" .. one.name,
        purpose = ("An RDMA Read of the client's source that %s ends the stream and gets no answer"):format(one.text),
        rules = { one.read_rule, "RDMAP-5.2.1-14", "RDMAP-8.1.1-03", "RDMAP-7.1-04" },
        run = function(t)
          local r = t:rping { stage = "source" }
          local offset, size = -8 - r.source.to, 16
          if one.where then offset, size = one.where(r.size) end
          local sent = r.conn:send(read_request { source_stag = r.source.stag, source_to = r.source.to + offset, size = size,
                                                  sink_stag = 0x77, sink_to = 0x1000, comment = one.text })
          refused(r, sent, one.where and fault.rdmap_out_of_bounds or fault.rdmap_to_wraps)
        end,
      },
      client {
        id = "rping-client-write-" .. one.name,
        purpose = ("A Write to the client's sink that %s ends the stream"):format(one.text),
        rules = { one.write_rule, "DDP-7.1-17", "DDP-8.3.1-04", "RDMAP-8.1.1-03", "DDP-7.2-01" },
        run = function(t)
          local r = t:rping { stage = "sink" }
          local offset, size = -8 - r.sink.to, 16
          if one.where then offset, size = one.where(r.size) end
          local sent = r.conn:send(write { stag = r.sink.stag, to = r.sink.to + offset, payload = bytes(size, 0xee), comment = one.text })
          refused(r, sent, one.where and fault.out_of_bounds or fault.to_wraps)
          r:unchanged()
        end,
      },
    }
  end),

  each({ 0, 7, 8, 16, 31 }, function(bit)
    return {
      client {
        id = ("rping-client-read-stag-bit-%d"):format(bit),
        purpose = ("An RDMA Read whose STag differs from the client's in bit %d ends the stream"):format(bit),
        rules = { "RDMAP-7.2-09", "RDMAP-5.2.1-14", "RDMAP-5.2.1-05" },
        run = function(t)
          local r = t:rping { stage = "sink" }
          local stag = r.source.stag ~ (1 << bit)
          if stag == r.sink.stag then return t:skip "the client's other buffer has this STag" end
          local sent = r.conn:send(read_request { source_stag = stag, source_to = r.source.to, size = 8,
                                                  sink_stag = 0x77, sink_to = 0x1000 })
          refused(r, sent, fault.rdmap_invalid_stag)
        end,
      },
      client {
        id = ("rping-client-write-stag-bit-%d"):format(bit),
        purpose = ("A Write whose STag differs from the client's in bit %d ends the stream"):format(bit),
        rules = { "DDP-7.1-10", "DDP-4.2-05" },
        run = function(t)
          local r = t:rping { stage = "sink" }
          local stag = r.sink.stag ~ (1 << bit)
          if stag == r.source.stag then return t:skip "the client's other buffer has this STag" end
          local sent = r.conn:send(write { stag = stag, to = r.sink.to, payload = bytes(8, 0xee) })
          refused(r, sent, fault.invalid_stag)
          r:unchanged()
        end,
      },
    }
  end),

  client {
    id = "rping-client-write-last-segment-past-end",
    purpose = "The second segment of a Write ends the stream when it runs past the client's sink",
    rules = { "DDP-7.1-13", "DDP-7.1-17" },
    run = function(t)
      local r = t:rping { stage = "sink" }
      local sent = r.conn:send(write { to = r.sink, payload = bytes(r.size + 1, 0xee), broken = true }, { segments = { r.size // 2 } })
      refused(r, sent.segments[2], fault.out_of_bounds)
      r:unchanged { 0, r.size // 2 }
    end,
  },

  -- ---- broken messages ----

  broken("send-too-long", "A Send that is longer than rping's receive", { "DDP-7.1-08", "RDMAP-5.3-04" }, fault.too_long,
    function(conn) return conn:send(send { payload = bytes(17, 0xee) }) end),
  broken("send-mo", "A Send with an MO far beyond rping's receive", { "DDP-7.1-07" }, fault.invalid_mo,
    function(conn) return conn:send(send { mo = 0x10000, payload = bytes(8, 0xee) }) end),
  broken("msn-far", "A Send with an MSN far ahead", { "DDP-7.1-09", "DDP-7.1-02" }, fault.invalid_msn,
    function(conn) return conn:send(send { msn = 0x80000001, payload = bytes(16, 0) }) end),
  broken("msn-zero", "A Send with MSN 0", { "DDP-7.1-09", "DDP-7.1-02" }, fault.invalid_msn,
    function(conn) return conn:send(send { msn = 0, payload = bytes(16, 0) }) end),
  broken("queue-3", "A Send on queue 3", { "DDP-7.1-01" }, fault.invalid_queue,
    function(conn) return conn:send(send { qn = 3, msn = 1, payload = bytes(16, 0) }) end),
  broken("dv-2", "A DDP version of 2", { "DDP-7.1-16", "DDP-4.1-13" }, fault.untagged_version,
    function(conn) return conn:send(send { dv = 2, payload = bytes(16, 0) }) end),
  broken("rv-2", "An RDMAP version of 2", { "RDMAP-7.2-03" }, fault.rdmap_version,
    function(conn) return conn:send(send { rv = 2, payload = bytes(16, 0) }) end),
  broken("opcode-f", "An opcode that is not assigned", { "RDMAP-7.2-02" }, fault.opcode,
    function(conn) return conn:send(send { opcode = 0xf, payload = bytes(16, 0) }) end),
  broken("response-unsolicited", "A Read Response that nobody asked for", { "RDMAP-5.2.2-04", "RDMAP-5.2-01" },
    { fault.unasked_response, terminate { rdmap = "protection" }, terminate { ddp = "tagged" }, terminate { rdmap = "operation" } },
    function(conn, r) return conn:send(read_response { to = r.source, payload = bytes(8, 0xee), broken = true }) end),
  broken("read-unknown-stag", "A Read Request with an STag that is not valid", { "RDMAP-7.2-09", "RDMAP-5.2.1-14" },
    fault.rdmap_invalid_stag,
    function(conn) return conn:send(read_request { source_stag = 0, source_to = 0x1000, size = 1 }) end),
  broken("write-unknown-stag", "A Write with STag 0", { "DDP-7.1-10", "DDP-7.1-17" }, fault.invalid_stag,
    function(conn) return conn:send(write { stag = 0, to = 0x1000, payload = bytes(1, 0xee) }) end),

  client {
    id = "rping-client-write-crc-bad",
    purpose = "A Write to the client's sink with a wrong CRC ends the stream",
    rules = { "MPA-4.4-17", "MPA-8-02", "MPA-4.4-16" },
    run = function(t)
      local r = t:rping { stage = "sink", start = { crc = true } }
      r.conn:send(write { to = r.sink, payload = bytes(8, 0xee) }, { crc = "bad" })
      use("mpa").expect_crc_fault(r.conn)
      r:unchanged()
    end,
  },

  -- ---- the end, at each stage ----

  each({ "source", "read", "sink" }, function(stage)
    return {
      each(rping.TERMINATES, function(one)
        return client {
          id = ("rping-client-%s-terminate-%s"):format(stage, one.name),
          purpose = ("A Terminate (%s) at the stage '%s' of the exchange ends the stream and gets no answer"):format(one.name, stage),
          rules = { "RDMAP-5.4-05", "RDMAP-5.4-03", "RDMAP-5.4-07", "RDMAP-7-02" },
          run = function(t)
            local r = t:rping { stage = stage }
            r.conn:send(one.terminate)
            seen.over(r.conn)
          end,
        }
      end),
      client {
        id = ("rping-client-%s-fin"):format(stage),
        purpose = ("The client ends its stream after a FIN at the stage '%s' of the exchange"):format(stage),
        rules = { "MPA-7.2-02", "DDP-6.2.1-04" },
        run = function(t)
          local r = t:rping { stage = stage }
          r.conn:shutdown()
          r.conn:expect(closed(), terminate {})
        end,
      },
    }
  end),
}
