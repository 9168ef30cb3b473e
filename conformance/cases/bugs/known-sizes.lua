-- SPDX-License-Identifier: BSD-3-Clause

-- Wrong counts of octets at the edges of pages and segments, and in messages gathered from several
-- pieces: the target's own Sends and Writes, and its Read Responses.

local PAGE = 4096

-- 0 to 4 pages, an octet less and an octet more.
local function page_edges()
  local sizes = {}
  for pages = 0, 4 do
    for step = -1, 1 do
      if pages * PAGE + step >= 0 then sizes[#sizes + 1] = pages * PAGE + step end
    end
  end
  return sizes
end

-- One and two full segments, an octet less and an octet more; and the MULPDU itself as a length.
local function segment_edges(conn, header)
  local state, sizes = conn:state(), {}
  local most = mulpdu(state.mss > 0 and state.mss or 1460, state.own.markers)
  for _, edge in ipairs { most - header, 2 * (most - header), most } do
    for step = -1, 1 do sizes[#sizes + 1] = edge + step end
  end
  return sizes
end

local content = bytes(140000)

local function some(from, size) return content:sub(from + 1, from + size) end

-- exchange: makes the target send `size` octets from `from` on, and expects them.
local kinds = {
  { name = "send", header = 18, exchange = function(t, conn, memory, from, size)
    local work = t:post { op = "send", memory = memory, offset = from, length = size }
    conn:expect(send { payload = some(from, size) })
    t:completion(work)
  end },
  { name = "write", header = 14, exchange = function(t, conn, memory, from, size)
    local work = t:post { op = "write", memory = memory, offset = from, length = size, stag = 1, to = 0x1000 }
    conn:expect(write { stag = 1, to = 0x1000, payload = some(from, size) })
    t:completion(work)
  end },
  { name = "read-response", header = 14, exchange = function(_, conn, memory, from, size)
    conn:send(read_request { source = memory, offset = from, size = size, sink_stag = 1, sink_to = 0x1000 })
    conn:expect(read_response { stag = 1, to = 0x1000, payload = some(from, size) })
  end },
}

local function piece(offset, length) return { offset = offset, length = length } end

-- Pieces whose sums and edges lie around a page.
local gathers = {
  { piece(0, 1), piece(PAGE, PAGE - 1) },
  { piece(0, PAGE - 1), piece(PAGE, 1) },
  { piece(1, PAGE - 1), piece(PAGE, PAGE), piece(2 * PAGE, 1) },
  { piece(PAGE - 1, 2), piece(2 * PAGE - 1, 2), piece(3 * PAGE - 1, 2) },
  { piece(0, PAGE), piece(PAGE, PAGE), piece(2 * PAGE, PAGE), piece(3 * PAGE, PAGE) },
  { piece(0, 0), piece(5, 1), piece(0, 0), piece(6, PAGE), piece(7, 0) },
  { piece(0, 3), piece(0, 0), piece(100, 16000), piece(0, 1) },
}

return family {
  each(kinds, function(kind)
    return each({ "page", "segment" }, function(edges)
      return both_roles {
        id = ("bug-wrong-count-at-%s-edge-%s"):format(edges, kind.name),
        purpose = ("The target's own %ss of lengths around %s arrive whole"):format(kind.name:gsub("-", " "),
          edges == "page" and "0 to 4 pages, from places around the edge of a page" or "the edges of segments"),
        rules = { kind.name == "read-response" and "RDMAP-5.2.1-12" or "DDP-5.2-04", "DDP-5.2-01", "DDP-5.2-02" },
        needs = { memory = "read" },
        tags = { "known-bug", "field" },
        run = function(t)
          local conn = t:session {}
          conn:sanity()
          local memory = t:memory { length = #content, remote = "read", fill = "count", guard = 0 }
          if edges == "segment" then
            for _, size in ipairs(segment_edges(conn, kind.header)) do kind.exchange(t, conn, memory, 1, size) end
            return
          end
          for i, size in ipairs(page_edges()) do
            for _, from in ipairs { 0, PAGE - 1, PAGE + i } do kind.exchange(t, conn, memory, from, size) end
          end
        end,
      }
    end)
  end),

  -- Short messages, which a sender may copy after their header, out of two pages. If TO is an address, it shows where
  -- the pages are.
  each(kinds, function(kind)
    return both_roles {
      id = "bug-short-message-from-two-pages-" .. kind.name,
      purpose = ("The target's own short %ss from both sides of the edge of a page arrive whole"):format(kind.name:gsub("-", " ")),
      rules = { kind.name == "read-response" and "RDMAP-5.2.1-12" or "DDP-5.2-04", "DDP-5.2-01" },
      needs = { memory = "read" },
      tags = { "known-bug", "field" },
      run = function(t)
        local conn = t:session {}
        conn:sanity()
        local memory = t:memory { length = #content, remote = "read", fill = "count", guard = 0 }
        local edge = 2 * PAGE - memory.to % PAGE
        for _, size in ipairs { 2, 3, 8, 16, 31, 32, 33, 48 } do
          for _, first in ipairs { 1, size // 2, size - 1 } do kind.exchange(t, conn, memory, edge - first, size) end
        end
      end,
    }
  end),

  each({ "send", "write" }, function(op)
    return both_roles {
      id = "bug-wrong-count-of-pieces-" .. op,
      purpose = ("The target's own %ss that are gathered from 1 to 16 pieces around page edges arrive whole"):format(op),
      rules = { "DDP-5.2-04", "DDP-5.2-01" },
      needs = { agent = true },
      tags = { "known-bug", "field" },
      run = function(t)
        local conn = t:session {}
        conn:sanity()
        local memory = t:memory { length = 5 * PAGE, fill = "count", guard = 0 }
        local lists = { table.unpack(gathers) }
        for count = 1, 16 do
          local pieces = {}
          for i = 1, count do pieces[i] = piece(i * 1000 + i, (i * count) % 7 + PAGE // count) end
          lists[#lists + 1] = pieces
        end
        for _, pieces in ipairs(lists) do
          local payload, sge = "", {}
          for i, one in ipairs(pieces) do
            payload = payload .. some(one.offset, one.length)
            sge[i] = { memory = memory, offset = one.offset, length = one.length }
          end
          local work = t:post { op = op, sge = sge, stag = 1, to = 0x1000 }
          conn:expect(op == "send" and send { payload = payload } or write { stag = 1, to = 0x1000, payload = payload })
          t:completion(work)
        end
      end,
    }
  end),

  -- The responder keeps Read Requests that have to wait, and takes the length of the one before for one without octets. Together,
  -- all but the first one wait.
  both_roles {
    id = "bug-empty-read-after-another",
    purpose = "A Read of no octets that waits with others for its Read Response gets none",
    rules = { "RDMAP-5.2.1-12" },
    needs = { memory = "read" },
    tags = { "known-bug", "field" },
    run = function(t)
      local conn = t:session {}
      conn:sanity()
      local memory = t:memory { length = 64, remote = "read", fill = "count" }
      local sizes = { 56, 0, 8, 0, 0, 12, 0, 64 }
      conn:together(function()
        for i, size in ipairs(sizes) do
          conn:send(read_request { source = memory, size = size, sink_stag = 9, sink_to = i })
        end
      end)
      for i, size in ipairs(sizes) do
        conn:expect(read_response { stag = 9, to = i, payload = bytes(size) })
      end
    end,
  },
}
