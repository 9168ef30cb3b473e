-- SPDX-License-Identifier: BSD-3-Clause
-- What the second decoder finds in the captures of the suite against siw: more rows for decode_dir.lua (--known). Numbers are
-- the sections of ../../baselines/siw.md.
return {
  { "", "^pad is ", "18: siw's pads hold octets of an earlier CRC", target = true },
  { "^empa%-ird%-short%-3ffe", "^FPDU 1, field 0+$", "19: a Terminate from the start-up has no CRC", target = true },
  { "^empa%-startup%-s%-pd%-length%-", "^Reply .*private data malformed", "siw's own Reply has S set and no IRD and ORD", target = true },
  { "^bug%-empty%-read%-after%-another", "^response %d+ is ", "45: a Read of nothing is answered with octets of the response before", target = true },
  { "^mpa%-length%-6", "^response %d+ is .*, asked nothing$", "38: siw takes a ULPDU that is too long and goes on", target = true },
  -- siw ends the connection while the station is still sending.
  { "^mpa%-startup%-split%-512", "^Request .*private data malformed", "amid a Request" },
  { "^bug%-one%-peer%-blocks%-others", "^stream ends %d+ octets into the FPDU", "amid an FPDU" },
  { "^empa%-half%-fpdus", "^stream ends %d+ octets into the FPDU", "amid an FPDU" },
}
