-- SPDX-License-Identifier: BSD-3-Clause

-- Who may speak when during start-up, and how long it may take (OP-15).
local mpa = use "mpa"

-- Milliseconds: for start-ups that are meant to fail, and for those that must succeed.
local SHORT, ENOUGH = 80, 200

return family {
  each({
    { name = "silent", text = "sends nothing", octets = 0 },
    { name = "partial", text = "sends 19 octets of a Request", octets = 19 },
    { name = "no-private", text = "never sends the private data", octets = 24 },
  }, function(one)
    return case {
      id = "mpa-startup-timeout-" .. one.name,
      purpose = ("A responder closes when the initiator %s, within its start-up time-out"):format(one.text),
      rules = { "MPA-7.1.2-22", "MPA-7.1.2-27", "MPA-7.1.2-03", "MPA-7.1.1-21" },
      role = "responder",
      needs = { agent = true },
      run = function(t)
        local conn = t:connect { raw = true, target = { startup_timeout_ms = SHORT } }
        if one.octets > 0 then
          conn:write(octets(request { private = bytes(64) }):sub(1, one.octets), { comment = "a part of the Request" })
        end
        conn:expect_close { at_once = true } -- no timer but this one is to be waited for
        t:check(conn:state().received == 0, "the target sent octets before the whole Request had come",
          { rule = "MPA-7.1.2-03" })
      end,
    }
  end),

  case {
    id = "mpa-startup-timeout-trickle",
    purpose = "A Request that trickles in does not hold a responder beyond its time-out",
    rules = { "MPA-7.1.2-27", "MPA-7.1.2-22" },
    role = "responder",
    needs = { agent = true },
    run = function(t)
      local conn = t:connect { raw = true, target = { startup_timeout_ms = SHORT } }
      local frame = octets(request { revision = 1, private = bytes(128) })
      local item
      for at = 1, #frame - 1 do
        conn:write(frame:sub(at, at), { comment = "one octet" })
        item = conn:next(0.01)
        if item then break end
      end
      t:check(item and closed():matches(item), "the target does not limit the time of the whole start-up",
        { expected = "the end of the stream", actual = item and item.text, item = item })
    end,
  },

  each({
    { name = "silent", text = "no Reply comes", octets = 0 }, { name = "partial", text = "half a Reply comes", octets = 12 },
  }, function(one)
    return case {
      id = "mpa-reply-timeout-" .. one.name,
      purpose = ("An initiator closes when %s, within its start-up time-out"):format(one.text),
      rules = { "MPA-7.1.2-27", "MPA-7.1.2-11" },
      role = "initiator",
      needs = { agent = true },
      run = function(t)
        local conn, asked = mpa.called(t, { startup_timeout_ms = SHORT })
        if one.octets > 0 then conn:write(octets(reply {}):sub(1, one.octets), { comment = "half a Reply" }) end
        mpa.ends_after(conn, asked, { at_once = true })
      end,
    }
  end),

  case {
    id = "mpa-startup-timeout-over",
    purpose = "The time-out of the start-up does not touch a connection in full operation",
    rules = { "MPA-7.1.2-27" },
    role = "responder",
    needs = { agent = true },
    run = function(t)
      local conn = t:connect { target = { startup_timeout_ms = ENOUGH } }
      mpa.good(conn)
      -- Another connection runs into the time-out meanwhile: that shows the case that it has passed.
      local late = t:connect { raw = true, target = { startup_timeout_ms = ENOUGH } }
      late:expect_close { at_once = true }
      mpa.serves(conn)
    end,
  },

  case {
    id = "mpa-startup-silence",
    purpose = "A responder sends nothing before the last octet of the Request, then answers it",
    rules = { "MPA-7.1.2-03" },
    role = "responder",
    run = function(t)
      local conn = t:connect { raw = true }
      conn:hold(function() conn:send(request { private = bytes(8) }) end)
      conn:expect_silence {}
      conn:release(conn:state().sent - 1)
      conn:expect_silence {}
      conn:release()
      conn:expect(reply { rejected = false })
    end,
  },

  -- ---- the responder's first FPDU ----

  each({ { name = "client-server" }, { name = "peer-to-peer", peer_to_peer = true } }, function(one)
    return case {
      id = "mpa-responder-waits-" .. one.name,
      purpose = "A responder with work to send holds it back until the first FPDU of the initiator has come",
      rules = one.peer_to_peer and { "EMPA-9.2-17", "MPA-7.1.2-15" } or { "MPA-7.1.2-15", "MPA-7.1.2-16" },
      role = "responder",
      needs = { agent = true, peer_to_peer = one.peer_to_peer },
      run = function(t)
        local conn = t:connect { peer_to_peer = one.peer_to_peer, rtr = one.peer_to_peer and { "write" } or nil, rtr_send = false }
        t:post { op = "send", payload = "first" }
        t:post { op = "write", payload = "second", stag = 0x11223344, to = 0 }
        conn:expect_silence {}
        conn:send(write { comment = "the first FPDU" })
        conn:expect(send { payload = "first", msn = 1 })
        conn:expect(write { payload = "second", stag = 0x11223344 })
        mpa.serves(conn)
      end,
    }
  end),

  -- OP-12: a target may answer a bad first FPDU with a Terminate or a close, but not send its posted work.
  case {
    id = "mpa-responder-waits-bad-first",
    purpose = "A first FPDU with a wrong CRC does not allow a responder to send",
    rules = { "MPA-7.1.2-16", "MPA-7.1.2-15", "MPA-8-02" },
    role = "responder",
    needs = { agent = true },
    run = function(t)
      local conn = t:connect { crc = true }
      local posted = t:post { op = "send", payload = "first" }
      conn:send(write {}, { crc = "bad" })
      mpa.expect_crc_fault(conn)
      t:expect_no_completion(posted)
    end,
  },

  case {
    id = "mpa-initiator-waits",
    purpose = "An initiator with Sends to make sends its RTR indication first and the Sends after it",
    rules = { "EMPA-5-01", "EMPA-9.2-10", "MPA-7.1.2-11" },
    role = "initiator",
    needs = { agent = true, peer_to_peer = true },
    run = function(t)
      local conn, asked = mpa.called(t, { peer_to_peer = true, enhanced = true, revision = 2 })
      local posted, why = t:agent("post", { conn = conn.agent, work = 1000, op = "send" }, true)
      if not posted then t:note("the target took no work before the Reply: " .. why) end
      conn:expect_silence {}
      conn:send(reply { a = asked.a, b = asked.b, c = asked.c, d = asked.d })
      local first = conn:expect(mpa.rtr.write, mpa.rtr.read, mpa.rtr.send, { silent = "EMPA-9.2-10" })
      mpa.answer_rtr(conn, first)
      t:established(conn)
      t:post { op = "send", payload = "data" }
      if posted then conn:expect(send { payload = "" }) end
      conn:expect(send { payload = "data" })
    end,
  },

  case {
    id = "mpa-initiator-first",
    purpose = "A client-server initiator sends no RTR indication, and its first FPDU is its ULP's",
    rules = { "EMPA-9.2-13", "EMPA-9.2-15", "MPA-7.1.2-14" },
    role = "initiator",
    needs = { agent = true },
    run = function(t)
      local conn, asked = mpa.called(t, { peer_to_peer = false, enhanced = true, revision = 2 })
      t:check(not asked.a, "the target's Request asks for peer-to-peer", { actual = asked.text, item = asked })
      conn:send(t:answer(asked))
      t:established(conn)
      conn:expect_silence {}
      t:post { op = "send", payload = "data" }
      conn:expect(send { payload = "data", msn = 1 })
    end,
  },
}
