-- SPDX-License-Identifier: BSD-3-Clause

-- The messages that the target sends when its own user asks for them. The observer checks all of them,
-- too: header fields, MSN, MO, TO, L, one message after the other.

-- The MSN of the target's next message on these queues: its first FPDU may have used one up.
local function next_msn(conn, op) return conn.first and conn.first.op == op and 2 or 1 end

-- A connection on which a responder may send, too.
local function opened(t, options)
  local conn = t:session(options)
  conn:sanity()
  return conn
end

local MULPDU, MSS = 128, 1460

-- Returns a connection, and the longest ULPDU on it: as the target is configured, or of the MSS that the station announces. What
-- our own TCP would send in a segment says nothing about the target's.
local function segmented(t)
  if t:takes("mulpdu") then return opened(t, { target = { mulpdu = MULPDU } }), MULPDU end
  local conn = opened(t, { mss = MSS })
  return conn, mulpdu(MSS, conn:state().markers)
end

local function check_segments(t, item, most, room, size)
  local wanted = math.max(1, (size + room - 1) // room)
  t:check(#item.segments >= wanted, "the target split a message into too few segments",
    { rule = "DDP-5.2-02", how = "above the MULPDU", expected = wanted .. " segments", actual = #item.segments .. " segments" })
  t:observe("segments-" .. size, #item.segments)
  local at = 0
  for i, segment in ipairs(item.segments) do
    t:check(#segment.ulpdu <= most, "the target sent a segment larger than the MULPDU",
      { rule = "DDP-5.2-02", how = "above the MULPDU", expected = most .. " octets at most", actual = #segment.ulpdu .. " octets" })
    local offset = segment.t and segment.to - item.to or segment.mo
    t:check(offset == at, "the target sent a message whose segments do not follow each other",
      { rule = segment.t and "DDP-5.2-08" or "DDP-5.2-06", expected = "offset " .. at, actual = "offset " .. offset })
    t:check(segment.l == (i == #item.segments), "the target did not set L on the last segment alone",
      { rule = "DDP-4.1-03" })
    at = at + #segment.payload
  end
end

local function piece(offset, length) return { offset = offset, length = length } end

local kinds = {
  { op = "send", make = send }, { op = "send-se", make = send_se }, { op = "send-invalidate", make = send_invalidate },
  { op = "send-se-invalidate", make = send_se_invalidate },
}

-- A target that has Reads of its own open answers its peer's all the same.
local ANSWERED = "RDMAP-5.2.1-12"

return family {
  -- ---- segments: the MULPDU is 128, so that 110 octets of a Send and 114 of a Write fit; a driver's is its own ----

  each(kinds, function(kind)
    local invalidate = kind.op:find("invalidate") and 0xdecade01 or nil
    return both_roles {
      id = "rdmap-target-" .. kind.op,
      purpose = ("The target's own %s messages come whole, numbered, and split to fit the MULPDU"):format(kind.op),
      rules = { "DDP-5.2-06", "DDP-5.2-02", "DDP-5.2-09", "DDP-4.3-01", "DDP-4.3-02", "DDP-4.3-04", "DDP-4.3-06", "DDP-4.3-08",
                "DDP-4.3-12", "DDP-4.1-03", "DDP-4.1-04", "DDP-4.1-06", "DDP-4.1-09", "DDP-4.1-12", "RDMAP-4.1-01", "RDMAP-4.1-02",
                "RDMAP-4.1-06", "RDMAP-4.1-03", "RDMAP-4.1-09", "RDMAP-4.1-11", "RDMAP-5.3-01", "RDMAP-5.3-08",
                invalidate and "RDMAP-5.3-12" },
      needs = { agent = true },
      run = function(t)
        local conn, most = segmented(t)
        local msn, room = next_msn(conn, "send"), most - 18
        for _, size in ipairs { 0, 1, room - 1, room, room + 1, 2 * room, 2 * room + 1, 1000 } do
          local work = t:post { op = kind.op, payload = bytes(size), invalidate = invalidate }
          local item = conn:expect(kind.make { qn = 0, msn = msn, mo = 0, invalidate = invalidate or 0, payload = bytes(size) })
          check_segments(t, item, most, room, size)
          t:completion(work)
          msn = msn + 1
        end
      end,
    }
  end),

  both_roles {
    id = "rdmap-target-write",
    purpose = "The target's own Writes come whole, to the given STag and TO, and split to fit the MULPDU",
    rules = { "DDP-5.2-08", "DDP-5.2-02", "DDP-5.2-09", "DDP-5.2-10", "DDP-4.2-01", "DDP-4.2-02", "DDP-4.2-04", "DDP-4.2-05",
              "DDP-4.2-06", "DDP-4.2-08", "DDP-4.2-09", "DDP-7.1-14", "DDP-4.1-03", "DDP-4.1-04", "RDMAP-4.1-06", "RDMAP-5.1-01" },
    needs = { agent = true },
    run = function(t)
      local conn, most = segmented(t)
      local room = most - 14
      for i, size in ipairs { 0, 1, room - 1, room, room + 1, 2 * room, 2 * room + 1, 1000 } do
        local to = 0xfffffffffffff000 + i
        local work = t:post { op = "write", payload = bytes(size), stag = 0xfedcba98 + i, to = to }
        local item = conn:expect(write { stag = 0xfedcba98 + i, to = to, payload = bytes(size) })
        check_segments(t, item, most, room, size)
        t:completion(work)
      end
    end,
  },

  -- Field bugs: wrong counts of octets at the edges of pages (siw).
  each({ "send", "write" }, function(op)
    return {
      both_roles {
        id = "rdmap-target-" .. op .. "-page-edges",
        purpose = ("The target's own %ss of 1 and 4 pages, an octet less and an octet more, come whole"):format(op),
        rules = { "DDP-5.2-04", "DDP-5.2-01" },
        needs = { agent = true },
        tags = { "field" },
        run = function(t)
          local conn = opened(t)
          local memory = t:memory { length = 16400, fill = "count" }
          for _, size in ipairs { 4095, 4096, 4097, 16383, 16384, 16385 } do
            local payload = bytes(16400):sub(4, size + 3)
            local work = t:post { op = op, memory = memory, offset = 3, length = size, stag = 1, to = 0 }
            conn:expect(op == "send" and send { payload = payload } or write { stag = 1, to = 0, payload = payload })
            t:completion(work)
          end
        end,
      },
      both_roles {
        id = "rdmap-target-" .. op .. "-gathered",
        purpose = ("The target's own %ss from several pieces of memory come as one message"):format(op),
        rules = { "DDP-5.2-04", "DDP-5.2-01" },
        needs = { agent = true },
        tags = { "field" },
        run = function(t)
          local conn = segmented(t)
          local memory = t:memory { length = 600, fill = "count" }
          local all = bytes(600)
          -- The segments' edges fall inside of the pieces, on them and next to them.
          for _, pieces in ipairs {
            { piece(0, 1), piece(500, 1) }, { piece(0, 110), piece(200, 110) }, { piece(0, 114), piece(200, 114) },
            { piece(10, 109), piece(300, 1), piece(5, 300) },
            { piece(7, 0), piece(9, 50), piece(0, 0), piece(100, 61), piece(450, 150) },
          } do
            local payload, sge = "", {}
            for i, one in ipairs(pieces) do
              payload = payload .. all:sub(one.offset + 1, one.offset + one.length)
              sge[i] = { memory = memory, offset = one.offset, length = one.length }
            end
            local work = t:post { op = op, sge = sge, stag = 1, to = 0 }
            conn:expect(op == "send" and send { payload = payload } or write { stag = 1, to = 0, payload = payload })
            t:completion(work)
          end
        end,
      },
    }
  end),

  -- ---- Reads ----

  -- Field bug: a Read Request of 32 octets, in host order (OSC 1.2).
  both_roles {
    id = "rdmap-target-read-request",
    purpose = "The target's own Read Request has the 28 octets of RFC 5040, octet for octet",
    rules = { "RDMAP-4.4-01", "RDMAP-4.2-01", "RDMAP-5.2.1-01", "RDMAP-5.2.1-06", "RDMAP-7.2-09", "RDMAP-7.2-12",
              "RDMAP-7.2-13", "DDP-4.3-09" },
    needs = { agent = true },
    tags = { "field" },
    run = function(t)
      local conn = opened(t)
      local memory = t:memory { length = 64 }
      local handle = t:post { op = "read", memory = memory, offset = 8, length = 16, stag = 0x11223344, to = 0x5566778899aabbcc }
      local item = conn:expect(read_request {})
      local wanted = (conn:version() == 0 and hex "4001" or hex "4141") .. hex "00000000 00000001" .. pack(">I4", next_msn(conn, "read-request")) .. hex "00000000"
        .. item.ulpdu:sub(19, 30) .. hex "00000010 11223344 5566778899aabbcc"
      t:same_octets(item.ulpdu, wanted, "the target's Read Request has other octets than expected", { item = item })
      conn:send(read_response { stag = item.sink_stag, to = item.sink_to, payload = bytes(16) })
      t:completion(handle, { length = 16 })
      t:expect_contents(memory, bytes(16), { offset = 8 })
    end,
  },

  both_roles {
    id = "rdmap-target-reads",
    purpose = "The target's own Reads of several sizes, answered in several segmentations, complete with the right octets",
    rules = { "RDMAP-5.2-01", "RDMAP-5.2.1-10", "RDMAP-5.2.2-03", "RDMAP-5.2.2-05", "DDP-5.2-05" },
    needs = { agent = true },
    run = function(t)
      local conn = opened(t)
      for i, size in ipairs { 0, 1, 2, 3, 63, 64, 1000 } do
        for _, segment in ipairs { 1000, 64, 7 } do
          local memory = t:memory { length = size + 2 }
          local handle = t:post { op = "read", memory = memory, offset = 1, length = size, stag = i, to = 0x1000 * i }
          local asked = conn:expect(read_request { size = size, source_stag = i, source_to = 0x1000 * i })
          conn:send(read_response { stag = asked.sink_stag, to = asked.sink_to, payload = bytes(size, i) }, { segments = segment })
          t:completion(handle, { length = size })
          t:expect_contents(memory, bytes(size, i), { offset = 1 })
        end
      end
      conn:fence()
    end,
  },

  both_roles {
    id = "rdmap-target-reads-outstanding",
    purpose = "The target's own Reads that are outstanding together complete in the order of their answers",
    rules = { "RDMAP-5.2.1-07", "RDMAP-5.2.2-06", "DDP-4.3-08", "DDP-5.3-02" },
    needs = { agent = true },
    run = function(t)
      local conn = opened(t)
      local handles, asked = {}, {}
      for i = 1, 4 do
        local memory = t:memory { length = 20 }
        handles[i] = t:post { op = "read", memory = memory, length = 20, stag = i, to = i }
      end
      for i = 1, 4 do asked[i] = conn:expect(read_request { size = 20, source_stag = i, source_to = i }) end
      for i = 1, 4 do
        conn:send(read_response { stag = asked[i].sink_stag, to = asked[i].sink_to, payload = bytes(20, i) }, { segments = 11 })
      end
      for i = 1, 4 do
        t:event("completion", conn, { work = handles[i].work, status = "ok", length = 20 })
        t:expect_contents(handles[i].memory, bytes(20, i))
      end
    end,
  },

  -- Both the station's IRD and the target's own ORD bind it.
  each({
    { name = "peer-ird", text = "the IRD of its peer",
      options = function(t) return { ird = 1, target = t:takes("enhanced") and { enhanced = true, revision = 2 } or nil } end },
    { name = "own-ord", text = "its own ORD", options = function() return { target = { ord = 1 } } end },
  }, function(one)
    return both_roles {
      id = "rdmap-target-reads-" .. one.name,
      purpose = ("The target keeps its outstanding Reads within %s, which is 1"):format(one.text),
      rules = { "RDMAP-6.1-04", "EMPA-9.1-08", "EMPA-9.1-04" },
      needs = { agent = true, ird = 1 },
      run = function(t)
        local conn = t:session(one.options(t))
        conn:fence { unanswered = ANSWERED }
        local handles = {}
        for i = 1, 3 do
          local memory = t:memory { length = 8 }
          handles[i] = t:post { op = "read", memory = memory, length = 8, stag = i, to = i }
        end
        for i = 1, 3 do
          local asked = conn:expect(read_request { size = 8, source_stag = i })
          conn:fence { unanswered = ANSWERED } -- the next one does not come before the answer to this one
          conn:send(read_response { stag = asked.sink_stag, to = asked.sink_to, payload = bytes(8, i) })
          t:completion(handles[i], { length = 8 })
          t:expect_contents(handles[i].memory, bytes(8, i))
        end
      end,
    }
  end),

  -- RFC 5040 appendix B: a Send may leave before the answer to a Read has come, unless it is fenced.
  both_roles {
    id = "rdmap-target-read-fence",
    purpose = "A fenced Send after a Read leaves when the Read has its answer",
    rules = { "RDMAP-5.5-10", "RDMAP-5.5-16" },
    needs = { agent = true },
    run = function(t)
      local conn = opened(t)
      local memory = t:memory { length = 8 }
      local reading = t:post { op = "read", memory = memory, length = 8, stag = 1, to = 1 }
      local sending = t:post { op = "send", payload = "behind", fence = true }
      local asked = conn:expect(read_request { size = 8 })
      conn:fence { unanswered = ANSWERED }
      conn:send(read_response { stag = asked.sink_stag, to = asked.sink_to, payload = bytes(8) })
      conn:expect(send { payload = "behind" })
      t:completion(reading, { length = 8 })
      t:completion(sending)
    end,
  },

  -- ---- order ----

  -- Field bug: one counter of MSNs for all queues (OSC 1.2).
  both_roles {
    id = "rdmap-target-queues",
    purpose = "The target's own messages leave in their order, and each queue has its own MSNs",
    rules = { "DDP-4.3-08", "DDP-4.3-09", "DDP-5.3-02", "RDMAP-5.5-10", "RDMAP-5.3-09", "RDMAP-5.1-05", "RDMAP-6.1-01" },
    needs = { agent = true },
    tags = { "field" },
    run = function(t)
      local conn = opened(t)
      local sends, reads = next_msn(conn, "send"), next_msn(conn, "read-request")
      for i = 0, 2 do
        t:post { op = "write", payload = bytes(5, i), stag = 9, to = i }
        t:post { op = "send", payload = bytes(6, i) }
        local memory = t:memory { length = 7 }
        local reading = t:post { op = "read", memory = memory, length = 7, stag = 9, to = i }
        t:post { op = "send-se", payload = bytes(8, i) }
        conn:expect(write { stag = 9, to = i, payload = bytes(5, i) })
        conn:expect(send { msn = sends + 2 * i, payload = bytes(6, i) })
        local asked = conn:expect(read_request { msn = reads + i, size = 7 })
        conn:expect(send_se { msn = sends + 2 * i + 1, payload = bytes(8, i) })
        conn:send(read_response { stag = asked.sink_stag, to = asked.sink_to, payload = bytes(7, i) })
        t:completion(reading, { length = 7 })
      end
    end,
  },

  both_roles {
    id = "rdmap-target-messages-whole",
    purpose = "The target does not mix segments of its own Sends, Writes and Read Responses",
    rules = { "DDP-5.3-01", "DDP-4.1-05", "DDP-5.3-02" },
    needs = { memory = "read" },
    run = function(t)
      local buf = t:memory { length = 500, remote = "read", fill = "count" }
      local conn = opened(t, { target = { mulpdu = MULPDU } })
      local payload = bytes(500, 7)
      conn:together(function()
        for i = 1, 4 do conn:send(read_request { source = buf, size = 500, sink_stag = 5, sink_to = i }) end
      end)
      for i = 1, 3 do
        t:post { op = "send", payload = payload }
        t:post { op = "write", payload = payload, stag = 9, to = i }
      end
      local seen = { ["read-response"] = 0, send = 0, write = 0 }
      for _ = 1, 10 do
        local item = conn:expect(read_response { payload = bytes(500) }, send { payload = payload }, write { payload = payload })
        for i, segment in ipairs(item.segments) do
          t:check(segment.opcode == item.opcode, "the target interrupted a message by another one",
            { rule = "DDP-5.3-01", item = item })
          t:check(segment.l == (i == #item.segments), "the target did not set L on the last segment alone",
            { rule = "DDP-4.1-03" })
        end
        seen[item.op] = seen[item.op] + 1
      end
      t:check(seen["read-response"] == 4 and seen.send == 3 and seen.write == 3, "the target did not send all messages")
    end,
  },
}
