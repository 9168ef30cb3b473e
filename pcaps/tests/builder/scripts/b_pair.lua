-- SPDX-License-Identifier: BSD-3-Clause
-- iw.pair(): two endpoints, and what they are told to do.

local function pair(initiator, responder) return iw.pair { initiator = initiator or {}, responder = responder or {} } end

-- Carries until nothing moves; a list of "SIDE KIND LENGTH".
local function moves(p)
  local list = {}
  p:run(function(side, kind, octets) list[#list + 1] = ("%d %s %d"):format(side, kind, #octets) end)
  return list
end

refuses("bad argument #-1 to '?' (table expected, got nil)", iw.pair, { initiator = {} })
refuses("private data of 513 octets", pair, { private = ("x"):rep(513) })
refuses("violate: unknown check or rule", pair, { violate = "nothing" })
refuses("side 0: its configuration contradicts itself", pair, { revision = 1, enhanced = true })
refuses("side 1: its configuration contradicts itself", pair, {}, { rtr = "" })
for _, field in ipairs { "ird", "ord" } do
  refuses(("field '%s' is 16384, it must be 0 to 16383"):format(field), pair, { [field] = 0x4000 })
  pair { [field] = 0x3fff }
end
refuses("field 'mss' is 65536, it must be 0 to 65535", pair, { mss = 65536 })
refuses("field 'revision' is 3, it must be 0 to 2", pair, { revision = 3 })

-- A start-up and both closes.
local p = pair()
same(moves(p), { "0 data 24", "1 data 24" })
same(moves(p), {})
p:shutdown(0)
same(moves(p), { "0 fin 0", "1 fin 0" })
same(moves(p), {})

-- A rule that one end breaks: its end comes inside an FPDU.
p = pair({ violate = "mpa-fin-inside" })
moves(p)
p:shutdown(0)
same(moves(p), { "0 data 2", "0 fin 0", "1 fin 0" })

-- Aborted before the start-up is over: a reset, once, after which nobody says anything.
p = pair()
p:abort(0, 3)
same(moves(p), { "0 reset 0" })
same(moves(p), {})
p = pair()
p:abort(1, 3)
same(moves(p), { "0 data 24", "1 reset 0" })
same(moves(p), {})

-- The Request's private data is its first 512 octets, the Reply's what is left beside the enhanced block.
same(moves(pair({ private = ("x"):rep(508) }, { private = "yz" })), { "0 data 532", "1 data 26" })
refuses("side 0: its configuration contradicts itself", pair, { private = ("x"):rep(509) })
p = pair({}, { private = ("x"):rep(509) })
refuses("the Request cannot be answered", moves, p)
p = pair({ enhanced = false }, { private = ("x"):rep(512) })
same(moves(p), { "0 data 20", "1 data 532" })
p = pair({}, { reject = true, private = "no" })
same(moves(p), { "0 data 24", "1 data 26", "1 fin 0", "0 fin 0" })

-- Regions: their STag and TO, four of them.
p = pair()
refuses("bad argument #2 to '?' (a side is 0 or 1)", p.region, p, 2)
refuses("bad argument #2 to '?' (a side is 0 or 1)", p.region, p, -1)
local stags = {}
for n = 1, 4 do
  local stag, to = p:region(1, n == 2 and "invalidate" or nil)
  same({ to, stags[stag] == nil }, { 0x10000, true })
  stags[stag] = true
end
refuses("no region is left", p.region, p, 1)
p:region(0)

-- Work: what cannot be posted, and what is carried.
p = pair()
moves(p)
local stag, to = p:region(1)
local sink, sink_to = p:region(0)
refuses("bad argument #-1 to '?' (invalid option 'fly')", p.post, p, 0, { op = "fly" })
refuses("field 'length' is 131073, it must be 0 to 131072", p.post, p, 0, { op = "send", length = 131073 })
refuses("field 'immediate' is 256, it must be 0 to 255", p.post, p, 0, { op = "immediate", immediate = 256 })
for _, field in ipairs { "invalidate", "stag", "sink_stag" } do
  refuses(("field '%s' is 4294967296, it must be 0 to 4294967295"):format(field), p.post, p, 0, { op = "send", [field] = 1 << 32 })
end
p:receive(1, 2)
p:post(0, { op = "send", length = 3 })
same(moves(p), { "0 data 28" })
p:post(0, { op = "write", stag = stag, to = to, length = 5 })
same(moves(p), { "0 data 28" })
p:post(0, { op = "read", stag = stag, to = to, sink_stag = sink, sink_to = sink_to, length = 7 })
same(moves(p), { "0 data 52", "1 data 28" })
p:post(0, { op = "send", length = 4000 })
same(moves(p), { "0 data 1460", "0 data 1460", "0 data 1152" })
p:abort(0, 3)
same(moves(p), { "0 data 28", "0 fin 0", "1 fin 0" })
refuses("the work request cannot be posted", p.post, p, 0, { op = "send" })
refuses("the receive cannot be posted", p.receive, p, 1, 1)
p = pair({ ord = 0 })
refuses("the work request cannot be posted", p.post, p, 0, { op = "read" })
refuses("the receive cannot be posted", p.receive, p, 0, 65)
p:receive(1, 64)

passed "pair"
