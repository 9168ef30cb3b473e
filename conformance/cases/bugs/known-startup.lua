-- SPDX-License-Identifier: BSD-3-Clause

-- Mistakes of real stacks in start-up frames.

local known_bug = use "known_bug"
local mpa = use "mpa"

local FORMS = { "send", "write", "read" }
local FLAG = { send = "b", write = "c", read = "d" }

-- Every set of RTR forms but the empty one.
local function sets()
  local all = {}
  for bits = 1, 7 do
    local one = {}
    for i, form in ipairs(FORMS) do
      if bits & 1 << i - 1 ~= 0 then one[#one + 1] = form end
    end
    all[bits] = one
  end
  return all
end

-- PD_Length, octets that follow: lengths that fit, and lengths above what any buffer has to hold.
local GOOD = { 0, 1, 511, 512 }
local BAD = {
  { pd_length = 513, octets = 513 }, { pd_length = 1024, octets = 1024 }, { pd_length = 2000, octets = 2000 },
  { pd_length = 0x7fff, octets = 4096 }, { pd_length = 0x8000, octets = 0 }, { pd_length = 0xffff, octets = 0 },
  { pd_length = 0xffff, octets = 600 },
}

return family {
  known_bug {
    id = "bug-flag-a-not-echoed",
    purpose = "Control flag A of the Reply is that of the Request, whatever RTR forms are offered",
    rules = { "EMPA-9.2-04", "EMPA-9.2-14" },
    role = "responder",
    needs = { peer_to_peer = true, reconnect = true },
    run = function(t)
      for _, forms in ipairs(sets()) do
        local conn = t:connect { raw = true }
        conn:send(request { peer_to_peer = true, rtr = forms })
        conn:expect(reply { rejected = false, enhanced = true, a = true }, { rule = "EMPA-9.2-04" })
      end
      local conn = t:connect { raw = true }
      conn:send(request { peer_to_peer = false })
      conn:expect(reply { rejected = false, enhanced = true, a = false, b = false, c = false, d = false }, { rule = "EMPA-9.2-14" })
    end,
  },

  known_bug {
    id = "bug-several-rtr-forms-confuse",
    purpose = "The Reply names only RTR forms that the Request offered, and each one of them works",
    rules = { "EMPA-9.2-09", "EMPA-9.2-07", "EMPA-9.2-03" },
    role = "responder",
    needs = { peer_to_peer = true, reconnect = true },
    run = function(t)
      for _, forms in ipairs(sets()) do
        for _, form in ipairs(forms) do
          local conn = t:connect { raw = true }
          conn:send(request { peer_to_peer = true, rtr = forms })
          local answer = conn:expect(reply { rejected = false, a = true })
          local named = (answer.b and "B" or "") .. (answer.c and "C" or "") .. (answer.d and "D" or "")
          t:check(named ~= "", "the Reply names no RTR form", { rule = "EMPA-9.2-07", expected = "B, C or D", actual = answer.text, item = answer })
          t:observe(table.concat(forms, "+"), named)
          if answer[FLAG[form]] then
            mpa.send_rtr(conn, form)
            if form == "read" then conn:expect(read_response { stag = 5, to = 6, payload = "" }) end
            mpa.serves(conn)
          end
        end
      end
    end,
  },

  known_bug {
    id = "bug-zero-length-refused-for-its-stag",
    purpose = "Zero-length Writes and Reads work with STag 0, with one that looks valid, and with all ones",
    rules = { "DDP-5.2-11", "RDMAP-5.1-08", "RDMAP-5.2.1-15", "EMPA-9.2-19" },
    run = function(t)
      local conn = t:session {}
      conn:need_reads()
      for i, stag in ipairs { 0, 1, 0x100, 0x80000000, 0xdeadbeef, 0xffffffff } do
        for j, to in ipairs { 0, 1, 0x100000000, 0xffffffffffffffff } do
          conn:send(write { stag = stag, to = to })
          conn:send(read_request { size = 0, source_stag = stag, source_to = to, sink_stag = stag, sink_to = i * 10 + j })
          conn:expect(read_response { stag = stag, to = i * 10 + j, payload = "" })
        end
      end
    end,
  },

  known_bug {
    id = "bug-revision-of-reply-differs",
    purpose = "The Reply has the revision of the Request, also for a peer that knows no other",
    rules = { "EMPA-6-07", "MPA-7.1.1-17", "EMPA-10-06", "EMPA-10-04" },
    role = "responder",
    needs = { revision = 2, reconnect = true },
    run = function(t)
      for _, revision in ipairs { 1, 2, 1 } do
        local conn = t:connect { raw = true }
        conn:send(request { revision = revision })
        conn:expect(reply { rejected = false, revision = revision, enhanced = revision == 2 })
        mpa.serves(conn)
      end
    end,
  },

  known_bug {
    id = "bug-revision-of-peer-ignored",
    purpose = "An initiator does not work with a Reply of a revision that it does not know",
    rules = { "MPA-7.1.1-18", "MPA-7.1.1-17" },
    role = "initiator",
    needs = { reconnect = true },
    run = function(t)
      for _, revision in ipairs { 3, 4, 0x80, 0xff } do
        local conn, asked = mpa.called(t)
        conn:send(reply { revision = revision, enhanced = false, a = false })
        mpa.ends_after(conn, asked, { at_once = true })
      end
    end,
  },

  known_bug {
    id = "bug-rejection-ignored",
    purpose = "An initiator that reads R=1 sends no FPDU, whatever else the Reply says",
    rules = { "MPA-7.1.2-13", "MPA-7.1.1-13" },
    role = "initiator",
    needs = { agent = true },
    run = function(t)
      for _, private in ipairs { "", bytes(64) } do
        local conn = t:target_connects { raw = true }
        local asked = conn:expect(request {})
        conn:send(t:answer(asked, { rejected = true, private = private }))
        t:event("rejected", conn)
        conn:shutdown()
        conn:drain(1)
        t:check(conn:state().received == 20 + asked.pd_length, "the target sent octets after a refusal",
          { expected = ("%d octets in all"):format(20 + asked.pd_length), actual = conn:state().received .. " octets" })
      end
    end,
  },

  known_bug {
    id = "bug-private-data-overruns-request",
    purpose = "The target closes on a Request with more than 512 octets of private data, and shows its ULP all of 512",
    rules = { "MPA-7.1.1-22", "MPA-7.1.2-23", "MPA-7.1.2-26", "MPA-7.1.1-25" },
    role = "responder",
    needs = { agent = true },
    run = function(t)
      for _, length in ipairs(GOOD) do
        local conn = t:connect { raw = true, target = { accept = "ask" } }
        conn:send(request { revision = 1, private = bytes(length) })
        t:check(t:requested(conn, { rule = "MPA-7.1.2-24" }) == bytes(length), "the ULP saw other private data than the station sent",
          { rule = "MPA-7.1.1-23" })
        t:accept(conn)
        conn:expect(reply { rejected = false })
      end
      for _, one in ipairs(BAD) do
        local conn = t:connect { raw = true, target = { accept = "ask" } }
        conn:send(request { revision = 1, pd_length = one.pd_length, private = bytes(one.octets, 0xee) })
        conn:expect_close { at_once = one.octets == one.pd_length }
      end
    end,
  },

  known_bug {
    id = "bug-private-data-overruns-reply",
    purpose = "The target closes without an FPDU on a Reply with more than 512 octets of private data, and shows its ULP all of 512",
    rules = { "MPA-7.1.1-22", "MPA-7.1.2-12", "MPA-7.1.2-26", "MPA-7.1.1-25" },
    role = "initiator",
    needs = { agent = true },
    run = function(t)
      local plain = { revision = 1, peer_to_peer = false, enhanced = false }
      for _, length in ipairs(GOOD) do
        local conn = t:target_connects { raw = true, target = plain }
        conn:expect(request {})
        conn:send(reply { revision = 1, private = bytes(length) })
        local event = t:event("established", conn, {}, { rule = "MPA-7.1.2-24" })
        t:check(event.private == show(bytes(length)), "the ULP saw other private data than the Reply's",
          { rule = "MPA-7.1.1-23" })
      end
      for _, one in ipairs(BAD) do
        local conn, asked = mpa.called(t, plain)
        conn:send(reply { revision = 1, pd_length = one.pd_length, private = bytes(one.octets, 0xee) })
        mpa.ends_after(conn, asked, { at_once = one.octets == one.pd_length })
      end
    end,
  },

  -- OP-90: a target may wait for the rest of the frame, as long as its start-up may last.
  known_bug {
    id = "bug-key-checked-after-private-data-request",
    purpose = "The target closes on a Request with a wrong key, of which no private data comes, when its start-up times out or before",
    rules = { "MPA-7.1.1-02", "MPA-7.1.2-04", "MPA-8-07" },
    role = "responder",
    needs = { reconnect = true },
    run = function(t)
      for _, pd in ipairs { 8, 512, 2000, 0xffff } do
        local conn = t:connect { raw = true }
        conn:send(request { revision = 1, key = "MPA ID req Frame", pd_length = pd })
        conn:expect_close {}
      end
    end,
  },

  known_bug {
    id = "bug-key-checked-after-private-data-reply",
    purpose = "The target closes on a Reply with a wrong key, of which no private data comes, when its start-up times out or before",
    rules = { "MPA-7.1.1-04", "MPA-7.1.2-12", "MPA-8-07" },
    role = "initiator",
    needs = { reconnect = true },
    run = function(t)
      for _, pd in ipairs { 8, 512, 2000, 0xffff } do
        local conn, asked = mpa.called(t)
        conn:send(reply { revision = asked.revision, enhanced = false, key = "MPA ID rep Frame", pd_length = pd })
        mpa.ends_after(conn, asked)
      end
    end,
  },
}
