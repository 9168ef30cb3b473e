-- SPDX-License-Identifier: BSD-3-Clause
-- Functions that the cases with crafted TCP segments share: use "segments".

local segments = {}

-- CRC and Markers toward the target. Markers without CRCs change nothing for most cases.
local WAYS = {
  { suffix = "", text = "with CRCs", crc = true, markers = false },
  { suffix = "-markers", text = "with CRCs and Markers", crc = true, markers = true },
  { suffix = "-no-crc", text = "without CRCs", crc = false, markers = false },
  { suffix = "-markers-no-crc", text = "with Markers, without CRCs", crc = false, markers = true, rare = true },
}

local function copy(from)
  local to = {}
  for name, value in pairs(from or {}) do to[name] = value end
  return to
end

-- Describes one case in each of these ways. fields.run(t, way) gets the way for segments.session;
-- fields.markers = true: only those with Markers; fields.crc likewise. fields.all: the rare one, too.
function segments.ways(fields)
  local list = {}
  for _, way in ipairs(WAYS) do
    if (way.markers or not fields.markers) and (way.crc or not fields.crc) and (fields.all or not way.rare) then
      local one = copy(fields)
      one.markers, one.crc, one.all = nil, nil, nil
      one.id = fields.id .. way.suffix
      one.purpose = ("%s (%s)"):format(fields.purpose, way.text)
      one.needs = copy(fields.needs)
      one.needs.tcp = "crafted"
      one.needs.crc = way.crc and "on" or "off"
      one.needs.markers = way.markers and "on" or "off"
      one.run = function(t) fields.run(t, way) end
      list[#list + 1] = one
    end
  end
  return list
end

-- The target's configuration in this way.
function segments.target(t, way)
  local config = { crc = way.crc, markers = way.markers }
  if t.case.role == "initiator" then
    config.peer_to_peer, config.enhanced, config.revision = true, true, 2
  end
  return config
end

-- A connection in full operation; options: isn, mss, window.
function segments.session(t, way, options)
  options = copy(options)
  options.crc, options.target = way.crc, segments.target(t, way)
  local conn = t:session(options)
  local state = conn:state()
  if state.markers ~= way.markers or state.crc ~= way.crc then
    t:skip("the target's start-up frame asks for something else")
  end
  return conn
end

-- Returns the initial sequence number with which the octet at `position` of the station's direction is
-- the first after the wrap.
function segments.wrapping(position) return (0xffffffff - position) & 0xffffffff end

-- Sends all segments of a list but the first, in reverse; they must have no effect.
function segments.behind_a_gap(conn, list, rule)
  for i = #list, 2, -1 do list:send(i) end
  conn:expect_nothing { rule = rule }
end

-- The numbers 1 .. n in an order that depends on `seed` only.
function segments.shuffled(n, seed)
  local order = {}
  for i = 1, n do order[i] = i end
  for i = n, 2, -1 do
    seed = (seed * 1103515245 + 12345) & 0x7fffffff
    local k = 1 + (seed >> 8) % i
    order[i], order[k] = order[k], order[i]
  end
  return order
end

-- Lists the work that the target has completed; waits for the last of it.
function segments.completed(t, handles)
  local done, names = {}, {}
  for i, handle in ipairs(handles) do names[handle.work] = i end
  for _ = 1, #handles do
    local event = t:wait_event(function(e) return e.event == "completion" and names[e.work] end)
    if not event then break end
    done[#done + 1] = names[event.work]
  end
  return table.concat(done, " ")
end

return segments
