-- SPDX-License-Identifier: BSD-3-Clause

-- A target that is rping's server: its RDMA Reads and Writes, and correct Read Responses, all of which it must take.

local function server(fields)
  fields.role = "responder"
  fields.needs = fields.needs or {}
  fields.needs.class = "rping agent"
  return case(fields)
end

local READS = { "RDMAP-4.4-01", "RDMAP-5.2.1-01", "RDMAP-5.2.1-06", "RDMAP-5.2.1-10", "DDP-4.3-08", "DDP-4.3-12" }
local TAKES = { "DDP-5.2-05", "RDMAP-5.2.2-03" }
local WRITES = { "DDP-5.2-08", "DDP-5.2-04", "RDMAP-5.1-01", "RDMAP-5.1-05" }

-- The server must use exactly what the client advertised; all of these are ordinary for a client.
local places = {
  { name = "to-0", stag = 0x11223344, to = 0, text = "TO 0" },
  { name = "to-odd", stag = 0x11223344, to = 0x1001, text = "an odd TO" },
  { name = "to-page-edge", stag = 0x11223344, to = 0x1fff, text = "a TO before the edge of a page" },
  { name = "to-32-bits", stag = 0x11223344, to = 0xffffffe0, text = "a range across 2^32" },
  { name = "to-63-bits", stag = 0x11223344, to = 0x7fffffffffffffe0, text = "a range across 2^63" },
  { name = "to-last", stag = 0x11223344, to = -64, text = "the last 64 octets before 2^64" },
  { name = "stag-1", stag = 1, to = 0x1000, text = "STag 1" },
  { name = "stag-top", stag = 0x80000000, to = 0x1000, text = "an STag with the top bit only" },
  { name = "stag-ones", stag = 0xffffffff, to = 0x1000, text = "the STag of all ones" },
}

return family {
  -- ---- sizes ----

  each({ 1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33, 63, 64, 1000, 1460, 4095, 4096, 4097, 16384 }, function(size)
    return server {
      id = ("rping-server-size-%d"):format(size),
      purpose = ("rping's server Reads a buffer of %d octets and Writes the same octets back"):format(size),
      rules = { "DDP-5.2-04", "RDMAP-4.4-01", "DDP-5.2-08", "DDP-5.2-01", "RDMAP-5.3-01", "RDMAP-5.3-08" },
      needs = { rping = size },
      run = function(t)
        t:rping { size = size, stage = "done", judge = true }
      end,
    }
  end),

  server {
    id = "rping-server-exchanges",
    purpose = "rping's server counts its MSNs per queue over five exchanges",
    rules = { "DDP-4.3-08", "RDMAP-5.2.1-07", "RDMAP-5.3-09", "RDMAP-3.1-02" },
    run = function(t)
      local r = t:rping { stage = "done", judge = true }
      for n = 2, 5 do
        r:advance "done"
        t:check(r.asked.msn == n and r.asked.qn == 1, "the target's Read Request has another queue or MSN",
          { expected = ("qn 1 msn %d"):format(n), actual = r.asked.text, item = r.asked })
      end
    end,
  },

  -- ---- places ----

  each(places, function(one)
    return {
      server {
        id = "rping-server-reads-" .. one.name,
        purpose = ("rping's server Reads from %s as advertised"):format(one.text),
        rules = READS,
        run = function(t)
          t:rping { stage = "read", source = { stag = one.stag, to = one.to }, judge = true }
        end,
      },
      server {
        id = "rping-server-writes-" .. one.name,
        purpose = ("rping's server Writes to %s as advertised"):format(one.text),
        rules = WRITES,
        run = function(t)
          t:rping { stage = "done", sink = { stag = one.stag, to = one.to }, judge = true }
        end,
      },
    }
  end),

  -- ---- right responses in many forms ----

  each({
    { name = "halves", segments = { 32, 32 } }, { name = "one-first", segments = { 1, 63 } }, { name = "one-last", segments = { 63, 1 } },
    { name = "eights", segments = { 8, 8, 8, 8, 8, 8, 8, 8 } }, { name = "uneven", segments = { 3, 5, 7, 11, 13, 25 } },
    { name = "empty-first", segments = { 0, 64 } }, { name = "empty-last", segments = { 64, 0 } },
  }, function(one)
    return server {
      id = "rping-server-takes-" .. one.name,
      purpose = ("A Read Response in %d segments (%s) completes the server's Read"):format(
        #one.segments, table.concat(one.segments, ", ")),
      rules = TAKES,
      run = function(t)
        local r = t:rping { stage = "reading" }
        if one.name == "empty-last" then
          r.conn:send(read_response { stag = r.asked.sink_stag, to = r.asked.sink_to, payload = r.data, l = false })
          r.conn:send(read_response { stag = r.asked.sink_stag, to = r.asked.sink_to + 64, payload = "" })
        elseif one.name == "empty-first" then
          r.conn:send(read_response { stag = r.asked.sink_stag, to = r.asked.sink_to, payload = "", l = false })
          r:answer()
        else
          r:answer({}, { segments = one.segments })
        end
        r.judge = true
        r:go_ahead()
      end,
    }
  end),

  each({ 1, 2, 3, 7, 13, 50 }, function(each)
    return server {
      id = ("rping-server-takes-writes-of-%d"):format(each),
      purpose = ("A Read Response that comes in TCP writes of %d octets completes the server's Read"):format(each),
      rules = { "MPA-A.4-01", "DDP-5.2-05", "RDMAP-5.2.2-03" },
      run = function(t)
        local r = t:rping { stage = "reading" }
        r:answer({}, { writes = each })
        r.judge = true
        r:go_ahead()
      end,
    }
  end),

  server {
    id = "rping-server-markers",
    purpose = "To a client that asks for Markers, rping's server sends its Reads, Writes and Sends with them",
    rules = { "MPA-4.3-01", "MPA-7.1.1-06", "DDP-5.2-08" },
    run = function(t)
      local r = t:rping { start = { markers = true }, stage = "done", judge = true }
      for _ = 1, 4 do r:advance "done" end
    end,
  },

  -- ---- around the exchange ----

  server {
    id = "rping-server-read-amid",
    purpose = "The server answers its peer's Read while its own is open, and does not take it for the response",
    rules = { "RDMAP-5.2.1-03", "RDMAP-5.5-10", "RDMAP-5.2.1-13" },
    run = function(t)
      local r = t:rping { stage = "reading" }
      r.conn:fence()
      r:answer()
      r.judge = true
      r:go_ahead()
    end,
  },

  server {
    id = "rping-server-write-amid",
    purpose = "Zero-length Writes before and after the Read Response have no effect",
    rules = { "RDMAP-5.1-02", "RDMAP-5.1-08" },
    run = function(t)
      local r = t:rping { stage = "reading" }
      r.conn:send(write {})
      r:answer()
      r.conn:send(write {})
      r.judge = true
      r:go_ahead()
      r:advance "done"
    end,
  },

  server {
    id = "rping-server-waits",
    purpose = "rping's server sends nothing before the whole Read Response has come",
    rules = { "DDP-5.2-05", "RDMAP-5.2.2-03" },
    run = function(t)
      local r = t:rping { stage = "reading" }
      r.conn:send(read_response { stag = r.asked.sink_stag, to = r.asked.sink_to, payload = r.data:sub(1, 32), l = false })
      r.conn:fence()
      r.conn:send(read_response { stag = r.asked.sink_stag, to = r.asked.sink_to + 32, payload = r.data:sub(33) })
      r.judge = true
      r:go_ahead()
    end,
  },

  server {
    id = "rping-server-two-connections",
    purpose = "Two simultaneous clients of rping's server each get their own octets",
    rules = { "DDP-5.2-08", "RDMAP-4.4-01", "SEC-6.1.1-03" },
    run = function(t)
      local one = t:rping { stage = "reading", sink = { stag = 0x101, to = 0x1000 } }
      local two = t:rping { stage = "reading", sink = { stag = 0x202, to = 0x2000 } }
      two.data = bytes(two.size - 1, 0x32) .. "\0" -- rping Writes a string: up to the first zero
      two:answer()
      one:answer()
      for _, r in ipairs { one, two } do
        r.judge = true
        r:go_ahead()
      end
      one:advance "done"
      two:advance "done"
    end,
  },
}
