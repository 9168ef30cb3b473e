-- SPDX-License-Identifier: BSD-3-Clause
-- One violation per capture, of DDP and RDMAP: it breaks a rule that a bystander can judge; its twin is the same without.

-- In full operation `run(i, r, bad, c)` sends the wrong message last, if it does not say "found" itself where it is; everything after it
-- is correct.
local function breaks(name, check, what, run, rules, setting)
  violation {
    name = name, check = check, what = what, rules = rules,
    run = function(c, bad)
      c:start(setting or { ird = 2, ord = 2 })
      if run(c.initiator, c.responder, bad, c) ~= "found" then c:finds() end
      c:close()
    end,
  }
end

-- Sends the message of the initiator that `bad` or else `good` gives.
local function wrong(name, check, what, good, bad, rules, setting)
  breaks(name, check, what, function(i, _, broken) i:send(broken and bad or good) end, rules, setting)
end

local READ = { sink_stag = 0x51, sink_to = 0x1000, size = 16, source_stag = 0x52, source_to = 0x2000 }
local FETCH = { atomic = 0, request_id = 7, remote_stag = 0x77, remote_to = 0x2000, add_swap = 1, compare = 0, compare_mask = -1 }
local function with(base, more)
  local all = {}
  for name, value in pairs(base) do all[name] = value end
  for name, value in pairs(more or {}) do all[name] = value end
  return all
end
local function read(more) return read_request(with(READ, more)) end
local function fetch(more) return atomic_request(with(FETCH, more)) end

-- ---- DDP ----

breaks("ddp-header-short", "ddp-header-short", "a ULPDU of 17 octets, an untagged header needs 18", function(i, _, bad)
  i:send(raw { ulpdu = bad and bytes(17, 0x41) or i:encode(send {})[1].ulpdu })
end, { "DDP-4.3-01", "DDP-4.4-01" })
breaks("ddp-header-short-tagged", "ddp-header-short", "a ULPDU of 13 octets, a tagged header needs 14", function(i, _, bad)
  i:send(raw { ulpdu = bad and "\xc1\x40" .. bytes(11) or i:encode(write {})[1].ulpdu })
end, { "DDP-4.2-01" })
breaks("ddp-header-short-empty", "ddp-header-short", "an FPDU without a ULPDU", function(i, _, bad)
  i:send(raw { ulpdu = bad and "" or i:encode(write {})[1].ulpdu })
end, { "MPA-3-01" })
wrong("ddp-version-tagged", "ddp-version-tagged", "DV is 2 in a Write", write { payload = "x" }, write { dv = 2, payload = "x" }, { "DDP-4.1-11" })
wrong("ddp-version-tagged-empty", "ddp-version-tagged", "DV is 0 in a Write of no octets", write {}, write { dv = 0 }, { "DDP-5.2-10" })
wrong("ddp-version-untagged", "ddp-version-untagged", "DV is 0 in a Send", send {}, send { dv = 0 }, { "MPA-C.1-01" })
wrong("ddp-version-untagged-rev0", "ddp-version-untagged", "DV is 1 after start-up frames of revision 0", send {}, send { dv = 1 },
  { "MPA-3-13" }, { revision = 0, markers = true })
breaks("ddp-version-changes", "ddp-version-untagged", "DV changes from one Send to the next", function(i, _, bad)
  i:send(send {})
  i:send(send { dv = bad and 3 or nil })
end, { "DDP-4.1-12" })
wrong("ddp-rsvd", "ddp-rsvd", "a reserved bit of the DDP control octet is set (untagged)", send {}, send { rsvd = 1 }, { "DDP-4.1-09" })
wrong("ddp-rsvd-tagged", "ddp-rsvd", "a reserved bit of the DDP control octet is set (tagged)", write {}, write { rsvd = 8 })
wrong("ddp-qn", "ddp-qn", "QN 4", send {}, send { qn = 4, msn = 1 }, { "DDP-4.3-07" })
wrong("ddp-msn-first", "ddp-msn", "the first MSN is 2", send {}, send { msn = 2 }, { "DDP-4.3-09" })
wrong("ddp-msn-zero", "ddp-msn", "the first MSN is 0", send {}, send { msn = 0 }, { "DDP-4.3-09" })
breaks("ddp-msn-gap", "ddp-msn", "MSN 3 follows MSN 1", function(i, _, bad)
  i:send(send {})
  i:send(send { msn = bad and 3 or nil })
end, { "DDP-4.3-08", "RDMAP-5.3-09", "DDP-5.3-02" })
breaks("ddp-msn-again", "ddp-msn", "an MSN comes twice", function(i, _, bad)
  i:send(send {})
  i:send(send { msn = bad and 1 or nil })
end, { "DDP-5.3-01" })
breaks("ddp-msn-changes", "ddp-msn", "the MSN changes within a message", function(i, _, bad)
  i:send(send { l = false, payload = "first" })
  if bad then
    i:send(send { msn = 2, mo = 5, payload = "second" })
  else
    i:send(send { payload = "second" })
  end
end, { "DDP-4.3-11" })
breaks("ddp-msn-reads", "ddp-msn", "the Read Requests leave in another order than their MSNs", function(i, _, bad, c)
  i:send(read { msn = bad and 2 or nil })
  c:finds()
  i:send(read { msn = bad and 1 or nil })
end, { "RDMAP-5.2.1-07", "RDMAP-5.5-10" })
breaks("ddp-msn-atomics", "ddp-msn", "an Atomic Request does not count on from the Read Request before it", function(i, _, bad)
  i:send(read())
  i:send(fetch { msn = bad and 1 or nil })
end, { "EXT-5.2-01", "EXT-5.2.1-17" })
breaks("ddp-msn-immediate", "ddp-msn", "Immediate Data does not count on from the Send before it", function(i, _, bad)
  i:send(send {})
  i:send(immediate { msn = bad and 1 or nil })
end, { "EXT-6.3-05", "EXT-6.3-07" })
wrong("ddp-mo-zero", "ddp-mo-zero", "the first segment of a Send has MO 4", send { payload = "x" }, send { mo = 4, payload = "x" }, { "DDP-4.3-12" })
-- What is left out may still come: it is found at the end of the message, and belongs to all of it.
breaks("ddp-mo-place", "ddp-mo-place", "octets are left out between two segments of a Send", function(i, _, bad, c)
  i:send(send { l = false, payload = "first" })
  c:finds()
  i:send(send { mo = bad and 8 or 5, payload = "second" })
  return "found"
end, { "DDP-5.2-06", "DDP-5.2-01", "DDP-5.2-04" })
breaks("ddp-mo-place-once", "ddp-mo-place", "one segment in a Send has another MO", function(i, _, bad, c)
  i:send(send { l = false, payload = "first" })
  c:finds()
  i:send(send { l = false, mo = bad and 0x7fffffff or 5, payload = "second" })
  i:send(send { mo = 11, payload = "third" })
  return "found"
end, { "DDP-5.2-06" })
breaks("ddp-mo-place-again", "ddp-mo-place", "octets of a Send are sent twice", function(i, _, bad)
  i:send(send { l = false, payload = "firstfirst" })
  i:send(send { mo = bad and 3 or 10, payload = "2" })
end, { "DDP-5.2-06", "DDP-4.1-06" })
breaks("ddp-mo-place-octets", "ddp-mo-place", "the MO is in reversed octet order", function(i, _, bad, c)
  i:send(send { l = false, payload = "first" })
  i:send(send { l = false, mo = bad and 0x05000000 or 5, payload = "second" })
  c:finds()
  i:send(send { mo = bad and 0x0b000000 or 11, payload = "third" })
  return "found"
end, { "DDP-5.2-06" })
breaks("ddp-mo-order", "ddp-mo-order", "the segments of a Send leave in another order than that of MO", function(i, _, bad, c)
  i:send(send { l = false, payload = "first" })
  c:finds()
  i:send(send { l = false, mo = bad and 11 or 5, payload = "second" })
  i:send(send { mo = bad and 5 or 11, payload = "second" })
  return "found"
end, { "DDP-5.3-03", "DDP-4.1-06" })
breaks("ddp-to-order", "ddp-to-order", "octets are left out between two segments of a Write", function(i, _, bad)
  i:send(write { stag = 1, to = 0x1000, l = false, payload = "first" })
  i:send(write { stag = 1, to = bad and 0x1008 or 0x1005, payload = "second" })
end, { "DDP-5.2-08", "DDP-5.3-04" })
breaks("ddp-constant-untagged", "ddp-constant-untagged", "a Send becomes a Send with SE in its second segment", function(i, _, bad)
  i:send(send { l = false, payload = "first" })
  i:send(bad and send_se { payload = "second" } or send { payload = "second" })
end, { "DDP-4.3-04", "DDP-4.3-02" })
breaks("ddp-constant-untagged-stag", "ddp-constant-untagged", "the Invalidate STag changes within a Send", function(i, _, bad)
  i:send(send_invalidate { l = false, invalidate = 5, payload = "first" })
  i:send(send_invalidate { invalidate = bad and 6 or 5, payload = "second" })
end)
breaks("ddp-constant-tagged", "ddp-constant-tagged", "a Write becomes a Read Response in its second segment", function(i, _, bad)
  i:send(write { stag = 1, to = 0x1000, l = false, payload = "first" })
  i:send((bad and read_response or write) { stag = 1, to = 0x1005, payload = "second" })
end, { "DDP-4.2-04", "DDP-4.2-02" })
breaks("ddp-constant-stag", "ddp-constant-stag", "the STag changes within a Write", function(i, _, bad)
  i:send(write { stag = 1, to = 0x1000, l = false, payload = "first" })
  i:send(write { stag = bad and 2 or 1, to = 0x1005, payload = "second" })
end, { "DDP-4.2-08" })
breaks("ddp-last", "ddp-last", "a Send begins before the one before it had its L=1 segment", function(i, _, bad)
  i:send(send { msn = 1, mo = 0, l = not bad, payload = "first" })
  i:send(send { msn = 2, mo = 0, payload = "second" })
end, { "DDP-4.1-03" })
breaks("ddp-last-tagged", "ddp-last", "a Write begins before the one before it had its L=1 segment", function(i, _, bad)
  i:send(write { stag = 1, to = 0x1000, l = not bad, payload = "first" })
  i:send(write { stag = 2, to = 0x9000, payload = "second" })
end, { "DDP-4.1-03" })
breaks("ddp-last-early", "ddp-mo-zero", "a segment that is not the last one has L=1", function(i, _, bad)
  i:send(send { msn = 1, mo = 0, l = bad, payload = "first" })
  i:send(send { msn = bad and 2 or 1, mo = 5, payload = "second" })
end, { "DDP-4.1-04" })
breaks("ddp-qn-changes", "ddp-qn", "the QN changes within a message", function(i, _, bad)
  i:send(send { msn = 1, mo = 0, l = false, payload = "first" })
  i:send(send { qn = bad and 5 or 0, msn = 1, mo = 5, payload = "second" })
end, { "DDP-4.3-06" })

breaks("ddp-zero-segments", "ddp-zero-segments", "a Send without an octet takes two segments", function(i, _, bad)
  if bad then i:send(send { l = false }) end
  i:send(send {})
end)
breaks("ddp-zero-segments-tagged", "ddp-zero-segments", "a Write without an octet takes two segments", function(i, _, bad)
  if bad then i:send(write { stag = 1, l = false }) end
  i:send(write { stag = 1 })
end)

-- The side that closes first does so after `segment`.
local function closes(name, what, first, segment)
  violation {
    name = name, check = "ddp-fin-open", what = what,
    run = function(c, bad)
      c:start {}
      c.initiator:send(send { payload = "one" })
      c[first]:send(segment)
      if not bad then c[first]:send(segment.name == "send" and send { payload = "rest" } or write { stag = 1, to = 5, payload = "rest" }) end
      c:fin(c[first])
      c:finds()
      c:fin(first == "initiator" and c.responder or c.initiator)
    end,
  }
end
closes("ddp-fin-open", "the initiator closes after half a Send", "initiator", send { l = false, payload = "first" })
closes("ddp-fin-open-tagged", "the responder closes after half a Write", "responder", write { stag = 1, l = false, payload = "first" })

-- ---- RDMAP ----

wrong("rdmap-version", "rdmap-version", "RV is 0 in a Send", send {}, send { rv = 0 }, { "RDMAP-4.1-08", "RDMAP-4.1-01" })
breaks("rdmap-version-bits", "rdmap-version", "the bits of the RDMAP control octet of a Write are in reverse order", function(i, r, bad)
  i:send(send {})
  r:send(read()) -- reversed, the opcode is that of a Read Response: this one's
  i:send(write { stag = 0x51, to = 0x1000, payload = bytes(16), rv = bad and 0 or nil, opcode = bad and 2 or nil })
end, { "RDMAP-4.1-02" })
wrong("rdmap-version-immediate", "rdmap-version", "RV is 0 in Immediate Data", immediate {}, immediate { rv = 0 }, { "EXT-4.1-01" })
wrong("rdmap-version-rev0", "rdmap-version", "RV is 1 after start-up frames of revision 0", send {}, send { rv = 1 }, { "MPA-C.1-01" }, { revision = 0, markers = true })
wrong("rdmap-rsv", "rdmap-rsv", "a reserved bit of the RDMAP control octet is set", send {}, send { rsv = 1 }, { "RDMAP-4.1-09" })
wrong("rdmap-rsv-tagged", "rdmap-rsv", "a reserved bit of the RDMAP control octet of a Write is set", write {}, write { rsv = 2 })
wrong("rdmap-opcode", "rdmap-opcode", "an opcode that is not assigned (0xC)", send {}, send { opcode = 0xc }, { "RDMAP-4.1-06", "EXT-4.1-02" })
wrong("rdmap-opcode-write", "rdmap-opcode", "an opcode that is not assigned (0xF), tagged", write {}, write { opcode = 0xf })
for _, m in ipairs {
  { "send", send {}, send { t = true }, { "RDMAP-5.3-01", "RDMAP-4.1-04", "RDMAP-4.1-05", "RDMAP-4.1-07" } },
  { "write", write {}, write { t = false, qn = 0, msn = 1 }, { "RDMAP-5.1-01" } },
  { "read-request", read(), read { t = true }, { "RDMAP-5.2.1-01" } },
  { "read-response", write {}, read_response { t = false, qn = 0, msn = 1 }, { "RDMAP-5.2.2-01" } },
  { "atomic-request", fetch(), fetch { t = true }, { "EXT-5.2.1-09" } },
  { "immediate", immediate {}, immediate { t = true }, { "EXT-6.3-01" } },
} do
  wrong("rdmap-opcode-tagged-" .. m[1], "rdmap-opcode-tagged", ("the T bit of a %s is wrong"):format(m[1]), m[2], m[3], m[4])
end
wrong("rdmap-opcode-queue", "rdmap-opcode-queue", "a Send on queue 1", send {}, send { qn = 1, msn = 1 }, { "RDMAP-5.3-08", "RDMAP-3.1-02" })
wrong("rdmap-opcode-queue-read", "rdmap-opcode-queue", "a Read Request on queue 0", read(), read { qn = 0, msn = 1 }, { "RDMAP-5.2.1-06" })
wrong("rdmap-opcode-queue-atomic", "rdmap-opcode-queue", "an Atomic Request on queue 0", fetch(), fetch { qn = 0, msn = 1 },
  { "EXT-5.2.1-15", "EXT-4.1-05" })
wrong("rdmap-opcode-queue-immediate", "rdmap-opcode-queue", "Immediate Data on queue 1", immediate {}, immediate { qn = 1, msn = 1 }, { "EXT-6.3-05" })
wrong("rdmap-invalidate-field", "rdmap-invalidate-field", "the Invalidate STag of a Send with SE is not zero", send_se {}, send_se { invalidate = 1 },
  { "RDMAP-4.1-11", "DDP-4.3-02" })
wrong("rdmap-invalidate-field-immediate", "rdmap-invalidate-field", "the Invalidate STag of Immediate Data is not zero", immediate {},
  immediate { invalidate = 1 }, { "EXT-4.1-03" })
wrong("rdmap-read-length", "rdmap-read-length", "a Read Request of 24 octets", read(), read { payload = bytes(24) }, { "RDMAP-4.4-01" })
wrong("rdmap-read-length-two", "rdmap-read-length", "a Read Request with a second source after the first", read(), read { payload = bytes(40) },
  { "RDMAP-5.2.1-10", "RDMAP-4.2-01" })
breaks("rdmap-ird", "rdmap-ird", "a third Read Request is under way where IRD is 2", function(i, r, bad)
  i:send(read())
  i:send(read { sink_to = 0x2000 })
  if not bad then r:send(read_response { stag = 0x51, to = 0x1000, payload = bytes(16) }) end
  i:send(read { sink_to = 0x3000 })
end)
breaks("rdmap-ird-atomics", "rdmap-ird", "two Read Requests and an Atomic Request are under way where IRD is 2", function(i, r, bad)
  i:send(read())
  i:send(read { sink_to = 0x2000 })
  if not bad then r:send(read_response { stag = 0x51, to = 0x1000, payload = bytes(16) }) end
  i:send(fetch())
end)
breaks("rdmap-response-unsolicited", "rdmap-response-unsolicited", "a second Read Response for one Read Request", function(i, r, bad)
  i:send(read())
  r:send(read_response { stag = 0x51, to = 0x1000, payload = bytes(16) })
  if not bad then i:send(read()) end
  r:send(read_response { stag = 0x51, to = 0x1000, payload = bytes(16) })
end, { "RDMAP-5.2-01" })
breaks("rdmap-response-stag", "rdmap-response-stag", "a Read Response carries another STag than its request asked for", function(i, r, bad)
  i:send(read())
  r:send(read_response { stag = bad and 0x52 or 0x51, to = 0x1000, payload = bytes(16) })
end, { "DDP-4.2-06", "DDP-4.2-09" })
breaks("rdmap-response-order", "rdmap-response-order", "Read Responses change places", function(i, r, bad)
  i:send(read())
  i:send(read { sink_stag = 0x61 })
  if bad then
    r:send(read_response { stag = 0x61, to = 0x1000, payload = bytes(16) })
  else
    r:send(read_response { stag = 0x51, to = 0x1000, payload = bytes(16) })
  end
end)
breaks("rdmap-constant-stag-response", "ddp-constant-stag", "the STag changes within a Read Response", function(i, r, bad)
  i:send(read())
  r:send(read_response { l = false, stag = 0x51, to = 0x1000, payload = bytes(8) })
  r:send(read_response { stag = bad and 0x52 or 0x51, to = 0x1008, payload = bytes(8) })
end, { "RDMAP-5.2.2-08" })
breaks("rdmap-response-to", "rdmap-response-to", "a Read Response begins at another TO than its request asked for", function(i, r, bad)
  i:send(read())
  r:send(read_response { stag = 0x51, to = bad and 0x1001 or 0x1000, payload = bytes(16) })
end)
breaks("rdmap-response-size", "rdmap-response-size", "a Read Response ends too early", function(i, r, bad)
  i:send(read())
  r:send(read_response { stag = 0x51, to = 0x1000, payload = bytes(bad and 15 or 16) })
end, { "DDP-5.2-04" })
breaks("rdmap-response-past", "rdmap-response-past", "a Read Response is longer than its request asked for", function(i, r, bad)
  i:send(read())
  r:send(read_response { stag = 0x51, to = 0x1000, payload = bytes(bad and 17 or 16) })
end)

-- ---- RFC 7306 ----

wrong("rdmap-immediate-length", "rdmap-immediate-length", "Immediate Data of 7 octets", immediate {}, immediate { payload = bytes(7) }, { "EXT-6.3-06" })
wrong("rdmap-immediate-length-se", "rdmap-immediate-length", "Immediate Data with SE of 9 octets", immediate_se {}, immediate_se { payload = bytes(9) })
wrong("rdmap-atomic-length", "rdmap-atomic-length", "an Atomic Request of 48 octets", fetch(), fetch { payload = bytes(48) })
wrong("rdmap-atomic-opcode", "rdmap-atomic-opcode", "AOpCode 3", fetch { atomic = 2 }, fetch { atomic = 3 })
wrong("rdmap-atomic-rsvd", "rdmap-atomic-rsvd", "a reserved bit of an Atomic Request is set", fetch(), fetch { atomic = 0x10 }, { "EXT-5.2.1-01" })
wrong("rdmap-atomic-unused", "rdmap-atomic-unused", "Compare Data of a FetchAdd is not zero", fetch(), fetch { compare = 1 }, { "EXT-5.2.1-07" })
wrong("rdmap-atomic-unused-mask", "rdmap-atomic-unused", "the Compare Mask of a FetchAdd is not all ones", fetch(), fetch { compare_mask = 0 })
local function answered(name, check, what, run, rules)
  breaks(name, check, what, function(i, r, bad)
    i:send(fetch())
    i:send(fetch { request_id = 8 })
    run(r, bad)
  end, rules)
end
answered("rdmap-atomic-response-length", "rdmap-atomic-response-length", "an Atomic Response of 8 octets", function(r, bad)
  r:send(atomic_response { request_id = 7, value = 1, payload = bad and bytes(8) or nil })
end)
breaks("rdmap-atomic-response-unsolicited", "rdmap-atomic-response-unsolicited", "an Atomic Response where no request is open", function(i, r, bad)
  if bad then i:send(send {}) else i:send(fetch()) end
  r:send(atomic_response { request_id = 7, value = 1 })
end)
answered("rdmap-atomic-response-id", "rdmap-atomic-response-id", "an Atomic Response with an identifier that nobody used", function(r, bad)
  r:send(atomic_response { request_id = bad and 9 or 7, value = 1 })
end)
answered("rdmap-atomic-response-order", "rdmap-atomic-response-order", "the second Atomic Request is answered first", function(r, bad)
  r:send(atomic_response { request_id = bad and 8 or 7, value = 1 })
end)

-- ---- Terminate ----

local function ended(name, check, what, good, bad, rules)
  violation {
    name = name, check = check, what = what, rules = rules,
    run = function(c, broken)
      c:start {}
      local of = c.initiator:send(write { stag = 5, to = 6, payload = "data" })
      local fields = with({ of = of }, broken and bad or good)
      if fields.of == "none" then fields.of = nil end
      c.responder:send(terminate(fields))
      c:finds()
      c:fin(c.responder)
      c:fin(c.initiator)
    end,
  }
end
local STAG = { layer = 1, etype = 1, code = 0 }
ended("rdmap-terminate-valid", "rdmap-terminate-valid", "a Terminate of two octets", STAG, with(STAG, { payload = "\x11\0" }))
ended("rdmap-terminate-valid-code", "rdmap-terminate-valid", "a Terminate with a code that is not assigned", STAG, with(STAG, { code = 0x77 }))
ended("rdmap-terminate-rsvd", "rdmap-terminate-rsvd", "reserved bits of a Terminate are not zero", STAG, with(STAG, { reserved = 1 }))
ended("rdmap-terminate-headers", "rdmap-terminate-headers", "a Terminate for a tagged segment without its header", STAG, with(STAG, { of = "none" }))
ended("rdmap-terminate-headers-llp", "rdmap-terminate-headers", "a Terminate of MPA with a DDP header", { layer = 2, etype = 0, code = 2, of = "none" },
  { layer = 2, etype = 0, code = 2 })
ended("rdmap-terminate-reason", "rdmap-terminate-reason", "a Terminate blames a DDP version that is right", STAG, with(STAG, { code = 4 }))
for _, m in ipairs {
  { "last", "rdmap-terminate-last", "a Send follows a Terminate", send {} }, { "once", "rdmap-terminate-once", "a second Terminate", terminate { llp = "mpa", code = "crc" } },
} do
  violation {
    check = m[2], what = m[3],
    run = function(c, bad)
      c:start {}
      c.initiator:send(send { payload = "one" })
      c.responder:send(terminate { llp = "mpa", code = "catastrophic" })
      if bad then c.responder:send(m[4]) end
      c:finds()
      c:fin(c.responder)
      c:fin(c.initiator)
    end,
  }
end
