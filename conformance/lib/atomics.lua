-- SPDX-License-Identifier: BSD-3-Clause
-- Memory for the atomics of RFC 7306. An atomic acts on 64 bits in the order of the target's
-- processor, which the wire does not show (§5.1.1): a FetchAdd of 0 finds it out.

local message = iw.load("message")
local octets = iw.load("octets")

local atomics = {}

atomics.FETCH_ADD, atomics.CMP_SWAP = 0, 2

local PROBE = octets.hex("0123456789abcdef")
local PROBE_ID = 0x50524f42

-- Returns the format (of string.pack) of 64 bits in the target's memory. Uses one MSN of queue 1 and,
-- if the answer is right, one of queue 3.
local function native(t, conn)
  if t.native then return t.native end
  local cell = t:memory { length = 8, remote = "atomic", fill = PROBE }
  conn:send(message.atomic_request { target = cell, request_id = PROBE_ID })
  local item = conn:next()
  for _, format in ipairs { "<i8", ">i8" } do
    if item and item.op == "atomic-response" and item.value == format:unpack(PROBE) then t.native = format end
  end
  if not t.native then
    t:inconclusive("the target answered a FetchAdd of 0 without the value in its memory", { item = item,
      expected = "atomic-response value " .. octets.show(PROBE), actual = item and item.text or "nothing" })
  end
  return t.native
end

-- A buffer of the target with 64-bit values, from its first octet on. options: remote ("atomic").
function atomics.cells(t, conn, values, options)
  local format, parts = native(t, conn), {}
  for i, value in ipairs(values) do parts[i] = format:pack(value) end
  return t:memory { length = 8 * #values, remote = options and options.remote or "atomic", fill = table.concat(parts) }
end

-- The octets of a value in the target's memory; after atomics.cells.
function atomics.octets(t, value) return t.native:pack(value) end

-- Checks that the buffer holds this value at its offset (0) and is otherwise unchanged.
function atomics.expect(t, buffer, value, offset, rule)
  t:expect_contents(buffer, t.native:pack(value), { offset = offset or 0, rule = rule })
end

-- Sends an Atomic Request for a cell of the buffer and expects the old value. Returns the answer.
function atomics.ask(conn, request, original, rule)
  conn:send(message.atomic_request(request))
  return conn:expect(message.atomic_response { request_id = request.request_id or 0, value = original }, { rule = rule })
end

return atomics
