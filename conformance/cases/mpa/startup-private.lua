-- SPDX-License-Identifier: BSD-3-Clause

-- PD_Length and private data, both ways.
local mpa = use "mpa"

local right = {
  { revision = 1, length = 0 }, { revision = 1, length = 1 }, { revision = 1, length = 508 }, { revision = 1, length = 509 },
  { revision = 1, length = 511 }, { revision = 1, length = 512 },
  { revision = 2, length = 0 }, { revision = 2, length = 1 }, { revision = 2, length = 507 }, { revision = 2, length = 508 },
}

-- Field bug: a stack wrote 2000 octets into 512.
local wrong = {
  { pd = 513, present = 513 }, { pd = 513, present = 0 }, { pd = 1024, present = 1024 }, { pd = 2000, present = 2000 },
  { pd = 65535, present = 0 }, { pd = 65535, present = 4096 },
  { pd = 513, present = 509, enhanced = true }, { pd = 516, present = 512, enhanced = true }, { pd = 517, present = 513, enhanced = true },
  { pd = 513, present = 0, enhanced = true }, { pd = 65535, present = 0, enhanced = true },
}

return family {
  -- ---- lengths that are right ----

  each(right, function(one)
    local revision, length = one.revision, one.length
    local pd = length + (revision == 2 and 4 or 0)
    return {
      case {
        id = ("mpa-startup-private-%d-rev%d"):format(length, revision),
        purpose = ("The target takes %d octets of private data in a Request of revision %d (PD_Length %d)"):format(length,
          revision, pd),
        rules = { pd == 512 and "MPA-7.1.2-24" or "MPA-7.1.2-23", "MPA-7.1.1-25", "EMPA-6-08" },
        role = "responder",
        needs = { revision = revision },
        run = function(t)
          local conn = t:connect { raw = true }
          conn:send(request { revision = revision, private = bytes(length) })
          conn:expect(reply { rejected = false, enhanced = revision == 2 })
          mpa.serves(conn)
        end,
      },
      case {
        id = ("mpa-startup-private-seen-%d-rev%d"):format(length, revision),
        purpose = ("A responder's ULP sees the %d octets of private data, and its own answer arrives whole")
          :format(length),
        rules = { "MPA-7.1.1-23", "MPA-7.1.2-24", "MPA-7.1.2-09", "MPA-7.1.1-20", "MPA-7.1.1-24" },
        role = "responder",
        needs = { agent = true, revision = revision },
        run = function(t)
          local conn = t:connect { raw = true, target = { accept = "ask" } }
          conn:send(request { revision = revision, private = bytes(length) })
          local seen = t:requested(conn, { rule = pd == 512 and "MPA-7.1.2-24" or nil })
          t:check(seen == bytes(length), "the ULP saw other private data than the station sent", {
            expected = show(bytes(length), 32), actual = show(seen, 32) })
          local answer = bytes(length, 0xa7)
          t:accept(conn, answer)
          conn:expect(reply { rejected = false, private = answer, pd_length = pd }, { rule = "MPA-7.1.1-20" })
          mpa.serves(conn)
        end,
      },
      case {
        id = ("mpa-reply-private-%d-rev%d"):format(length, revision),
        purpose = ("An initiator sends %d octets of private data, and takes as many in the Reply"):format(length),
        rules = { pd == 512 and "MPA-7.1.2-24" or "MPA-7.1.2-23", "MPA-7.1.1-25", "MPA-7.1.1-23", "MPA-7.1.1-20" },
        role = "initiator",
        needs = { agent = true, revision = revision },
        run = function(t)
          local conn, asked = mpa.called(t, { revision = revision, enhanced = revision == 2, private = bytes(length, 0x5c) })
          t:check(asked.private == bytes(length, 0x5c) and asked.pd_length == pd,
            "the target's Request has other private data than its ULP's",
            { rule = "MPA-7.1.1-20", actual = asked.text, item = asked })
          conn:send(reply { revision = revision, private = bytes(length), a = asked.a })
          local event = t:event("established", conn, {}, { rule = pd == 512 and "MPA-7.1.2-24" or "MPA-7.1.2-14" })
          t:check(event.private == show(bytes(length)), "the ULP saw other private data than the Reply's",
            { rule = "MPA-7.1.1-23", expected = show(bytes(length), 32), actual = event.private:sub(1, 64) })
        end,
      },
    }
  end),

  -- ---- lengths that are not ----

  each(wrong, function(one)
    local pd, present, enhanced = one.pd, one.present, one.enhanced or false
    local at_once = pd == present + (enhanced and 4 or 0)
    local name = ("%d-of-%d%s"):format(present, pd, enhanced and "-enhanced" or "")
    return {
      case {
        id = "mpa-startup-pd-length-" .. name,
        purpose = ("The target closes on a Request with PD_Length %d, %s"):format(pd,
          at_once and "at once" or "at the latest when its start-up times out"),
        rules = { "MPA-7.1.1-22", "MPA-7.1.2-23", "MPA-7.1.2-26", "MPA-7.1.2-04", "MPA-8-07", "MPA-8-08" },
        role = "responder",
        needs = { revision = enhanced and 2 or 1 },
        tags = { "field" },
        run = function(t)
          local conn = t:connect { raw = true }
          conn:send(request { revision = enhanced and 2 or 1, pd_length = pd, private = bytes(present, 0xee) })
          conn:expect_close { at_once = at_once }
        end,
      },
      case {
        id = "mpa-reply-pd-length-" .. name,
        purpose = ("The target closes without an FPDU on a Reply with PD_Length %d"):format(pd),
        rules = { "MPA-7.1.1-22", "MPA-7.1.2-12", "MPA-7.1.2-26", "MPA-8-07", "MPA-8-08" },
        role = "initiator",
        needs = { agent = true },
        tags = { "field" },
        run = function(t)
          local target = { revision = enhanced and 2 or 1, peer_to_peer = enhanced, enhanced = enhanced }
          local conn, asked = mpa.called(t, target)
          conn:send(reply { revision = asked.revision, enhanced = asked.enhanced, a = asked.a, b = asked.b,
            pd_length = pd, private = bytes(present, 0xee) })
          mpa.ends_after(conn, asked, { at_once = at_once })
        end,
      },
    }
  end),

  each(range(0, 3), function(pd)
    return {
      case {
        id = ("empa-startup-s-pd-length-%d"):format(pd),
        purpose = ("The target closes on a Request with S=1 and PD_Length %d, too short for its block"):format(pd),
        rules = { "EMPA-6-10", "EMPA-6-09", "EMPA-6-08" },
        role = "responder",
        needs = { revision = 2 },
        run = function(t)
          local conn = t:connect { raw = true }
          conn:send(request { revision = 2, enhanced = false, flags = 0x50, private = bytes(pd, 0xff) })
          conn:expect(closed(), reply { rejected = true })
        end,
      },
      case {
        id = ("empa-reply-s-pd-length-%d"):format(pd),
        purpose = ("The target closes on a Reply with S=1 and PD_Length %d, too short for its block"):format(pd),
        rules = { "EMPA-6-10", "EMPA-6-09", "EMPA-6-08" },
        role = "initiator",
        needs = { enhanced = true },
        run = function(t)
          local conn, asked = mpa.called(t, { peer_to_peer = true, enhanced = true, revision = 2 })
          conn:send(reply { revision = 2, enhanced = false, flags = 0x50, private = bytes(pd, 0xff) })
          mpa.ends_after(conn, asked, { at_once = true })
        end,
      },
    }
  end),
}
