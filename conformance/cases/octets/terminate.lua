-- SPDX-License-Identifier: BSD-3-Clause

-- The Terminate in literal octets (RFC 5040 §4.8): layer, type, code, M, D and R, the segment's length and the headers
-- that it returns; those of the target and those of the station.

local literal = use "literal"
local list = {}

local function add(fields)
  fields.role, fields.level = "responder", "must"
  list[#list + 1] = case(fields)
end

-- The Terminate that stands in front of all of the target's: on queue 2, with MSN 1.
local TERMINATE = " 4147 00000000 00000002 00000001 00000000 "

-- name, what is wrong, what is sent, the Terminates with their length in front (the preferred one first), whether a
-- receive is posted
local sent = {
  { "tagged-stag", "an STag that there is none of", "0012 c140 5bad57a6 123456789abcdef0 deadbeef",
    { { "0026", "1100 c000 0012 c140 5bad57a6 123456789abcdef0" }, { "0026", "1102 c000 0012 c140 5bad57a6 123456789abcdef0" } } },
  { "untagged-qn", "QN 0000004d", "0016 4143 00000000 0000004d 00000001 00000000 deadbeef",
    { { "002a", "1201 c000 0016 4143 00000000 0000004d 00000001 00000000" },
      { "002a", "0206 c000 0016 4143 00000000 0000004d 00000001 00000000" } } },
  { "untagged-msn", "MSN 00000102", "0016 4143 00000000 00000000 00000102 00000000 deadbeef",
    { { "002a", "1203 c000 0016 4143 00000000 00000000 00000102 00000000" },
      { "002a", "1202 c000 0016 4143 00000000 00000000 00000102 00000000" } }, true },
  { "untagged-mo", "MO 00010203", "0016 4143 00000000 00000000 00000001 00010203 deadbeef",
    { { "002a", "1204 c000 0016 4143 00000000 00000000 00000001 00010203" },
      { "002a", "1205 c000 0016 4143 00000000 00000000 00000001 00010203" } }, true },
  { "untagged-length", "291 octets of ULPDU for a buffer of 16", "0123 4143 00000000 00000000 00000001 00000000" .. show(bytes(273)) .. "000000",
    { { "002a", "1205 c000 0123 4143 00000000 00000000 00000001 00000000" } }, true },
  { "ddp-version", "DV 3", "0016 4343 00000000 00000000 00000001 00000000 deadbeef",
    { { "002a", "1206 c000 0016 4343 00000000 00000000 00000001 00000000" } }, true },
  { "rdmap-version", "RV 3", "0016 41c3 00000000 00000000 00000001 00000000 deadbeef",
    { { "002a", "0205 c000 0016 41c3 00000000 00000000 00000001 00000000" } }, true },
  { "opcode", "an opcode that is not assigned", "0016 414e 00000000 00000000 00000001 00000000 deadbeef",
    { { "002a", "0206 c000 0016 414e 00000000 00000000 00000001 00000000" } }, true },
  { "read-source", "a Read Request for an STag that there is none of",
    "002e 4141 00000000 00000001 00000001 00000000 99aabbcc 0000000000003344 0000004d 5bad57a6 0102030405060708",
    { { "0046", "0100 e000 002e 4141 00000000 00000001 00000001 00000000 99aabbcc 0000000000003344 0000004d 5bad57a6 0102030405060708" },
      { "0046", "0103 e000 002e 4141 00000000 00000001 00000001 00000000 99aabbcc 0000000000003344 0000004d 5bad57a6 0102030405060708" } } },
}

for _, one in ipairs(sent) do
  local name, text, fpdu, terminates, posted = table.unpack(one, 1, 5)
  local patterns = {}
  for i, terminate in ipairs(terminates) do patterns[i] = terminate[1] .. TERMINATE .. terminate[2] end
  -- Headers are a SHOULD (RFC 5040 §4.8): rdmap-terminate-* judge that.
  for i, terminate in ipairs(terminates) do
    patterns[#terminates + i] = "0016" .. TERMINATE .. terminate[2]:sub(1, 4) .. " 0000"
  end
  add {
    id = "octets-terminate-" .. name,
    purpose = ("The Terminate for %s has its fields and the headers that it returns where they should be"):format(text),
    rules = { "RDMAP-4.8-02", "RDMAP-4.8-01", "RDMAP-4.8-03", "RDMAP-4.8-10", "RDMAP-4.8-11", "RDMAP-4.8-07", "RDMAP-5.4-02" },
    needs = { agent = posted, revision = 1, markers = "off" },
    run = function(t)
      local conn = literal.start(t)
      if posted then t:receive { length = 16 } end
      literal.send_fpdu(conn, fpdu, "stimulus: " .. text)
      local _, which = literal.expect_fpdu(conn, table.unpack(patterns))
      t:observe("terminate", patterns[which]:sub(5 + #TERMINATE, 13 + #TERMINATE))
      literal.expect_end(conn)
    end,
  }
end

-- name, the Terminate, what the target's ULP is told of it
local received = {
  { "llp", "2002 0000", "0016", { layer = 2, type = 0, code = 2, flags = 0 } },
  { "ddp", "1203 c000 0016 4143 00000000 00000000 00000102 00000000", "002a", { layer = 1, type = 2, code = 3, flags = 0xc0 } },
  { "read", "0100 e000 002e 4141 00000000 00000001 00000001 00000000 99aabbcc 0000000000003344 0000004d 5bad57a6 0102030405060708",
    "0046", { layer = 0, type = 1, code = 0, flags = 0xe0 } },
  { "length-only", "0209 8000", "0016", { layer = 0, type = 2, code = 9, flags = 0x80 } },
}

for _, one in ipairs(received) do
  local name, octets, length, event = table.unpack(one)
  local pad = ("00"):rep((2 - tonumber(length, 16)) % 4)
  add {
    id = "octets-terminate-received-" .. name,
    purpose = ("The target reads layer, type, code and flags of a Terminate %s where they are"):format(octets:sub(1, 9)),
    rules = { "RDMAP-4.8-02", "RDMAP-5.4-06", "RDMAP-5.4-05" },
    needs = { agent = true, revision = 1, markers = "off" },
    run = function(t)
      local conn = literal.start(t)
      literal.send_fpdu(conn, length .. TERMINATE .. octets .. pad)
      t:event("terminated", conn, event)
      literal.expect_end(conn)
    end,
  }
end

return list
