-- SPDX-License-Identifier: BSD-3-Clause

-- Rev of Request and Reply (OP-03, OP-04, OP-05).
local mpa = use "mpa"

return family {
  case {
    id = "mpa-startup-rev1",
    purpose = "The target answers a Request of revision 1 with an unenhanced Reply of revision 1",
    rules = { "EMPA-6-07", "EMPA-10-02", "EMPA-10-06", "MPA-7.1.1-17", "MPA-7.1.2-08" },
    role = "responder",
    run = function(t)
      for _, private in ipairs { "", bytes(8) } do
        local conn = t:connect { raw = true }
        conn:send(request { revision = 1, private = private })
        conn:expect(reply { revision = 1, enhanced = false, rejected = false })
        mpa.serves(conn)
      end
    end,
  },

  case {
    id = "mpa-startup-rev2-unenhanced",
    purpose = "A Request of revision 2 with S=0 gets a Reply with S=0",
    rules = { "EMPA-10-06", "EMPA-10-02" },
    role = "responder",
    needs = { revision = 2 },
    run = function(t)
      local conn = t:connect { raw = true }
      conn:send(request { revision = 2, enhanced = false })
      local answer = conn:expect(reply { enhanced = false, rejected = false, revision = one_of { 1, 2 } })
      t:observe("revision", answer.revision)
      mpa.serves(conn)
    end,
  },

  case {
    id = "mpa-startup-rev1-after-rev2",
    purpose = "The target takes an unenhanced Request after an enhanced one on another connection",
    rules = { "EMPA-10-04", "EMPA-6-07", "EMPA-10-01" },
    role = "responder",
    needs = { revision = 2 },
    run = function(t)
      for _, revision in ipairs { 2, 1, 2 } do
        local conn = t:connect { raw = true }
        conn:send(request { revision = revision })
        conn:expect(reply { revision = revision, enhanced = revision == 2, rejected = false })
        mpa.serves(conn)
      end
    end,
  },

  -- Field bug: a stack ignored the peer's revision.
  case {
    id = "mpa-startup-rev0",
    purpose = "The target refuses a Request of revision 0, or answers it in full like an RDMA Consortium peer's",
    rules = { "MPA-7.1.1-18", "MPA-7.1.1-17", "MPA-7.1.1-16", "MPA-C.1-02", "MPA-C.2.4-01" },
    role = "responder",
    tags = { "field" },
    run = function(t)
      local conn = t:connect { raw = true }
      conn:send(request { revision = 0, enhanced = false, markers = true, crc = true })
      local answer, which = conn:expect(closed(), reply { revision = 1, enhanced = false },
        reply { revision = 0 })
      if which == 3 then
        t:check(answer.markers and answer.crc and not answer.rejected and not answer.enhanced,
          "the target answered with revision 0, and not as an RDMA Consortium peer does",
          { rule = "MPA-7.1.1-16", expected = "revision 1, or revision 0 with M and C", actual = answer.text, item = answer })
      end
      if which == 2 and not answer.rejected then
        t:check(not conn:serves(), "the target went on with a peer of revision 0",
          { how = "missed", expected = "a close after the Reply of revision 1" })
      end
    end,
  },

  each({ 3, 127, 255 }, function(revision)
    return {
      case {
        id = ("mpa-startup-rev%d"):format(revision),
        purpose = ("The target closes on a Request of revision %d, perhaps after a Reply of its own revision")
          :format(revision),
        rules = { "MPA-7.1.1-18", "MPA-7.1.1-17", "MPA-7.1.2-04", "MPA-8-08" },
        role = "responder",
        run = function(t)
          local conn = t:connect { raw = true }
          conn:send(request { revision = revision, enhanced = false })
          local answer, which = conn:expect(closed(), reply { revision = one_of { 1, 2 } })
          if which == 2 and not answer.rejected then
            t:check(not conn:serves(), "the target went on with a revision that it does not know",
              { how = "missed", expected = "a close after the Reply" })
          end
        end,
      },
      case {
        id = ("mpa-reply-rev%d"):format(revision),
        purpose = ("The target closes without an FPDU on a Reply of revision %d"):format(revision),
        rules = { "MPA-7.1.1-18", "MPA-7.1.1-17", "MPA-7.1.2-12", "MPA-8-08" },
        role = "initiator",
        run = function(t)
          local conn, asked = mpa.called(t, { peer_to_peer = true, enhanced = true, revision = 2 })
          conn:send(reply { revision = revision, enhanced = asked.enhanced, a = asked.a, b = asked.b, c = asked.c,
            d = asked.d })
          mpa.ends_after(conn, asked, { at_once = true })
        end,
      },
    }
  end),

  case {
    id = "mpa-reply-rev0",
    purpose = "The target closes without any FPDU on a Reply of revision 0",
    rules = { "MPA-C.2.2-01", "MPA-7.1.1-18" },
    role = "initiator",
    tags = { "field" },
    run = function(t)
      local conn, asked = mpa.called(t, { peer_to_peer = true, enhanced = true, revision = 2 })
      conn:send(reply { revision = 0, enhanced = false, markers = true, crc = true })
      mpa.ends_after(conn, asked, { at_once = true })
    end,
  },

  case {
    id = "mpa-startup-rev1-only",
    purpose = "A target that knows revision 1 only closes on an enhanced Request of revision 2",
    rules = { "EMPA-10-07", "MPA-7.1.1-18" },
    role = "responder",
    needs = { revision = 1 },
    run = function(t)
      if not t:can("agent") and t:can("revision.2") then t:skip("the target knows revision 2") end
      t:allow("mpa-rep-s") -- it does not know S; what it must do is close
      local conn = t:connect { raw = true, target = { revision = 1 } }
      conn:send(request { revision = 2 })
      local _, which = conn:expect(closed(), reply { revision = 1, enhanced = false })
      if which == 2 then conn:expect_close { at_once = true } end
      conn = t:connect { raw = true, target = { revision = 1 } }
      conn:send(request { revision = 1 })
      conn:expect(reply { revision = 1, enhanced = false, rejected = false })
      mpa.serves(conn)
    end,
  },

  case {
    id = "mpa-initiator-rev1",
    purpose = "An initiator of revision 1 sends an unenhanced Request and works with a Reply of revision 1",
    rules = { "EMPA-10-03", "MPA-7.1.1-16", "EMPA-6-06" },
    role = "initiator",
    needs = { agent = true, revision = 1 },
    run = function(t)
      local conn = t:target_connects { target = { revision = 1 } }
      t:check(conn.request.revision == 1 and not conn.request.enhanced, "the target's Request is not an unenhanced one of revision 1",
        { expected = "mpa request rev 1", actual = conn.request.text, item = conn.request })
      mpa.serves(conn)
    end,
  },

  -- OP-26: the RFC does not say what an initiator does about a Reply that differs from its Request.
  each({
    { name = "unenhanced", text = "an unenhanced Reply of revision 1", reply = reply { revision = 1, enhanced = false } },
    { name = "s-clear", text = "a Reply of revision 2 with S=0", reply = reply { revision = 2, enhanced = false } },
  }, function(one)
    return case {
      id = "mpa-reply-" .. one.name,
      purpose = ("An initiator whose enhanced Request gets %s works unenhanced or closes"):format(one.text),
      rules = { "EMPA-10-05", "EMPA-6-06" },
      role = "initiator",
      level = "may",
      needs = { enhanced = true },
      run = function(t)
        local conn, asked = mpa.called(t, { peer_to_peer = true, enhanced = true, revision = 2 })
        t:check(asked.enhanced, "the target's Request is not enhanced", { rule = "EMPA-6-02", actual = asked.text })
        conn:send(one.reply)
        local item = conn:next(0.05)
        t:observe("initiator", item and (item.op or "close") or "waits")
      end,
    }
  end),

  case {
    id = "mpa-request-s-set-in-reply",
    purpose = "An initiator whose unenhanced Request is answered with S=1 closes, or works as agreed",
    rules = { "EMPA-10-06" },
    role = "initiator",
    level = "may",
    needs = { agent = true },
    run = function(t)
      local conn = mpa.called(t, { revision = 2, enhanced = false, peer_to_peer = false })
      conn:send(reply { revision = 2, enhanced = true })
      local event = t:wait_event(function(e) return e.event == "established" or e.event == "closed" or e.event == "fault" end)
      t:observe("initiator", event and event.event)
      if event and event.event == "established" then return end
      local item = conn:next()
      t:observe("end", item and item.kind)
    end,
  },
}
