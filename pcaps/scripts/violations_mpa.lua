-- SPDX-License-Identifier: BSD-3-Clause
-- One violation per capture, of start-up and framing: it breaks a rule that a bystander can judge; its twin is the same
-- without. `bad` says which of the two to make.

local mpa = use "mpa"

-- ---- start-up frames ----

-- The initiator's Request is wrong; the responder, if it answers at all, closes.
local function wrong_request(name, check, what, good, broken, rules)
  violation {
    name = name, check = check, what = what, rules = rules,
    run = function(c, bad)
      c.initiator:send(request(bad and broken or good))
      c:finds()
      if bad then
        c:fin(c.responder)
        c:fin(c.initiator)
        return
      end
      c.responder:send(reply { revision = good.revision, enhanced = good.enhanced, a = good.a, rtr = good.rtr, ird = good.ird, ord = good.ord })
      if good.a then c.initiator:send(write { payload = "" }) end
      c:close()
    end,
  }
end

-- The responder's Reply is wrong; the initiator closes.
local function wrong_reply(name, check, what, asks, good, broken, rules)
  violation {
    name = name, check = check, what = what, rules = rules,
    run = function(c, bad)
      c.initiator:send(request(asks))
      c.responder:send(reply(bad and broken or good))
      c:finds()
      if not bad and asks.a then c.initiator:send(write { payload = "" }) end
      c:close()
    end,
  }
end

local PLAIN = { revision = 1 }
local BLOCK = { revision = 2, ird = 2, ord = 2 }
local P2P = { revision = 2, a = true, rtr = { "send", "write" }, ird = 2, ord = 2 }

local function with(base, more)
  local all = {}
  for name, value in pairs(base) do all[name] = value end
  for name, value in pairs(more) do all[name] = value end
  return all
end

-- Without a key the stream is not MPA: iwarp-lint does not judge it any further.
violation {
  name = "mpa-req-key", check = "mpa-req-key", what = "one letter of the Request's key is another",
  rules = { "MPA-7.1.2-01", "EMPA-6-01" },
  run = function(c, bad)
    c.initiator:send(request { revision = 1, key = bad and "MPA ID Rez Frame" or nil })
    c:finds()
    c:loses()
    if not bad then c.responder:send(reply(PLAIN)) end
    c:fin(c.responder)
    c:fin(c.initiator)
  end,
}

violation {
  name = "mpa-rep-key", check = "mpa-rep-key", what = "the last letter of the Reply's key is another",
  run = function(c, bad)
    c.initiator:send(request(PLAIN))
    c.responder:send(reply { revision = 1, key = bad and "MPA ID Rep Framf" or nil })
    c:finds()
    c:loses()
    c:loses { side = "initiator" }
    c:close()
  end,
}

wrong_request("mpa-rev-request", "mpa-rev", "the Request's revision is 3", PLAIN, { revision = 3, enhanced = false })
violation {
  name = "mpa-rev-request-0", check = "mpa-rev", what = "a Request of revision 0 from an initiator that speaks version 1 of DDP",
  run = function(c, bad)
    c.initiator:send(request { revision = bad and 0 or 1, crc = true })
    c.responder:send(reply { revision = 1, crc = true })
    c.initiator:send(send { payload = "speaks DDP 1" })
    c:finds()
    c:close()
  end,
}
wrong_reply("mpa-rev-reply", "mpa-rev", "a Reply of revision 0 to a Request of revision 1", PLAIN, PLAIN, { revision = 0 })

violation {
  name = "mpa-pd-length", check = "mpa-pd-length", what = "PD_Length is 513", rules = { "MPA-7.1.1-24" },
  run = function(c, bad)
    c.initiator:send(request { revision = 1, private = bytes(bad and 513 or 512) })
    c:finds()
    c:loses()
    if not bad then c.responder:send(reply(PLAIN)) end
    c:fin(c.responder)
    c:fin(c.initiator)
  end,
}

violation {
  name = "mpa-pd-length-enhanced", check = "mpa-pd-length", what = "509 octets of private data after the block of RFC 6581", rules = { "EMPA-9-02" },
  run = function(c, bad)
    c.initiator:send(request { revision = 2, private = bytes(bad and 509 or 508) })
    c:finds()
    c:loses()
    if not bad then c.responder:send(reply(BLOCK)) end
    c:fin(c.responder)
    c:fin(c.initiator)
  end,
}

for _, block in ipairs { true, false } do
  violation {
    name = "mpa-pd-order" .. (block and "-enhanced" or ""), check = "mpa-pd-order",
    what = ("the PD_Length of the %s is in reversed octet order"):format(block and "Reply" or "Request"), rules = { "MPA-7.1.1-20" },
    run = function(c, bad)
      local turned = bad and 0x0800 or nil
      if block then
        c.initiator:send(request(BLOCK))
        c.responder:send(reply(with(BLOCK, { private = bytes(4), pd_length = turned })))
        c:finds()
      else
        c.initiator:send(request(with(PLAIN, { private = bytes(8), pd_length = turned })))
        c:finds()
        c.responder:send(reply(PLAIN))
      end
      c.initiator:send(send { payload = "judged all the same" })
      c:close()
    end,
  }
end

wrong_request("mpa-enh-length", "mpa-enh-length", "S=1 with three octets of private data", BLOCK,
  { revision = 2, flags = 0x50, enhanced = false, private = "\0\2\0" }, { "EMPA-6-02", "EMPA-6-08", "EMPA-6-09" })
wrong_reply("mpa-enh-length-reply", "mpa-enh-length", "a Reply with S=1 without the block", BLOCK, BLOCK,
  { revision = 2, flags = 0x50, enhanced = false })
wrong_reply("mpa-rep-s", "mpa-rep-s", "a Reply without the block to a Request with it", BLOCK, BLOCK, { revision = 2, enhanced = false },
  { "EMPA-6-02" })
wrong_reply("mpa-rep-s-unasked", "mpa-rep-s-unasked", "a Reply with the block to a Request of revision 1", PLAIN, PLAIN, BLOCK)

violation {
  name = "mpa-startup-cut", check = "mpa-startup-cut", what = "the Request ends before its private data does",
  run = function(c, bad)
    local frame = octets(request { revision = 1, private = bytes(20) })
    c.initiator.raw:startup(bad and frame:sub(1, 30) or frame)
    c:fin(c.initiator)
    c:finds()
    if not bad then c.responder:send(reply(PLAIN)) end
    c:fin(c.responder)
  end,
}

wrong_request("mpa-res-bits", "mpa-res-bits", "a reserved bit of a Request of revision 2 is set", BLOCK, with(BLOCK, { reserved = 0x01 }), { "MPA-7.1.1-14" })
wrong_request("mpa-res-bits-rev1", "mpa-res-bits", "a reserved bit of a Request of revision 1 is set", PLAIN, with(PLAIN, { reserved = 0x04 }))
wrong_reply("mpa-res-bits-reply", "mpa-res-bits", "a reserved bit of a Reply is set", BLOCK, BLOCK, with(BLOCK, { reserved = 0x08 }))
wrong_request("mpa-req-r", "mpa-req-r", "R is set in a Request", PLAIN, with(PLAIN, { rejected = true }))
wrong_request("mpa-req-r-rev2", "mpa-req-r", "R is set in a Request of revision 2", BLOCK, with(BLOCK, { rejected = true }), { "EMPA-6-01" })
wrong_request("mpa-rev1-s", "mpa-rev1-s", "S is set in a Request of revision 1", PLAIN, { revision = 1, reserved = 0x10, enhanced = false })
wrong_reply("mpa-rep-a", "mpa-rep-a", "the Reply is client-server where peer-to-peer was asked for", P2P, P2P, BLOCK)
wrong_reply("mpa-rep-a-unasked", "mpa-rep-a-unasked", "the Reply is peer-to-peer where client-server was asked for", BLOCK, BLOCK, P2P, { "EMPA-9.2-13" })
wrong_request("mpa-rtr-offer", "mpa-rtr-offer", "a Request with A=1 offers no RTR form", P2P, with(P2P, { rtr = {} }), { "EMPA-9.2-01" })
wrong_reply("mpa-rtr-choice", "mpa-rtr-choice", "a Reply with A=1 takes no RTR form", P2P, P2P, with(P2P, { rtr = {} }))
wrong_request("mpa-rtr-unasked", "mpa-rtr-unasked", "a Request with A=0 offers an RTR form", BLOCK, with(BLOCK, { rtr = { "send" } }))
wrong_reply("mpa-rtr-unasked-reply", "mpa-rtr-unasked", "a Reply with A=0 takes an RTR form", BLOCK, BLOCK, with(BLOCK, { rtr = { "write" } }))
wrong_reply("mpa-ord-reply", "mpa-ord-reply", "the Reply's ORD is above the Request's IRD", BLOCK, BLOCK, with(BLOCK, { ord = 3 }))
wrong_reply("mpa-ord-reply-swapped", "mpa-ord-reply", "IRD and ORD of the Reply are in little-endian order", BLOCK, BLOCK,
  with(BLOCK, { ird = 0x200, ord = 0x200 }), { "EMPA-9-01" })
wrong_reply("mpa-ird-3fff", "mpa-ird-3fff", "ORD 0x3FFF is answered with a number", with(BLOCK, { ord = 0x3fff }), with(BLOCK, { ird = 0x3fff }), BLOCK)
wrong_reply("mpa-ord-3fff", "mpa-ord-3fff", "IRD 0x3FFF is answered with a number", with(BLOCK, { ird = 0x3fff }), with(BLOCK, { ord = 0x3fff }), BLOCK)

-- ---- which side sends first ----

violation {
  check = "mpa-reply-early", what = "the Reply comes before the Request",
  run = function(c, bad)
    if bad then c.responder:send(reply(PLAIN)) end
    c:finds()
    c.initiator:send(request(PLAIN))
    if not bad then c.responder:send(reply(PLAIN)) end
    c:close()
  end,
}

-- Octets between Request and Reply.
local function early(name, what, rules, text)
  violation {
    name = name, check = "mpa-initiator-early", what = what, rules = rules,
    run = function(c, bad)
      c.initiator:send(request(PLAIN))
      if bad then
        c.initiator:write(text)
        c:finds()
        c:fin(c.responder)
        c:fin(c.initiator)
        return
      end
      c.responder:send(reply(PLAIN))
      c.initiator:send(send { payload = "in time" })
      c:close()
    end,
  }
end
local FPDU = hex "0012 4143 00000000 00000000 00000001 00000000 587be8c4"
early("mpa-initiator-early", "an FPDU follows the Request at once", nil, FPDU)
early("mpa-initiator-early-crc", "a CRC follows the Request", { "MPA-7.1-05" }, pack("<I4", crc32c(octets(request(PLAIN)))))
early("mpa-initiator-early-surplus", "the private data is longer than PD_Length says", { "MPA-7.1.1-20" }, bytes(4))

violation {
  check = "mpa-responder-early", what = "the responder sends an FPDU before the initiator has sent one",
  run = function(c, bad)
    c:start {}
    if not bad then c.initiator:send(send { payload = "first" }) end
    c.responder:send(send { payload = "answer" })
    c:finds()
    if bad then c.initiator:send(send { payload = "first" }) end
    c:close()
  end,
}

local function rtr(name, what, forms, first)
  violation {
    name = name, check = "mpa-rtr-first", what = what,
    run = function(c, bad)
      c:start { a = true, rtr = forms }
      c.initiator:send(bad and first or send { payload = "" })
      c:finds()
      c:close()
    end,
  }
end
rtr("mpa-rtr-first", "the first FPDU is a Write of four octets", { "send", "write" }, write { payload = "data" })
rtr("mpa-rtr-first-form", "the first FPDU is an RTR form that was not agreed", { "send" }, write { payload = "" })
rtr("mpa-rtr-first-send", "the first FPDU is a Send with a payload", { "send", "write", "read" }, send { payload = "data" })

-- ---- FPDUs ----

-- The second of three FPDUs of the initiator is sent by `way(conn, bad)`.
local function framed(name, check, what, setting, way, rules, more)
  violation {
    name = name, check = check, what = what, rules = rules,
    run = function(c, bad)
      c:start(setting)
      c.initiator:send(send { payload = "one" })
      c.responder:send(send { payload = "yes" })
      way(c.initiator, bad, c)
      c:finds()
      if more then more(c, bad) end
      c.initiator:send(send { payload = "three" })
      c:close()
    end,
  }
end

-- An FPDU as it is, with the CRC of `covered`.
local function sealed(conn, body, covered) conn:write(body .. pack("<I4", crc32c(covered))) end

local HELLO = send { payload = "hello", msn = 2 }
local function hello(conn) return conn:encode(HELLO)[1].ulpdu end
local function unsealed(ulpdu)
  local body = pack(">I2", #ulpdu) .. ulpdu
  return body .. ("\0"):rep(-#body % 4)
end

framed("mpa-crc", "mpa-crc", "a CRC is wrong", {}, function(conn, bad) conn:send(send { payload = "two" }, { crc = bad and "bad" or nil }) end,
  { "DDP-3-07" })
framed("mpa-crc-one-sided", "mpa-crc", "only the responder asked for CRCs, and the initiator leaves them zero", { crc = false, reply = { crc = true } },
  function(conn, bad) conn:send(send { payload = "two" }, { crc = bad and 0 or nil }) end, { "MPA-7.1.1-08" })
framed("mpa-crc-order", "mpa-crc", "a CRC lies in network byte order", {}, function(conn, bad)
  local body = unsealed(hello(conn))
  conn:write(body .. pack(bad and ">I4" or "<I4", crc32c(body)))
end, { "MPA-4.4-11" })
violation {
  name = "mpa-crc-absent", check = "mpa-crc-absent", what = "no FPDU of the initiator has a CRC field", rules = { "MPA-4.4-10" },
  run = function(c, bad)
    c:start { crc = false }
    for msn = 1, 3 do
      local body = unsealed(c.initiator:encode(send { payload = "number " .. msn, msn = msn })[1].ulpdu)
      c.initiator:write(body .. (bad and "" or "\0\0\0\0"))
      if msn == 2 then c:finds() end
    end
    c:close()
  end,
}
for _, crc in ipairs { true, false } do
  violation {
    name = "mpa-length-order" .. (crc and "" or "-no-crc"), check = "mpa-length-order", what = "the ULPDU_Length of each FPDU is in reversed octet order",
    rules = { "MPA-4.1-01" },
    run = function(c, bad)
      c:start { crc = crc }
      for msn = 1, 3 do
        local body = unsealed(c.initiator:encode(send { payload = "number " .. msn, msn = msn })[1].ulpdu)
        if bad then body = body:sub(2, 2) .. body:sub(1, 1) .. body:sub(3) end
        c.initiator:write(body .. (crc and pack("<I4", crc32c(body)) or "\0\0\0\0"))
        if msn == 1 then c:finds() end
      end
      c:close()
    end,
  }
end
framed("mpa-crc-length", "mpa-crc", "a CRC does not cover ULPDU_Length", {}, function(conn, bad)
  local body = unsealed(hello(conn))
  sealed(conn, body, bad and body:sub(3) or body)
end, { "MPA-4.4-12" })
framed("mpa-crc-pad", "mpa-crc", "a CRC does not cover the pad", {}, function(conn, bad)
  local body = unsealed(hello(conn))
  sealed(conn, body, bad and body:sub(1, -4) or body)
end, { "MPA-4.4-12" })
framed("mpa-crc-place", "mpa-crc", "a CRC stands before the pad", {}, function(conn, bad)
  local body = unsealed(hello(conn))
  if not bad then return sealed(conn, body, body) end
  local bare = body:sub(1, -4)
  conn:write(bare .. pack("<I4", crc32c(body)) .. "\0\0\0")
end, { "MPA-4.4-15" })
framed("mpa-crc-layout", "mpa-crc", "ULPDU_Length counts the pad, too", {}, function(conn, bad)
  local ulpdu = hello(conn)
  local body = unsealed(ulpdu)
  if bad then body = pack(">I2", #ulpdu + 3) .. body:sub(3) end
  sealed(conn, body, unsealed(ulpdu))
end, { "MPA-4.1-01", "MPA-3-01" })
framed("mpa-crc-text", "mpa-crc", "octets of another protocol between two FPDUs", {}, function(conn, bad)
  conn:write(bad and "\0\16PING\r\nPONG\r\nPING\r\n" .. "\0\0\0\0" or mpa.fpdu_octets(hello(conn)))
end, { "RDMAP-6.1-01" })

-- Markers. The FPDU at fault is the first of its direction, after a Marker at position 0.
local function marked(name, check, what, setting, way, rules)
  violation {
    name = name, check = check, what = what, rules = rules,
    run = function(c, bad)
      c:start(setting)
      way(c.initiator, bad, c)
      c:finds()
      c:close()
    end,
  }
end
local BOTH = { markers = true }
local BARE = { markers = true, crc = false }

marked("mpa-crc-marker-before", "mpa-crc", "the CRC of an FPDU leaves out the Marker before it", BOTH, function(conn, bad)
  local body = "\0\0\0\0" .. unsealed(conn:encode(send { payload = "hello" })[1].ulpdu)
  sealed(conn, body, bad and body:sub(5) or body)
end, { "MPA-4.3-05", "MPA-4.4-14" })
marked("mpa-crc-marker-inside", "mpa-crc", "the CRC of an FPDU leaves out the Marker inside it", BOTH, function(conn, bad)
  local ulpdu = conn:encode(send { payload = bytes(600) })[1].ulpdu
  local body = "\0\0\0\0" .. unsealed(ulpdu)
  local with_marker = body:sub(1, 512) .. pack(">I2I2", 0, 508) .. body:sub(513)
  sealed(conn, with_marker, bad and body or with_marker)
end, { "MPA-4.4-12", "MPA-4.3-09" })
marked("mpa-crc-marker-behind-pad", "mpa-crc", "the Marker between pad and CRC is left out of the CRC", BOTH, function(conn, bad)
  local ulpdu = conn:encode(send { payload = bytes(512 - 4 - 2 - 18) })[1].ulpdu
  local body = "\0\0\0\0" .. unsealed(ulpdu) .. pack(">I2I2", 0, 508)
  sealed(conn, body, bad and body:sub(1, 512) or body)
end, { "MPA-4.4-13" })
marked("mpa-marker-missing", "mpa-marker-missing", "no Markers although the responder asked for them", BOTH, function(conn, bad)
  conn:send(send { payload = "hello" }, { markers = not bad })
end, { "MPA-7.1.1-06", "MPA-7.1.2-20", "MPA-4.3-08" })
marked("mpa-marker-unasked", "mpa-marker-unasked", "Markers although nobody asked for them", {}, function(conn, bad)
  conn:send(send { payload = "hello" }, { markers = bad })
end, { "MPA-7.1.1-05", "MPA-7.1.2-20" })
marked("mpa-marker-place", "mpa-marker-place", "a Marker every 516 octets, in place of one every 512", BOTH, function(conn, bad)
  local ulpdu = conn:encode(send { payload = bytes(1200) })[1].ulpdu
  local body, period = "\0\0\0\0" .. unsealed(ulpdu), bad and 516 or 512
  for place = period, 2 * period, period do
    body = body:sub(1, place) .. pack(">I2I2", 0, place - 4) .. body:sub(place + 1)
  end
  sealed(conn, body, body)
end, { "MPA-4.3-02" })

marked("mpa-marker-pointer", "mpa-marker-pointer", "the Marker inside an FPDU points 4 octets too far", BOTH,
  function(conn, bad) conn:send(send { payload = bytes(600) }, { marker = { which = 1, add = bad and 4 or 0 } }) end, { "MPA-4.3-03", "MPA-4.3-10" })
marked("mpa-marker-pointer-between", "mpa-marker-pointer", "the Marker before an FPDU is not zero", BOTH,
  function(conn, bad) conn:send(send { payload = "hello" }, { marker = { which = 0, pointer = bad and 4 or 0 } }) end, { "MPA-4.3-11" })
marked("mpa-marker-pointer-second", "mpa-marker-pointer", "the third Marker of a long FPDU points to the second", BOTH,
  function(conn, bad) conn:send(send { payload = bytes(1200) }, { marker = { which = 2, add = bad and -512 or 0 } }) end, { "MPA-4.3-09" })
marked("mpa-marker-pointer-nocrc", "mpa-marker-pointer", "a Marker is wrong while CRCs are off", BARE,
  function(conn, bad) conn:send(send { payload = bytes(600) }, { marker = { which = 1, add = bad and 4 or 0 } }) end)
marked("mpa-marker-rsvd", "mpa-marker-rsvd", "the reserved half of a Marker is not zero", BOTH,
  function(conn, bad) conn:send(send { payload = bytes(600) }, { marker = { which = 1, reserved = bad and 1 or 0 } }) end, { "MPA-4.2-01", "MPA-4.2-02" })
marked("mpa-marker-low", "mpa-marker-low", "the low two bits of FPDUPTR are not zero", BOTH,
  function(conn, bad) conn:send(send { payload = bytes(600) }, { marker = { which = 1, add = bad and 2 or 0 } }) end, { "MPA-4.2-04" })

framed("mpa-pad", "mpa-pad", "a pad octet is not zero", {}, function(conn, bad)
  conn:send(send { payload = "hello" }, { pad = bad and "\0\1\0" or nil })
end, { "MPA-4.1-02" })
framed("mpa-pad-length", "mpa-crc", "the pad is an octet too long", {}, function(conn, bad)
  conn:send(send { payload = "hello" }, { pad = bad and "\0\0\0\0" or nil })
end, { "MPA-4.1-05" })

violation {
  check = "mpa-ulpdu-max", what = "ULPDU_Length is 64769", rules = { "MPA-3-05", "MPA-3-04" },
  run = function(c, bad)
    c:start {}
    c.initiator:send(send { payload = bytes(64768 - 18 + (bad and 1 or 0)) }, { segments = 65000, writes = 1460 })
    c:finds(nil, bad and { frame = 6 } or nil)
    c:close()
  end,
}

violation {
  check = "mpa-fin-inside", what = "the stream ends inside an FPDU",
  run = function(c, bad)
    c:start {}
    local list = c.initiator:split(function() c.initiator:send(send { payload = bytes(100) }) end, { sizes = { 60 } })
    list:send(1)
    if not bad then list:send(2) end
    c:fin(c.initiator)
    c:finds()
    c:fin(c.responder)
  end,
}

violation {
  name = "mpa-fin-inside-no-crc", check = "mpa-crc-absent", what = "CRCs are off, and the FPDU ends after its pad",
  rules = { "MPA-4.1-07", "MPA-4.4-10" },
  run = function(c, bad)
    c:start { crc = false }
    c.initiator:send(send { payload = bytes(100) }, { crc = bad and "none" or nil })
    c:fin(c.initiator)
    c:finds()
    c:fin(c.responder)
  end,
}
