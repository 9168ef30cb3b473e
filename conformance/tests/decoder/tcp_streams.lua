-- SPDX-License-Identifier: BSD-3-Clause
-- Reads a pcap or pcapng file and puts the octets of every TCP connection in order, for the second
-- decoder. Duplicates are dropped, the first copy of an octet wins; IP fragments are left out, TCP
-- checksums not looked at.
local M = {}
local unpack = string.unpack

---------------------------------------------------------------------------- captures (pcap, pcapng)
local function need(name, s, pos, n, what)
  if pos + n - 1 > #s then
    error(("%s: offset %d: %s of %d octets expected, the file has %d more"):format(name, pos - 1,
      what, n, #s - pos + 1), 0)
  end
end

local PCAP = { ["\xd4\xc3\xb2\xa1"] = "<", ["\x4d\x3c\xb2\xa1"] = "<", ["\xa1\xb2\xc3\xd4"] = ">",
  ["\xa1\xb2\x3c\x4d"] = ">" }

local function read_pcap(s, name, e)
  need(name, s, 1, 24, "file header")
  local link, frames, pos = unpack(e .. "I4", s, 21) & 0xFFFF, {}, 25
  while pos <= #s do
    need(name, s, pos, 16, "record header")
    local size = unpack(e .. "I4", s, pos + 8)
    need(name, s, pos + 16, size, "frame")
    frames[#frames + 1] = { no = #frames + 1, link = link, at = pos + 16,
      data = s:sub(pos + 16, pos + 15 + size) }
    pos = pos + 16 + size
  end
  return frames
end

local function comments(s, e, pos, last)
  local found = {}
  while pos + 3 <= last do
    local code, size = unpack(e .. "I2I2", s, pos)
    if code == 0 then break end
    if code == 1 then found[#found + 1] = s:sub(pos + 4, math.min(pos + 3 + size, last)) end
    pos = pos + 4 + (size + 3) // 4 * 4
  end
  return found
end

local function read_pcapng(s, name)
  local e, links, frames, pos = "<", {}, {}, 1
  while pos <= #s do
    need(name, s, pos, 12, "block header")
    if s:sub(pos, pos + 3) == "\x0a\x0d\x0d\x0a" then
      e, links = s:sub(pos + 8, pos + 11) == "\x1a\x2b\x3c\x4d" and ">" or "<", {}
    end
    local kind, size = unpack(e .. "I4I4", s, pos)
    if size < 12 or size % 4 ~= 0 then
      error(("%s: offset %d: block length %d, expected 4n >= 12"):format(name, pos - 1, size), 0)
    end
    need(name, s, pos, size, "block")
    if kind == 1 then
      need(name, s, pos, 20, "interface block")
      links[#links + 1] = unpack(e .. "I2", s, pos + 8)
    elseif kind == 6 then -- enhanced packet block
      need(name, s, pos, 32, "packet block")
      local iface, _, _, caplen = unpack(e .. "I4I4I4I4", s, pos + 8)
      local after = pos + 28 + (caplen + 3) // 4 * 4
      if after > pos + size - 4 or not links[iface + 1] then
        error(("%s: offset %d: packet block: bad length or interface"):format(name, pos - 1), 0)
      end
      frames[#frames + 1] = { no = #frames + 1, link = links[iface + 1], at = pos + 28,
        data = s:sub(pos + 28, pos + 27 + caplen),
        comments = comments(s, e, after, pos + size - 5) }
    elseif kind == 2 or kind == 3 then
      error(("%s: offset %d: block type %d is not read, only enhanced packets are"):format(name,
        pos - 1, kind), 0)
    end
    pos = pos + size
  end
  return frames
end

function M.read_capture(s, name)
  if PCAP[s:sub(1, 4)] then return read_pcap(s, name, PCAP[s:sub(1, 4)]) end
  if s:sub(1, 4) == "\x0a\x0d\x0d\x0a" then return read_pcapng(s, name) end
  error(name .. ": offset 0: neither a pcap nor a pcapng file", 0)
end

function M.read_file(name)
  local file <close>, why = io.open(name, "rb")
  local octets = file and file:read("a")
  return octets or error(why or name .. ": cannot be read", 0)
end

-------------------------------------------------------------------- Ethernet, IP, TCP, connections
local function ipv6_text(d, p)
  return "[" .. ("%x:%x:%x:%x:%x:%x:%x:%x"):format(unpack(">I2I2I2I2I2I2I2I2", d, p)) .. "]"
end

-- Addresses, place of the TCP header and last octet of the IP packet at `p`; nil for anything else.
local function ip_packet(d, p)
  if #d < p + 19 then return nil end
  local version, proto, src, dst, last = d:byte(p) >> 4, nil, nil, nil, nil
  if version == 4 then
    local total, fragment = unpack(">I2xxI2", d, p + 2)
    if fragment & 0x3FFF ~= 0 then return nil end
    proto, last = d:byte(p + 9), total == 0 and #d or p + total - 1
    src = ("%d.%d.%d.%d"):format(d:byte(p + 12, p + 15))
    dst = ("%d.%d.%d.%d"):format(d:byte(p + 16, p + 19))
    p = p + (d:byte(p) & 15) * 4
  elseif version == 6 and #d >= p + 39 then
    proto, last = d:byte(p + 6), p + 39 + unpack(">I2", d, p + 4)
    src, dst, p = ipv6_text(d, p + 8), ipv6_text(d, p + 24), p + 40
    while (proto == 0 or proto == 43 or proto == 60) and p + 1 <= #d do -- extension headers
      proto, p = d:byte(p), p + 8 + d:byte(p + 1) * 8
    end
  end
  if proto == 6 and #d >= p + 19 then return src, dst, p, last end
end

local function tcp_segment(frame)
  local d, p = frame.data, 1
  if frame.link == 1 and #d >= 14 then -- Ethernet, maybe with VLAN tags
    p = 13
    while p + 5 <= #d and (unpack(">I2", d, p) == 0x8100 or unpack(">I2", d, p) == 0x88A8) do
      p = p + 4
    end
    p = p + 2
  elseif frame.link ~= 101 then -- nor an IP packet as it is
    return nil
  end
  local src, dst, tcp, last = ip_packet(d, p)
  if not src then return nil end
  local sport, dport, seq, offset, flags = unpack(">I2I2I4xxxxBB", d, tcp)
  tcp = tcp + (offset >> 4) * 4
  return { src = src .. ":" .. sport, dst = dst .. ":" .. dport, seq = seq, syn = flags & 2 ~= 0,
    fin = flags & 1 ~= 0, reset = flags & 4 ~= 0, ack = flags & 16 ~= 0, data = d:sub(tcp, last), at = frame.at + tcp - 1 }
end

-- Puts a segment in its place of the sequence space; the first copy of an octet wins.
local function add_segment(stream, seg, frame)
  local seq = seg.syn and (seg.seq + 1) & 0xFFFFFFFF or seg.seq
  stream.base = stream.base or seq
  local ahead = (seq - stream.base - stream.len + 0x80000000) & 0xFFFFFFFF
  local off = stream.len + ahead - 0x80000000
  if seg.data ~= "" then
    table.insert(stream.pending, { off = off, data = seg.data, at = seg.at })
  end
  if seg.fin then stream.fin = off + #seg.data end
  local i = 1
  while stream.pending[i] do
    local piece = stream.pending[i]
    if piece.off > stream.len then
      i = i + 1
    else
      local tail = piece.data:sub(stream.len - piece.off + 1)
      if #tail > 0 then
        table.insert(stream.parts, tail)
        table.insert(stream.chunks, { pos = stream.len, frame = frame.no,
          at = piece.at + #piece.data - #tail })
        stream.len = stream.len + #tail
      end
      table.remove(stream.pending, i)
      i = 1
    end
  end
end

local function new_stream(addr)
  return { addr = addr, len = 0, parts = {}, chunks = {}, pending = {} }
end

-- The TCP connections of a capture, each as its two streams, the SYN's sender first. A stream has
-- `data`; `ended`: FIN came right after the last octet; `hole`: octets before the FIN or before a
-- later segment are missing; `stimulus`: the first frame whose comment holds that word.
function M.connections(frames)
  local list, open = {}, {}
  for _, frame in ipairs(frames) do
    local seg = tcp_segment(frame)
    if seg then
      local key = seg.src < seg.dst and seg.src .. seg.dst or seg.dst .. seg.src
      local conn = open[key]
      -- Where the sequence numbers are made up, each connection may have the same ones.
      local reused = conn and seg.syn and not seg.ack
        and (conn.reset or conn[seg.src].base ~= (seg.seq + 1) & 0xFFFFFFFF)
      if not conn or reused then
        conn = { [seg.src] = new_stream(seg.src), [seg.dst] = new_stream(seg.dst) }
        conn[1], conn[2] = conn[seg.src], conn[seg.dst]
        if seg.syn and seg.ack then conn[1], conn[2] = conn[2], conn[1] end
        open[key], list[#list + 1] = conn, conn
      end
      conn.reset = conn.reset or seg.reset
      add_segment(conn[seg.src], seg, frame)
      for _, text in ipairs(frame.comments or {}) do
        if text:find("stimulus", 1, true) then
          conn[seg.src].stimulus = conn[seg.src].stimulus or frame.no
        end
      end
    end
  end
  for _, conn in ipairs(list) do
    for _, stream in ipairs(conn) do
      stream.data, stream.ended = table.concat(stream.parts), stream.fin == stream.len
      stream.hole = #stream.pending > 0 or stream.fin and stream.fin > stream.len or false
    end
  end
  return list
end

-- Frame number and file offset of octet `pos` of a stream; 0 for streams that come from no capture.
function M.locate(stream, pos)
  for i = #stream.chunks, 1, -1 do
    local chunk = stream.chunks[i]
    if chunk.pos <= pos then return chunk.frame, chunk.at + pos - chunk.pos end
  end
  return 0, 0
end

return M
