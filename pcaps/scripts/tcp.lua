-- SPDX-License-Identifier: BSD-3-Clause
-- The effects of TCP and of a capture on a stream: order, loss, repeats, overlaps, segment sizes, late starts, snap lengths.

local SETTINGS = {
  { "crc", {} }, { "markers", { markers = true } }, { "nocrc", { crc = false } }, { "markers-nocrc", { markers = true, crc = false } },
}

-- Builds a conversation whose middle part, 12 FPDUs of the initiator, is sent by play(segments, connection). It can be read
-- to its end, as the answer after it shows. how: options of conn:split.
local function segments(name, what, how, play, options)
  for _, pair in ipairs(SETTINGS) do
    local suffix, setting = table.unpack(pair)
    capture {
      file = ("tcp/%s-%s"):format(name, suffix), what = what, first = options and options.first, snap = options and options.snap,
      gaps = options and options.gaps, lint = options and options.lint,
      run = function(f)
        local c = f:open(options and options.open)
        c:start(setting)
        c.initiator:send(send { payload = "before" })
        c.responder:send(send { payload = "yes" })
        local list = c.initiator:split(function()
          for n = 1, 4 do
            c.initiator:send(send { payload = bytes(n * 90 + n) })
            c.initiator:send(write { stag = 0x4711, to = n * 4096, payload = bytes(n * 200) }, { segments = 333 })
            c.initiator:send(read_request { sink_stag = 0x815 + n, sink_to = 0, size = n, source_stag = 1, source_to = 0 })
          end
        end, how)
        play(list, f, c)
        if options and options.silent then return end
        for n = 1, 4 do c.responder:send(read_response { stag = 0x815 + n, to = 0, payload = bytes(n) }) end
        c.initiator:send(send { payload = "behind" })
        c:close()
      end,
    }
  end
end

segments("aligned", "each FPDU in a segment of its own", {}, function(list) list:send() end)
segments("unaligned", "segments of 100 octets that know nothing of FPDUs", { sizes = 100 }, function(list) list:send() end)
segments("single-octets", "an octet a segment in the middle of a header", { sizes = { 150, 1, 1, 1, 1, 1, 1, 1, 1, 1000, 1000, 1000 } }, function(list) list:send() end)
segments("packed", "all FPDUs in segments of 1460 octets", { sizes = 1460 }, function(list) list:send() end)
segments("out-of-order", "two segments change places", {}, function(list) list:send(1, 3, 2, 4, 6, 5, 7, 8, 10, 9, 11, 12, 13, 14, 15, 16) end)
segments("reversed", "unaligned segments arrive last first", { sizes = 400 }, function(list)
  local order = {}
  for i = #list, 1, -1 do order[#order + 1] = i end
  list:send(table.unpack(order))
end)
segments("retransmitted", "segments come twice, some of them long after", {}, function(list)
  list:send(1, 1, 2, 3, 3, 3, 1, 4, 5, 6, 7, 8, 2, 9, 10, 11, 12, 13, 14, 15, 16, 16)
end)
segments("overlapping", "each segment begins with 30 octets of the one before", { sizes = 250, overlap = 30 }, function(list) list:send() end)
segments("repacked", "what was lost comes again in segments of another size", { sizes = 200 }, function(list)
  list:send(1, 2, 5)
  list:split(3, 50):split(4, 50)
  list:send(3, 4, 5, 6, 7)
  for i = 8, #list do list:send(i) end
end)
segments("late", "one segment is retransmitted only after all others", { sizes = 300 }, function(list)
  for i = 2, #list do list:send(i) end
  list:send(1)
end)
segments("sequence-wrap", "sequence numbers wrap in the middle", { sizes = 256 }, function(list) list:send() end,
  { open = { isn = { 0xfffffa00, 0xffffffd0 } } })
segments("ipv6", "the same over IPv6", {}, function(list) list:send() end, { open = { ipv6 = true } })

-- What comes first is judged last: the findings are those of frames that change places.
capture {
  file = "tcp/findings-out-of-order", what = "four FPDUs with a wrong pad octet each, the first of them comes last",
  run = function(f)
    local c = f:open()
    c:start()
    c.initiator:send(send { payload = "before" })
    local list = c.initiator:split(function()
      for _ = 1, 4 do c.initiator:send(send { payload = "x" }, { pad = "\0\0\1" }) end
    end)
    for _, n in ipairs { 2, 4, 3, 1 } do
      list:send(n)
      c:finds("mpa-pad")
    end
    c:close()
  end,
}

-- Segment sizes. The MULPDU follows them, except with offload: there the NIC splits and the capture shows its input.
for _, size in ipairs { 128, 536, 1448, 8960 } do
  for _, markers in ipairs { false, true } do
    capture {
      file = ("tcp/mss-%d%s"):format(size, markers and "-markers" or ""), made = "pair",
      what = ("segments of %d octets%s: long messages in FPDUs that fit"):format(size, markers and ", with Markers" or ""),
      run = function(f)
        local p, carry = f:pair { mss = size, initiator = { mss = size, markers = markers }, responder = { mss = size, markers = markers } }
        local stag, to = p:region(1)
        local sink, sink_to = p:region(0)
        p:receive(1, 2)
        carry()
        p:post(0, { op = "write", stag = stag, to = to, length = 4 * size })
        p:post(0, { op = "send", length = math.min(4000, 3 * size) })
        p:post(0, { op = "read", stag = stag, to = to, sink_stag = sink, sink_to = sink_to, length = 2 * size + 1 })
        carry()
        p:shutdown(0)
        carry()
      end,
    }
  end
end

for _, pair in ipairs(SETTINGS) do
  local suffix, setting = table.unpack(pair)
  capture {
    file = "tcp/offload-" .. suffix, what = "segmentation offload: segments of many times the MSS, each with many FPDUs",
    run = function(f)
      local c = f:open { mss = 60000, told = 1460 }
      c:start(setting)
      local list = c.initiator:split(function()
        for n = 1, 12 do c.initiator:send(write { stag = 0x4711, to = n * 65536, payload = bytes(1300) }) end
      end, { sizes = 8000 })
      list:send()
      c:close()
    end,
  }
end

-- Octets that the capture does not have: iwarp-lint must not report anything that they could explain.
local function all_but(...)
  local missing = {}
  for _, number in ipairs { ... } do missing[number] = true end
  return function(list, _, c)
    for i, one in ipairs(list) do
      if missing[i] then c.initiator.raw:unseen(one.position + #one.octets) else list:send(i) end
    end
  end
end
segments("lost", "one segment, a whole FPDU, is not in the capture", {}, all_but(4), { gaps = true })
segments("lost-several", "segments here and there are not in the capture", {}, all_but(1, 5, 6, 11), { gaps = true })
segments("lost-unaligned", "one of many unaligned segments is not in the capture", { sizes = 150 }, all_but(7), { gaps = true })
segments("lost-header", "the segment with the length of an FPDU is not in the capture", { sizes = { 110, 40, 800, 800, 800 } }, all_but(2), { gaps = true })
segments("lost-end", "the last of the segments in a row is not in the capture", {}, all_but(16), { gaps = true })

-- Without the start-up frames only an option shows that a connection is iWARP.
local LATE = { "--decode-as", "4711" }
segments("late-start", "the capture begins after the start-up frames", {}, function(list) list:send() end, { first = 9, gaps = true, lint = LATE })
segments("late-start-unaligned", "the capture begins inside an FPDU", { sizes = 100 }, function(list) list:send() end, { first = 13, gaps = true, lint = LATE })

for _, pair in ipairs(SETTINGS) do
  local suffix, setting = table.unpack(pair)
  capture {
    file = "tcp/snap-length-" .. suffix, what = "a snap length of 96 octets cuts the longer frames", snap = 96,
    run = function(f)
      local c = f:open()
      c:start(setting)
      c.initiator:send(send { payload = "" })
      c.responder:send(send { payload = "" })
      c.initiator:send(send { payload = bytes(500) })
      c.initiator:send(send { payload = bytes(20) })
      c:close()
    end,
  }
end

capture {
  file = "tcp/reset", what = "a reset in the middle of an FPDU",
  run = function(f)
    local c = f:open()
    c:start {}
    c.initiator:send(send { payload = bytes(40) })
    local list = c.initiator:split(function() c.initiator:send(send { payload = bytes(1000) }) end, { sizes = 300 })
    list:send(1, 2)
    c:reset(c.responder)
  end,
}

capture {
  file = "tcp/port-reuse", what = "a second connection between the same ports, in another setting",
  run = function(f)
    local first = f:open()
    first:start { markers = true }
    first.initiator:send(send { payload = bytes(600) })
    first:close()
    local second = f:open { reuse = first }
    second:start { revision = 1, crc = false }
    second.initiator:send(send { payload = bytes(100) })
    second.responder:send(write { stag = 1, payload = "x" })
    second:close()
  end,
}

capture {
  file = "tcp/request-split", what = "the Request comes in three segments, the Reply followed by an FPDU",
  run = function(f)
    local c = f:open()
    c.initiator:send(request { private = bytes(30), a = true, rtr = { "send" } }, { writes = 19 })
    c.responder:send(reply { a = true, rtr = { "send" } })
    c.initiator:together(function()
      c.initiator:send(send { payload = "" })
      c.initiator:send(send { payload = "and more" })
    end)
    c.responder:send(send { payload = "answer" })
    c:close()
  end,
}
