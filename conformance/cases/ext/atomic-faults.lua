-- SPDX-License-Identifier: BSD-3-Clause

-- Atomic Requests that the target must not carry out: it sends a Terminate with their DDP header
-- (RFC 7306 §8.1) and no answer, and memory stays as it was.

local atomics = use "atomics"

local ONES = 0xffffffffffffffff
local requests = {
  { name = "fetch-add", text = "FetchAdd", fields = { add_swap = 0x0101010101010101 } },
  { name = "cmp-swap", text = "CmpSwap", fields = { atomic = 2, add_swap = 0xeeeeeeeeeeeeeeee, add_swap_mask = ONES, compare_mask = 0 } },
}

local function joined(...)
  local fields = {}
  for _, some in ipairs { ... } do
    for name, value in pairs(some) do fields[name] = value end
  end
  return fields
end

-- Sends it and expects a Terminate of one of the sets. OP-84: it holds the DDP header but not the RDMAP header.
local function refused(conn, request, ...)
  local all = { of = conn:send(atomic_request(request)) }
  for _, set in ipairs { ... } do
    for _, one in ipairs(set) do
      local fields = one.fields
      all[#all + 1] = terminate { layer = fields.layer, etype = fields.etype, code = fields.code, d = true, r = false }
    end
  end
  conn:expect_terminate(all)
end

local stags = {
  { name = "unknown", fault = fault.atomic_invalid_stag, text = "is not valid",
    prepare = function() return { stag = 0x5bad57a6, to = 0x10000 } end },
  { name = "other-pd", fault = fault.rdmap_foreign_stag, text = "belongs to another protection domain",
    prepare = function(t) return t:memory { length = 64, remote = "atomic", pd = t:protection_domain() } end },
  { name = "other-stream", fault = fault.rdmap_foreign_stag, text = "is bound to another stream",
    prepare = function(t) return t:memory { length = 64, remote = "atomic", conn = t:session {} } end },
  { name = "read-only", fault = fault.rdmap_no_access, text = "permits reading only",
    prepare = function(t) return t:memory { length = 64, remote = "read" } end },
  { name = "write-only", fault = fault.rdmap_no_access, text = "permits writing only",
    prepare = function(t) return t:memory { length = 64, remote = "write" } end },
  { name = "local-only", fault = fault.rdmap_no_access, text = "permits no remote access",
    prepare = function(t) return t:memory { length = 64 } end },
  { name = "invalidated", fault = fault.atomic_invalid_stag, text = "was invalidated", prepare = function(t)
    local buf = t:memory { length = 64, remote = "atomic" }
    t:invalidate(buf)
    return buf
  end },
}

-- A buffer of 60 octets at TO 0x10000: all places are aligned.
local places = {
  { name = "before-base", to = 0x10000 - 8, fault = fault.rdmap_out_of_bounds, text = "before its buffer" },
  { name = "straddling-end", to = 0x10000 + 56, fault = fault.rdmap_out_of_bounds, text = "that runs past the end of its buffer" },
  { name = "after-end", to = 0x10000 + 64, fault = fault.rdmap_out_of_bounds, text = "after its buffer" },
  { name = "4-gib-above", to = 0x100010000, fault = fault.rdmap_out_of_bounds, text = "that is right in the low 32 bits of its TO only" },
  { name = "sign-of-to", to = 0x8000000000010000, fault = fault.rdmap_out_of_bounds, text = "that is right but for the top bit of its TO" },
  { name = "top-of-memory", to = 0xfffffffffffffff8, fault = fault.rdmap_past_end_or_wraps, text = "whose end is at 2^64" },
}

local function body(buf)
  return pack(">I4I4I4i8i8i8i8i8", 0, 1, buf.stag, buf.to, 0x1111111111111111, 0, 0, ONES) .. bytes(64, 0xee)
end

return family {
  -- ---- alignment ----

  each(requests, function(one)
    local section = one.name == "fetch-add" and "EXT-5.1.1-" or "EXT-5.1.2-"
    return each(range(1, 7), function(shift)
      local both = shift == 4
      return (both and both_roles or case) {
        id = ("ext-%s-misaligned-%d"):format(one.name, shift),
        purpose = ("A %s %d octets off a 64-bit boundary ends the stream and changes no octet"):format(one.text, shift),
        rules = { section .. (one.name == "fetch-add" and "05" or "06"), section .. "03", section .. (one.name == "fetch-add" and "02" or "04"),
                  "EXT-8.2-06", "EXT-8.2-07", "EXT-8.2-05", "EXT-8.1-02", "EXT-5.2.1-05", section .. (one.name == "fetch-add" and "04" or "05") },
        role = not both and "responder" or nil,
        needs = { memory = "atomic", extensions = true },
        run = function(t)
          -- The agent's memory is aligned, and its TO, too (OP-85).
          local buf = t:memory { length = 24, remote = "atomic", to = 0x10000, fill = "count" }
          local conn = t:session {}
          conn:sanity()
          refused(conn, joined(one.fields, { target = buf, offset = 8 + shift, comment = shift .. " octets off" }), fault.unaligned_atomic)
          t:expect_unchanged(buf, { rule = section .. (one.name == "fetch-add" and "03" or "04") })
          t:event("fault", conn, nil, { rule = section .. (one.name == "fetch-add" and "04" or "05") })
        end,
      }
    end)
  end),

  -- ---- codes that are not assigned (OP-81, OP-82) ----

  each({ 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 }, function(code)
    local both = code == 1
    return (both and both_roles or case) {
      id = ("ext-aopcode-%x"):format(code),
      purpose = ("An Atomic Request with AOpCode %d, %s, ends the stream and changes no octet"):format(code,
        code == 1 and "which is reserved" or "which is not assigned"),
      rules = { "EXT-5.2.1-14", "EXT-8.2-05", "EXT-8.1-02" },
      role = not both and "responder" or nil,
      needs = { memory = "atomic", extensions = true },
      run = function(t)
        local buf = t:memory { length = 8, remote = "atomic", fill = "count" }
        local conn = t:session {}
        conn:sanity()
        local sent = conn:send(atomic_request { target = buf, atomic = code, add_swap = 0x1111111111111111, add_swap_mask = ONES,
                                                compare_mask = 0, broken = true, comment = "AOpCode " .. code })
        conn:expect_terminate { fault.atomic_opcode, of = sent }
        t:expect_unchanged(buf)
      end,
    }
  end),

  -- ---- the STag and the place ----

  each(stags, function(one)
    return each(requests, function(request)
      local both = request.name == "fetch-add"
      return (both and both_roles or case) {
        id = ("ext-%s-stag-%s"):format(request.name, one.name),
        purpose = ("A %s on a buffer whose STag %s ends the stream and changes no octet"):format(request.text, one.text),
        rules = { "EXT-8.2-08", "EXT-8.2-05", "EXT-8.1-02" },
        level = "must",
        role = not both and "responder" or nil,
        needs = { memory = "atomic", extensions = true },
        run = function(t)
          local buf = one.prepare(t)
          local conn = t:session {}
          conn:sanity()
          refused(conn, joined(request.fields, { remote_stag = buf.stag, remote_to = buf.to, comment = "the STag " .. one.text }), one.fault)
          if buf.mem then t:expect_unchanged(buf) end
        end,
      }
    end)
  end),

  each(places, function(one)
    return each(requests, function(request)
      local both = request.name == "cmp-swap" and one.name == "straddling-end"
      return (both and both_roles or case) {
        id = ("ext-%s-%s"):format(request.name, one.name),
        purpose = ("A %s %s ends the stream and changes no octet"):format(request.text, one.text),
        rules = { "EXT-8.2-08", "EXT-8.2-05", "EXT-8.1-02" },
        level = "must",
        role = not both and "responder" or nil,
        needs = { memory = "atomic", extensions = true },
        run = function(t)
          local buf = t:memory { length = 60, remote = "atomic", to = 0x10000, fill = "count" }
          local conn = t:session {}
          conn:sanity()
          refused(conn, joined(request.fields, { remote_stag = buf.stag, remote_to = one.to, comment = one.text }), one.fault)
          t:expect_unchanged(buf)
        end,
      }
    end)
  end),

  both_roles {
    id = "ext-atomic-wrap-into-buffer",
    purpose = "An atomic that wraps at 2^64 and would end in its buffer, which begins at TO 0, ends the stream",
    rules = { "EXT-8.2-08", "EXT-8.2-05" },
    level = "must",
    needs = { memory = "atomic", extensions = true },
    run = function(t)
      local buf = t:memory { length = 64, remote = "atomic", to = 0, fill = "count" }
      local conn = t:session {}
      conn:sanity()
      -- It is misaligned as well: either check may come first.
      refused(conn, { remote_stag = buf.stag, remote_to = -4, add_swap = 1, comment = "TO 2^64-4" }, fault.rdmap_to_wraps, fault.unaligned_atomic)
      t:expect_unchanged(buf)
    end,
  },

  -- ---- the length: 52 octets ----

  each({ 0, 1, 28, 51, 53, 60, 110 }, function(size)
    local both = size == 51 or size == 53
    return (both and both_roles or case) {
      id = ("ext-atomic-request-length-%d"):format(size),
      purpose = ("An Atomic Request of %d octets ends the stream and changes no octet"):format(size),
      rules = { "EXT-8.2-01", "EXT-8.2-05" },
      role = not both and "responder" or nil,
      needs = { memory = "atomic", extensions = true },
      run = function(t)
        local buf = t:memory { length = 8, remote = "atomic", fill = "count" }
        local conn = t:session {}
        conn:sanity()
        local sent = conn:send(atomic_request { payload = body(buf):sub(1, size), broken = true, comment = size .. " octets for 52" })
        conn:expect_terminate { fault.atomic_request_length, of = sent }
        t:expect_unchanged(buf)
      end,
    }
  end),

  -- As OP-67 for Read Requests: the RFC does not say whether a request may come in several segments.
  both_roles {
    id = "ext-atomic-request-segments",
    purpose = "An Atomic Request in two segments is carried out once, or ends the stream and changes no octet",
    rules = { "EXT-5.4-06", "EXT-5.2.1-12" },
    needs = { memory = "atomic", extensions = true },
    run = function(t)
      local conn = t:session {}
      local cells = atomics.cells(t, conn, { 7 })
      conn:send(atomic_request { target = cells, add_swap = 1, request_id = 2 }, { segments = { 28, 24 } })
      local item = conn:expect(atomic_response { request_id = 2, value = 7 }, terminate { rdmap = "operation" }, terminate {})
      if item.op == "atomic-response" then
        atomics.expect(t, cells, 8)
        conn:fence()
      else
        t:observe("answer", item.text)
        t:expect_unchanged(cells)
      end
    end,
  },

  -- ---- more than the IRD ----

  -- OP-70, OP-83: reads and atomics count together.
  each({ { name = "atomics", text = "" }, { name = "atomics-and-reads", text = ", Reads counted in," } }, function(one)
    return both_roles {
      id = "ext-ird-exceeded-by-" .. one.name,
      purpose = ("An Atomic Request above the IRD%s ends the stream or waits its turn; other streams go on"):format(one.text),
      rules = { "EXT-5.2.1-11", "EXT-5.2.2-05" },
      needs = { memory = "read atomic", extensions = true, ird = 2 },
      run = function(t)
        local buf = t:memory { length = 100000, remote = "read" }
        local other = t:session {}
        local conn = t:session { target = { ird = 2, enhanced = t.case.role == "initiator" or nil }, ord = 2 }
        local cells = atomics.cells(t, conn, { 1 })
        local ird = conn:state().peer.ird
        if ird ~= 2 then t:inconclusive(("the target announced IRD %s although it was configured with 2"):format(tostring(ird))) end
        -- The long Read keeps the requests after it waiting.
        conn:together(function()
          conn:send(read_request { source = buf, size = 100000, sink_stag = 5, sink_to = 1 })
          if one.name == "atomics" then
            conn:send(atomic_request { target = cells, add_swap = 1, request_id = 2 })
          else
            conn:send(read_request { source = buf, size = 8, sink_stag = 5, sink_to = 2 })
          end
          conn:send(atomic_request { target = cells, add_swap = 1, request_id = 3, broken = true, comment = "the IRD is 2" })
        end)
        local answers = {
          read_response { stag = 5, to = 1 },
          one.name == "atomics" and atomic_response { request_id = 2, value = 1 } or read_response { stag = 5, to = 2 },
          atomic_response { request_id = 3 },
        }
        local item
        for i = 1, 3 do
          item = conn:expect(fault.more_reads_than_ird, answers[i])
          if item.op == "terminate" then break end
        end
        if item.op ~= "terminate" then t:observe("answer", "all served") end
        other:fence()
      end,
    }
  end),
}
