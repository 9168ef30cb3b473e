-- SPDX-License-Identifier: BSD-3-Clause
-- The variants of start-up: RTR forms, private data, IRD and ORD, refusals, revisions that differ, streaming mode.

-- Between two endpoints; options as for iw.pair. Something is sent both ways if the start-up permits it.
local function pair(name, what, initiator, responder, refused)
  capture {
    file = "startup/" .. name, what = what, made = "pair",
    run = function(f)
      local p, carry = f:pair { initiator = initiator, responder = responder }
      carry()
      if refused then return end
      for side = 0, 1 do
        p:receive(1 - side, 1)
        p:post(side, { op = "send", length = 10 })
        carry()
      end
      p:shutdown(0)
      carry()
    end,
  }
end

for _, form in ipairs { "send", "write", "read" } do
  for _, markers in ipairs { false, true } do
    local name = ("rtr-%s%s"):format(form, markers and "-markers" or "")
    local what = ("peer-to-peer, the initiator's RTR is a zero-length %s%s"):format(form, markers and ", with Markers" or "")
    pair(name, what, { peer_to_peer = true, rtr_first = form, markers = markers }, { markers = markers })
  end
  pair("rtr-only-" .. form, ("peer-to-peer, the responder takes no RTR but a %s"):format(form),
    { peer_to_peer = true }, { rtr = form })
end

local function text(n) return bytes(n) end
pair("private-request", "private data in the Request", { private = text(17) }, {})
pair("private-reply", "private data in the Reply", {}, { private = text(33) })
pair("private-both", "508 octets of private data in both frames, after the block of RFC 6581", { private = text(508) }, { private = text(508) })
pair("private-rev1", "512 octets of private data in both frames, revision 1", { revision = 1, private = text(512) }, { revision = 1, private = text(512) })
pair("reject", "the responder refuses", {}, { reject = true }, true)
pair("reject-private", "the responder refuses and says why", { revision = 1 }, { revision = 1, reject = true, private = "no room" }, true)
pair("depths-zero", "IRD and ORD 0", { ird = 0, ord = 0 }, { ird = 0, ord = 0 })
pair("depths-open", "IRD and ORD left to the ULP (0x3FFF)", { ird = 0x3fff, ord = 0x3fff }, { ird = 0x3fff, ord = 0x3fff })
pair("depths-bargain", "the responder gives fewer reads than were asked for", { ird = 8, ord = 8 }, { ird = 2, ord = 3 })
pair("older", "the responder knows revision 1 only and closes without a Reply", { enhanced = false }, { revision = 1 }, true)

-- The applications talk over TCP first (RFC 5044 7.1.2): writes(connection) sends their octets.
local function streaming(name, what, writes, setting)
  capture {
    file = "startup/" .. name, what = "streaming mode: " .. what,
    run = function(f)
      local c = f:open()
      writes(c)
      c:start(setting)
      c.initiator:send(send { payload = "ping" })
      c.responder:send(send { payload = "pong" })
      c:close()
    end,
  }
end

local function greet(c)
  c.initiator.raw:write("HELLO\r\n")
  c.responder.raw:write("200 ready for iWARP\r\n")
end
streaming("streaming", "the applications talk over TCP first (RFC 5044 7.1.2)", greet, {})
streaming("streaming-markers", "Markers are counted from the start-up frames on", greet, { markers = true })
streaming("streaming-rev1", "followed by a start-up of revision 1", greet, { revision = 1, crc = false })
streaming("streaming-responder", "only the responder says something before the Request", function(c)
  c.responder.raw:write("220 ready for iWARP\r\n")
end, {})
streaming("streaming-long", "many segments of it, with the key of a Request in the midst of one", function(c)
  for n = 1, 20 do
    c.initiator.raw:write(("%03d MPA ID Req Frame\r\n"):format(n))
    c.responder.raw:write(("%03d MPA ID Rep Frame\r\n"):format(n))
  end
end, { markers = true })

capture {
  file = "startup/half-closed", what = "the initiator closes after its Request, the responder refuses",
  run = function(f)
    local c = f:open()
    c.initiator:send(request { revision = 1 })
    c:fin(c.initiator)
    c.responder:send(reply { revision = 1, rejected = true })
    c:fin(c.responder)
  end,
}

capture {
  file = "startup/reset", what = "the responder resets the connection instead of answering the Request",
  run = function(f)
    local c = f:open()
    c.initiator:send(request { revision = 2 })
    c:reset(c.responder)
  end,
}

capture {
  file = "startup/several", what = "three connections at once, each with a setting of its own",
  run = function(f)
    local list = { f:open(), f:open(), f:open { ipv6 = true } }
    list[1]:start { markers = true }
    list[2]:start { revision = 1, crc = false }
    list[3]:start { a = true, rtr = { "write" } }
    list[3].initiator:send(write { payload = "" })
    for n = 1, 3 do
      for _, c in ipairs(list) do
        c.initiator:send(send { payload = bytes(n * 100) })
        c.responder:send(write { stag = 0x1000 + n, to = n << 32, payload = bytes(n) })
      end
    end
    for _, c in ipairs(list) do c:close() end
  end,
}
