-- SPDX-License-Identifier: BSD-3-Clause

-- FPDUs in TCP segments of any kind. Field bugs: stacks took short reads for errors, or failed on headers in two parts.
local mpa = use "mpa"

local function field_bug(fields)
  fields.tags = { "field" }
  return fields.role and case(fields) or both_roles(fields)
end

local function config(t, markers)
  if t.case.role == "responder" then return { markers = markers } end
  return { markers = markers, peer_to_peer = true, enhanced = true, revision = 2 }
end

return family {
  each({ false, true }, function(markers)
    local needs = { read = true, markers = markers and "on" or "off" }
    local suffix = markers and "-markers" or ""
    return {
      field_bug {
        id = "mpa-split-read-request" .. suffix,
        purpose = "The target answers a Read Request in two TCP segments, split at every octet in turn",
        rules = { "MPA-5.1-05", "MPA-A.4-01", "MPA-4.3-13" },
        needs = needs,
        run = function(t)
          local conn = t:session { target = config(t, markers) }
          for at = 1, 55 do
            conn:send(read_request { size = 0, sink_stag = 1, sink_to = at }, { writes = { at } })
            conn:expect(read_response { stag = 1, to = at, payload = "" })
          end
        end,
      },
      field_bug {
        id = "mpa-split-send" .. suffix,
        purpose = "The target delivers a Send in two TCP segments, split at every octet in turn",
        rules = { "MPA-5.1-05", "MPA-A.4-01", "MPA-4.3-13" },
        needs = { agent = true, markers = markers and "on" or "off" },
        run = function(t)
          local conn = t:session { target = config(t, markers) }
          local memory = t:memory { length = 16 }
          local handles = {}
          for at = 1, 40 do handles[at] = t:receive { length = 16, memory = memory } end
          for at = 1, 40 do
            conn:send(send { payload = bytes(13, at) }, { writes = { at } })
            t:completion(handles[at], { length = 13 })
            t:expect_contents(memory, bytes(13, at))
          end
        end,
      },
      field_bug {
        id = "mpa-split-write" .. suffix,
        purpose = "The target places a Write in two TCP segments, split at every octet in turn",
        rules = { "MPA-5.1-05", "MPA-A.4-01", "MPA-4.3-13" },
        needs = { memory = "write", markers = markers and "on" or "off" },
        run = function(t)
          local conn = t:session { target = config(t, markers) }
          local buf = t:memory { length = 12, remote = "write" }
          for at = 1, 34 do
            conn:send(write { to = buf, payload = bytes(12, at) }, { writes = { at } })
            conn:fence()
            t:expect_contents(buf, bytes(12, at))
          end
        end,
      },
      each({ 1, 2, 3, 5, 7, 13, 31, 97, 509, 512, 1001 }, function(each)
        return field_bug {
          id = ("mpa-segments-of-%d%s"):format(each, suffix),
          purpose = ("40 FPDUs of several lengths in TCP segments of %d octets arrive whole"):format(each),
          rules = { "MPA-5.1-05", "MPA-5.2-01", "MPA-A.4-01", "MPA-4.3-13" },
          role = "responder",
          needs = { memory = "write", markers = markers and "on" or "off" },
          run = function(t)
            local conn = t:session { target = config(t, markers) }
            local length = 820
            local buf = t:memory { length = length, remote = "write" }
            conn:together(function()
              local at = 0
              for size = 1, 40 do
                conn:send(write { to = buf, offset = at, payload = bytes(length):sub(at + 1, at + size) })
                at = at + size
              end
            end, { writes = each })
            mpa.serves(conn)
            t:expect_contents(buf, bytes(length))
          end,
        }
      end),
    }
  end),

  field_bug {
    id = "mpa-many-in-one-segment",
    purpose = "The target processes all FPDUs of one TCP segment, in order",
    rules = { "MPA-4.3-13", "MPA-5.2-01", "MPA-5.1-05" },
    needs = { read = true, agent = true },
    run = function(t)
      local conn = t:session {}
      local handles = {}
      for i = 1, 16 do handles[i] = t:receive { length = 64 } end
      conn:together(function()
        for i = 1, 16 do
          conn:send(send { payload = bytes(i, i) })
          if i % 4 == 0 then conn:send(read_request { size = 0, sink_stag = 3, sink_to = i }) end
        end
      end)
      for i = 4, 16, 4 do conn:expect(read_response { stag = 3, to = i, payload = "" }) end
      for i = 1, 16 do
        t:completion(handles[i], { length = i })
        t:expect_contents(handles[i].memory, bytes(i, i))
      end
    end,
  },

  each({
    { name = "one-and-a-half", at = 26 + 13 }, { name = "all-but-last", at = 3 * 26 - 1 }, { name = "length-apart", at = 26 + 1 },
  }, function(one)
    return field_bug {
      id = "mpa-segment-ends-" .. one.name,
      purpose = "The target copes with TCP segments that hold a whole FPDU and part of the next",
      rules = { "MPA-A.4-01", "MPA-4.3-13", "MPA-5.2-01" },
      role = "responder",
      run = function(t)
        local conn = t:connect {}
        conn:together(function()
          for _ = 1, 3 do conn:send(write {}) end
        end, { writes = { one.at } })
        mpa.serves(conn)
      end,
    }
  end),

  -- ULPDU_Length decides when an FPDU is complete: before its last octet it may have no effect.
  field_bug {
    id = "mpa-incomplete-read-request",
    purpose = "The target answers a Read Request when its last octet has come, and not before",
    rules = { "MPA-6-05", "MPA-6-01" },
    needs = { read = true },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local before = conn:state().sent
      conn:hold(function() conn:send(read_request { size = 0, sink_stag = 1, sink_to = 2 }) end)
      conn:release(conn:state().sent - before - 1)
      conn:expect_silence {}
      conn:release()
      conn:expect(read_response { stag = 1, to = 2, payload = "" })
    end,
  },

  field_bug {
    id = "mpa-incomplete-send",
    purpose = "The target delivers a Send when its last octet has come, and not before",
    rules = { "MPA-6-05", "MPA-6-01" },
    needs = { agent = true },
    run = function(t)
      local conn = t:session {}
      local posted = t:receive { length = 100 }
      local before = conn:state().sent
      conn:hold(function() conn:send(send { payload = bytes(100) }) end)
      conn:release(conn:state().sent - before - 1)
      conn:expect_silence {}
      t:expect_no_completion(posted)
      conn:release()
      t:completion(posted, { length = 100 })
      t:expect_contents(posted.memory, bytes(100))
    end,
  },
}
