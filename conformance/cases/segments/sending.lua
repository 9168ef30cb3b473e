-- SPDX-License-Identifier: BSD-3-Clause

-- The target's messages to a station that takes small segments (RFC 5044 §4.5), or none for a while.

local function way_of(t, markers)
  return { markers = markers, target = t.case.role == "initiator"
    and { peer_to_peer = true, enhanced = true, revision = 2 } or nil }
end

return family {
  each({ 88, 128, 140, 141, 256, 511, 512, 536, 1000, 1459, 1460 }, { false, true }, function(mss, markers)
    local smallest = mulpdu(mss, markers) == 128
    return both_roles {
      id = ("tcp-mss-%d%s"):format(mss, markers and "-markers" or ""),
      purpose = ("To a station that takes segments of %d octets the target sends full ULPDUs of %d octets at most (%s Markers)"):format(
        mss, mulpdu(mss, markers), markers and "with" or "without"),
      rules = { smallest and "MPA-4.5-06" or markers and "MPA-4.5-01" or "MPA-4.5-02", "MPA-5.1-01", "MPA-4.5-05", "DDP-5.3-04",
        "MPA-4.5-07" },
      needs = { agent = true, tcp = "crafted" },
      run = function(t)
        local way = way_of(t, markers)
        local conn = t:session { mss = mss, markers = way.markers, target = way.target }
        conn:sanity()
        local most = mulpdu(mss, conn:state().peer_markers)
        t:post { op = "write", payload = bytes(9000), stag = 7, to = 0x1000 }
        local item = conn:expect(write { stag = 7, payload = bytes(9000) })
        for i, segment in ipairs(item.segments) do
          local size = #segment.ulpdu
          t:check(size <= most, "the target sent a ULPDU longer than the segments allow",
            { rule = conn:state().peer_markers and "MPA-4.5-01" or "MPA-4.5-02", how = "above the MULPDU",
              expected = ("at most %d octets"):format(most), actual = ("%d octets"):format(size), item = item })
          if i < #item.segments then
            t:check(size >= 128, "the target sent a ULPDU shorter than 128 octets that is not the last",
              { rule = "MPA-4.5-06", expected = "at least 128 octets", actual = ("%d octets"):format(size), item = item })
            if size < most then
              t:deviates("the target sent a ULPDU that is not the last and shorter than it could be",
                { rule = "MPA-4.5-05", expected = ("%d octets"):format(most), actual = ("%d octets"):format(size), item = item })
            end
          end
        end
        conn:fence()
      end,
    }
  end),

  both_roles {
    id = "tcp-window-closed",
    purpose = "Work that the target posts while the station's window is closed comes in order when it opens a little at a time",
    rules = { "DDP-5.3-02", "RDMAP-5.5-10", "DDP-5.3-04" },
    needs = { agent = true, tcp = "crafted" },
    run = function(t)
      local conn = t:session { mss = 536 }
      conn:sanity()
      conn:window(0)
      for i = 1, 3 do
        t:post { op = "write", payload = bytes(1000, i), stag = 7, to = 1000 * i }
        t:post { op = "send", payload = bytes(100, i) }
      end
      t:check(conn:next(0) == nil, "the target sent into a closed window", { expected = "nothing" })
      for window = 600, 6000, 600 do conn:window(window) end
      for i = 1, 3 do
        conn:expect(write { stag = 7, to = 1000 * i, payload = bytes(1000, i) })
        conn:expect(send { payload = bytes(100, i) })
      end
      conn:window(65535)
      conn:fence()
    end,
  },
}
