-- SPDX-License-Identifier: BSD-3-Clause

-- Memory windows: an STag for a part of a buffer, with bounds, rights, a stream and a life of its own.

local LENGTH, FIRST, SIZE = 64, 16, 32 -- of the buffer; of the window in it

local function windowed(one)
  one.needs = { windows = true, memory = one.memory or "write" }
  one.memory = nil
  return both_roles(one)
end

-- Returns a buffer that no peer may touch, and a window in its middle.
local function make(t, options)
  local buf = t:memory { length = LENGTH, bind = true, pd = options and options.pd }
  return buf, t:bind { memory = buf, offset = FIRST, length = SIZE, remote = options and options.remote or "write",
                       invalidate = options and options.invalidate, conn = options and options.conn }
end

-- Places around the window that are inside the buffer. offset: from the window's first octet.
local around = {
  { name = "after", offset = SIZE, length = 1 },
  { name = "in-front", offset = -1, length = 1 },
  { name = "over-the-end", offset = SIZE - 1, length = 2 },
  { name = "over-the-start", offset = -1, length = 2 },
  { name = "all-of-the-buffer", offset = -FIRST, length = LENGTH },
}

return family {
  windowed {
    id = "rdmap-window-write",
    purpose = "The target places Writes to the first and the last octets of a window there in the buffer, and nowhere else",
    rules = { "DDP-8.3.1-04" },
    run = function(t)
      local conn = t:session {}
      local buf, window = make(t)
      conn:send(write { to = window, payload = bytes(4, 0x11) })
      conn:fence()
      t:expect_contents(buf, bytes(4, 0x11), { offset = FIRST })
      conn:send(write { to = window, offset = SIZE - 4, payload = bytes(4, 0x22) })
      conn:fence()
      t:expect_contents(buf, bytes(4, 0x22), { offset = FIRST + SIZE - 4 })
    end,
  },

  each(around, function(one)
    return windowed {
      id = "rdmap-window-bounds-" .. one.name,
      purpose = ("A Write that leaves its window (%s) ends the stream and changes no octet, though the buffer goes on")
        :format(one.name:gsub("-", " ")),
      rules = { "DDP-8.3.1-04", "DDP-7.1-13", "RDMAP-8.1.1-03", "SEC-6.2.1-01" },
      run = function(t)
        local conn = t:session {}
        local buf, window = make(t)
        conn:sanity()
        local sent = conn:send(write { stag = window.stag, to = window.to + one.offset, payload = bytes(one.length, 0xee) })
        conn:expect_terminate { fault.out_of_bounds, of = sent }
        t:expect_unchanged(buf)
      end,
    }
  end),

  windowed {
    id = "rdmap-window-bounds-read",
    purpose = "A Read that leaves its window ends the stream, though the buffer goes on",
    rules = { "RDMAP-8.1.1-03", "RDMAP-5.2.1-14", "SEC-6.2.1-01" },
    memory = "read",
    run = function(t)
      local conn = t:session {}
      local _, window = make(t, { remote = "read" })
      conn:sanity()
      local sent = conn:send(read_request { source_stag = window.stag, source_to = window.to + 1, size = SIZE })
      conn:expect_terminate { fault.rdmap_out_of_bounds, of = sent }
    end,
  },

  windowed {
    id = "rdmap-window-read-only",
    purpose = "A Write through a window that permits reading only ends the stream, though its buffer may be written locally",
    rules = { "DDP-7.1-11", "DDP-7.1-17" },
    run = function(t)
      local conn = t:session {}
      local buf, window = make(t, { remote = "read" })
      conn:sanity()
      local sent = conn:send(write { to = window, payload = bytes(4, 0xee) })
      conn:expect_terminate { fault.no_write_access, of = sent }
      t:expect_unchanged(buf)
    end,
  },

  windowed {
    id = "rdmap-window-write-only",
    purpose = "A Read through a window that permits writing only ends the stream, though its buffer permits reading",
    rules = { "RDMAP-7.2-14", "RDMAP-5.2.1-14" },
    memory = "read write",
    run = function(t)
      local conn = t:session {}
      local buf = t:memory { length = LENGTH, remote = "read", bind = true }
      local window = t:bind { memory = buf, offset = FIRST, length = SIZE, remote = "write" }
      t:check(conn:read(buf, FIRST, 4) == bytes(4, 0x5a), "the target's own STag of the buffer does not permit reading")
      local sent = conn:send(read_request { source = window, size = 4 })
      conn:expect_terminate { fault.rdmap_no_access, of = sent }
    end,
  },

  windowed {
    id = "rdmap-window-other-stream",
    purpose = "A Write through a window that is bound to another stream ends the stream and changes no octet",
    rules = { "DDP-8.3.1-03", "DDP-8.2-02", "RDMAP-8.1.1-02", "SEC-6.1.1-03" },
    run = function(t)
      local other = t:session {}
      local buf, window = make(t, { conn = other })
      local conn = t:session {}
      conn:sanity()
      local sent = conn:send(write { to = window, payload = bytes(4, 0xee) })
      conn:expect_terminate { fault.foreign_stag, of = sent }
      t:expect_unchanged(buf)
      other:send(write { to = window, payload = bytes(4, 0x33) })
      other:fence()
      t:expect_contents(buf, bytes(4, 0x33), { offset = FIRST })
    end,
  },

  windowed {
    id = "rdmap-window-other-pd",
    purpose = "A window belongs to the protection domain of its buffer: a Write from another one ends the stream",
    rules = { "DDP-8.3.1-02", "DDP-8.2-01", "RDMAP-8.1.1-01", "SEC-6.1.1-02" },
    run = function(t)
      local buf, window = make(t, { pd = t:protection_domain() })
      local conn = t:session {}
      conn:sanity()
      local sent = conn:send(write { to = window, payload = bytes(4, 0xee) })
      conn:expect_terminate { fault.foreign_stag, of = sent }
      t:expect_unchanged(buf)
    end,
  },

  windowed {
    id = "rdmap-window-invalidated",
    purpose = "An invalidated window takes no more Writes, while its buffer's own STag still works",
    rules = { "DDP-8.3.1-07", "DDP-7.1-10", "RDMAP-8.1.1-06" },
    run = function(t)
      local conn = t:session {}
      local buf = t:memory { length = LENGTH, remote = "write", bind = true }
      local window = t:bind { memory = buf, offset = FIRST, length = SIZE, remote = "write" }
      t:invalidate(window)
      conn:send(write { to = buf, payload = bytes(4, 0x44) })
      conn:fence()
      t:expect_contents(buf, bytes(4, 0x44))
      local sent = conn:send(write { to = window, payload = bytes(4, 0xee), comment = "the window is invalidated" })
      conn:expect_terminate { fault.invalid_stag, of = sent }
      t:expect_unchanged(buf, { rule = "DDP-8.3.1-07" })
    end,
  },

  windowed {
    id = "rdmap-window-unbound",
    purpose = "An unbound window takes no more Writes",
    rules = { "DDP-8.3.1-07", "DDP-7.1-10" },
    run = function(t)
      local conn = t:session {}
      local buf, window = make(t)
      conn:send(write { to = window, payload = bytes(4, 0x55) })
      conn:fence()
      t:expect_contents(buf, bytes(4, 0x55), { offset = FIRST })
      t:unbind(window)
      local sent = conn:send(write { to = window, payload = bytes(4, 0xee), comment = "the window is unbound" })
      conn:expect_terminate { fault.invalid_stag, of = sent }
      t:expect_unchanged(buf)
    end,
  },

  windowed {
    id = "rdmap-window-rebound",
    purpose = "A window that is bound again has another STag; the old one takes no more Writes",
    rules = { "DDP-8.3.1-07", "DDP-7.1-10", "RDMAP-8.1.1-06" },
    run = function(t)
      local conn = t:session {}
      local buf, old = make(t)
      local new = t:bind { memory = buf, offset = 0, length = 8, remote = "write", window = old }
      t:check(new.stag ~= old.stag, "the target bound the window again under the same STag")
      conn:send(write { to = new, payload = bytes(8, 0x66) })
      conn:fence()
      t:expect_contents(buf, bytes(8, 0x66))
      local sent = conn:send(write { stag = old.stag, to = new.to, payload = bytes(4, 0xee), comment = "the old STag" })
      conn:expect_terminate { fault.invalid_stag, of = sent }
      t:expect_unchanged(buf)
    end,
  },

  windowed {
    id = "rdmap-window-send-invalidate",
    purpose = "Send with Invalidate invalidates a window that its stream may invalidate, and leaves the buffer's STag valid",
    rules = { "RDMAP-5.3-15", "DDP-7.1-10", "DDP-8.3.1-07" },
    run = function(t)
      local conn = t:session {}
      local buf = t:memory { length = LENGTH, remote = "write", bind = true }
      local window = t:bind { memory = buf, offset = FIRST, length = SIZE, remote = "write", invalidate = true, conn = conn }
      local posted = t:receive { length = 8 }
      conn:send(write { to = window, payload = bytes(4, 0x77) })
      conn:send(send_invalidate { invalidate = window })
      t:completion(posted, { length = 0, invalidated = window.stag })
      t:expect_contents(buf, bytes(4, 0x77), { offset = FIRST })
      conn:send(write { to = buf, payload = bytes(4, 0x78) })
      conn:fence()
      t:expect_contents(buf, bytes(4, 0x78))
      local sent = conn:send(write { to = window, payload = bytes(4, 0xee), comment = "the window is invalidated" })
      conn:expect_terminate { fault.invalid_stag, of = sent }
      t:expect_unchanged(buf, { rule = "DDP-8.3.1-07" })
    end,
  },

  windowed {
    id = "rdmap-window-send-invalidate-refused",
    purpose = "Send with Invalidate of a window without that right ends the stream; the window stays valid",
    rules = { "RDMAP-5.3-16", "RDMAP-8.1.1-07" },
    run = function(t)
      local conn = t:session {}
      local buf, window = make(t)
      t:receive { length = 8 }
      conn:sanity()
      local sent = conn:send(send_invalidate { invalidate = window })
      conn:expect_terminate { fault.not_invalidatable, of = sent }
      local other = t:session {}
      other:send(write { to = window, payload = bytes(4, 0x79) })
      other:fence()
      t:expect_contents(buf, bytes(4, 0x79), { offset = FIRST })
    end,
  },

  -- A program may use memory that it has given up as it likes: no STag may lead there any more.
  windowed {
    id = "rdmap-window-of-released-buffer",
    purpose = "A buffer with a window stays, or takes the window with it; without the window its release succeeds, and both STags are dead",
    rules = { "DDP-8.3.1-07", "DDP-7.1-10", "DDP-8.3.1-04", "RDMAP-8.1.1-06" },
    run = function(t)
      local conn = t:session {}
      local buf = t:memory { length = LENGTH, remote = "write", bind = true }
      local window = t:bind { memory = buf, offset = FIRST, length = SIZE, remote = "write" }
      -- Both STags are good, so that later errors are about the release.
      conn:send(write { to = buf, payload = bytes(4, 0x7c) })
      conn:fence()
      t:expect_contents(buf, bytes(4, 0x7c))
      if t:agent("release", { mem = buf.mem }, true) then
        t:observe("release", "taken")
        local sent = conn:send(write { to = window, payload = bytes(4, 0xee), broken = true, comment = "its buffer was given up" })
        conn:expect_terminate { fault.invalid_stag, of = sent }
        return
      end
      conn:send(write { to = window, payload = bytes(4, 0x7b) })
      conn:fence()
      t:expect_contents(buf, bytes(4, 0x7b), { offset = FIRST })
      t:unbind(window)
      t:release(buf)
      local sent = conn:send(write { to = window, payload = bytes(4, 0xee), broken = true, comment = "window and buffer were given up" })
      conn:expect_terminate { fault.invalid_stag, of = sent }
      local other = t:session {}
      other:sanity()
      sent = other:send(write { to = buf, payload = bytes(4, 0xee), broken = true, comment = "the buffer was given up" })
      other:expect_terminate { fault.invalid_stag, of = sent }
    end,
  },

  windowed {
    id = "rdmap-window-of-dead-buffer",
    purpose = "Records the effect of invalidating the buffer's own STag on its window; nothing outside of it changes",
    rules = { "DDP-8.3.1-04", "DDP-8.3.1-07" },
    run = function(t)
      local conn = t:session {}
      local buf, window = make(t)
      t:invalidate(buf)
      conn:send(write { to = window, payload = bytes(SIZE, 0x7a) })
      local asked = conn:send(read_request { size = 0 })
      local item = conn:expect(read_response { stag = asked.sink_stag, payload = "" }, terminate {})
      t:observe("window-of-dead-buffer", item.op == "terminate" and "refused" or "open")
      t:expect_unchanged(buf, { except = { FIRST, SIZE } })
    end,
  },
}
