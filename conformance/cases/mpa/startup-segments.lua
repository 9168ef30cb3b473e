-- SPDX-License-Identifier: BSD-3-Clause

-- Start-up frames in any number of TCP segments, and followed by more octets. Field bugs: stacks took
-- short reads for errors, or read beyond the message.
local mpa = use "mpa"

local function field_bug(fields)
  fields.tags = fields.tags or { "field" }
  return case(fields)
end

local places = {
  { at = 1, name = "key" }, { at = 9, name = "middle-of-key" }, { at = 16, name = "flags" }, { at = 17, name = "revision" },
  { at = 18, name = "length" }, { at = 19, name = "middle-of-length" }, { at = 20, name = "block" }, { at = 22, name = "ord" },
  { at = 24, name = "private" }, { at = 39, name = "last-octet" },
}

local PD = bytes(8)

return family {
  each(places, function(one)
    return {
      field_bug {
        id = "mpa-startup-split-before-" .. one.name,
        purpose = ("The target answers a Request in two TCP segments, the second from octet %d on, as usual"):format(one.at),
        rules = { "MPA-A.4-01", "MPA-7.1.2-24", "MPA-7.1.5-03" },
        role = "responder",
        needs = { revision = 2 },
        run = function(t)
          local conn = t:connect { raw = true }
          conn:send(request { private = bytes(16) }, { writes = { one.at } })
          conn:expect(reply { rejected = false })
          mpa.serves(conn)
        end,
      },
      field_bug {
        id = "mpa-reply-split-before-" .. one.name,
        purpose = ("The target takes a Reply in two TCP segments, the second from octet %d on, as usual"):format(one.at),
        rules = { "MPA-A.4-01", "MPA-7.1.2-11", "MPA-7.1.5-03" },
        role = "initiator",
        needs = { enhanced = true },
        run = function(t)
          local conn, asked = mpa.called(t, { peer_to_peer = true, enhanced = true, revision = 2 })
          conn:send(reply { private = bytes(16), a = asked.a, b = asked.b, c = asked.c, d = asked.d, ord = mpa.ord(asked) },
            { writes = { one.at } })
          mpa.opens(conn, asked)
          mpa.serves(conn)
        end,
      },
    }
  end),

  field_bug {
    id = "mpa-startup-split-512",
    purpose = "The target answers a Request with 512 octets of private data, one octet per write, as usual",
    rules = { "MPA-7.1.2-24", "MPA-A.4-01" },
    role = "responder",
    run = function(t)
      local conn = t:connect { raw = true }
      conn:send(request { revision = 1, private = bytes(512) }, { writes = 1 })
      conn:expect(reply { rejected = false, revision = 1 })
      mpa.serves(conn)
    end,
  },

  field_bug {
    id = "mpa-reply-split-each",
    purpose = "The target takes a Reply that comes one octet at a time as usual",
    rules = { "MPA-A.4-01", "MPA-7.1.2-11" },
    role = "initiator",
    needs = { enhanced = true },
    run = function(t)
      local conn, asked = mpa.called(t, { peer_to_peer = true, enhanced = true, revision = 2 })
      conn:send(reply { private = bytes(16), a = asked.a, b = asked.b, c = asked.c, d = asked.d, ord = mpa.ord(asked) }, { writes = 1 })
      mpa.opens(conn, asked)
      mpa.serves(conn)
    end,
  },

  -- The initiator must have the whole Reply before its first FPDU.
  field_bug {
    id = "mpa-reply-incomplete",
    purpose = "An initiator sends nothing before the last octet of the Reply",
    rules = { "MPA-7.1.2-11", "EMPA-5-01" },
    role = "initiator",
    needs = { enhanced = true },
    tags = {},
    run = function(t)
      local conn, asked = mpa.called(t, { peer_to_peer = true, enhanced = true, revision = 2 })
      conn:hold(function() conn:send(reply { a = asked.a, b = asked.b, c = asked.c, d = asked.d, ord = mpa.ord(asked) }) end)
      conn:release(23)
      conn:expect_silence {}
      conn:release()
      mpa.opens(conn, asked)
      mpa.serves(conn)
    end,
  },

  -- ---- octets after the frame ----

  each({
    { name = "octet", text = "one more octet", octets = function() return "\0" end },
    { name = "fpdu", text = "a zero-length Write", octets = function(conn)
      return mpa.fpdu_octets(conn:encode(write {})[1].ulpdu)
    end },
    { name = "600", text = "600 more octets", octets = function() return bytes(600, 0xee) end },
  }, function(one)
    return field_bug {
      id = "mpa-startup-surplus-" .. one.name,
      purpose = ("The target closes on a Request with %s in the same segment, or does not take the surplus for private data"):format(one.text),
      rules = { "MPA-7.1.2-25", "MPA-7.1.1-21" },
      role = "responder",
      run = function(t)
        local conn = t:connect { raw = true }
        conn:together(function()
          conn:send(request { revision = 1, private = PD })
          conn:write(one.octets(conn), { comment = one.text .. " before the Reply" })
        end)
        local _, which = conn:expect(closed(), reply { revision = 1 })
        t:observe("surplus", which == 1 and "closed" or "answered")
      end,
    }
  end),

  field_bug {
    id = "mpa-startup-surplus-private",
    purpose = "Octets after a Request whose PD_Length is 8 never show up as private data",
    rules = { "MPA-7.1.2-25", "MPA-7.1.2-24" },
    role = "responder",
    needs = { agent = true },
    run = function(t)
      local conn = t:connect { raw = true, target = { accept = "ask" } }
      conn:together(function()
        conn:send(request { revision = 1, private = PD })
        conn:write(bytes(600, 0xee), { comment = "600 octets before the Reply" })
      end)
      local event = t:wait_event(function(e) return e.event == "request" or e.event == "closed" end)
      t:observe("surplus", event and event.event)
      if event and event.event == "request" then
        t:check(event.private == show(PD), "the ULP saw more private data than PD_Length covers",
          { expected = show(PD), actual = event.private:sub(1, 64) })
        t:agent("accept", { conn = event.conn }, true) -- the agent refuses if the connection is over
      end
      conn:expect(closed(), reply { revision = 1, rejected = false })
    end,
  },

  -- A responder has to wait for the initiator's first FPDU, so this exchange is not legal; a robust
  -- initiator takes it or ends the stream. With A=0 it sends nothing of its own.
  each({
    { name = "read", text = "an RDMA Read Request" }, { name = "write", text = "a zero-length Write" },
  }, function(one)
    return field_bug {
      id = "mpa-reply-and-fpdu-" .. one.name,
      purpose = ("The target takes a Reply and %s in one segment, or ends the stream"):format(one.text),
      rules = { "MPA-7.1-01", "MPA-7.1.2-14", "MPA-7.1.2-15" },
      role = "initiator",
      needs = { enhanced = true },
      run = function(t)
        local conn, asked = mpa.called(t, { peer_to_peer = false, enhanced = true, revision = 2 })
        conn:together(function()
          conn:send(reply { revision = asked.revision, enhanced = asked.enhanced })
          conn:send(one.name == "write" and write {} or read_request { size = 0, sink_stag = 1, sink_to = 2 })
          if one.name == "write" then conn:send(read_request { size = 0, sink_stag = 1, sink_to = 2 }) end
        end)
        local item = conn:expect(read_response { stag = 1, to = 2, payload = "" }, terminate {}, closed())
        t:observe("initiator", item.op or item.kind)
      end,
    }
  end),

  field_bug {
    id = "mpa-reply-and-fpdu-split",
    purpose = "The target takes a segment of the Reply's last octet and half an FPDU, and its rest in another, or ends the stream",
    rules = { "MPA-7.1-01", "MPA-7.1.2-14", "MPA-A.4-01" },
    role = "initiator",
    needs = { peer_to_peer = true },
    run = function(t)
      local conn, asked = mpa.called(t, { peer_to_peer = true, enhanced = true, revision = 2 })
      local fields = { revision = 2, a = asked.a, b = asked.b, c = asked.c, d = asked.d, ord = mpa.ord(asked) }
      local length = #octets(reply(fields))
      conn:together(function()
        conn:send(reply(fields))
        conn:send(read_request { size = 0, sink_stag = 1, sink_to = 2 })
      end, { writes = { length - 1, 8 } })
      local item = conn:expect(mpa.rtr.write, mpa.rtr.send, mpa.rtr.read, terminate {}, closed())
      t:observe("initiator", item.op or item.kind)
      if item.op and item.op ~= "terminate" then
        mpa.answer_rtr(conn, item)
        conn:expect(read_response { stag = 1, to = 2, payload = "" }, terminate {}, closed())
      end
    end,
  },

  field_bug {
    id = "mpa-startup-and-first-fpdu",
    purpose = "The target takes all FPDUs that the initiator sends right after the Reply",
    rules = { "MPA-7.1.2-10", "MPA-7.1-01", "MPA-7.1-02" },
    role = "responder",
    run = function(t)
      local conn = t:connect { raw = true }
      conn:send(request {})
      conn:expect(reply { rejected = false })
      conn:together(function()
        for _ = 1, 8 do conn:send(write {}) end
      end)
      mpa.serves(conn)
    end,
  },
}
