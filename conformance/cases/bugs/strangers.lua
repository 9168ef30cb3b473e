-- SPDX-License-Identifier: BSD-3-Clause

-- A peer must not be able to guess an STag, reach into another protection domain, or use up what
-- others need (RFC 5042).

local known_bug = use "known_bug"
local mpa = use "mpa"
local atomics = use "atomics"

local COUNT = 64

local crossings = {
  { name = "write", text = "Write", remote = "write", rules = { "DDP-8.2-01", "SEC-6.1.1-02" }, fault = fault.foreign_stag,
    stimulus = function(conn, buf)
    return conn:send(write { to = buf, payload = bytes(16, 0xee) })
  end },
  { name = "read", text = "Read", remote = "read", rules = { "RDMAP-8.1.1-01", "SEC-6.1.1-02" }, fault = fault.rdmap_foreign_stag,
    stimulus = function(conn, buf)
    return conn:send(read_request { source = buf, size = 16, sink_stag = 1 })
  end },
  { name = "atomic", text = "atomic", remote = "atomic", rules = { "RDMAP-8.1.1-01", "EXT-8.2-08" },
    fault = fault.rdmap_foreign_stag, stimulus = function(conn, buf)
    return conn:send(atomic_request { target = buf, add_swap = 1 })
  end },
  { name = "invalidate", text = "Send with Invalidate", remote = "write", rules = { "RDMAP-5.3-16", "RDMAP-7.2-05" },
    fault = { fault.not_invalidatable, fault.rdmap_foreign_stag },
    stimulus = function(conn, buf) return conn:send(send_invalidate { invalidate = buf }) end },
}

local MANY = 40

-- A message that never ends: each segment has L=0 and lies within its buffer.
local function endless(t, rounds)
  local buf = t:memory { length = 4096, remote = "write" }
  local other = t:session {}
  local conn = t:session {}
  for i = 1, rounds do
    conn:together(function()
      for at = 0, 3072, 1024 do conn:send(write { to = buf, offset = at, payload = bytes(1024, i & 0xff), l = false, broken = false }) end
    end)
    if i % 16 == 1 then other:fence() end
  end
  conn:shutdown()
  conn:expect(closed(), terminate {}, { rule = "DDP-6.2.1-05" }) -- the agent closes
  other:fence()
  t:expect_unchanged(buf, { except = { 0, 4096 } })
end

return family {
  -- ---- STags ----

  known_bug {
    id = "bug-stags-guessable",
    purpose = ("Records how many bits vary among %d STags made one after another, and whether a step repeats"):format(COUNT),
    rules = { "RDMAP-8.1.1-08", "RDMAP-8.1.1-09", "SEC-6.1.1-04" },
    role = "responder",
    needs = { memory = "write" },
    tags = { "known-bug" },
    run = function(t)
      local stags, ones, zeros, steps, lowest = {}, 0, 0, {}, math.maxinteger
      for i = 1, COUNT do
        stags[i] = t:memory { length = 16, guard = 0, remote = "write" }.stag
        ones, zeros, lowest = ones | stags[i], zeros | ~stags[i], math.min(lowest, stags[i])
      end
      local vary, repeated = 0, 0
      for bit = 0, 31 do
        if (ones & zeros) >> bit & 1 == 1 then vary = vary + 1 end
      end
      for i = 2, COUNT do
        local step = (stags[i] - stags[i - 1]) & 0xffffffff
        steps[step] = (steps[step] or 0) + 1
        repeated = math.max(repeated, steps[step])
      end
      t:observe("bits-that-vary", vary)
      -- Of 63 random steps two are alike once in two million runs.
      t:observe("step-repeats", repeated > COUNT // 4 and "most" or repeated > 2 and "some" or "no")
      t:check(repeated <= COUNT // 4, "the target makes most STags from the one before by the same step",
        { expected = "steps that differ", actual = ("%d of %d alike"):format(repeated, COUNT - 1) })
      t:check(lowest > 1024, "the target gave out an STag that is a small number",
        { rule = "RDMAP-8.1.1-09", expected = "above 1024", actual = tostring(lowest) })
      t:check(vary > 8, "most bits of an STag are always the same",
        { rule = "RDMAP-8.1.1-09", expected = "more than 8 of 32 that vary", actual = tostring(vary) })
    end,
  },

  -- ---- protection domains ----

  each(crossings, function(one)
    return known_bug {
      id = "bug-protection-domain-crossed-" .. one.name,
      purpose = ("A %s that names memory of another protection domain ends the stream; who owns it can still use it"):format(one.text),
      rules = one.rules,
      needs = { memory = one.remote, extensions = one.name == "atomic" or nil },
      tags = { "known-bug" },
      run = function(t)
        local conn = t:session {}
        conn:sanity()
        local pd = t:protection_domain()
        local buf = t:memory { length = 16, remote = one.remote, pd = pd, invalidate = one.name == "invalidate" or nil }
        if one.name == "invalidate" then t:receive { length = 16 } end
        local sent = one.stimulus(conn, buf)
        conn:expect_terminate { one.fault, of = sent }
        t:expect_unchanged(buf)
      end,
    }
  end),

  -- ---- resources that a peer can make the target spend ----

  known_bug {
    id = "bug-half-open-startups-exhaust",
    purpose = ("The target serves a peer while %d others have connected and sent nothing, or a part of a Request"):format(MANY),
    rules = { "MPA-7.1.2-22", "MPA-7.1.2-10" },
    level = "should",
    role = "responder",
    needs = { reconnect = true },
    tags = { "known-bug", "hostile" },
    run = function(t)
      local frame = octets(request { revision = 1, private = bytes(64) })
      local waiting = {}
      for i = 1, MANY do
        local conn = t:connect { raw = true }
        local part = (i - 1) * (#frame - 1) // MANY
        if part > 0 then conn:write(frame:sub(1, part), { comment = ("%d octets of a Request"):format(part) }) end
        waiting[i] = conn
      end
      mpa.serves(t:connect {})
      -- The target still serves those who waited, too, unless they timed out.
      waiting[1]:send(request {})
      local item = waiting[1]:expect(reply { rejected = false }, closed())
      t:observe("waiting", item.kind)
      for _, conn in ipairs(waiting) do conn:reset() end
      mpa.serves(t:connect {})
    end,
  },

  known_bug {
    id = "bug-one-peer-blocks-others",
    purpose = "The target serves others while one peer is silent inside an FPDU, and takes that FPDU when it ends",
    rules = { "MPA-A.4-01", "RDMAP-5.2.1-12" },
    needs = { memory = "read write", reconnect = true },
    tags = { "known-bug" },
    run = function(t)
      local buf = t:memory { length = 32, remote = "read write" }
      local slow = t:session {}
      slow:sanity()
      slow:hold(function()
        slow:send(write { to = buf, payload = bytes(16) })
        slow:send(read_request { source = buf, size = 16, sink_stag = 1, sink_to = 2 })
      end)
      for _, part in ipairs { 1, 1, 15, 4 } do -- in ULPDU_Length, the header, the payload
        slow:release(part)
        local other = t:session {}
        other:send(write { to = buf, offset = 16, payload = bytes(16, part) })
        other:expect_read(buf, bytes(16, part), 16)
        t:expect_contents(buf, bytes(16, part), { offset = 16 })
        mpa.leaves(other)
      end
      slow:release()
      slow:expect(read_response { stag = 1, to = 2, payload = bytes(16) })
    end,
  },

  -- Nobody reads the responses, so that they pile up at the target; Reads above its IRD are a fault of
  -- the peer (OP-70). RFC 5042 §6.4.3.3: other streams are not touched.
  known_bug {
    id = "bug-unread-reads-exhaust",
    purpose = "Reads of 12 MiB in all above the IRD, whose responses nobody reads, end their stream or wait; other streams go on",
    rules = { "SEC-6.4.3.3-02", "RDMAP-6.1-05" },
    needs = { memory = "read", reconnect = true },
    tags = { "known-bug", "hostile" },
    run = function(t)
      local other = t:session {}
      local conn = t:session {}
      conn:sanity()
      local count = math.min(conn:state().peer and conn:state().peer.ird or 32, 64) + 8
      local size = (12 << 20) // count -- more than buffers hold, less than the station takes
      local source = t:agent("register", { length = size, access = { "remote-read" }, fill = 0x5a })
      conn:together(function()
        for i = 1, count do
          conn:send(read_request { size = size, source_stag = source.stag, source_to = math.tointeger(tonumber(source.to)), sink_stag = i,
                                   sink_to = 0, broken = i > count - 8, comment = i > count - 8 and "above the IRD" or nil })
        end
      end)
      for _ = 1, 5 do other:fence() end
      local served = 0
      local item
      repeat
        item = conn:expect(fault.more_reads_than_ird, read_response {}, closed())
        if item.op == "read-response" then
          -- The end that the Reads above the IRD cause may cut one short.
          served = served + (item.l and 1 or 0)
          t:check(not item.l or item.stag == served and #item.payload == size,
            ("the target sent another Read Response than the next one: STag %08x, %d octets"):format(item.stag, #item.payload),
            { rule = "RDMAP-5.2.2-06", item = item })
        end
      until item.op ~= "read-response" or served == count
      t:check(served <= count, "the target sent more responses than there were Reads")
      other:fence()
    end,
  },

  known_bug {
    id = "bug-write-that-never-ends",
    purpose = "A Write of 64 segments without a last one does no harm; other streams go on",
    rules = { "DDP-4.1-07", "DDP-5.2-05" },
    needs = { memory = "write", reconnect = true },
    tags = { "known-bug" },
    run = function(t) endless(t, 16) end,
  },

  known_bug {
    id = "bug-write-that-never-ends-for-long",
    purpose = "A Write of 40,000 segments without a last one does no harm; other streams go on",
    rules = { "DDP-4.1-07", "DDP-5.2-05" },
    role = "responder",
    needs = { memory = "write", reconnect = true },
    tags = { "known-bug", "hostile", "hazard" },
    run = function(t) endless(t, 10000) end,
  },

  known_bug {
    id = "bug-send-that-never-ends",
    purpose = "A Send without a last segment ends the stream when its buffer is full, and is not delivered",
    rules = { "DDP-7.1-08", "DDP-4.1-07", "RDMAP-5.3-04" },
    needs = { agent = true, reconnect = true },
    tags = { "known-bug" },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local posted = t:receive { length = 4096 }
      local sent
      conn:together(function()
        for i = 0, 3 do conn:send(send { payload = bytes(1024, i), l = false }) end
        sent = conn:send(send { payload = bytes(1024, 0xee), l = false, broken = true, comment = "past the end of the buffer" })
      end)
      conn:expect_terminate { fault.runs_past_buffer, of = sent }
      t:expect_no_completion(posted)
      t:expect_unchanged(posted.memory, { except = { 0, 4096 } })
    end,
  },

  -- A Terminate that never ends takes the buffer for Terminates; nothing is left for anyone.
  known_bug {
    id = "bug-terminate-that-never-ends",
    purpose = "A Terminate without a last segment ends the stream at the latest when the peer closes; the target lives on",
    rules = { "RDMAP-5.4-07", "DDP-7.1-08" },
    role = "responder",
    needs = { reconnect = true },
    tags = { "known-bug" },
    run = function(t)
      local conn = t:connect {}
      conn:sanity()
      conn:together(function()
        for _ = 1, 8 do conn:send(terminate { payload = hex "20050000", l = false, broken = true, comment = "no last segment" }) end
      end)
      conn:shutdown()
      conn:expect(closed(), terminate {})
    end,
  },

  -- ---- listeners ----

  -- Whether a connection ends before the target has accepted it is a race, so it is tried so often, each time after a pause for both.
  each({ "shutdown", "reset" }, function(how)
    return known_bug {
      id = "bug-closed-before-accepted-" .. how,
      purpose = ("%d connections that end as soon as they begin (%s) do no harm to the listener"):format(COUNT, how == "reset" and "RST" or "FIN"),
      rules = { "MPA-8-01" },
      role = "responder",
      needs = { reconnect = true },
      tags = { "known-bug", "hostile", "hazard" },
      run = function(t)
        local idle = t:connect { raw = true }
        for _ = 1, COUNT do
          idle:next(0.02)
          local conn = t:connect { raw = true }
          conn:write(octets(request {}):sub(1, 15), { comment = "the Request, cut short" })
          conn[how](conn)
          if how == "shutdown" and not conn:drain(1) then break end -- judged below
        end
        local conn = t:connect { raw = true }
        conn:send(request {})
        conn:expect(reply { rejected = false })
      end,
    }
  end),
}
