-- SPDX-License-Identifier: BSD-3-Clause

-- The RTR indication of the peer-to-peer model (RFC 6581 §9.2; OP-24 to OP-29).
local mpa = use "mpa"

local P2P = { peer_to_peer = true, enhanced = true, revision = 2 }
local FLAG = { send = "b", write = "c", read = "d" }

local function with(fields, more)
  local result = {}
  for name, value in pairs(fields) do result[name] = value end
  for name, value in pairs(more) do result[name] = value end
  return result
end

local function flags_text(item)
  return (item.b and "B" or "") .. (item.c and "C" or "") .. (item.d and "D" or "")
end

-- Returns the RTR indications of these forms, to be expected.
local function indications(forms)
  local list = {}
  for i, form in ipairs(forms) do list[i] = mpa.rtr[form] end
  return list
end

local offers = {
  { flags = "b", forms = { "send" } }, { flags = "c", forms = { "write" } }, { flags = "d", forms = { "read" } },
  { flags = "bc", forms = { "send", "write" } }, { flags = "bd", forms = { "send", "read" } },
  { flags = "cd", forms = { "write", "read" } }, { flags = "bcd", forms = { "send", "write", "read" } },
}

return family {
  -- ---- a responder's answer, and what it takes as RTR ----

  each(offers, function(one)
    return case {
      id = "empa-rtr-offer-" .. one.flags,
      purpose = ("A responder answers a Request that offers %s with A=1 and at least one RTR form"):format(one.flags:upper()),
      rules = { "EMPA-9.2-07", "EMPA-9.2-04", "EMPA-9.2-03", "EMPA-9.2-09", "EMPA-9.2-06", "EMPA-9.2-05" },
      role = "responder",
      needs = { peer_to_peer = true },
      tags = { "field" },
      run = function(t)
        local conn = t:connect { raw = true }
        conn:send(request { peer_to_peer = true, rtr = one.forms })
        local answer = conn:expect(reply { rejected = false, a = true })
        t:check(answer.b or answer.c or answer.d, "the target's Reply names no RTR form",
          { expected = "B, C or D", actual = answer.text, item = answer })
        t:observe("forms", flags_text(answer))
        local common
        for _, form in ipairs(one.forms) do
          if answer[FLAG[form]] then common = form end
        end
        if not common then return end
        mpa.send_rtr(conn, common)
        if common == "read" then conn:expect(read_response { payload = "" }) end
        mpa.serves(conn)
      end,
    }
  end),

  each({ "send", "write", "read" }, function(form)
    return case {
      id = "empa-rtr-taken-" .. form,
      purpose = ("A responder takes the RTR form %s, and then sends its ULP's messages"):format(form),
      rules = { form == "read" and "EMPA-9.2-18" or "EMPA-9.2-17", "EMPA-9.2-03", "MPA-7.1.2-15" },
      role = "responder",
      needs = { agent = true, rtr = form },
      run = function(t)
        local conn = t:connect { peer_to_peer = true, rtr = { form }, rtr_send = false }
        t:check(conn:state().peer[FLAG[form]], "the target's Reply does not choose the only form offered",
          { rule = "EMPA-9.2-05" })
        t:post { op = "send", payload = "data" }
        conn:expect_silence { rule = "EMPA-9.2-17" }
        mpa.send_rtr(conn, form)
        local answer = read_response { stag = 5, to = 6, payload = "" }
        local data = send { payload = "data", msn = 1 }
        if form == "read" then
          local _, which = conn:expect(answer, data)
          conn:expect(which == 1 and data or answer)
        else
          conn:expect(data)
        end
        mpa.serves(conn)
      end,
    }
  end),

  -- Field bug: hardware that refuses the zero-length Write because of its STag.
  each({ 0, 1, 0xdeadbeef }, function(stag)
    return {
      case {
        id = ("empa-rtr-write-stag-%x"):format(stag),
        purpose = ("A responder takes a zero-length Write with STag %x as RTR: it ignores STag and TO"):format(stag),
        rules = { "EMPA-9.2-19", "DDP-5.2-11" },
        role = "responder",
        needs = { rtr = "write" },
        tags = { "field" },
        run = function(t)
          local conn = t:connect { peer_to_peer = true, rtr = { "write" }, rtr_send = false }
          conn:send(write { stag = stag, to = stag == 0 and 0 or 0xffffffffffffffff, payload = "" })
          mpa.serves(conn)
        end,
      },
      case {
        id = ("empa-rtr-read-stag-%x"):format(stag),
        purpose = ("A responder takes a Read Request of size 0 with Source STag %x as RTR and answers it"):format(stag),
        rules = { "EMPA-9.2-18", "RDMAP-5.2.1-15" },
        role = "responder",
        needs = { rtr = "read" },
        tags = { "field" },
        run = function(t)
          local conn = t:connect { peer_to_peer = true, rtr = { "read" }, rtr_send = false }
          conn:send(read_request { size = 0, source_stag = stag, source_to = stag == 0 and 0 or 0xffffffffffffffff,
            sink_stag = stag, sink_to = 3 })
          conn:expect(read_response { stag = stag, to = 3, payload = "" })
          mpa.serves(conn)
        end,
      },
    }
  end),

  -- OP-28: no case tests whether the RTR takes one of the ULP's buffers.
  case {
    id = "empa-rtr-send-msn",
    purpose = "The RTR Send uses up MSN 1: the Send that follows has MSN 2 and is delivered",
    rules = { "RDMAP-5.5-05", "EMPA-9.2-10", "DDP-4.3-11" },
    role = "responder",
    needs = { agent = true, rtr = "send" },
    run = function(t)
      local conn = t:connect { peer_to_peer = true, rtr = { "send" }, rtr_send = false }
      local posted = { t:receive { length = 16 }, t:receive { length = 16 } }
      conn:send(send { payload = "" })
      conn:send(send { payload = "follows" })
      local event = t:wait_event(function(e) return e.event == "completion" and e.length == 7 end)
      t:check(event and event.status == "ok", "the target did not deliver the Send after the RTR",
        { expected = "a completion of 7 octets" })
      for _, handle in ipairs(posted) do
        if handle.work == event.work then t:expect_contents(handle.memory, "follows") end
      end
      mpa.serves(conn)
    end,
  },

  case {
    id = "empa-reply-rtr-extra",
    purpose = "An initiator takes a Reply that names more RTR forms than it offered, and sends the one it offered",
    rules = { "EMPA-9.2-08", "EMPA-9.2-10" },
    level = "must",
    role = "initiator",
    needs = { agent = true, rtr = true },
    run = function(t)
      for _, form in ipairs { "send", "write", "read" } do
        local conn = mpa.called(t, with(P2P, { rtr = { form } }))
        conn:send(reply { revision = 2, a = true, b = true, c = true, d = true, ird = 16, ord = 1 })
        local item = conn:expect(mpa.rtr[form])
        mpa.answer_rtr(conn, item)
        mpa.serves(conn)
      end
    end,
  },

  case {
    id = "empa-rtr-no-common-form",
    purpose = "A responder that supports none of the offered forms names one that it supports",
    rules = { "EMPA-9.2-09", "EMPA-9.2-08", "EMPA-9.2-04" },
    role = "responder",
    needs = { agent = true, rtr = true },
    run = function(t)
      for _, one in ipairs {
        { offered = "send", own = "write" }, { offered = "write", own = "read" }, { offered = "read", own = "send" },
      } do
        local conn = t:connect { raw = true, target = { rtr = { one.own } } }
        conn:send(request { peer_to_peer = true, rtr = { one.offered } })
        conn:expect(reply { rejected = false, a = true, [FLAG[one.own]] = true })
        conn:send(terminate "2/0/07")
        conn:expect_close {}
      end
    end,
  },

  -- OP-25.
  case {
    id = "empa-rtr-offer-none",
    purpose = "A responder answers a Request with A=1 and no RTR form with a form of its own, or refuses it",
    rules = { "EMPA-9.2-04", "EMPA-9.2-09", "EMPA-12-01" },
    role = "responder",
    needs = { peer_to_peer = true },
    run = function(t)
      local conn = t:connect { raw = true }
      conn:send(request { peer_to_peer = true, rtr = {} })
      local answer = conn:expect(reply { rejected = false, a = true }, reply { rejected = true }, closed())
      t:observe("answer", answer.kind == "startup" and (answer.rejected and "rejected" or flags_text(answer)) or "closed")
    end,
  },

  each({ "b", "c", "d", "bcd" }, function(flags)
    local fields = {}
    for flag in flags:gmatch(".") do fields[flag] = true end
    return {
      case {
        id = "empa-rtr-unasked-" .. flags,
        purpose = ("With A=0 a responder ignores the %s of a Request, and does not repeat it in the Reply"):format(flags:upper()),
        rules = { "EMPA-9.2-16", "EMPA-9.2-15", "EMPA-9.2-14" },
        role = "responder",
        needs = { enhanced = true },
        tags = { "field" },
        run = function(t)
          local conn = t:connect { raw = true }
          conn:send(request(with(fields, { a = false })))
          local answer = conn:expect(reply { rejected = false, a = false })
          t:check(not (answer.b or answer.c or answer.d), "the target's Reply names RTR forms although A is 0",
            { rule = "EMPA-9.2-15", expected = "no B, C, D", actual = answer.text, item = answer })
          -- Client-server mode: the first FPDU need not be an RTR.
          conn:send(write { payload = "" })
          mpa.serves(conn)
        end,
      },
      case {
        id = "empa-reply-rtr-unasked-" .. flags,
        purpose = ("With A=0 an initiator ignores the %s of a Reply and sends no RTR"):format(flags:upper()),
        rules = { "EMPA-9.2-16" },
        role = "initiator",
        needs = { agent = true },
        run = function(t)
          local conn = mpa.called(t, { peer_to_peer = false, enhanced = true, revision = 2 })
          conn:send(reply(with(fields, { a = false })))
          t:established(conn)
          t:post { op = "send", payload = "data" }
          conn:expect(send { payload = "data", msn = 1 })
          mpa.serves(conn)
        end,
      },
    }
  end),

  -- The RFC does not say what a responder does about a first FPDU that is no RTR: the rule binds the peer.
  each({
    { name = "send-with-data", message = send { payload = "data" }, posts = true },
    { name = "other-form", message = read_request { size = 0, sink_stag = 1, sink_to = 2 } },
  }, function(one)
    return case {
      id = "empa-rtr-first-" .. one.name,
      purpose = "A first FPDU that is not the chosen RTR form ends the stream or is served as usual",
      rules = { "EMPA-9.2-10", "EMPA-5-01" },
      role = "responder",
      level = "may",
      needs = { agent = true, rtr = "write" },
      run = function(t)
        local conn = t:connect { peer_to_peer = true, rtr = { "write" }, rtr_send = false }
        if one.posts then t:receive { length = 8 } end
        conn:send(one.message, { comment = "not the chosen RTR form" })
        conn:send(read_request { size = 0, sink_stag = 3, sink_to = 4 })
        local item = conn:expect(fault.first_is_no_rtr, closed(), read_response {}, { rule = "RDMAP-5.2.1-12" })
        t:observe("first", item.op or item.kind)
      end,
    }
  end),

  -- ---- an initiator's Request, and its reaction to the answer ----

  each(offers, function(one)
    return case {
      id = "empa-request-offers-" .. one.flags,
      purpose = ("A peer-to-peer Request has A=1 and offers the forms that the initiator supports (%s)"):format(one.flags:upper()),
      rules = { "EMPA-9.2-02", "EMPA-9.2-01" },
      role = "initiator",
      needs = { agent = true },
      run = function(t)
        local conn, asked = mpa.called(t, with(P2P, { rtr = one.forms }))
        t:check(asked.a, "the target's Request does not ask for peer-to-peer",
          { rule = "EMPA-9.2-01", actual = asked.text })
        t:check(flags_text(asked) == one.flags:upper(), "the target's Request offers other forms than the target supports",
          { expected = one.flags:upper(), actual = asked.text, item = asked })
        conn:send(reply { a = true, b = asked.b, c = asked.c, d = asked.d })
        local first = conn:expect(indications(one.forms))
        mpa.answer_rtr(conn, first)
        mpa.serves(conn)
      end,
    }
  end),

  -- Replies that leave a choice of several forms: the initiator sends any of them, once.
  each(offers, function(one)
    return case {
      id = "empa-rtr-chosen-of-" .. one.flags,
      purpose = ("When the Reply names %s the initiator sends one of these, once"):format(one.flags:upper()),
      rules = { "EMPA-9.2-10", "EMPA-5-01" },
      role = "initiator",
      needs = { peer_to_peer = true, rtr = "send write read" },
      tags = { "field" },
      run = function(t)
        local conn, asked = mpa.called(t, with(P2P, { rtr = { "send", "write", "read" } }))
        t:check(asked.a, "the target's Request does not ask for peer-to-peer",
          { rule = "EMPA-9.2-01", actual = asked.text })
        conn:send(reply { peer_to_peer = true, rtr = one.forms, ord = mpa.ord(asked) })
        local first = conn:expect(indications(one.forms))
        t:observe("form", first.op)
        mpa.answer_rtr(conn, first)
        conn:fence() -- nothing comes before the answer: the initiator sent one RTR only
      end,
    }
  end),

  each({
    { name = "send-read", own = { "send" }, named = { "read" } }, { name = "write-send", own = { "write" }, named = { "send" } },
    { name = "read-write", own = { "read" }, named = { "write" } },
    { name = "all-none", own = { "send", "write", "read" }, named = {} },
  }, function(one)
    return case {
      id = "empa-rtr-match-" .. one.name,
      purpose = "An initiator that supports none of the forms that the Reply names ends the connection with 2/0/07",
      rules = { "EMPA-9.2-11", "EMPA-9.2-12", "EMPA-8-01" },
      role = "initiator",
      needs = { agent = true },
      run = function(t)
        local conn = mpa.called(t, with(P2P, { rtr = one.own }))
        conn:send(reply { peer_to_peer = true, rtr = one.named })
        conn:expect_terminate { fault.no_common_rtr }
        conn:expect_close {}
      end,
    }
  end),

  -- OP-26.
  case {
    id = "empa-reply-a-clear",
    purpose = "An initiator whose peer-to-peer Request is answered with A=0 works without an RTR, or ends the connection",
    rules = { "EMPA-9.2-16" },
    role = "initiator",
    needs = { agent = true },
    tags = { "field" },
    run = function(t)
      local conn = mpa.called(t, P2P)
      conn:send(reply { a = false })
      local event = t:wait_event(function(e) return e.event == "established" or e.event == "closed" or e.event == "fault" end)
      t:observe("initiator", event and event.event)
      if not event or event.event ~= "established" then return end
      conn.agent = event.conn
      t:post { conn = conn, op = "send", payload = "data" }
      conn:expect(send { payload = "data" }, terminate {}, closed())
    end,
  },

  case {
    id = "empa-reply-a-set",
    purpose = "An initiator whose client-server Request is answered with A=1 owes no RTR, or ends the connection",
    rules = { "EMPA-9.2-14" },
    role = "initiator",
    needs = { agent = true },
    level = "may",
    run = function(t)
      local conn = mpa.called(t, { peer_to_peer = false, enhanced = true, revision = 2 })
      conn:send(reply { peer_to_peer = true, rtr = { "write" } })
      local event = t:wait_event(function(e) return e.event == "established" or e.event == "closed" or e.event == "fault" end)
      t:observe("initiator", event and event.event)
    end,
  },
}
