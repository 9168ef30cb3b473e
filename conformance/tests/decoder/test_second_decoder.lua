-- SPDX-License-Identifier: BSD-3-Clause
-- The second decoder against literal octets: CRC32c vectors (RFC 7143 A.4), the two annotated
-- frames of RFC 5044, Marker streams, a complete FPDU of every RDMAP message, start-up frames, and
-- captures made here octet by octet. Prints TAP; exits non-zero if anything failed.
local here = debug.getinfo(1, "S").source:match("^@(.*/)") or "./"
package.path = here .. "?.lua;" .. package.path
local decoder = require "second_decoder"
local tap = require "tap"
local ok, is = tap.ok, tap.is

local function octets(hex)
  return (hex:gsub("%s", ""):gsub("%x%x", function(h) return string.char(tonumber(h, 16)) end))
end

local REQ = octets "4d504120494420526571204672616d65"
local REP = octets "4d504120494420526570204672616d65"
local function req(rest) return REQ .. octets(rest) end
local function rep(rest) return REP .. octets(rest) end

-- The problems of a connection as "kind dir", joined.
local function problems(x)
  local out = {}
  for i, p in ipairs(x.problems) do out[i] = p.kind .. " " .. p.dir end
  return table.concat(out, ", ")
end

local function fatal(x)
  for _, p in ipairs(x.problems) do
    if decoder.fatal[p.kind] then return true end
  end
  return false
end

-- Decodes the Initiator's octets after a Rev 1 start-up; `flags` of Request and Reply.
local function initiator(data, flags, reply_flags)
  return decoder.decode(req((flags or "40") .. "010000") .. data,
    rep((reply_flags or flags or "40") .. "010000"))
end

local function with_octet(s, i, change)
  return s:sub(1, i - 1) .. string.char(s:byte(i) ~ change) .. s:sub(i + 1)
end

------------------------------------------------------------------------------------------- CRC32c
local ascending, descending = "", ""
for i = 0, 31 do
  ascending, descending = ascending .. string.char(i), descending .. string.char(31 - i)
end
is(decoder.crc32c(("\0"):rep(32)), 0x8a9136aa, "CRC of 32 zero octets")
is(decoder.crc32c(("\xff"):rep(32)), 0x62a8ab43, "CRC of 32 octets of ones")
is(decoder.crc32c(ascending), 0x46dd794e, "CRC of 0 to 31")
is(decoder.crc32c(descending), 0x113fdb5c, "CRC of 31 to 0")
is(decoder.crc32c(octets [[01c00000 00000000 00000000 00000000 14000000 00000400 00000014 00000018
  28000000 00000000 02000000 00000000]]), 0xd9963a56, "CRC of an iSCSI Read(10)")
is(decoder.crc32c("123456789"), 0xe3069283, "CRC of the digits")

--------------------------------------------------------------------- an FPDU of every RDMAP message
local VECTORS = {
  { "V1", "00124143 00000000 00000000 00000001 00000000 587be8c4",
    "Send L=1 qn=0 msn=1 mo=0 payload=0 message=0" },
  { "V2", "000ec140 00000000 00000000 00000000 a30572ab",
    "Write L=1 stag=00000000 to=0 payload=0 message=0" },
  { "V3", [[002e4141 00000000 00000001 00000001 00000000 00000000 00000000 00000000 00000000
    00000000 00000000 00000000 f2c6dd3d]],
    "Read Request L=1 qn=1 msn=1 mo=0 payload=28 message=28 sink=00000000:0 size=0 "
      .. "source=00000000:0" },
  { "V4", "000ec142 00000000 00000000 00000000 6975d6ca",
    "Read Response L=1 stag=00000000 to=0 payload=0 message=0", "header I>R" }, -- nobody asked
  { "V5", "00174143 00000000 00000000 00000001 00000000 68656c6c 6f000000 b990b10c",
    "Send L=1 qn=0 msn=1 mo=0 payload=5 message=5" },
  { "V7", "0012c140 11223344 00000000 00001000 deadbeef b75a39ef",
    "Write L=1 stag=11223344 to=1000 payload=4 message=4" },
  { "V8", "00124144 11223344 00000000 00000002 00000000 42dbd731",
    "Send with Invalidate L=1 qn=0 msn=2 mo=0 invalidate=11223344 payload=0 message=0",
    "header I>R" }, -- MSN 2 is the first here
  { "V9", [[002e4141 00000000 00000001 00000001 00000000 aabbccdd 00000000 00002000 00000040
    11223344 00000000 00001000 c453059c]],
    "Read Request L=1 qn=1 msn=1 mo=0 payload=28 message=28 sink=aabbccdd:2000 size=64 "
      .. "source=11223344:1000" },
  { "V10", "00164147 00000000 00000002 00000001 00000000 20020000 7fe42585",
    "Terminate L=1 qn=2 msn=1 mo=0 payload=4 message=4 layer=2 etype=0 code=02 M=0 D=0 R=0" },
  { "V11", [[00264147 00000000 00000002 00000001 00000000 1100c000 0012c140 11223344 00000000
    00001000 b5f74601]],
    "Terminate L=1 qn=2 msn=1 mo=0 payload=20 message=20 layer=1 etype=1 code=00 M=1 D=1 R=0 "
      .. "length=18 ddp=c140112233440000000000001000" },
  { "V12", [[00464147 00000000 00000002 00000001 00000000 0101e000 002e4141 00000000 00000001
    00000001 00000000 aabbccdd 00000000 00002000 00000040 11223344 00000000 00001000 bb78a0bc]],
    "Terminate L=1 qn=2 msn=1 mo=0 payload=52 message=52 layer=0 etype=1 code=01 M=1 D=1 R=1 "
      .. "length=46 ddp=414100000000000000010000000100000000 "
      .. "rdmap=aabbccdd000000000000200000000040112233440000000000001000" },
  { "V13", "001a4148 00000000 00000000 00000001 00000000 01020304 05060708 06c22805",
    "Immediate Data L=1 qn=0 msn=1 mo=0 payload=8 message=8 data=0102030405060708" },
  { "V14", [[0046414a 00000000 00000001 00000001 00000000 00000000 5a5a0001 11223344 00000000
    00001000 00000000 00000001 00000000 00000000 00000000 00000000 ffffffff ffffffff 4a325eaa]],
    "Atomic Request L=1 qn=1 msn=1 mo=0 payload=52 message=52 aop=0 id=5a5a0001 at=11223344:1000 "
      .. "data=1 mask=0 compare=0 comparemask=ffffffffffffffff" },
  { "V15", [[0046414a 00000000 00000001 00000002 00000000 00000002 5a5a0002 11223344 00000000
    00001000 00000000 00000002 ffffffff ffffffff 00000000 00000001 ffffffff ffffffff fae229a6]],
    "Atomic Request L=1 qn=1 msn=2 mo=0 payload=52 message=52 aop=2 id=5a5a0002 at=11223344:1000 "
      .. "data=2 mask=ffffffffffffffff compare=1 comparemask=ffffffffffffffff",
    "header I>R" }, -- MSN 2 is the first here
  { "V16", "001e414b 00000000 00000003 00000001 00000000 5a5a0001 00000000 00000001 37209549",
    "Atomic Response L=1 qn=3 msn=1 mo=0 payload=12 message=12 id=5a5a0001 value=1",
    "header I>R" }, -- nobody asked
}
for _, v in ipairs(VECTORS) do
  local x = initiator(octets(v[2]))
  local d = x.dirs["I>R"]
  is(d.list[1] and d.list[1].text, v[3], v[1] .. ": text")
  is(d.fpdus .. "/" .. d.crc.good, "1/1", v[1] .. ": one FPDU, CRC good")
  is(problems(x), v[4] or "", v[1] .. ": problems")
end

do
  local x = initiator(octets(VECTORS[2][2]) .. octets(VECTORS[1][2]) .. octets(VECTORS[7][2]))
  is(problems(x), "", "three messages in a row: MSN 1, then 2")
  is(x.dirs["I>R"].list[3].pos, 20 + 20 + 24, "the third FPDU's place in the stream")
end

-- A flipped octet anywhere, the pad and the CRC field included.
for _, n in ipairs { 5, 6, 11 } do
  local name, whole, missed = VECTORS[n][1], octets(VECTORS[n][2]), {}
  for i = 1, #whole do
    if not fatal(initiator(with_octet(whole, i, 0x01))) then missed[#missed + 1] = i - 1 end
  end
  is(table.concat(missed, " "), "", name .. ": a flip is found in every octet")
end
do
  local x = initiator(with_octet(octets(VECTORS[5][2]), 21, 1))
  is(problems(x), "crc I>R", "a flipped payload octet is a CRC mismatch")
  x = initiator(with_octet(octets(VECTORS[5][2]), 21, 1), "00")
  is(problems(x) .. x.dirs["I>R"].crc.unchecked, "1", "and nothing with CRC off")
  for _, flags in ipairs { { "40", "00" }, { "00", "40" } } do
    x = initiator(with_octet(octets(VECTORS[5][2]), 21, 1), flags[1], flags[2])
    is(problems(x), "crc I>R", "C=1 of one side is enough: " .. table.concat(flags, "/"))
  end
end

-------------------------------------------------------------------------------------------- Markers
local V6 = octets "00000000 00124143 00000000 00000000 00000001 00000000 88c1d6fc"
local FRAME1 = octets "00000000 002a4143 00000000 00000000 00000001 00000000" .. ("\0"):rep(24)
  .. octets "52239983"
local FRAME2 = octets "002a4143 00000000 00000000 00000002 00000000 00000014" .. ("\0"):rep(24)
  .. octets "84925898"

local function marked(data) return initiator(data, "40", "c0") end -- the Reply demands Markers

do
  local x = marked(V6)
  is(problems(x), "", "V6: no problem")
  is(x.dirs["I>R"].markers .. " " .. x.dirs["I>R"].list[1].text,
    "1 Send L=1 qn=0 msn=1 mo=0 payload=0 message=0", "V6: Marker and Send")
  x = marked(FRAME1)
  is(problems(x), "", "RFC 5044, first frame: no problem")
  is(x.dirs["I>R"].list[1].text, "Send L=1 qn=0 msn=1 mo=0 payload=24 message=24",
    "RFC 5044, first frame: a Send of 24 octets")
  -- The RFC does not give the 492 octets that lie before its second frame: any FPDU of that size.
  local before = octets "00000000 01e24143 00000000 00000000 00000001 00000000" .. ("\x5a"):rep(464)
  before = before .. string.pack("<I4", decoder.crc32c(before))
  is(#before, 492, "RFC 5044, second frame: octets before it")
  x = marked(before .. FRAME2)
  is(problems(x), "", "RFC 5044, second frame: no problem")
  local second = x.dirs["I>R"].list[2]
  is(second.text .. " size " .. second.size,
    "Send L=1 qn=0 msn=2 mo=0 payload=24 message=24 size 52", "RFC 5044, second frame: a Send")
  is(x.dirs["I>R"].markers, 2, "RFC 5044, second frame: one Marker in each FPDU")
  is(problems(marked(V6 .. octets "00124143 00000000")), "framing I>R", "ends inside an FPDU")
end

-- n, L in hex, CRC of both FPDUs, Markers by place, places of the two ULPDU_Lengths
local STREAMS = {
  { 1000, "03fa", "5f7b58ca", "accbdb8c", { [0] = "00000000", [512] = "000001fc",
    [1024] = "000003fc" }, 4, 1036 },
  { 996, "03f6", "4c48c720", "accbdb8c", { [0] = "00000000", [512] = "000001fc",
    [1024] = "000003fc" }, 4, 1032 },
  { 992, "03f2", "83754d28", "7c71e5b4", { [0] = "00000000", [512] = "000001fc",
    [1024] = "00000000" }, 4, 1028 },
}
for _, v in ipairs(STREAMS) do
  local payload = {}
  for i = 0, v[1] - 1 do payload[#payload + 1] = string.char(i % 256) end
  local plain = octets(v[2] .. "4143 00000000 00000000 00000001 00000000") .. table.concat(payload)
    .. octets(v[3] .. "00124143 00000000 00000000 00000002 00000000" .. v[4])
  local stream = ""
  while plain ~= "" do
    if v[5][#stream] then stream = stream .. octets(v[5][#stream]) end
    local n = 512 - #stream % 512
    stream, plain = stream .. plain:sub(1, n), plain:sub(n + 1)
  end
  local x, name = marked(stream), "stream of n=" .. v[1]
  local d = x.dirs["I>R"]
  is(problems(x), "", name .. ": no problem")
  is(("%d %d %d"):format(d.fpdus, d.crc.good, d.markers), "2 2 3", name .. ": FPDUs, CRCs, Markers")
  is(("%d %d"):format(d.list[1].pos - 20, d.list[2].pos - 20), v[6] .. " " .. v[7],
    name .. ": places of the FPDUs")
  is(d.list[1].text, ("Send L=1 qn=0 msn=1 mo=0 payload=%d message=%d"):format(v[1], v[1]),
    name .. ": Markers are taken out of the payload")
  x = initiator(with_octet(stream, 512 + 4, 0x04), "00", "80") -- FPDUPTR 4 off, CRC off
  is(problems(x), "marker I>R", name .. ": a wrong FPDUPTR is found with CRC off")
  x = initiator(with_octet(stream, 512 + 4, 0x01), "00", "80")
  is(problems(x), "header I>R", name .. ": the low two bits of FPDUPTR are masked")
  ok(fatal(initiator(stream, "40", "40")), name .. ": without M in the Reply it does not parse")
end

do -- the Request's M is for the other direction only; a Marker without its FPDU is tolerated
  local x = decoder.decode(req "c0010000" .. octets(VECTORS[1][2]), rep "40010000" .. V6)
  is(problems(x), "", "Markers in one direction")
  is(x.dirs["I>R"].markers .. x.dirs["R>I"].markers, "01", "Markers towards the side that has M=1")
  is(problems(marked(("\0"):rep(4))), "", "a lone Marker at the end")
end

------------------------------------------------------------------------------------------ start-up
local function listing(x)
  local out = {}
  for i, e in ipairs(x.events) do out[i] = e.text end
  return table.concat(out, "\n")
end

is(listing(decoder.decode(req "50020004 c010c010", rep "50020004 c0104010")),
  "0 I>R Request rev=2 M=0 C=1 R=0 S=1 res=0 pd=4 A=1 B=1 IRD=16 C=1 D=1 ORD=16\n"
    .. "0 R>I Reply rev=2 M=0 C=1 R=0 S=1 res=0 pd=4 A=1 B=1 IRD=16 C=0 D=1 ORD=16",
  "Rev 2 with the block of RFC 6581")
is(listing(decoder.decode(req "dfff0003 010203", rep "30010000")),
  "0 I>R PROBLEM framing: Request rev=255 M=1 C=1 R=0 S=1 res=f pd=3: private data malformed, "
    .. "3 octets\n0 R>I Reply rev=1 M=0 C=0 R=1 S=1 res=0 pd=0", "every flag, S=1 without a block")
is(listing(decoder.decode(req "50010000", rep "40010000")),
  "0 I>R Request rev=1 M=0 C=1 R=0 S=1 res=0 pd=0\n0 R>I Reply rev=1 M=0 C=1 R=0 S=0 res=0 pd=0",
  "Rev 1 with S=1: the bit is reserved there")
is(listing(decoder.decode("hello" .. req "40010002 6162", "ok" .. rep "60010000" .. "text")),
  "0 I>R Request rev=1 M=0 C=1 R=0 S=0 res=0 pd=2\n0 R>I Reply rev=1 M=0 C=1 R=1 S=0 res=0 pd=0",
  "streaming mode before, private data, a rejecting Reply followed by text of the ULP")
is(problems(decoder.decode(rep "40010000", rep "40010000")), "framing I>R", "two Replies")
is(problems(decoder.decode(req "40010000", req "40010000")), "framing R>I", "two Requests")
is(problems(decoder.decode(req "40010201" .. ("x"):rep(513), "")), "framing I>R", "PD_Length 513")
is(problems(decoder.decode(req "40010200" .. ("x"):rep(512), rep "40010000")), "", "PD_Length 512")
is(problems(decoder.decode(req "40010004" .. "abc", "")), "framing I>R", "private data cut short")
is(problems(decoder.decode(REQ:sub(1, 15), "")), "framing I>R", "half a key")
is(problems(decoder.decode(req "40010000" .. octets(VECTORS[1][2]), "")), "framing I>R",
  "FPDU ahead of the Reply")
do -- DV and RV are 0 with Rev 0 only
  local send = octets "0012 4003 00000000 00000000 00000001 00000000 00000000"
  local marked = octets "00000000 0012 4003 00000000 00000000 00000001 00000000 a4fbca4d"
  is(problems(decoder.decode(req "00000000" .. marked, rep "00000000")), "",
    "Rev 0: DV=RV=0, CRC and Markers whatever the flags say")
  is(problems(decoder.decode(req "00000000" .. send, rep "00000000")):match("^marker I>R"), "marker I>R",
    "Rev 0: no Markers")
  is(problems(decoder.decode(req "00010000" .. send, rep "00010000")), "header I>R", "Rev 1: DV=1")
end

---------------------------------------------------------------------- DDP and RDMAP, with CRC off
-- An FPDU whose CRC field is not in force; `u` is the ULPDU in hex.
local function fpdu(u)
  local ulpdu = octets(u)
  return string.pack(">I2", #ulpdu) .. ulpdu .. ("\0"):rep((2 - #ulpdu) % 4) .. "none"
end
local function plain(...) return initiator(table.concat { ... }, "00") end
local SEND1 = "00000000 00000000 00000001 " -- STag, QN 0, MSN 1

do
  local x = plain(fpdu("0143" .. SEND1 .. "00000000 6162"), fpdu("4143" .. SEND1 .. "00000002 63"))
  is(problems(x), "", "a Send of two segments")
  is(x.dirs["I>R"].list[2].text, "Send L=1 qn=0 msn=1 mo=2 payload=1 message=3", "its last segment")
  is(x.dirs["I>R"].messages.Send .. "/" .. x.dirs["I>R"].segments.Send, "1/2", "its counts")
  is(problems(plain(fpdu("0143" .. SEND1 .. "00000000 6162"),
    fpdu("4143" .. SEND1 .. "00000003 63"))), "header I>R", "MO leaves a gap")
  is(problems(plain(fpdu("0143" .. SEND1 .. "00000000 61"),
    fpdu "c140 00000001 00000000 00000000")), "header I>R", "a Write inside a Send")
  is(problems(plain(fpdu("4143" .. SEND1 .. "00000000"), fpdu("4143" .. SEND1 .. "00000000"))),
    "header I>R", "the same MSN twice")
  is(problems(plain(fpdu("4143" .. SEND1 .. "00000001"))), "header I>R", "first MO not 0")
  is(problems(plain(fpdu("4143 00000009 00000000 00000001 00000000"))), "header I>R",
    "a Send with an Invalidate STag")
  is(problems(plain(fpdu("4143 00000000 00000001 00000001 00000000"))), "header I>R",
    "a Send on queue 1")
  is(problems(plain(fpdu("c143 00000000 00000000 00000000"))), "header I>R", "a tagged Send")
  is(problems(plain(fpdu("414c" .. SEND1 .. "00000000"))), "header I>R", "opcode 0xC")
  is(problems(plain(fpdu("5d73" .. SEND1 .. "00000000"))), "header I>R", "reserved bits")
  is(problems(plain(fpdu("4148" .. SEND1 .. "00000000 01020304"))), "header I>R",
    "Immediate Data of 4 octets")
  is(problems(plain(fpdu("4147 00000000 00000002 00000001 00000000 0101e000 002e"))), "header I>R",
    "Terminate shorter than its HdrCt says")
  is(problems(plain(fpdu "41", fpdu "4143")), "header I>R, header I>R", "ULPDUs without a header")
  is(problems(plain(octets "0000 0000 6e6f6e65")), "framing I>R", "ULPDU_Length 0")
  is(problems(plain(octets "fd01" .. ("x"):rep(65000))), "framing I>R", "ULPDU_Length 64769")
  is(problems(plain(octets "0013 4143 000000000000000000000001 00000000 61 000001" .. "none")),
    "header I>R", "pad that is not zero")
end

do -- a Read Response is what the oldest Read Request asked for
  local ask = octets(VECTORS[8][2]):sub(1, -5) .. "none" -- V9: 64 octets to aabbccdd/0x2000
  local function answer(first, second)
    return problems(decoder.decode(req "00010000" .. ask,
      rep "00010000" .. fpdu(first) .. (second and fpdu(second) or "")))
  end
  local half = ("00"):rep(32)
  is(answer("8142 aabbccdd 0000000000002000" .. half, "c142 aabbccdd 0000000000002020" .. half), "",
    "Read Response of two segments")
  is(answer("c142 aabbccdd 0000000000002000" .. half), "header R>I", "Read Response too short")
  is(answer("c142 aabbccde 0000000000002000" .. half .. half), "header R>I", "with another STag")
end

do -- Atomic Responses and Read Responses come in the order of the requests (RFC 7306 7)
  local atomic = "414a 00000000 00000001 00000001 00000000 00000000 5a5a0001 11223344"
    .. "0000000000001000 0000000000000001 0000000000000000 0000000000000000 ffffffffffffffff"
  local read = "4141 00000000 00000001 00000002 00000000 aabbccdd 0000000000002000 00000001"
    .. "11223344 0000000000001000"
  local function answer(first, second)
    return problems(decoder.decode(req "00010000" .. fpdu(atomic) .. fpdu(read),
      rep "00010000" .. fpdu(first) .. fpdu(second)))
  end
  local value = "414b 00000000 00000003 00000001 00000000 5a5a0001 00000000000000ff"
  local octet = "c142 aabbccdd 0000000000002000 00"
  is(answer(value, octet), "", "an Atomic Response, then a Read Response")
  is(answer(octet, value), "header R>I, header R>I", "a Read Response, then an Atomic Response")
  is(answer(value:gsub("5a5a0001", "5a5a0002"), octet), "header R>I", "with another identifier")
end

------------------------------------------------------------------------------------------ captures
local A, B = { "\10\0\0\1", 4000 }, { "\10\0\0\2", 5000 }

-- An Ethernet frame; flags: "S", "SA", "A", "FA" or "RA".
local function frame(from, to, seq, flags, data)
  local bits = ({ S = 2, SA = 18, A = 16, FA = 17, RA = 20 })[flags]
  local tcp = string.pack(">I2I2I4I4BBI2I2I2", from[2], to[2], seq & 0xFFFFFFFF, 0, 0x50, bits,
    1000, 0, 0) .. data
  if #from[1] == 16 then
    return ("\0"):rep(12) .. "\x81\x00\0\1\x86\xdd" -- with a VLAN tag
      .. string.pack(">I4I2BB", 6 << 28, #tcp, 6, 64) .. from[1] .. to[1] .. tcp
  end
  return ("\0"):rep(12) .. "\8\0" .. string.pack(">BBI2I2I2BBI2", 0x45, 0, 20 + #tcp, 0, 0x4000, 64,
    6, 0) .. from[1] .. to[1] .. tcp .. "trailer" -- Ethernet may pad
end

local function pcap(frames, e)
  local out = { string.pack(e .. "I4I2I2I4I4I4I4", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1) }
  for _, f in ipairs(frames) do out[#out + 1] = string.pack(e .. "I4I4I4I4", 0, 0, #f, #f) .. f end
  return table.concat(out)
end

local function block(e, kind, body)
  body = body .. ("\0"):rep(-#body % 4)
  return string.pack(e .. "I4I4", kind, #body + 12) .. body .. string.pack(e .. "I4", #body + 12)
end

local function pcapng(frames, e, comments)
  local out = { block(e, 0x0a0d0d0a, string.pack(e .. "I4I2I2i8", 0x1a2b3c4d, 1, 0, -1)),
    block(e, 1, string.pack(e .. "I2I2I4", 1, 0, 0)), block(e, 5, "statistics") }
  for i, f in ipairs(frames) do
    local options, text = "", comments and comments[i]
    if text then
      options = string.pack(e .. "I2I2", 1, #text) .. text .. ("\0"):rep(-#text % 4) .. "\0\0\0\0"
    end
    out[#out + 1] = block(e, 6, string.pack(e .. "I4I4I4I4I4", 0, 0, 0, #f, #f) .. f
      .. ("\0"):rep(-#f % 4) .. options)
  end
  return table.concat(out)
end

-- SYNs, then the Initiator's octets in the given pieces {offset, octets}, then FINs.
local function conversation(a, b, i2r, pieces, r2i)
  local ia, ib = 0xFFFFFFF0, 77 -- the Initiator's sequence numbers wrap
  local out = { frame(a, b, ia, "S", ""), frame(b, a, ib, "SA", "") }
  for _, piece in ipairs(pieces) do
    out[#out + 1] = frame(a, b, ia + 1 + piece[1], "A", i2r:sub(piece[1] + 1, piece[2]))
  end
  out[#out + 1] = frame(b, a, ib + 1, "A", r2i)
  out[#out + 1] = frame(a, b, ia + 1 + #i2r, "FA", "")
  out[#out + 1] = frame(b, a, ib + 1 + #r2i, "FA", "")
  return out
end

local I2R, R2I = req "40010000" .. octets(VECTORS[1][2] .. VECTORS[2][2]), rep "40010000"
local SHUFFLED = { { 0, 10 }, { 30, 50 }, { 5, 15 }, { 25, 44 }, { 10, 30 }, { 0, 44 }, { 44, 60 },
  { 58, 64 } }

local function decoded(octets_of_file)
  local fine, all = pcall(decoder.decode_capture, octets_of_file, "made.pcap")
  if not fine then return all end
  local out = {}
  for i, x in ipairs(all) do
    out[i] = ("%s %s %d %d %s"):format(x.streams["I>R"].addr or "?", x.streams["R>I"].addr or "?",
      x.dirs["I>R"].fpdus, x.dirs["I>R"].crc.good, problems(x))
  end
  return table.concat(out, "; ")
end

local GOOD = "10.0.0.1:4000 10.0.0.2:5000 2 2 "
local frames = conversation(A, B, I2R, SHUFFLED, R2I)
is(#I2R, 64, "octets of the made conversation")
is(decoded(pcap(frames, "<")), GOOD, "pcap, little-endian: gaps, overlaps, sequence wrap")
is(decoded(pcap(frames, ">")), GOOD, "pcap, big-endian")
is(decoded(pcapng(frames, "<")), GOOD, "pcapng, little-endian")
is(decoded(pcapng(frames, ">")), GOOD, "pcapng, big-endian")
local A6, B6 = { ("\0"):rep(15) .. "\1", 4000 }, { "\xfe\x80" .. ("\0"):rep(13) .. "\2", 5000 }
is(decoded(pcap(conversation(A6, B6, I2R, SHUFFLED, R2I), "<")),
  "[0:0:0:0:0:0:0:1]:4000 [fe80:0:0:0:0:0:0:2]:5000 2 2 ", "IPv6 after a VLAN tag")
is(decoded(pcap(conversation(B, A, R2I, { { 0, 20 } }, I2R), "<")), GOOD,
  "the Responder sent the SYN")
is(decoded(pcap(conversation(A, B, I2R, { { 0, 30 }, { 40, 64 } }, R2I), "<")),
  "10.0.0.1:4000 10.0.0.2:5000 0 0 cut I>R, framing I>R", "octets missing in the capture")
is(decoded(pcap(conversation(A, B, I2R:sub(1, 60), { { 0, 60 } }, R2I), "<")),
  "10.0.0.1:4000 10.0.0.2:5000 1 1 framing I>R", "FIN inside an FPDU")
do -- a second connection between the same ports
  local both = conversation(A, B, I2R, SHUFFLED, R2I)
  both[#both + 1] = frame(A, B, 1000, "S", "")
  both[#both + 1] = frame(A, B, 1001, "A", I2R:sub(1, 44))
  both[#both + 1] = frame(B, A, 5001, "A", R2I)
  is(decoded(pcap(both, "<")), GOOD .. "; 10.0.0.1:4000 10.0.0.2:5000 1 1 ", "ports used twice")
  local once = conversation(A, B, I2R, SHUFFLED, R2I)
  once[#once + 1] = frame(A, B, 0xFFFFFFF1 + #I2R, "RA", "")
  for i = 1, #once do once[#once + 1] = once[i] end
  is(decoded(pcap(once, "<")), GOOD .. "; " .. GOOD, "and the same sequence numbers, after a reset")
end
do -- responder first; the frames of listing and problem; comments
  local v1 = octets(VECTORS[1][2])
  local list = { frame(A, B, 0, "S", ""), frame(B, A, 0, "SA", ""),
    frame(A, B, 1, "A", I2R:sub(1, 20)), frame(B, A, 1, "A", R2I .. v1), frame(A, B, 21, "A", v1) }
  local all = decoder.decode_capture(pcapng(list, "<", { [4] = "stimulus: early FPDU" }), "made")
  is(problems(all[1]), "order R>I", "the Responder's FPDU comes first")
  is(all[1].problems[1].frame, 4, "in frame 4")
  is(all[1].streams["R>I"].stimulus, 4, "the comment belongs to the direction of its frame")
  is(all[1].streams["I>R"].stimulus, nil, "and to no other")
end

local file = pcap(frames, "<")
is(decoded(file:sub(1, -3)), ("made.pcap: offset %d: frame of 61 octets expected, "
  .. "the file has 59 more"):format(#file - 61), "truncated pcap")
is(decoded(file:sub(1, 20)), "made.pcap: offset 0: file header of 24 octets expected, "
  .. "the file has 20 more", "truncated header")
is(decoded(pcapng(frames, "<"):sub(1, -2)):match("offset %d+: .*"):gsub("%d+", "N"),
  "offset N: block of N octets expected, the file has N more", "truncated pcapng")
is(decoded("text"), "made.pcap: offset 0: neither a pcap nor a pcapng file", "no capture at all")
is(decoded(block("<", 0x0a0d0d0a, string.pack("<I4I2I2i8", 0x1a2b3c4d, 1, 0, -1))
  .. string.pack("<I4I4I4", 6, 13, 13)), "made.pcap: offset 28: block length 13, expected 4n >= 12",
  "a block length that is no multiple of 4")

-------------------------------------------------------------------------------------- as a program
local function run(octets_of_file, options)
  local name = os.tmpname()
  local out = assert(io.open(name, "wb"))
  out:write(octets_of_file)
  out:close()
  local pipe = assert(io.popen(("'%s' '%ssecond_decoder.lua' %s '%s' 2>&1"):format(arg[-1], here,
    options or "", name)))
  local text = pipe:read("a"):gsub(name:gsub("%p", "%%%0"), "FILE")
  local _, _, status = pipe:close()
  os.remove(name)
  return text, status
end

local bad = pcap(conversation(A, B, with_octet(I2R, 44, 1), { { 0, 64 } }, R2I), "<")
do
  local text, status = run(file)
  is(text, [[
CONNECTION 1 I=10.0.0.1:4000 R=10.0.0.2:5000
7 I>R Request rev=1 M=0 C=1 R=0 S=0 res=0 pd=0
7 I>R FPDU 1 at=0 len=18 crc=good Send L=1 qn=0 msn=1 mo=0 payload=0 message=0
10 I>R FPDU 2 at=24 len=14 crc=good Write L=1 stag=00000000 to=0 payload=0 message=0
11 R>I Reply rev=1 M=0 C=1 R=0 S=0 res=0 pd=0
SUMMARY FILE connections=1 problems=0 | I>R fpdus=2 crc=2/0/0 markers=0 Send: 1, Write: 1]]
    .. " | R>I fpdus=0 crc=0/0/0 markers=0\n", "the listing")
  is(status, 0, "exit status 0")
  text, status = run(bad)
  ok(text:find("\n3 I>R PROBLEM crc: FPDU 1, field 587be8c5\n", 1, true),
    "a bad CRC in the listing", text)
  is(status, 1, "exit status 1")
  is(select(2, run(bad, "--expect-problems")), 0, "exit status 0 with --expect-problems")
  is(run(bad, "--summary-json"), '[{"connections":[{"crc":true,"directions":{"I>R":{"crc":{"bad":1,'
    .. '"good":1,"unchecked":0},"fpdus":2,"markers":0,"messages":{"Send":1,"Write":1},"octets":0,'
    .. '"segments":{"Send":1,"Write":1}},"R>I":{"crc":{"bad":0,"good":0,"unchecked":0},"fpdus":0,'
    .. '"markers":0,"messages":{},"octets":0,"segments":{}}},"initiator":"10.0.0.1:4000",'
    .. '"problems":[{"dir":"I>R","frame":3,"kind":"crc","text":"FPDU 1, field 587be8c5"}],'
    .. '"responder":"10.0.0.2:5000","rev":1}],"file":"FILE"}]\n', "the summary as JSON")
  text, status = run("text")
  is(text, "second_decoder: FILE: offset 0: neither a pcap nor a pcapng file\n", "one line")
  is(status, 2, "exit status 2")
  is(select(2, run("text", "--nonsense")), 64, "exit status 64")
end

-- decode_dir.lua over a folder with one pcapng in it. `role`: of the target, in the report beside that folder. `row`: of a table
-- for --known.
local function run_dir(octets_of_file, role, row)
  local pipe = assert(io.popen("d=$(mktemp -d) && mkdir $d/pcaps && echo $d"))
  local top = pipe:read("l")
  pipe:close()
  local dir, made = top .. "/pcaps", {}
  local function make(path, content)
    local out = assert(io.open(path, "wb"))
    out:write(content)
    out:close()
    made[#made + 1] = path
  end
  if octets_of_file then make(dir .. "/case.pcapng", octets_of_file) end
  if role then make(top .. "/run.json", ('{"cases":[{"id":"case","role":"%s"}]}'):format(role)) end
  if row then make(top .. "/known.lua", "return { " .. row .. " }") end
  pipe = assert(io.popen(("'%s' '%sdecode_dir.lua' %s '%s' 2>&1"):format(arg[-1], here,
    row and "--known '" .. top .. "/known.lua'" or "", dir)))
  local text = pipe:read("a"):gsub(dir:gsub("%p", "%%%0"), "DIR")
  local _, _, status = pipe:close()
  for _, path in ipairs(made) do os.remove(path) end
  os.remove(dir)
  os.remove(top)
  return status .. " " .. text
end

do
  local broken = conversation(A, B, with_octet(I2R, 44, 1), { { 0, 20 }, { 20, 64 } }, R2I)
  local finding = "1 DIR/case.pcapng: connection 1: frame 4: I>R crc: FPDU 1, field 587be8c5\n"
    .. "1 captures, 1 connections, 2 FPDUs, %d directions with a stimulus, 1 problems\n"
  is(run_dir(pcapng(frames, "<")),
    "0 1 captures, 1 connections, 2 FPDUs, 0 directions with a stimulus, 0 problems\n",
    "decode_dir: a good case")
  is(run_dir(pcapng(broken, "<")), finding:format(0), "decode_dir: a bad CRC nobody meant")
  local excused = "0 1 captures, 1 connections, 2 FPDUs, 0 directions with a stimulus, 0 problems\n"
  local of_station, of_target = '{ "^case$", "^FPDU 1", "why" }', '{ "^case$", "^FPDU 1", "why", target = true }'
  for _, one in ipairs { { "responder", of_station, true }, { "initiator", of_station, false }, { "responder", of_target, false },
    { "initiator", of_target, true }, { nil, of_station, true }, { "responder", '{ "^other", "^FPDU 1", "why" }', false } } do
    is(run_dir(pcapng(broken, "<"), one[1], one[2]), one[3] and excused or finding:format(0),
      "decode_dir: what is known of one side excuses that side: " .. tostring(one[1]) .. " " .. one[2])
  end
  is(run_dir(pcapng(broken, "<", { [4] = "stimulus: bad CRC" })),
    "0 1 captures, 1 connections, 2 FPDUs, 1 directions with a stimulus, 0 problems\n",
    "decode_dir: a bad CRC that is the stimulus")
  is(run_dir(pcapng(broken, "<", { [5] = "stimulus: of the other side" })), finding:format(1),
    "decode_dir: a stimulus excuses its own direction only")
  is(run_dir(pcapng(broken, "<", { [6] = "stimulus: later" })), finding:format(1),
    "decode_dir: nor what came before it")
  -- The MSN of the first Send in the other octet order, with a CRC that is right.
  local turned = octets "00124143 00000000 00000000 01000000 00000000"
  turned = I2R:sub(1, 20) .. turned .. string.pack("<I4", decoder.crc32c(turned)) .. I2R:sub(45)
  local odd = conversation(A, B, turned, { { 0, 20 }, { 20, 64 } }, R2I)
  is(run_dir(pcapng(odd, "<")), "1 DIR/case.pcapng: connection 1: frame 4: I>R header: "
    .. "MSN 16777216 on queue 0, expected 1\n"
    .. "1 captures, 1 connections, 2 FPDUs, 0 directions with a stimulus, 1 problems\n",
    "decode_dir: a header field in the wrong octet order")
  is(run_dir(pcapng(odd, "<", { [4] = "stimulus: MSN" })),
    "0 1 captures, 1 connections, 2 FPDUs, 1 directions with a stimulus, 0 problems\n",
    "decode_dir: a header that is the stimulus")
  is(run_dir(), "2 decode_dir: DIR: no .pcapng file found there\n", "decode_dir: an empty folder")
end

tap.done()
