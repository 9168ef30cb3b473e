-- SPDX-License-Identifier: BSD-3-Clause

-- IRD and ORD of the enhanced start-up (RFC 6581 §9.1; OP-20, OP-21, OP-30).
local mpa = use "mpa"

local UNSPECIFIED = 0x3fff

-- The target has `count` Reads to make and may have `limit` of them open.
local function reads(t, conn, count, limit, rule)
  local sink = t:memory { length = 4 * count }
  local posted = {}
  for i = 1, count do
    posted[i] = t:post { conn = conn, op = "read", memory = sink, offset = 4 * (i - 1), length = 4, stag = 0x11223344,
      to = 0x1000 * i }
  end
  local open = {}
  for i = 1, limit do
    open[i] = conn:expect(read_request { size = 4, source_to = 0x1000 * i }, { rule = rule })
  end
  -- A Read beyond the limit would have left before the answer to this.
  conn:fence { rule = rule, unanswered = "RDMAP-5.2.1-12" }
  for i = 1, count do
    conn:send(read_response { stag = open[i].sink_stag, to = open[i].sink_to, payload = bytes(4, i) })
    local following = i + limit
    if following <= count then
      open[following] = conn:expect(read_request { size = 4, source_to = 0x1000 * following }, { rule = rule })
    end
  end
  for i = 1, count do t:completion(posted[i], { length = 4 }) end
  local wanted = {}
  for i = 1, count do wanted[i] = bytes(4, i) end
  t:expect_contents(sink, table.concat(wanted))
end

return family {
  -- ---- a responder's answer ----

  each({ 0, 1, 2, 16, 0x3ffe }, function(ird)
    return case {
      id = ("empa-reply-ord-for-ird-%d"):format(ird),
      purpose = ("The Reply's ORD is at most the Request's IRD of %d"):format(ird),
      rules = { "EMPA-9.1-02", "EMPA-9.1-04", "EMPA-12-01", "EMPA-9-01" },
      role = "responder",
      needs = { enhanced = true },
      run = function(t)
        local conn = t:connect { raw = true }
        conn:send(request { ird = ird })
        local answer = conn:expect(reply { rejected = false, enhanced = true }, reply { rejected = true })
        t:observe("ord", answer.ord)
        if answer.rejected then return end
        local above = answer.ord and answer.ord > ird and answer.ord ~= UNSPECIFIED -- a block that is cut off has no ORD
        if above then mpa.check_exchanged(conn) end
        t:check(not above, "the target's Reply has an ORD above the initiator's IRD",
          { rule = "EMPA-9.1-02", how = "ORD above IRD", expected = ("up to %d"):format(ird), actual = tostring(answer.ord), item = answer })
        mpa.serves(conn)
      end,
    }
  end),

  each({ 0, 1, 2, 8, 64, 0x3ffe }, function(ord)
    return case {
      id = ("empa-reply-ird-for-ord-%d"):format(ord),
      purpose = ("A Request with ORD %d is answered; the Reply's IRD says how many of them the target takes"):format(ord),
      rules = { "EMPA-9.1-16", "EMPA-12-01" },
      role = "responder",
      needs = { enhanced = true },
      run = function(t)
        local conn = t:connect { raw = true }
        conn:send(request { ord = ord })
        local answer = conn:expect(reply { enhanced = true })
        t:observe("answer", answer.rejected and "rejected" or answer.ird)
      end,
    }
  end),

  each({
    { asked = "ord", answer = "ird", depths = { ord = UNSPECIFIED, ird = 4 }, rule = "EMPA-9.1-12" },
    { asked = "ird", answer = "ord", depths = { ird = UNSPECIFIED, ord = 4 }, rule = "EMPA-9.1-14" },
  }, function(one)
    return case {
      id = "empa-reply-3fff-" .. one.asked,
      purpose = ("A responder answers %s 0x3FFF with %s 0x3FFF and negotiates the other value"):format(one.asked:upper(),
        one.answer:upper()),
      rules = { one.rule },
      role = "responder",
      needs = { enhanced = true },
      run = function(t)
        local conn = t:connect { raw = true }
        conn:send(request(one.depths))
        local answer = conn:expect(reply { rejected = false })
        if answer[one.answer] ~= UNSPECIFIED then mpa.check_exchanged(conn) end
        t:check(answer[one.answer] == UNSPECIFIED, "the target's Reply has another depth than 0x3FFF",
          { expected = one.answer .. " 16383", actual = answer.text, item = answer })
        t:observe(one.asked, answer[one.asked])
        mpa.serves(conn)
      end,
    }
  end),

  case {
    id = "empa-reply-3fff-both",
    purpose = "A responder answers IRD and ORD 0x3FFF in the Request with 0x3FFF for both",
    rules = { "EMPA-9.1-12", "EMPA-9.1-14" },
    role = "responder",
    needs = { enhanced = true },
    run = function(t)
      local conn = t:connect { raw = true }
      conn:send(request { ird = UNSPECIFIED, ord = UNSPECIFIED })
      conn:expect(reply { rejected = false, ird = UNSPECIFIED, ord = UNSPECIFIED })
      mpa.serves(conn)
    end,
  },

  -- OP-29: a Read as RTR needs a place in the responder's IRD.
  case {
    id = "empa-reply-ird-for-read-rtr",
    purpose = "A responder whose own IRD is 0 offers a place for the Read when it chooses that RTR form",
    rules = { "EMPA-9.1-03", "EMPA-9.2-18" },
    role = "responder",
    needs = { agent = true, rtr = "read" },
    run = function(t)
      local conn = t:connect { raw = true, target = { ird = 0 } }
      conn:send(request { peer_to_peer = true, rtr = { "read" }, ord = 1 })
      local answer = conn:expect(reply { rejected = false, a = true }, { rule = "EMPA-9.2-04" })
      if answer.d then
        if answer.ird < 1 then
          t:deviates("the target's Reply chooses the Read form, but its IRD is 0",
            { rule = "EMPA-9.2-18", expected = "ird 1 or more", actual = answer.text, item = answer })
        end
        conn:send(read_request { size = 0, sink_stag = 7, sink_to = 8 })
        conn:expect(read_response { stag = 7, to = 8, payload = "" }, { rule = "EMPA-9.2-18" })
      end
    end,
  },

  case {
    id = "empa-reply-reject-depths",
    purpose = "A refusal of an enhanced Request is enhanced as well, and its IRD and ORD are well-formed",
    rules = { "EMPA-10-05", "EMPA-9.1-05", "EMPA-6-09", "EMPA-9.1-06" },
    role = "responder",
    needs = { agent = true, reject = true, enhanced = true },
    run = function(t)
      local conn = t:connect { raw = true, target = { accept = "ask", ird = 3, ord = 5 } }
      conn:send(request { ird = 1, ord = 1 })
      t:requested(conn)
      t:reject(conn)
      local answer = conn:expect(reply { rejected = true, enhanced = true, revision = 2 })
      t:observe("depths", ("%s/%s"):format(answer.ird, answer.ord))
    end,
  },

  case {
    id = "empa-depths-seen-responder",
    purpose = "A responder's ULP sees the initiator's IRD and ORD",
    rules = { "EMPA-9.1-01", "EMPA-9-01" },
    role = "responder",
    needs = { agent = true, ird = true },
    run = function(t)
      local conn = t:connect { ird = 0x1234, ord = 0x0567 }
      t:check(conn.agreed.peer_ird == 0x1234 and conn.agreed.peer_ord == 0x0567, "the ULP saw other depths than the peer sent", {
        expected = "ird 4660 ord 1383", actual = ("ird %d ord %d"):format(conn.agreed.peer_ird, conn.agreed.peer_ord) })
    end,
  },

  -- ---- limits that the target keeps to ----

  each({ 1, 2, 5 }, function(limit)
    return {
      case {
        id = ("empa-responder-obeys-ird-%d"):format(limit),
        purpose = ("A responder has no more than %d Reads open when the initiator's IRD is %d"):format(limit, limit),
        rules = { "EMPA-9.1-04", "RDMAP-6.1-05" },
        role = "responder",
        needs = { agent = true, ird = true },
        run = function(t)
          local conn = t:connect { ird = limit }
          mpa.good(conn)
          reads(t, conn, limit + 3, limit)
        end,
      },
      case {
        id = ("empa-initiator-obeys-ird-%d"):format(limit),
        purpose = ("An initiator has no more than %d Reads open when the responder's IRD is %d"):format(limit, limit),
        rules = { "EMPA-9.1-08", "RDMAP-6.1-05" },
        role = "initiator",
        needs = { agent = true },
        run = function(t)
          local conn = t:target_connects { ird = limit, ord = 4, target = { peer_to_peer = true, enhanced = true,
            revision = 2, rtr = { "write" }, ord = 16 } }
          reads(t, conn, limit + 3, limit)
        end,
      },
    }
  end),

  case {
    id = "empa-initiator-obeys-ird-0",
    purpose = "An initiator makes no Read at all when the responder's IRD is 0",
    rules = { "EMPA-9.1-08" },
    role = "initiator",
    needs = { agent = true },
    run = function(t)
      local conn = t:target_connects { ird = 0, ord = 4, target = { peer_to_peer = true, enhanced = true, revision = 2,
        rtr = { "write" }, ord = 16 } }
      local sink = t:memory { length = 4 }
      local posted, why = t:agent("post", { conn = conn.agent, work = 1000, op = "read", mem = sink.mem, length = 4,
        remote_stag = 1, remote_to = "0x1000" }, true)
      t:observe("read", posted and "held back" or "refused")
      if why then t:note("the target reported to its ULP: " .. why) end
      conn:fence()
    end,
  },

  each({
    { name = "ird", rule = "EMPA-9.1-13", own = "ord", depth = 6 }, { name = "ord", rule = "EMPA-9.1-15", own = "ird", depth = 5 },
  }, function(one)
    return case {
      id = "empa-initiator-3fff-" .. one.name,
      purpose = ("%s 0x3FFF in the Reply leaves the initiator's %s as it is"):format(one.name:upper(), one.own:upper()),
      rules = { one.rule, "EMPA-9.1-11" },
      role = "initiator",
      needs = { agent = true },
      run = function(t)
        local conn = t:target_connects { raw = true, target = { peer_to_peer = true, enhanced = true, revision = 2,
          rtr = { "write" }, ird = 5, ord = 6 } }
        local asked = conn:expect(request { a = true })
        conn:send(t:answer(asked, { [one.name] = UNSPECIFIED }))
        conn:expect(write { payload = "" })
        local agreed = t:established(conn)
        t:check(agreed[one.own] == one.depth, "the initiator changed a depth that its ULP decides", {
          expected = ("%s %d"):format(one.own, one.depth), actual = ("%s %d"):format(one.own, agreed[one.own]) })
        mpa.serves(conn)
      end,
    }
  end),

  case {
    id = "empa-reply-ird-above",
    purpose = "An initiator takes a Reply whose IRD exceeds its ORD",
    rules = { "EMPA-9.1-03", "EMPA-9.1-11" },
    level = "must",
    role = "initiator",
    needs = { agent = true },
    run = function(t)
      for _, ird in ipairs { 7, 64, 0x3ffe } do
        local conn, asked = mpa.called(t, { peer_to_peer = true, enhanced = true, revision = 2, rtr = { "write" }, ird = 5, ord = 6 })
        conn:send(t:answer(asked, { ird = ird }))
        conn:expect(mpa.rtr.write)
        mpa.serves(conn)
      end
    end,
  },

  case {
    id = "empa-depths-seen-initiator",
    purpose = "An initiator's ULP sees the responder's IRD and ORD",
    rules = { "EMPA-9.1-11", "EMPA-9.1-01" },
    role = "initiator",
    needs = { agent = true },
    run = function(t)
      local conn = t:target_connects { ird = 0x0123, ord = 3, target = { peer_to_peer = true, enhanced = true,
        revision = 2, ird = 9, ord = 7 } }
      t:check(conn.request.ird == 9 and conn.request.ord == 7, "the target's Request has other depths than its ULP's",
        { rule = "EMPA-9-01", expected = "ird 9 ord 7", actual = conn.request.text, item = conn.request })
      t:check(conn.agreed.peer_ird == 0x0123 and conn.agreed.peer_ord == 3, "the ULP saw other depths than the peer sent", {
        expected = "ird 291 ord 3", actual = ("ird %d ord %d"):format(conn.agreed.peer_ird, conn.agreed.peer_ord) })
    end,
  },

  -- ---- an IRD that does not suffice ----

  each({
    { name = "one-more", ord = function(ird) return ird + 1 end }, { name = "3ffe", ord = function() return 0x3ffe end },
  }, function(one)
    return case {
      id = "empa-ird-short-" .. one.name,
      purpose = "An initiator that cannot give the IRD for the Reply's ORD ends the connection with 2/0/06",
      rules = { "EMPA-9.1-09", "EMPA-9.1-10", "EMPA-9.1-07", "EMPA-8-01" },
      role = "initiator",
      needs = { enhanced = true },
      run = function(t)
        local conn, asked = mpa.called(t, { peer_to_peer = true, enhanced = true, revision = 2, rtr = { "write" }, ird = 2 })
        t:check(asked.ird and asked.ird < 0x3ffe, "the target's Request has no IRD that leaves a larger ORD",
          { actual = asked.text, item = asked })
        local ord = one.ord(asked.ird)
        conn:send(reply { ord = ord, ird = 16, a = asked.a, b = asked.b, c = asked.c, d = asked.d })
        local item
        if asked.a then
          item = conn:expect(fault.too_little_ird, mpa.rtr.write, mpa.rtr.read, mpa.rtr.send)
        else -- client-server: an initiator that goes on begins with the ULP's own message
          item = conn:expect(fault.too_little_ird, send {}, write {}, read_request {})
        end
        if item.op == "terminate" then return conn:expect_close {} end
        -- It goes on: then it must have the resources.
        t:observe("initiator", "raises its IRD")
        if asked.a then mpa.answer_rtr(conn, item) end
        local reads = math.min(ord, 1000)
        conn:together(function()
          for i = 1, reads do
            local above = i > asked.ird -- a refusal of such a Read is the lack of IRD, not a queue without buffers
            conn:send(read_request { size = 0, sink_stag = 1, sink_to = i, broken = above, comment = above and "above the Request's IRD" or nil })
          end
        end)
        for i = 1, reads do conn:expect(read_response { to = i, payload = "" }) end
      end,
    }
  end),

  case {
    id = "empa-ird-just-enough",
    purpose = "An initiator whose IRD equals the Reply's ORD answers that many Reads at once",
    rules = { "EMPA-9.1-07" },
    role = "initiator",
    needs = { agent = true },
    run = function(t)
      local conn = t:target_connects { ord = 3, target = { peer_to_peer = true, enhanced = true, revision = 2,
        rtr = { "write" }, ird = 3 } }
      conn:together(function()
        for i = 1, 3 do conn:send(read_request { size = 0, sink_stag = 1, sink_to = i }) end
      end)
      for i = 1, 3 do conn:expect(read_response { to = i, payload = "" }) end
    end,
  },
}
