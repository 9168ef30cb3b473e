-- SPDX-License-Identifier: BSD-3-Clause

-- RFC 5041 §5.3: ascending order is only a SHOULD for senders, and a sink need not verify that a
-- message is complete. OP-43: a receiver should cope.

local function part(offset, payload) return { offset = offset, payload = payload } end

-- The last one has L=1.
local orders = {
  { name = "descending", parts = { part(32, bytes(16, 3)), part(16, bytes(16, 2)), part(0, bytes(16, 1)), part(48, bytes(16, 4)) } },
  { name = "swapped", parts = { part(16, bytes(16, 2)), part(0, bytes(16, 1)), part(32, bytes(32, 3)) } },
}

return family {
  each(orders, function(order)
    local all = { table.unpack(order.parts) }
    table.sort(all, function(a, b) return a.offset < b.offset end)
    local whole = ""
    for _, one in ipairs(all) do whole = whole .. one.payload end

    return {
      both_roles {
        id = "ddp-tagged-order-" .. order.name,
        purpose = ("The segments of a Write may come in %s order of TO"):format(order.name),
        rules = { "DDP-5.3-09", "DDP-5.3-05", "DDP-5.3-04" },
        needs = { memory = "write" },
        run = function(t)
          local buf = t:memory { length = 64, remote = "write" }
          local conn = t:session {}
          for i, one in ipairs(order.parts) do
            conn:send(write { to = buf, offset = one.offset, payload = one.payload, l = i == #order.parts })
          end
          conn:fence()
          t:expect_contents(buf, whole)
        end,
      },
      both_roles {
        id = "ddp-untagged-order-" .. order.name,
        purpose = ("The segments of a Send may come in %s order of MO"):format(order.name),
        rules = { "DDP-5.3-09", "DDP-5.3-05", "DDP-5.3-03", "DDP-4.3-12", "DDP-5.2-06" },
        needs = { agent = true },
        run = function(t)
          local conn = t:session {}
          local posted = t:receive { length = 64 }
          for i, one in ipairs(order.parts) do
            conn:send(send { mo = one.offset, payload = one.payload, l = i == #order.parts, broken = false,
                             comment = "not in ascending order of MO" })
          end
          conn:fence()
          t:completion(posted, { length = 64 })
          t:expect_contents(posted.memory, whole)
        end,
      },
    }
  end),

  case {
    id = "ddp-tagged-segment-twice",
    purpose = "A segment of a Write that comes twice may be placed twice",
    rules = { "DDP-5.3-06", "DDP-5.3-09" },
    level = "may",
    role = "responder",
    needs = { memory = "write" },
    run = function(t)
      local buf = t:memory { length = 48, remote = "write" }
      local conn = t:connect {}
      for _ = 1, 2 do conn:send(write { to = buf, payload = bytes(24), l = false }) end
      conn:send(write { to = buf, offset = 24, payload = bytes(24, 7) })
      conn:fence()
      t:expect_contents(buf, bytes(24) .. bytes(24, 7), { rule = "DDP-5.2-05" })
    end,
  },

  both_roles {
    id = "ddp-untagged-gap",
    purpose = "A Send that leaves out some octets in its middle may be delivered as it is, or ends the stream",
    rules = { "DDP-5.2-12" },
    level = "must",
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local posted = t:receive { length = 48 }
      conn:send(send { payload = bytes(16), l = false })
      conn:send(send { mo = 32, msn = 1, payload = bytes(16, 7), broken = false, comment = "MO 16 to 31 are left out" })
      conn:send(read_request { size = 0, sink_stag = 7, sink_to = 7 })
      local item = conn:expect(read_response { stag = 7, to = 7, payload = "" }, fault.octets_left_out)
      t:observe("gap", item.op == "terminate" and "refused" or "delivered")
      if item.op == "terminate" then
        t:expect_no_completion(posted, { rule = "DDP-4.1-07" })
        return t:expect_unchanged(posted.memory, { except = { 0, 48 } })
      end
      t:completion(posted, {})
      t:expect_contents(posted.memory, bytes(16) .. bytes(16, 0x5a) .. bytes(16, 7), { rule = "DDP-5.2-05" })
    end,
  },

  case {
    id = "ddp-tagged-gap",
    purpose = "A Write that leaves out some octets in its middle may be taken as it is",
    rules = { "DDP-5.2-12" },
    role = "responder",
    needs = { memory = "write" },
    run = function(t)
      local buf = t:memory { length = 48, remote = "write", fill = 0x5a }
      local conn = t:connect {}
      conn:send(write { to = buf, payload = bytes(16), l = false })
      conn:send(write { to = buf, offset = 32, payload = bytes(16, 7) })
      conn:fence()
      t:expect_contents(buf, bytes(16) .. bytes(16, 0x5a) .. bytes(16, 7), { rule = "DDP-5.2-05" })
    end,
  },
}
