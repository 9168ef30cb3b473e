-- SPDX-License-Identifier: BSD-3-Clause
-- Every Terminate that RFC 5040 (figure 9), RFC 5041 §7.2, RFC 5044 §8, RFC 6581 §8 and RFC 7306 §8.2 define, each after
-- a segment that may have called for it. If the wire shows what is wrong with that segment, the finding is there.

local ATOMIC = { atomic = 2, request_id = 9, remote_stag = 0x77, remote_to = 0x2000, add_swap = 1, compare = 2 }
local function atomic(fields)
  local all = {}
  for name, value in pairs(ATOMIC) do all[name] = value end
  for name, value in pairs(fields or {}) do all[name] = value end
  return atomic_request(all)
end

local function read(fields)
  local all = { sink_stag = 0x51, sink_to = 0x1000, size = 16, source_stag = 0x52, source_to = 0x2000 }
  for name, value in pairs(fields or {}) do all[name] = value end
  return read_request(all)
end

-- Code, its meaning, the segment that calls for it (nil: none), the check that finds it.
local LIST = {
  { "0/0/00", "local catastrophic error" },
  { "0/1/00", "remote protection: invalid STag", read { source_stag = 0xdead } },
  { "0/1/01", "remote protection: base or bounds", read { size = 1 << 30 } },
  { "0/1/02", "remote protection: access rights", read() },
  { "0/1/03", "remote protection: STag of another stream", read() },
  { "0/1/04", "remote protection: TO wrap", read { source_to = -2 } },
  { "0/1/09", "remote protection: STag cannot be invalidated", send_invalidate { invalidate = 0xdead } },
  { "0/1/ff", "remote protection: unspecified", read() },
  { "0/2/05", "remote operation: invalid RDMAP version", send { rv = 2 }, "rdmap-version" },
  { "0/2/06", "remote operation: unexpected opcode", send { opcode = 0xd }, "rdmap-opcode" },
  { "0/2/07", "remote operation: catastrophic, localised to the stream", send { payload = "x" } },
  { "0/2/08", "remote operation: catastrophic, global", send { payload = "x" } },
  { "0/2/09", "remote operation: STag cannot be invalidated", send_se_invalidate { invalidate = 0xdead } },
  { "0/2/ff", "remote operation: unspecified", read { payload = bytes(24) }, "rdmap-read-length" },
  { "1/0/00", "DDP: local catastrophic error" },
  { "1/1/00", "DDP tagged: invalid STag", write { stag = 0xdead, payload = "x" } },
  { "1/1/01", "DDP tagged: base or bounds", write { stag = 0x52, to = 1 << 40, payload = "x" } },
  { "1/1/02", "DDP tagged: STag of another stream", write { stag = 0x52, payload = "x" } },
  { "1/1/03", "DDP tagged: TO wrap", write { stag = 0x52, to = -2, payload = "four" } },
  { "1/1/04", "DDP tagged: invalid version", write { stag = 0x52, dv = 2, payload = "x" }, "ddp-version-tagged" },
  { "1/2/01", "DDP untagged: invalid QN", send { qn = 9 }, "ddp-qn" },
  { "1/2/02", "DDP untagged: no buffer", send { payload = "x" } },
  { "1/2/03", "DDP untagged: MSN range", send { msn = 7 }, "ddp-msn" },
  { "1/2/04", "DDP untagged: invalid MO", send { mo = 4, payload = "x" }, "ddp-mo-zero" },
  { "1/2/05", "DDP untagged: message too long", send { payload = bytes(1000) } },
  { "1/2/06", "DDP untagged: invalid version", send { dv = 2 }, "ddp-version-untagged" },
  { "2/0/01", "MPA: TCP connection closed" },
  { "2/0/02", "MPA: CRC", send { payload = "x" }, "mpa-crc", { crc = "bad" } },
  { "2/0/03", "MPA: Marker and ULPDU_Length disagree" },
  { "2/0/04", "MPA: invalid start-up frame" },
  { "2/0/05", "MPA: local catastrophic error" },
  { "2/0/06", "MPA: insufficient IRD resources (RFC 6581)" },
  { "2/0/07", "MPA: no matching RTR option (RFC 6581)" },
  { "0/1/00", "an Atomic Request: invalid STag (RFC 7306)", atomic(), name = "atomic-" },
  { "0/1/01", "an Atomic Request: base or bounds (RFC 7306)", atomic { remote_to = 1 << 50 }, name = "atomic-" },
  { "0/1/02", "an Atomic Request: access rights (RFC 7306)", atomic(), name = "atomic-" },
  { "0/1/03", "an Atomic Request: STag of another stream (RFC 7306)", atomic(), name = "atomic-" },
  { "0/1/04", "an Atomic Request: TO wrap (RFC 7306)", atomic { remote_to = -4 }, name = "atomic-" },
  { "0/2/06", "an Atomic Request: unknown operation (RFC 7306)", atomic { atomic = 5 }, "rdmap-atomic-opcode", name = "atomic-" },
  { "0/2/07", "an Atomic Request: not aligned (RFC 7306)", atomic { remote_to = 0x2001 }, name = "atomic-" },
  { "0/2/ff", "Immediate Data of seven octets (RFC 7306)", immediate { payload = bytes(7) }, "rdmap-immediate-length", name = "immediate-" },
}

for _, t in ipairs(LIST) do
  local code, what, segment, check, bend = table.unpack(t, 1, 5)
  capture {
    file = ("terminates/%s%s"):format(t.name or "", code:gsub("/", "-")), what = ("Terminate %s, %s"):format(code, what),
    run = function(f)
      local c = f:open()
      c:start {}
      local of = c.initiator:send(segment or send { payload = "before" }, bend)
      if check then c:finds(check) end
      local layer, etype, number = code:match("(%x)/(%x)/(%x%x)")
      local fields = { layer = tonumber(layer), etype = tonumber(etype), code = tonumber(number, 16) }
      if segment and fields.layer ~= 2 then
        fields.of = of
        fields.r = of.opcode == 1 and (fields.layer == 0)
        if of.opcode == 1 and #of.payload < 28 then fields.r = false end
      end
      c.responder:send(terminate(fields))
      c:fin(c.responder)
      c:fin(c.initiator)
    end,
  }
end

-- The rules that a sender of a Terminate can break in view of a bystander who has seen the error itself: both connections have two findings.
capture {
  file = "terminates/another-segment", what = "a Terminate for a wrong MSN returns the segment before the one that has it",
  run = function(f)
    local c = f:open()
    c:start {}
    local before = c.initiator:send(send { payload = "before" })
    c.initiator:send(send { msn = 7, payload = "x" })
    c:finds("ddp-msn")
    c.responder:send(terminate { layer = 1, etype = 2, code = 3, of = before })
    c:finds("rdmap-terminate-segment")
    c:fin(c.responder)
    c:fin(c.initiator)
  end,
}
capture {
  file = "terminates/answer-behind-error", what = "a Read Request after an error is answered",
  run = function(f)
    local c = f:open()
    c:start {}
    c.initiator:send(send { msn = 7, payload = "x" })
    c:finds("ddp-msn")
    c.initiator:send(read())
    c.responder:send(read_response { stag = 0x51, to = 0x1000, payload = bytes(16) })
    c:finds("rdmap-terminate-stop")
    c:fin(c.responder)
    c:fin(c.initiator)
  end,
}
