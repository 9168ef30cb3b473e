-- SPDX-License-Identifier: BSD-3-Clause

-- FetchAdd and CmpSwap (RFC 7306 §5.1): their answers and the values they leave. All values are
-- those of the wire; memory holds them in the target's own order.

local atomics = use "atomics"

local ONES = 0xffffffffffffffff
local TOP = 0x8000000000000000

-- before, after: the value in memory.
local additions = {
  { name = "one", before = 0x0102030405060708, add = 1, mask = 0, after = 0x0102030405060709 },
  { name = "zero", before = 0xfedcba9876543210, add = 0, mask = 0, after = 0xfedcba9876543210 },
  { name = "top-bit", before = TOP, add = TOP, mask = 0, after = 0 },
  { name = "wrap", before = ONES, add = 1, mask = 0, after = 0 },
  { name = "minus-one", before = 5, add = ONES, mask = 0, after = 4 },
  { name = "carry-into-high-half", before = 0x00000000ffffffff, add = 1, mask = 0, after = 0x0000000100000000 },
  { name = "halves", before = 0xffffffffffffffff, add = 0x0000000200000003, mask = 0x8000000080000000, after = 0x0000000100000002 },
  { name = "octets", before = 0xff7f80010203fe00, add = 0x0101010101010101, mask = 0x8080808080808080, after = 0x008081020304ff01 },
  { name = "bits", before = 0x5555555555555555, add = 0xffffffffffffffff, mask = ONES, after = 0xaaaaaaaaaaaaaaaa },
  { name = "lowest-field-of-one-bit", before = 1, add = 1, mask = 1, after = 0 },
  { name = "top-mask", before = 0x7fffffffffffffff, add = 1, mask = TOP, after = TOP },
  { name = "unequal-fields", before = 0x0fff0fff0fff0fff, add = 0x0001000100010001, mask = 0x0000080000000800, after = 0x1000000010000000 },
}

local swaps = {
  { name = "match", before = 0x0102030405060708, swap = 0xfedcba9876543210, swap_mask = ONES, compare = 0x0102030405060708,
    compare_mask = ONES, after = 0xfedcba9876543210 },
  { name = "mismatch", before = 0x0102030405060708, swap = 0xfedcba9876543210, swap_mask = ONES, compare = 0x0102030405060709,
    compare_mask = ONES, after = 0x0102030405060708 },
  { name = "mismatch-top-bit", before = TOP, swap = 1, swap_mask = ONES, compare = 0, compare_mask = ONES, after = TOP },
  { name = "swap-mask", before = 0x1111111111111111, swap = 0x2222222222222222, swap_mask = 0xffff0000ff0000ff,
    compare = 0x1111111111111111, compare_mask = ONES, after = 0x2222111122111122 },
  { name = "swap-mask-zero", before = 0x1111111111111111, swap = 0x2222222222222222, swap_mask = 0, compare = 0x1111111111111111,
    compare_mask = ONES, after = 0x1111111111111111 },
  { name = "compare-mask-zero", before = 0x1111111111111111, swap = 0x2222222222222222, swap_mask = ONES,
    compare = 0xffffffffffffffff, compare_mask = 0, after = 0x2222222222222222 },
  { name = "compare-mask-match", before = 0x1122334455667788, swap = 7, swap_mask = ONES, compare = 0xff22ff44ff66ff88,
    compare_mask = 0x00ff00ff00ff00ff, after = 7 },
  { name = "compare-mask-mismatch", before = 0x1122334455667788, swap = 7, swap_mask = ONES, compare = 0xff22ff44ff66ff89,
    compare_mask = 0x00ff00ff00ff00ff, after = 0x1122334455667788 },
  { name = "both-masks", before = 0x00000000deadbeef, swap = 0xa5a5a5a55a5a5a5a, swap_mask = 0xff000000000000ff,
    compare = 0x12345678deadbeef, compare_mask = 0x00000000ffffffff,
    after = 0xa5000000deadbe5a },
}

local ignored = {
  { name = "reserved-ones", text = "the reserved bits are ones", fields = { atomic = 0xfffffff0 }, rule = "EXT-5.2.1-02" },
  { name = "reserved-some", text = "some reserved bits are set", fields = { atomic = 0x05a0b1c0 }, rule = "EXT-5.2.1-02" },
  { name = "compare-fields", text = "Compare Data and Compare Mask hold something",
    fields = { compare = 0x1122334455667788, compare_mask = 0x0f }, rule = "EXT-5.2.1-08" },
  { name = "compare-mask-zero", text = "Compare Mask is zero", fields = { compare_mask = 0 }, rule = "EXT-5.2.1-08" },
  { name = "invalidate-field", text = "the field of the Invalidate STag names a valid STag", fields = {}, rule = "EXT-4.1-04" },
}

return family {
  -- ---- results ----

  each(additions, function(one)
    local masked = one.mask ~= 0
    local both = one.name == "wrap" or one.name == "halves"
    return (both and both_roles or case) {
      id = "ext-fetch-add-" .. one.name,
      purpose = ("FetchAdd of 0x%x with mask 0x%x to 0x%x answers the old value and leaves 0x%x"):format(one.add, one.mask, one.before, one.after),
      rules = { masked and "EXT-5.1.1-07" or "EXT-5.1.1-06", "EXT-5.1.1-08", "EXT-5.2.1-12", "EXT-5.2.1-19", "EXT-5.2.1-03" },
      level = "must",
      role = not both and "responder" or nil,
      needs = { memory = "atomic", extensions = true },
      run = function(t)
        local conn = t:session {}
        local cells = atomics.cells(t, conn, { ONES, one.before, 0 })
        atomics.ask(conn, { target = cells, offset = 8, add_swap = one.add, add_swap_mask = one.mask, request_id = 7 }, one.before)
        atomics.expect(t, cells, one.after, 8)
      end,
    }
  end),

  each(swaps, function(one)
    local both = one.name == "match" or one.name == "both-masks"
    return (both and both_roles or case) {
      id = "ext-cmp-swap-" .. one.name,
      purpose = ("CmpSwap of 0x%x/0x%x if 0x%x/0x%x on 0x%x answers the old value and leaves 0x%x"):format(one.swap, one.swap_mask,
        one.compare, one.compare_mask, one.before, one.after),
      rules = { "EXT-5.1.2-01", "EXT-5.1.1-08", "EXT-5.2.1-12", "EXT-5.2.1-19", "EXT-5.2.1-03" },
      role = not both and "responder" or nil,
      needs = { memory = "atomic", extensions = true },
      run = function(t)
        local conn = t:session {}
        local cells = atomics.cells(t, conn, { ONES, one.before, 0 })
        atomics.ask(conn, { target = cells, offset = 8, atomic = atomics.CMP_SWAP, add_swap = one.swap, add_swap_mask = one.swap_mask,
                            compare = one.compare, compare_mask = one.compare_mask, request_id = 7 }, one.before)
        atomics.expect(t, cells, one.after, 8)
      end,
    }
  end),

  -- ---- the messages ----

  -- RFC 7306 §5.2.2: OP-80, 12 octets.
  both_roles {
    id = "ext-atomic-response-octets",
    purpose = "An Atomic Response has the 12 octets of RFC 7306 and comes untagged on queue 3, MSN 1 and up",
    rules = { "EXT-5.2-02", "EXT-5-05", "EXT-5.2.2-02", "EXT-5.2.2-03", "EXT-5.2.2-04", "EXT-5.2.1-19", "EXT-5.1.1-08", "EXT-5.2.1-04",
              "EXT-4.1-01", "EXT-4.1-02", "EXT-4.1-03", "EXT-4.1-05" },
    needs = { memory = "atomic", extensions = true },
    run = function(t)
      local conn = t:session {}
      -- The same in either order of octets.
      local cell = t:memory { length = 8, remote = "atomic", fill = hex "f1 e2 d3 c4 c4 d3 e2 f1" }
      for i, id in ipairs { 0xfedcba98, 0, 0xffffffff } do
        conn:send(atomic_request { target = cell, request_id = id })
        local item = conn:expect(atomic_response { t = false, value = 0xf1e2d3c4c4d3e2f1 })
        local wanted = hex "414b 00000000 00000003" .. pack(">I4", i) .. hex "00000000" .. pack(">I4", id) .. hex "f1e2d3c4c4d3e2f1"
        t:same_octets(item.ulpdu, wanted, "the target's Atomic Response has other octets than expected", { item = item })
      end
      t:expect_unchanged(cell)
    end,
  },

  -- RFC 7306 §1.1: how a peer finds out whether the target has atomics.
  both_roles {
    id = "ext-probe",
    purpose = "The target answers a FetchAdd of 0 with the old value and changes nothing",
    rules = { "EXT-1.1-04", "EXT-5.2.1-12" },
    level = "must",
    needs = { memory = "read atomic", extensions = true },
    run = function(t)
      local conn = t:session {}
      local value = 0x4142434444434241 -- the same in either order of octets
      local cell = t:memory { length = 8, remote = "read atomic", fill = pack(">i8", value) }
      atomics.ask(conn, { target = cell, request_id = 1 }, value)
      t:check(conn:read(cell) == pack(">i8", value), "the target changed its memory for a FetchAdd of 0")
      t:expect_unchanged(cell)
    end,
  },

  both_roles {
    id = "ext-both-atomics",
    purpose = "A target answers both FetchAdd and CmpSwap, or neither",
    rules = { "EXT-5-03", "EXT-5.2.1-03" },
    needs = { memory = "atomic", extensions = true },
    run = function(t)
      local conn = t:session {}
      -- Octets that are all alike: the same number in either order of octets.
      local cells = t:memory { length = 16, remote = "atomic", fill = bytes(8, 3) .. bytes(8, 4) }
      atomics.ask(conn, { target = cells, add_swap = 0x0101010101010101, request_id = 1 }, 0x0303030303030303)
      atomics.ask(conn, { target = cells, offset = 8, atomic = atomics.CMP_SWAP, add_swap = 0x0909090909090909, add_swap_mask = ONES,
                          compare = 0x0404040404040404, request_id = 2 }, 0x0404040404040404)
      t:expect_contents(cells, bytes(8, 4) .. bytes(8, 9))
    end,
  },

  each(ignored, function(one)
    return both_roles {
      id = "ext-atomic-ignores-" .. one.name,
      purpose = ("The target carries out a FetchAdd in which %s like any other"):format(one.text),
      rules = { one.rule, "EXT-5.2.1-12" },
      level = "must",
      needs = { memory = "atomic", extensions = true },
      run = function(t)
        local conn = t:session {}
        local cells = atomics.cells(t, conn, { 40 })
        local request = { target = cells, add_swap = 2, request_id = 3, comment = one.text }
        for field, value in pairs(one.fields) do request[field] = value end
        if one.rule == "EXT-4.1-04" then request.invalidate = cells.stag end
        conn:send(atomic_request(request))
        conn:expect(atomic_response { request_id = 3, value = 40 })
        atomics.expect(t, cells, 42)
        -- The STag is as good as before.
        atomics.ask(conn, { target = cells, add_swap = 1, request_id = 4 }, 42)
      end,
    }
  end),

  both_roles {
    id = "ext-atomic-places",
    purpose = "Atomics on the first, a middle and the last 8 octets of a buffer change these alone",
    rules = { "EXT-5.2.1-05", "EXT-5.2.1-12" },
    level = "must",
    needs = { memory = "atomic", extensions = true },
    run = function(t)
      local conn = t:session {}
      local cells = atomics.cells(t, conn, { 1, 2, 3, 4, 5, 6, 7, 8 })
      for _, i in ipairs { 8, 1, 4 } do
        atomics.ask(conn, { target = cells, offset = 8 * (i - 1), add_swap = 0x100, request_id = i }, i)
        atomics.expect(t, cells, 0x100 + i, 8 * (i - 1))
      end
    end,
  },

  -- The target's own user gets no completion, and no buffer of queue 0 is used up.
  both_roles {
    id = "ext-atomic-not-delivered",
    purpose = "A valid Atomic Request is not delivered: it leaves the posted buffer to the Send after it",
    rules = { "EXT-5.2.1-13", "EXT-5.2.1-12" },
    needs = { memory = "atomic", extensions = true },
    run = function(t)
      local conn = t:session {}
      local posted = t:receive { length = 64 }
      local cells = atomics.cells(t, conn, { 1 })
      atomics.ask(conn, { target = cells, add_swap = 1 }, 1)
      conn:fence()
      t:expect_no_completion(posted)
      t:expect_unchanged(posted.memory)
      conn:send(send { payload = bytes(10) })
      t:completion(posted, { length = 10 })
    end,
  },

  -- ---- several at a time, several streams ----

  both_roles {
    id = "ext-atomics-dependent",
    purpose = "The target carries out and answers atomics that come together on one place in their order",
    rules = { "EXT-5.2.1-18", "EXT-5.4-09", "EXT-5.2.2-09", "EXT-5.4-10", "EXT-5.2.2-05" },
    needs = { memory = "atomic", extensions = true },
    run = function(t)
      local conn = t:session {}
      local cells = atomics.cells(t, conn, { 0 })
      local peer = conn:state().peer
      local count = math.min(peer and peer.ird or 1, 16)
      conn:together(function()
        for i = 1, count do
          if i % 3 == 0 then -- only if all before were carried out
            conn:send(atomic_request { target = cells, atomic = atomics.CMP_SWAP, add_swap = 10 * (i - 1) + 10, add_swap_mask = ONES,
                                       compare = 10 * (i - 1), request_id = 100 - i })
          else
            conn:send(atomic_request { target = cells, add_swap = 10, request_id = 100 - i })
          end
        end
      end)
      for i = 1, count do conn:expect(atomic_response { msn = i + 1, request_id = 100 - i, value = 10 * (i - 1) }) end
      atomics.expect(t, cells, 10 * count)
      t:observe("atomics", count)
    end,
  },

  both_roles {
    id = "ext-atomics-streams",
    purpose = "The target carries out every concurrent atomic of three streams on one place, and returns no old value twice",
    rules = { "EXT-5-01", "EXT-5.3-01", "EXT-5.4-02" },
    needs = { memory = "atomic", extensions = true },
    run = function(t)
      local conns, seen, total = {}, {}, 0
      for i = 1, 3 do conns[i] = t:session {} end
      local cells = atomics.cells(t, conns[1], { 0x00000000fffffff0 })
      for round = 1, 20 do
        for _ = 1, 4 do
          for i = 1, 3 do conns[i]:send(atomic_request { target = cells, add_swap = 1, request_id = round }) end
        end
        for _ = 1, 4 do
          for i = 1, 3 do
            local item = conns[i]:expect(atomic_response { request_id = round })
            t:check(not seen[item.value], ("the target returned the old value 0x%x twice"):format(item.value),
              { item = item, how = "another value" })
            seen[item.value], total = true, total + 1
          end
        end
      end
      for value = 0x00000000fffffff0, 0x00000000fffffff0 + total - 1 do
        t:check(seen[value], ("the target never returned the old value 0x%x"):format(value), { how = "another value" })
      end
      atomics.expect(t, cells, 0x00000000fffffff0 + total)
    end,
  },
}
