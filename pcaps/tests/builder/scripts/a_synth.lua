-- SPDX-License-Identifier: BSD-3-Clause
-- iw.synth(), iw.fpdu() and iw.of_check().

local A, B, V6 = "\10\0\0\1", "\10\0\0\2", ("\0"):rep(15) .. "\1"
local function tcp(more)
  local t = { from = A, to = B, from_port = 65535, to_port = 65535, from_isn = 0xffffffff, to_isn = 0xffffffff, mss = 100 }
  for k, v in pairs(more or {}) do t[k] = v end
  return t
end

local s = iw.synth()
for _, length in ipairs { 0, 3, 5, 15, 17 } do
  refuses(("from has %d octets"):format(length), s.connect, s, tcp { from = ("x"):rep(length) })
end
refuses("to has 15 octets", s.connect, s, tcp { to = ("x"):rep(15) })
refuses("no such connection can be written", s.connect, s, tcp { to = V6 })
refuses("field 'from_port' is 65536, it must be 0 to 65535", s.connect, s, tcp { from_port = 65536 })
refuses("field 'to_port' is 65536, it must be 0 to 65535", s.connect, s, tcp { to_port = 65536 })
refuses("field 'from_isn' is 4294967296, it must be 0 to 4294967295", s.connect, s, tcp { from_isn = 1 << 32 })
refuses("field 'to_isn' is 4294967296, it must be 0 to 4294967295", s.connect, s, tcp { to_isn = 1 << 32 })
refuses("field 'mss' is 65536, it must be 0 to 65535", s.connect, s, tcp { mss = 65536 })
refuses("field 'told' is 65536, it must be 0 to 65535", s.connect, s, tcp { told = 65536 })
same({ s:frames() }, { 0 })

-- Numbers of connections, and the frames that each call makes: acknowledgements of the other side do not count.
same({ s:connect(tcp { told = 65535 }), s:frames() }, { 0, 3 })
same({ s:connect(tcp { from = V6, to = V6, from_port = 1 }), s:frames() }, { 1, 6 })
same({ s:data(0, 0, "x") }, { 7, 7 })
same({ s:data(0, 1, ("y"):rep(201)) }, { 8, 10 })
same({ s:frames() }, { 11 })
same({ s:segment(0, 0, 5, "z") }, { 12, 12 })
s:unseen(0, 0, 20)
same({ s:data(0, 0, "x") }, { 13, 13 })
same({ s:fin(1, 0) }, { 15, 15 })
refuses("nothing can be written here", s.data, s, 1, 0, "x")
refuses("nothing can be written here", s.fin, s, 1, 0)
same({ s:reset(1, 1) }, { 17, 17 })
refuses("nothing can be written here", s.reset, s, 1, 1)
refuses("nothing can be written here", s.segment, s, 1, 1, 0, "x")
refuses("nothing can be written here", s.segment, s, 0, 1, 0, ("x"):rep(101))
same({ s:frames() }, { 17 })

-- Files: from a frame on, and octets of each.
s:write("deep/er/whole", "all of it")
s:write("deep/part", "from 12 on", 12)
s:write("deep/cut", "20 octets", 16, 20)
refuses("bad argument #3 to '?' (string expected, got nil)", s.write, s, "deep/x")

-- An FPDU: ULPDU_Length, ULPDU, pad and CRC, and Markers if they are asked for.
same({ #iw.fpdu(0, false, ("u"):rep(5), {}) }, { 12 })
same({ #iw.fpdu(0, true, ("u"):rep(5), {}) }, { 16 })
same({ (">I2"):unpack(iw.fpdu(0, false, "abcde", {})) }, { 5, 3 })
same({ #iw.fpdu(510, true, ("u"):rep(500), {}) }, { 512 })
same({ #iw.fpdu(0, false, ("u"):rep(65535), {}) }, { 65544 })
same({ #iw.fpdu(0, false, ("u"):rep(65538), {}) }, { 65544 })
refuses("a ULPDU of 131067 octets is too long", iw.fpdu, 0, false, ("u"):rep(131067), {})

-- The rule that the sender breaks, which may not be the first one of the check.
same({ iw.of_check "mpa-pad" }, { "MPA-4.1-02" })
same({ iw.of_check "mpa-ird-3fff" }, { "EMPA-9.1-12" })
same({ iw.of_check "mpa-crc" }, { "MPA-4.4-11" })
same({ iw.of_check "rdmap-response-past" }, { "RDMAP-5.2.1-12" })
refuses("'mpa-nothing' is no check of the observer", iw.of_check, "mpa-nothing")
refuses("'mpa-rev-older' is no check of the observer", iw.of_check, "mpa-rev-older")

passed "synth"
