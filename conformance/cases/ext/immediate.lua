-- SPDX-License-Identifier: BSD-3-Clause

-- Immediate Data (RFC 7306 §6) that the station sends.

local kinds = {
  { name = "immediate", make = immediate, solicited = false }, { name = "immediate-se", make = immediate_se, solicited = true },
}

return family {
  each(kinds, function(kind)
    return {
      both_roles {
        id = "ext-" .. kind.name,
        purpose = ("The 8 octets of %s reach the target's user, %s"):format(kind.name, kind.solicited and "solicited" or "not solicited"),
        rules = { "EXT-6.3-03", "EXT-6.3-09", "EXT-6.3-04" },
        level = "must",
        needs = { agent = true, extensions = true },
        run = function(t)
          local conn = t:session {}
          for _, payload in ipairs { hex "0102030405060708", hex "ff80000000000001", bytes(8, 0), bytes(8, 0xff) } do
            local posted = t:receive { length = 16 }
            conn:send(kind.make { payload = payload })
            t:completion(posted, { immediate = payload, solicited = kind.solicited })
          end
          conn:fence()
        end,
      },

      each({ 0, 1, 4, 7, 9, 16, 60 }, function(size)
        local both = size == 7 or size == 9
        return (both and both_roles or case) {
          id = ("ext-%s-length-%d"):format(kind.name, size),
          purpose = ("%s of %d octets ends the stream and is not delivered"):format(kind.name, size),
          rules = { "EXT-6.3-08", "EXT-8.2-01", "EXT-8.1-02" },
          role = not both and "responder" or nil,
          needs = { agent = true, extensions = true },
          run = function(t)
            local conn = t:session {}
            conn:sanity()
            local posted = t:receive { length = 64 }
            local sent = conn:send(kind.make { payload = bytes(size, 0xee), broken = true, comment = size .. " octets for 8" })
            conn:expect_terminate { fault.immediate_length, of = sent }
            t:expect_no_completion(posted)
          end,
        }
      end),

      both_roles {
        id = ("ext-%s-no-buffer"):format(kind.name),
        purpose = ("%s without a posted buffer ends the stream; messages before it are delivered"):format(kind.name),
        rules = { "EXT-6.3-03", "EXT-8.2-02" },
        needs = { agent = true, extensions = true },
        run = function(t)
          local conn = t:session {}
          conn:sanity()
          local posted = { t:receive { length = 16 }, t:receive { length = 16 } }
          for i, handle in ipairs(posted) do
            conn:send(kind.make { payload = bytes(8, i) })
            t:completion(handle, { immediate = bytes(8, i) })
          end
          local sent = conn:send(kind.make { payload = bytes(8, 0xee), broken = true, comment = "no buffer is posted" })
          conn:expect_terminate { fault.no_buffer, of = sent }
        end,
      },

      case {
        id = ("ext-%s-segments"):format(kind.name),
        purpose = ("%s in two segments is delivered once, or ends the stream"):format(kind.name),
        rules = { "EXT-6.3-08" },
        role = "responder",
        needs = { agent = true, extensions = true },
        run = function(t)
          local conn = t:session {}
          local posted = t:receive { length = 16 }
          conn:send(kind.make { payload = "8 octets" }, { segments = { 3, 5 } })
          conn:send(read_request { size = 0, sink_stag = 7, sink_to = 7 })
          local item = conn:expect(read_response { stag = 7, to = 7, payload = "" }, terminate { rdmap = "operation" }, terminate {})
          if item.op == "read-response" then
            t:completion(posted, { immediate = "8 octets" })
          else
            t:observe("answer", item.text)
            t:expect_no_completion(posted)
          end
        end,
      },
    }
  end),

  -- ---- order ----

  both_roles {
    id = "ext-immediate-among-sends",
    purpose = "Sends and Immediate Data share one sequence of MSNs and are delivered in the order sent",
    rules = { "EXT-6.3-04", "EXT-6.3-03", "EXT-6.4-01" },
    needs = { agent = true, extensions = true },
    run = function(t)
      local conn = t:session {}
      local sequence, posted = { send, immediate, immediate_se, send_se, immediate, send, send, immediate_se }, {}
      for i in ipairs(sequence) do posted[i] = t:receive { length = 16 } end
      conn:together(function()
        for i, message in ipairs(sequence) do conn:send(message { payload = bytes(8, i) }) end
      end)
      for i, message in ipairs(sequence) do
        local plain = message == send or message == send_se
        local event = t:event("completion", conn, { work = posted[i].work, status = "ok" })
        t:check(event.solicited == (message == send_se or message == immediate_se),
          "the target reported a solicited event for the wrong message")
        if plain then
          t:check(event.immediate == nil and event.length == 8, "the target delivered a Send as something else")
          t:expect_contents(posted[i].memory, bytes(8, i))
        else
          t:check(event.immediate == show(bytes(8, i)), "the target delivered other Immediate Data than the station sent",
            { expected = show(bytes(8, i)), actual = event.immediate })
        end
      end
      conn:fence()
    end,
  },

  both_roles {
    id = "ext-immediate-after-write",
    purpose = "The target places the Write before Immediate Data before it delivers that",
    rules = { "EXT-6.4-01", "EXT-6.3-03" },
    level = "must",
    needs = { memory = "write", extensions = true },
    run = function(t)
      local conn = t:session {}
      local buf = t:memory { length = 30000, remote = "write" }
      for i = 1, 3 do
        local posted = t:receive { length = 16 }
        conn:together(function()
          conn:send(write { to = buf, payload = bytes(30000, i) }, { segments = 999 })
          conn:send(immediate { payload = "written." })
        end)
        t:completion(posted, { immediate = "written." })
        t:expect_contents(buf, bytes(30000, i))
      end
    end,
  },

  both_roles {
    id = "ext-immediate-invalidate-field",
    purpose = "The target ignores the Invalidate STag field of Immediate Data: the STag in it stays valid",
    rules = { "EXT-4.1-04", "EXT-6.3-03" },
    needs = { memory = "read", extensions = true },
    run = function(t)
      local buf = t:memory { length = 16, remote = "read", fill = "count", invalidate = true }
      local conn = t:session {}
      for _, message in ipairs { immediate, immediate_se } do
        local posted = t:receive { length = 16 }
        conn:send(message { payload = "8 octets", invalidate = buf, comment = "a valid STag in an unused field" })
        local event = t:completion(posted, { immediate = "8 octets" })
        t:check(event.invalidated == nil, "the target invalidated the STag")
        t:check(conn:read(buf) == bytes(16), "the RDMA Read through the STag returned other octets than before")
      end
    end,
  },
}
