-- SPDX-License-Identifier: BSD-3-Clause

-- MPA over lost or out-of-order segments: Markers and their check (RFC 5044 §4.3, §8), the wrap of
-- TCP's sequence numbers, the start-up (§7.1.5), dropped segments.

local segments = use "segments"
local mpa = use "mpa"

local function in_every_way(fields)
  return each(segments.ways(fields), both_roles)
end

-- Octets of the station's start-up frame.
local function startup_length(conn) return 20 + conn:state().own.pd_length end

-- The place of octet 0x00000000 of the sequence space, in octets from the first of full operation.
-- With Markers the first FPDU begins at 4, and the next Marker lies at 512.
local wraps = {
  { name = "length", text = "the first FPDU's Marker and ULPDU_Length", places = { 0, 1, 3, 4, 5, 6 } },
  { name = "header", text = "the first FPDU's header", places = { 7, 11, 16, 19, 20, 21 } },
  { name = "marker", text = "the second Marker", places = { 511, 512, 513, 514, 515, 516 } },
  { name = "end", text = "the end of the first FPDU", places = { 1013, 1017, 1019, 1020, 1021, 1023, 1024, 1027, 1028, 1029 } },
  { name = "startup", text = "the start-up frame", places = { -20, -19, -5, -4, -3, -2, -1 } },
}

local ORDERS = {
  { name = "reversed", text = "in reverse", order = function(n)
    local order = {}
    for i = n, 1, -1 do order[#order + 1] = i end
    return order
  end },
  { name = "shuffled", text = "in a shuffled order", order = function(n) return segments.shuffled(n, 7) end },
  { name = "twice", text = "each of them twice", order = function(n)
    local order = {}
    for i = 1, n do order[2 * i - 1], order[2 * i] = i, i end
    return order
  end },
}

local function startup(fields)
  fields.needs = fields.needs or {}
  fields.needs.tcp = "crafted"
  return case(fields)
end

return family {
  -- ---- sequence numbers wrap ----

  each(wraps, function(one)
    return in_every_way {
      id = "tcp-wrap-" .. one.name,
      purpose = ("TCP's sequence numbers may wrap in or beside %s, also out of order"):format(one.text),
      rules = { "MPA-4.3-04", "MPA-7.1.5-03" },
      all = true,
      needs = { memory = "write" },
      run = function(t, way)
        local length = startup_length(segments.session(t, way))
        local buf = t:memory { length = 3000, remote = "write" }
        for i, place in ipairs(one.places) do
          local conn = segments.session(t, way, { isn = segments.wrapping(length + place) })
          t:check(startup_length(conn) == length, "the target sent start-up frames of different lengths",
            { rule = "MPA-7.1.1-20" })
          local parts = conn:split(function()
            conn:send(write { to = buf, payload = bytes(3000, i) }, { segments = { 997, 700 } })
          end, { sizes = 400 })
          segments.behind_a_gap(conn, parts)
          parts:send(1)
          conn:fence()
          t:expect_contents(buf, bytes(3000, i))
        end
      end,
    }
  end),

  -- ---- Markers that contradict ----

  -- The FPDU after a gap has a Marker that points elsewhere; then the gap closes.
  each({
    { name = "far", text = "points 8 octets too far", bend = { add = 8 } },
    { name = "near", text = "points 4 octets too near", bend = { add = -4 } },
    { name = "inside", text = "points to the middle of the FPDU", bend = { pointer = 300 } },
  }, function(one)
    return in_every_way {
      id = "tcp-marker-wrong-after-gap-" .. one.name,
      purpose = ("The target finds a Marker after a gap that %s when the gap closes"):format(one.text),
      rules = { "MPA-8-05", "MPA-8-03", "MPA-8-04" },
      markers = true,
      all = true,
      needs = { memory = "write" },
      run = function(t, way)
        local buf = t:memory { length = 2000, remote = "write" }
        local conn = segments.session(t, way)
        mpa.align(conn, 0)
        local bend = { which = 1 }
        for field, value in pairs(one.bend) do bend[field] = value end
        local parts = conn:split(function()
          conn:send(write { to = buf, payload = bytes(600) })
          conn:send(write { to = buf, offset = 1000, payload = bytes(1000, 1) }, { marker = bend })
        end)
        parts:send(2)
        -- The target may notice before the gap closes that the Marker contradicts its FPDU.
        parts:send(1)
        conn:expect(fault.marker, closed(), { dropped = true })
        t:expect_unchanged(buf, { except = { 0, 2000 } })
      end,
    }
  end),

  -- In the FPDU that closes the gap, while the correct one after it waits.
  in_every_way {
    id = "tcp-marker-wrong-in-gap",
    purpose = "The target finds a Marker that contradicts ULPDU_Length in the segment that closes a gap",
    rules = { "MPA-8-05", "MPA-8-03", "MPA-8-11" },
    markers = true,
    all = true,
    needs = { memory = "write" },
    run = function(t, way)
      local buf = t:memory { length = 2000, remote = "write" }
      local conn = segments.session(t, way)
      local posted = t:receive { length = 8 }
      mpa.align(conn, 0)
      local parts = conn:split(function()
        conn:send(write { to = buf, payload = bytes(1000) }, { marker = { which = 1, add = 8 } })
        conn:send(send { payload = "behind" })
      end)
      parts:send(2)
      conn:expect_nothing()
      parts:send(1)
      conn:expect(fault.marker, closed(), { dropped = true })
      t:expect_no_completion(posted)
    end,
  },

  -- ---- wrong CRCs, and the right octets later ----

  in_every_way {
    id = "tcp-crc-bad-then-good",
    purpose = "The target drops a segment with a wrong CRC and takes it when it comes again, or ends the stream for good",
    rules = { "MPA-8-10" },
    crc = true,
    needs = { memory = "write" },
    run = function(t, way)
      local buf = t:memory { length = 64, remote = "write" }
      local conn = segments.session(t, way)
      local good
      local parts = conn:split(function() conn:send(write { to = buf, payload = bytes(64) }, { crc = "bad" }) end)
      good = parts[1].octets:sub(1, -5) .. pack(">I4", unpack(">I4", parts[1].octets, -4) ~ 0xffffffff)
      parts:send(1)
      local item = conn:expect(fault.crc, closed(), { dropped = true, rule = "MPA-8-02" })
      t:expect_unchanged(buf, { rule = "MPA-4.4-17" })
      parts[1].octets = good
      parts:send(1)
      if item then
        t:observe("after", "the stream has ended")
        t:agent("hello")
        t:expect_unchanged(buf, { rule = "MPA-8-11" })
      else
        conn:fence { rule = "MPA-3-08" }
        t:expect_contents(buf, bytes(64), { rule = "DDP-5.2-05" })
      end
    end,
  },

  in_every_way {
    id = "tcp-crc-bad-after-gap",
    purpose = "A wrong CRC after a gap leads to a Terminate in its turn, after the FPDUs before it are delivered",
    rules = { "MPA-4.4-17", "MPA-8-02", "MPA-8-11", "MPA-8-12" },
    crc = true,
    needs = { memory = "write" },
    run = function(t, way)
      local buf = t:memory { length = 64, remote = "write" }
      local conn = segments.session(t, way)
      local posted = { t:receive { length = 8 }, t:receive { length = 8 } }
      local parts = conn:split(function()
        conn:send(send { payload = "before" })
        conn:send(write { to = buf, payload = bytes(64) }, { crc = "bad" })
        conn:send(send { payload = "behind" })
      end)
      parts:send(3, 2)
      conn:expect_nothing()
      parts:send(1)
      mpa.expect_crc_fault(conn)
      t:completion(posted[1], { length = 6 })
      t:expect_no_completion(posted[2])
      t:expect_unchanged(buf)
    end,
  },

  -- ---- the start-up ----

  each(ORDERS, function(one)
    return each({ 0, 3 }, function(overlap)
      local suffix = overlap > 0 and "-overlapping" or ""
      return {
        startup {
          id = ("tcp-request-%s%s"):format(one.name, suffix),
          purpose = ("The target answers a Request in %ssegments of 5 octets, %s, as usual"):format(
            overlap > 0 and "overlapping " or "", one.text),
          rules = { "MPA-7.1.5-03", "MPA-7.1.5-04" },
          role = "responder",
          run = function(t)
            local conn = t:connect { raw = true }
            local parts = conn:split(function() conn:send(request {}) end, { sizes = 5, overlap = overlap })
            parts:send(table.unpack(one.order(#parts)))
            conn:expect(reply { rejected = false })
            mpa.serves(conn)
          end,
        },
        startup {
          id = ("tcp-reply-%s%s"):format(one.name, suffix),
          purpose = ("The target takes a Reply in %ssegments of 5 octets, %s, as usual"):format(
            overlap > 0 and "overlapping " or "", one.text),
          rules = { "MPA-7.1.5-03", "MPA-7.1.5-04" },
          role = "initiator",
          needs = { peer_to_peer = true },
          run = function(t)
            local conn, asked = mpa.called(t, { peer_to_peer = true, enhanced = true, revision = 2 })
            local parts = conn:split(function() conn:send(t:answer(asked)) end, { sizes = 5, overlap = overlap })
            parts:send(table.unpack(one.order(#parts)))
            mpa.answer_rtr(conn, conn:expect(mpa.rtr.write, mpa.rtr.read, mpa.rtr.send))
            mpa.serves(conn)
          end,
        },
      }
    end)
  end),

  startup {
    id = "tcp-request-part-lost",
    purpose = "The target answers a Request once, when its segment that was lost at first has come",
    rules = { "MPA-7.1.5-04", "MPA-7.1.5-03" },
    role = "responder",
    run = function(t)
      local conn = t:connect { raw = true }
      local parts = conn:split(function() conn:send(request {}) end, { sizes = { 7, 6 } })
      parts:send(1, 3)
      conn:expect_nothing()
      parts:send(2)
      conn:expect(reply { rejected = false })
      parts:send()
      mpa.serves(conn)
    end,
  },

  startup {
    id = "tcp-reply-part-lost",
    purpose = "An initiator sends nothing before the lost segment of the Reply has come, and takes the Reply once",
    rules = { "MPA-7.1.5-04", "MPA-7.1.5-03" },
    role = "initiator",
    needs = { peer_to_peer = true },
    run = function(t)
      local conn, asked = mpa.called(t, { peer_to_peer = true, enhanced = true, revision = 2 })
      local parts = conn:split(function() conn:send(t:answer(asked)) end, { sizes = { 7, 6 } })
      parts:send(1, 3)
      conn:expect_nothing()
      parts:send(2)
      mpa.answer_rtr(conn, conn:expect(mpa.rtr.write, mpa.rtr.read, mpa.rtr.send))
      parts:send()
      mpa.serves(conn)
    end,
  },

  -- ---- the target's own frame, not acknowledged ----

  startup {
    id = "tcp-request-acknowledged-late",
    purpose = "A target sends an unacknowledged Reply again, and takes the first FPDU meanwhile",
    rules = { "MPA-7.1.5-04", "MPA-7.1.5-03" },
    role = "responder",
    run = function(t)
      local conn = t:connect { raw = true }
      conn:acknowledge(false)
      conn:send(request {})
      conn:expect(reply { rejected = false })
      conn:send(write {})
      conn:expect_repeat()
      conn:acknowledge(true)
      mpa.serves(conn)
    end,
  },

  startup {
    id = "tcp-reply-acknowledged-late",
    purpose = "A target sends an unacknowledged Request again, and takes a Reply that came meanwhile once",
    rules = { "MPA-7.1.5-04", "MPA-7.1.5-03" },
    role = "initiator",
    needs = { peer_to_peer = true },
    run = function(t)
      local conn = t:target_connects { raw = true, acknowledge = false,
                                       target = { peer_to_peer = true, enhanced = true, revision = 2 } }
      local asked = conn:next()
      if not asked or asked.kind ~= "startup" then t:inconclusive("the target sent no Request") end
      conn:expect_repeat()
      conn:send(t:answer(asked))
      conn:acknowledge(true) -- TCP sends nothing new before its retransmission is acknowledged
      mpa.answer_rtr(conn, conn:expect(mpa.rtr.write, mpa.rtr.read, mpa.rtr.send))
      mpa.serves(conn)
    end,
  },

  -- ---- the first FPDUs ----

  in_every_way {
    id = "tcp-first-fpdu-lost",
    purpose = "When the first FPDU is lost at first, those after it wait, and the target processes it once",
    rules = { "MPA-7.1.5-04", "MPA-7.1.5-03", "DDP-5.3-07" },
    needs = { memory = "write" },
    run = function(t, way)
      local buf = t:memory { length = 500, remote = "write" }
      local conn = segments.session(t, way)
      local posted = { t:receive { length = 8 }, t:receive { length = 8 } }
      local parts = conn:split(function()
        conn:send(send { payload = "first" })
        conn:send(write { to = buf, payload = bytes(500) })
        conn:send(read_request { size = 0, sink_stag = 7, sink_to = 7 })
      end)
      parts:send(2, 3)
      conn:expect_nothing()
      t:expect_no_completion(posted[1])
      parts:send(1, 2, 3, 1)
      conn:expect(read_response { stag = 7, to = 7, payload = "" })
      t:completion(posted[1], { length = 5 })
      t:expect_contents(buf, bytes(500))
      conn:fence()
      t:expect_no_completion(posted[2])
    end,
  },
}
