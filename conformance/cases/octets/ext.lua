-- SPDX-License-Identifier: BSD-3-Clause

-- The messages of RFC 7306 in literal octets, in each direction.

local literal = use "literal"
local x32, x64 = literal.x32, literal.x64

-- Returns an Atomic Request; after its first header words: id, STag, TO, data, mask, compare data, compare mask. `code` has
-- AOpCode in its lowest four bits; the others are reserved.
local function request(msn, code, id, stag, to, data, mask, compare, compare_mask)
  return "0046 414a 00000000 00000001" .. x32(msn) .. "00000000" .. x32(code) .. x32(id) .. x32(stag) .. x64(to)
    .. x64(data) .. x64(mask) .. x64(compare) .. x64(compare_mask)
end

local function response(msn, id, value)
  return "001e 414b 00000000 00000003" .. x32(msn) .. "00000000" .. x32(id) .. x64(value)
end

local ONES = 0xffffffffffffffff

-- code: AOpCode.
local posts = {
  { op = "fetch-add", fields = { add_swap = 0x0102030405060708, add_swap_mask = 0x1112131415161718 }, code = 0,
    operands = { 0x0102030405060708, 0x1112131415161718, 0, ONES } },
  { op = "cmp-swap", fields = { add_swap = 0x0102030405060708, add_swap_mask = 0x1112131415161718, compare = 0x2122232425262728,
    compare_mask = 0x3132333435363738 }, code = 2, operands = { 0x0102030405060708, 0x1112131415161718, 0x2122232425262728, 0x3132333435363738 } },
}

return family {
  each({
    { op = "immediate", opcode = "8", solicited = false }, { op = "immediate-se", opcode = "9", solicited = true },
  }, function(one)
    return literal.case {
      id = "octets-" .. one.op,
      purpose = ("%s is opcode %s on queue 0 with its 8 octets, from the station and from the target"):format(one.op, one.opcode),
      rules = { "EXT-4.1-02", "EXT-4.1-01", "EXT-4.1-05", "EXT-6.3-06", "EXT-6.3-05" },
      needs = { agent = true, extensions = true, revision = 1, markers = "off" },
      run = function(t)
        local conn = literal.start(t)
        local posted = t:receive { length = 16 }
        literal.send_fpdu(conn, "001a 414" .. one.opcode .. "00000000 00000000 00000001 00000000 0102030405060708")
        t:completion(posted, { immediate = hex "0102030405060708", solicited = one.solicited })
        t:post { conn = conn, op = one.op, immediate = hex "1112131415161718" }
        literal.expect_fpdu(conn, "001a 414" .. one.opcode .. "00000000 00000000 00000001 00000000 1112131415161718")
      end,
    }
  end),

  -- The 64 bits lie in the order of the target's processor, which the wire does not show: the last request reads them.
  literal.case {
    id = "octets-atomics-received",
    purpose = "The target reads each field of Atomic Requests, and answers with Request Identifier and value at their places",
    rules = { "EXT-5.2.1-04", "EXT-4.1-05", "EXT-5.1.1-06", "EXT-5.1.1-07", "EXT-5.1.2-01", "EXT-5.2-02", "EXT-5.2.2-03" },
    needs = { memory = "atomic", extensions = true, revision = 1, markers = "off" },
    run = function(t)
      local conn = literal.start(t)
      local cell = t:memory { length = 32, remote = "atomic", fill = 0, to = 0x0102030405060700 }
      local stag, to = cell.stag, cell.to + 8
      -- FetchAdd of a number whose octets differ, to 0.
      literal.send_fpdu(conn, request(1, 0, 0x5a5b5c5d, stag, to, 0x0102030405060708, 0, 0, ONES), "FetchAdd")
      literal.expect_fpdu(conn, response(1, 0x5a5b5c5d, 0))
      -- With a mask: bit 7 ends the lowest field, so that its carry is lost (RFC 7306 §5.1.1).
      literal.send_fpdu(conn, request(2, 0, 0x6a6b6c6d, stag, to, 0x1000000000000f9, 0x80, 0, ONES), "FetchAdd with a mask")
      literal.expect_fpdu(conn, response(2, 0x6a6b6c6d, 0x0102030405060708))
      -- CmpSwap that looks at the two uppermost octets, and swaps the lowest four.
      literal.send_fpdu(conn, request(3, 2, 0x7a7b7c7d, stag, to, 0x8182838485868788, 0xffffffff, 0x0202ffffffffffff, ONES << 48), "CmpSwap")
      literal.expect_fpdu(conn, response(3, 0x7a7b7c7d, 0x0202030405060701))
      -- One that does not match.
      literal.send_fpdu(conn, request(4, 2, 0x8a8b8c8d, stag, to, 0, ONES, 0x0202030405060701, ONES), "CmpSwap that fails")
      literal.expect_fpdu(conn, response(4, 0x8a8b8c8d, 0x0202030485868788))
      literal.send_fpdu(conn, request(5, 0, 0x9a9b9c9d, stag, to, 0, 0, 0, ONES), "FetchAdd of 0")
      literal.expect_fpdu(conn, response(5, 0x9a9b9c9d, 0x0202030485868788))
      local value = t:read(cell, 8, 8)
      t:check(value == hex "0202030485868788" or value == hex "8887868504030202",
        "the target's memory holds another value than its answer",
        { expected = "0202030485868788 in either order", actual = show(value) })
      t:expect_unchanged(cell, { except = { 8, 8 } })
    end,
  },

  -- RFC 7306 §5.2.1: "ignored on receive", which is no MUST.
  literal.case {
    id = "octets-atomics-reserved",
    purpose = "The target ignores the 28 reserved bits before AOpCode in an Atomic Request",
    rules = { "EXT-5.2.1-02", "EXT-5.2.2-03" },
    level = "should",
    needs = { memory = "atomic", extensions = true, revision = 1, markers = "off" },
    run = function(t)
      local conn = literal.start(t)
      local cell = t:memory { length = 32, remote = "atomic", fill = 0, to = 0x0102030405060700 }
      -- A bit of each octet, then all of them.
      for i, bits in ipairs { 0x10, 0x0100, 0x010000, 0x01000000, 0xfffffff0 } do
        literal.send_fpdu(conn, request(i, bits, 0x5a5b5c00 + i, cell.stag, cell.to + 8, 1, 0, 0, ONES), "stimulus: reserved bits set in a FetchAdd")
        literal.expect_fpdu(conn, response(i, 0x5a5b5c00 + i, i - 1))
      end
      literal.send_fpdu(conn, request(6, 0xfffffff2, 0x6a6b6c6d, cell.stag, cell.to + 8, 0x77, ONES, 5, ONES), "stimulus: reserved bits set in a CmpSwap")
      literal.expect_fpdu(conn, response(6, 0x6a6b6c6d, 5))
      literal.send_fpdu(conn, request(7, 0, 0x7a7b7c7d, cell.stag, cell.to + 8, 0, 0, 0, ONES), "FetchAdd of 0")
      literal.expect_fpdu(conn, response(7, 0x7a7b7c7d, 0x77))
    end,
  },

  each(posts, function(one)
    return literal.case {
      id = ("octets-%s-sent"):format(one.op),
      purpose = ("The target's own %s has its fields at their places, and takes the value of an Atomic Response"):format(one.op),
      rules = { "EXT-5.2.1-01", "EXT-5.2.1-07", "EXT-5.2.1-15", "EXT-4.1-02", "EXT-4.1-05", "EXT-5.1.1-08", "EXT-5-06" },
      needs = { agent = true, extensions = true, revision = 1, markers = "off" },
      run = function(t)
        local conn = literal.start(t)
        local operands = ""
        for _, value in ipairs(one.operands) do operands = operands .. x64(value) end
        for msn = 1, 2 do
          local post = { conn = conn, op = one.op, stag = 0x0a0b0c0d, to = 0x4142434445464748 }
          for name, value in pairs(one.fields) do post[name] = value end
          local handle = t:post(post)
          local found = literal.expect_fpdu(conn, "0046 414a 00000000 00000001" .. x32(msn) .. "00000000 0000000" .. one.code
            .. " {id:4} 0a0b0c0d 4142434445464748" .. operands)
          literal.send_fpdu(conn, "001e 414b 00000000 00000003" .. x32(msn) .. "00000000" .. show(found.id) .. "5152535455565758")
          t:completion(handle, { original = 0x5152535455565758 })
        end
      end,
    }
  end),
}
