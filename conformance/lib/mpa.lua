-- SPDX-License-Identifier: BSD-3-Clause
-- Functions that the cases of MPA share: use "mpa".

local message = iw.load("message")
local fault = iw.load("fault")
local instruments = iw.load("instruments")
local strict = iw.load("strict")
local timers = iw.load("timers")

local mpa = {}

-- ---- a connection that serves ----

-- Makes a good exchange before the stimulus; if it fails the case is INCONCLUSIVE. A target that need
-- not answer Reads gets a zero-length Write, which touches nothing.
function mpa.good(conn)
  if conn.t:can("read") or instruments.works(conn) then return conn:sanity() end
  conn:send(message.write {})
end

-- Checks that the connection is in full operation: the target took everything and sent nothing.
function mpa.serves(conn, options)
  local reads = conn.t:can("read") and not instruments.without_reads(conn)
  if reads or instruments.works(conn) then return conn:fence(options) end
  conn:send(message.write {})
  conn:expect_silence(options)
end

-- Has the target connect and takes its Request; returns the connection and the Request.
function mpa.called(t, target)
  local conn = t:target_connects { raw = true, target = target }
  local item = conn:next(timers.seconds())
  if not (item and message.request {}:matches(item)) then
    t:inconclusive("the target sent no Request", {
      expected = "mpa request", actual = item and item.text, item = item,
    })
  end
  return conn, item
end

-- The initiator's first message in peer-to-peer mode: one RTR form (RFC 6581 §9.2).
mpa.rtr = {
  send = message.send { payload = "", qn = 0, msn = 1 },
  write = message.write { payload = "" },
  read = message.read_request { size = 0, qn = 1, msn = 1 },
}

mpa.EXCHANGED = "the target's frame has IRD and ORD in each other's place"
-- The Request's IRDs that a Reply is tried with: what comes back in the place of the IRD if it is the ORD (RFC 6581 §9.1).
local TRIED = { 3, 5 }

-- After a Reply whose depths do not fit the Request: fails if the target has IRD and ORD in each other's place in every Reply. Then the
-- place of the IRD has what is limited by our own IRD, and the place of the ORD has more than that.
function mpa.check_exchanged(conn)
  local answer
  for _, ird in ipairs(iw.can("reconnect") and TRIED or {}) do
    local other = conn:once_more()
    if not other then return end
    other:send(message.request { ird = ird })
    answer = other:next(timers.seconds())
    if not (answer and message.reply { enhanced = true, ird = ird }:matches(answer) and answer.ord and answer.ord > ird) then return end
  end
  if not answer then return end
  conn.t:fail(mpa.EXCHANGED, {
    rule = "EMPA-9-01", how = "exchanged", expected = ("an ORD of at most %d"):format(TRIED[#TRIED]), actual = answer.text, item = answer,
  })
end

-- The ORD of a Reply: no more than the Request's IRD (RFC 6581 section 9.1), which may be less than a Reply's usual 16.
function mpa.ord(asked)
  return asked.ird and math.min(16, asked.ird)
end

-- Sends an RTR indication; the caller expects the answer to a Read Request.
function mpa.send_rtr(conn, form)
  if form == "send" then return conn:send(message.send {}) end
  if form == "write" then return conn:send(message.write {}) end
  return conn:send(message.read_request { size = 0, sink_stag = 5, sink_to = 6 })
end

-- Answers an RTR that is a Read Request.
function mpa.answer_rtr(conn, item)
  if item.op == "read-request" then
    conn:send(message.read_response { stag = item.sink_stag, to = item.sink_to })
  end
end

-- Takes the first FPDU of a target that has connected: the RTR that its Request announced, which this answers, or else
-- its ULP's first message.
function mpa.opens(conn, asked)
  if asked.a then return mpa.answer_rtr(conn, conn:expect(mpa.rtr.write, mpa.rtr.read, mpa.rtr.send)) end
  local item = conn:next()
  if not (item and item.kind == "message") then
    local reason = item and "the target ended the connection instead of sending its first FPDU"
      or "the target's ULP sent no first message of its own"
    conn.t:inconclusive(reason, { actual = item and item.text, item = item })
  end
end

-- Checks that the target ends the stream after its Request, and sends no FPDU: the Reply was none, or the wrong one. In an
-- enhanced start-up it may report that by a Terminate before it closes (OP-32). options: rule, at_once; quiet: no Terminate.
function mpa.ends_after(conn, asked, options)
  options = strict.check("mpa.ends_after", options or {}, strict.set("rule at_once quiet"))
  local ends, octets = { rule = options.rule, at_once = options.at_once }, 20 + asked.pd_length
  local reports = asked.enhanced and not options.quiet and fault.malformed_startup or {}
  conn.t.negative = true
  local item = conn:expect(message.closed(), reports, ends)
  if item.op == "terminate" then return conn:expect_close { rule = options.rule } end
  conn.t:check(conn:state().received == octets, "the target sent more octets before it closed", {
    rule = options.rule, expected = ("%d octets"):format(octets), actual = ("%d octets"):format(conn:state().received),
  })
end

-- Ends the station's direction between two FPDUs. The target may end its own, or leave that to its ULP, and sends nothing else.
function mpa.leaves(conn)
  conn:shutdown()
  conn:expect_close { open = true }
end

-- ---- FPDUs made by hand (RFC 5044 §4) ----

-- Returns a correct FPDU for this place of the station's stream, and the places of its parts, in octets
-- from its first one: `length` (ULPDU_Length), `ulpdu`, `pad`, `crc`, `markers` (a list, each with `at`
-- and `pointer`), and at(k): the place of octet k after the start of ULPDU_Length, Markers not counted.
function mpa.fpdu(conn, ulpdu)
  local state = conn:state()
  local position = state.sent - 20 - state.own.pd_length
  local content = string.pack(">I2", #ulpdu) .. ulpdu
  local pad = -#content % 4
  content = content .. ("\0"):rep(pad)
  local parts, size, runs, header = {}, 0, {}, nil
  local frame = { markers = {} }
  local function add(octets)
    parts[#parts + 1] = octets
    size = size + #octets
  end
  local function marker()
    if not state.markers or (position + size) % 512 ~= 0 then return end
    local pointer = header and size - header or 0
    frame.markers[#frame.markers + 1] = { at = size, pointer = pointer }
    add(string.pack(">I2I2", 0, pointer))
  end
  local at = 0
  while at < #content do
    marker()
    header = header or size
    local run = #content - at
    if state.markers then run = math.min(run, 512 - (position + size) % 512) end
    runs[#runs + 1] = { from = at, place = size }
    add(content:sub(at + 1, at + run))
    at = at + run
  end
  marker()
  frame.crc = size
  add(string.pack("<I4", iw.crc(table.concat(parts))))
  frame.octets, frame.pad_length = table.concat(parts), pad
  frame.at = function(k)
    local place
    for _, run in ipairs(runs) do
      if k >= run.from then place = run.place + k - run.from end
    end
    return place
  end
  frame.length, frame.ulpdu, frame.pad = frame.at(0), frame.at(2), frame.at(2 + #ulpdu)
  return frame
end

-- The octets of an FPDU without Markers.
function mpa.fpdu_octets(ulpdu)
  local covered = string.pack(">I2", #ulpdu) .. ulpdu
  covered = covered .. ("\0"):rep(-#covered % 4)
  return covered .. string.pack("<I4", iw.crc(covered))
end

-- The octets with one bit inverted.
function mpa.flip(octets, at, mask)
  return octets:sub(1, at) .. string.char(octets:byte(at + 1) ~ (mask or 1)) .. octets:sub(at + 2)
end

-- Where the next octet of the station lies among its octets of full operation.
function mpa.position(conn)
  local state = conn:state()
  return state.sent - 20 - state.own.pd_length
end

-- Sends zero-length Writes until the next FPDU starts at this place mod 512 (0: with a Marker before
-- it). Markers must be on in this direction.
function mpa.align(conn, place)
  conn:together(function()
    for _ = 1, 2000 do
      if mpa.position(conn) % 512 == place then return end
      conn:send(message.write {})
    end
    error(("no row of zero-length Writes ends at %d mod 512"):format(place), 0)
  end)
end

-- Expects the answer to a wrong CRC: a Terminate, a close without any effect, or a dropped segment,
-- not acknowledged (OP-11).
function mpa.expect_crc_fault(conn, options)
  local how = { dropped = true }
  for name, value in pairs(options or {}) do how[name] = value end
  return conn:expect(fault.crc, message.closed(), how)
end

return mpa
