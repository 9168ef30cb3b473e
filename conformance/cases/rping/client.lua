-- SPDX-License-Identifier: BSD-3-Clause

-- A target that is rping's client: it advertises memory that the server may read and memory that it may write. The
-- station is the server.

local function client(fields)
  fields.role = "initiator"
  fields.needs = fields.needs or {}
  fields.needs.class = "rping agent"
  return case(fields)
end

local function place(offset, size, sink_to) return { offset = offset, size = size, sink_to = sink_to or 0 } end

local function reads(name, text, rules, list_of)
  return client {
    id = "rping-client-read-" .. name,
    purpose = ("An RDMA Read of %s of the client's source returns its octets"):format(text),
    rules = rules,
    run = function(t)
      local r = t:rping { stage = "read" }
      for _, one in ipairs(list_of(r.size)) do
        r.conn:send(read_request { source = r.source, offset = one.offset, size = one.size, sink_stag = 0x77, sink_to = one.sink_to })
        local item = r.conn:expect(read_response { stag = 0x77, to = one.sink_to })
        t:check(item.payload == r.data:sub(one.offset + 1, one.offset + one.size), "the RDMA Read returned other octets",
          { actual = item.text, item = item })
      end
    end,
  }
end

local PART, EXACT = { "RDMAP-5.2.1-03", "RDMAP-5.2.1-11", "RDMAP-5.2.1-12" }, { "RDMAP-5.2.1-12", "RDMAP-4.4-06" }

local function writes(name, text, rules, write_all)
  return client {
    id = "rping-client-write-" .. name,
    purpose = ("A Write %s puts every octet into the client's sink, and the client goes on"):format(text),
    rules = rules,
    run = function(t)
      local r = t:rping { stage = "sink" }
      write_all(r.conn, r)
      r.judge = true
      r:finish()
    end,
  }
end

local PLACES = { "DDP-5.2-05", "RDMAP-5.1-06" }
local function part(conn, r, offset, size, fields)
  local all = { stag = r.sink.stag, to = r.sink.to + offset, payload = r.data:sub(offset + 1, offset + size) }
  for name, value in pairs(fields or {}) do all[name] = value end
  return conn:send(write(all))
end

return family {
  client {
    id = "rping-client-exchange",
    purpose = "rping's client advertises its buffers, serves the Read and takes the Write",
    rules = { "RDMAP-5.2.1-03", "RDMAP-5.2.1-12", "DDP-5.2-05", "RDMAP-5.3-01", "RDMAP-5.3-08", "DDP-4.3-08" },
    run = function(t) t:rping { stage = "written", judge = true } end,
  },

  client {
    id = "rping-client-exchanges",
    purpose = "The Sends of rping's client have the MSNs in order, and come only when the server goes ahead",
    rules = { "RDMAP-5.3-09", "DDP-4.3-08", "DDP-4.3-12" },
    run = function(t)
      local r = t:rping { stage = "source", judge = true }
      r.conn:fence()
      r:advance "sink"
      r.conn:fence()
      r:advance "written"
      if r.after.kind == "message" then r:advance "sink" end
    end,
  },

  client {
    id = "rping-client-data-kept",
    purpose = "rping's client takes back the octets that it gave out, in a second exchange as well",
    rules = { "DDP-5.2-05", "RDMAP-5.1-06" },
    level = "must",
    run = function(t)
      local r = t:rping { stage = "written", judge = true }
      if r.after.kind ~= "message" then return t:note "the client makes one exchange only" end
      r:advance "written"
    end,
  },

  -- ---- Reads of the source, each compared with the same octets of the first ----

  reads("whole", "all", EXACT, function(n) return { place(0, n), place(0, n) } end),
  reads("first-octet", "the first octet", PART, function() return { place(0, 1) } end),
  reads("last-octet", "the last octet", PART, function(n) return { place(n - 1, 1) } end),
  reads("all-but-first", "all but the first octet", PART, function(n) return { place(1, n - 1) } end),
  reads("all-but-last", "all but the last octet", PART, function(n) return { place(0, n - 1) } end),
  reads("middle", "the middle", PART, function(n) return { place(n // 4, n // 2) } end),
  reads("halves", "one half after the other", PART, function(n) return { place(0, n // 2), place(n // 2, n - n // 2) } end),
  reads("odd-sink", "all into an odd Sink TO", { "RDMAP-5.2.1-12", "RDMAP-4.4-04", "RDMAP-4.4-03" },
    function(n) return { place(0, n, 0x1001) } end),
  reads("high-sink", "all into a Sink TO across 2^32", { "RDMAP-5.2.1-12", "RDMAP-4.4-03" },
    function(n) return { place(0, n, 0xfffffff0) } end),
  reads("last-sink", "all into the last octets before 2^64", { "RDMAP-5.2.1-12", "RDMAP-4.4-03" },
    function(n) return { place(0, n, -n) } end),

  reads("sizes", "1, 2, 3, ... 16 octets", PART, function(n)
    local sizes = {}
    for size = 1, math.min(16, n) do sizes[size] = place(size % 3 <= n - size and size % 3 or 0, size) end
    return sizes
  end),

  each({ { name = "base", sizes = 0 }, { name = "end", sizes = 1 }, { name = "beyond", sizes = 2 } }, function(one)
    return client {
      id = "rping-client-read-empty-at-" .. one.name,
      purpose = ("The client answers a zero-length RDMA Read at the %s of its source"):format(one.name),
      rules = { "RDMAP-5.2.1-15", "RDMAP-5.2.1-16", "RDMAP-5.2.1-13" },
      run = function(t)
        local r = t:rping { stage = "source" }
        r.conn:send(read_request { source_stag = r.source.stag, source_to = r.source.to + one.sizes * r.size, size = 0,
                                   sink_stag = 0x77, sink_to = 5 })
        r.conn:expect(read_response { stag = 0x77, to = 5, payload = "" })
      end,
    }
  end),

  each({ 2, 3, 4 }, function(count)
    return client {
      id = ("rping-client-reads-%d-at-once"):format(count),
      purpose = ("The client answers %d RDMA Reads at once in their order"):format(count),
      rules = { "RDMAP-5.2.1-08", "RDMAP-5.2.2-06", "RDMAP-5.5-17" },
      needs = { ird = count },
      run = function(t)
        local r = t:rping { stage = "read" }
        r.conn:together(function()
          for i = 1, count do
            r.conn:send(read_request { source = r.source, offset = i - 1, size = 8, sink_stag = 0x70 + i, sink_to = i })
          end
        end)
        for i = 1, count do r.conn:expect(read_response { stag = 0x70 + i, to = i, payload = r.data:sub(i, i + 7) }) end
      end,
    }
  end),

  -- ---- Writes to the sink: the client compares (-V), so the whole must be right in the end ----

  writes("whole", "in one segment", PLACES, function(conn, r) part(conn, r, 0, r.size) end),
  writes("segments", "in three segments", PLACES, function(conn, r)
    conn:send(write { to = r.sink, payload = r.data }, { segments = { 7, r.size // 2 } })
  end),

  writes("single-octets", "of one octet after the other", { "DDP-5.2-05", "RDMAP-5.1-04" }, function(conn, r)
    conn:together(function()
      for offset = 0, r.size - 1 do part(conn, r, offset, 1) end
    end)
  end),

  writes("descending", "in two parts, the last first", { "DDP-5.2-05", "RDMAP-5.1-04" }, function(conn, r)
    part(conn, r, r.size // 2, r.size - r.size // 2)
    part(conn, r, 0, r.size // 2)
  end),

  writes("overlapping", "over octets that were written before", PLACES, function(conn, r)
    conn:send(write { to = r.sink, payload = bytes(r.size, 0xee) })
    part(conn, r, 0, r.size)
  end),

  writes("empty-amid", "with zero-length ones between its parts", { "DDP-5.2-05", "RDMAP-5.1-08", "DDP-5.2-11" }, function(conn, r)
    part(conn, r, 0, r.size // 2)
    conn:send(write {})
    conn:send(write { stag = 0x5bad57a6, to = -1 })
    part(conn, r, r.size // 2, r.size - r.size // 2)
  end),

  writes("each-1", "in TCP writes of one octet", { "DDP-5.2-05", "MPA-A.4-01" }, function(conn, r)
    conn:send(write { to = r.sink, payload = r.data }, { writes = 1 })
  end),

  writes("last-in-front", "with its last octet ahead of all others", { "DDP-5.2-05", "RDMAP-5.1-04" }, function(conn, r)
    part(conn, r, r.size - 1, 1)
    part(conn, r, 0, r.size)
  end),

  client {
    id = "rping-client-markers",
    purpose = "To a server that asks for Markers, rping's client sends its Read Responses and Sends with them",
    rules = { "MPA-4.3-01", "MPA-7.1.1-06", "RDMAP-5.2.1-12" },
    run = function(t)
      local r = t:rping { start = { markers = true }, stage = "read", judge = true }
      for i = 1, 20 do
        r.conn:send(read_request { source = r.source, size = r.size, sink_stag = 9, sink_to = i })
        r.conn:expect(read_response { stag = 9, to = i, payload = r.data })
      end
      r:advance "written"
    end,
  },

  client {
    id = "rping-client-no-crc",
    purpose = "The client takes a Reply without C, and CRCs follow the client's own C",
    rules = { "MPA-7.1.1-08", "MPA-7.1.1-10" },
    run = function(t)
      local r = t:rping { start = { crc = false }, stage = "written", judge = true }
      t:observe("crc", r.conn:state().crc)
    end,
  },
}
