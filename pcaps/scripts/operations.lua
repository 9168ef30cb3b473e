-- SPDX-License-Identifier: BSD-3-Clause
-- Every operation in every setting of the start-up, between two endpoints of libiwarp: one connection per setting.

local READ, SEND = 700, 1500

-- All operations of one side: Sends and Writes of none, few and many octets, a Read, atomics, Immediate Data.
local function operations(pair, carry, side)
  local stag, to = pair:region(1 - side)
  local sink_stag, sink_to = pair:region(side)
  local dead = pair:region(1 - side, "invalidate")
  pair:receive(1 - side, 12)
  local function post(work)
    pair:post(side, work)
    carry()
  end
  post { op = "write", stag = stag, to = to }
  post { op = "write", stag = stag, to = to + 3, length = 5 }
  post { op = "write", stag = stag, to = to, length = 3000 }
  post { op = "send" }
  post { op = "send", length = 6 }
  post { op = "send-se", length = SEND }
  post { op = "send-invalidate", length = 4, invalidate = dead }
  post { op = "read", stag = stag, to = to, sink_stag = sink_stag, sink_to = sink_to, length = READ }
  post { op = "read", stag = stag, to = to, sink_stag = sink_stag, sink_to = sink_to, length = 0 }
  post { op = "immediate", immediate = 0x41 }
  post { op = "immediate-se", immediate = 0x42 }
  post { op = "fetch-add", stag = stag, to = to + 8, add_swap = 5 }
  post { op = "fetch-add", stag = stag, to = to + 8, add_swap = 0x10001, add_swap_mask = 0x8000800080008000 }
  post { op = "cmp-swap", stag = stag, to = to + 16, add_swap = 7, add_swap_mask = -1, compare = 0x1716151413121110, compare_mask = -1 }
end

-- Send with SE and Invalidate takes an STag of its own.
local function last_send(pair, carry, side)
  local dead = pair:region(1 - side, "invalidate")
  pair:receive(1 - side, 1)
  pair:post(side, { op = "send-se-invalidate", length = 9, invalidate = dead })
  carry()
end

local REVISIONS = {
  { name = "rev1", text = "revision 1", revision = 1 },
  { name = "rev2-plain", text = "revision 2 without the block of RFC 6581", revision = 2, enhanced = false },
  { name = "rev2", text = "revision 2", revision = 2, enhanced = true },
}
local CRCS = { { name = "crc", text = "CRCs", crc = true }, { name = "nocrc", text = "no CRCs", crc = false } }
local MARKERS = {
  { name = "nomarkers", text = "no Markers" }, { name = "imarkers", text = "Markers to the initiator", [0] = true },
  { name = "rmarkers", text = "Markers to the responder", [1] = true }, { name = "markers", text = "Markers both ways", [0] = true, [1] = true },
}

local function setting(name, what, initiator, responder, mss)
  capture {
    file = "operations/" .. name, what = "every operation from both sides: " .. what, made = "pair",
    run = function(f)
      local pair, carry = f:pair { initiator = initiator, responder = responder, mss = mss }
      carry()
      for side = 0, 1 do operations(pair, carry, side) end
      for side = 0, 1 do last_send(pair, carry, side) end
      pair:shutdown(0)
      carry()
    end,
  }
end

for _, r in ipairs(REVISIONS) do
  for _, c in ipairs(CRCS) do
    for _, m in ipairs(MARKERS) do
      local function side(i) return { revision = r.revision, enhanced = r.enhanced, crc = c.crc, markers = m[i] } end
      setting(("%s-%s-%s"):format(r.name, c.name, m.name), ("%s, %s, %s"):format(r.text, c.text, m.text), side(0), side(1))
    end
  end
end

setting("rev2-icrc", "revision 2, CRCs that the initiator asks for", { crc = true }, { crc = false })
setting("rev2-rcrc", "revision 2, CRCs that the responder asks for", { crc = false }, { crc = true })
setting("rev0", "revision 0 (RFC 5044 Appendix C): Markers and CRCs always, DV and RV 0", { revision = 0 }, { revision = 0 })
