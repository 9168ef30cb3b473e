-- SPDX-License-Identifier: BSD-3-Clause
-- A case to begin with: the target is the MPA responder, the station connects to it. README.md in the folder
-- above this one teaches it. Copy this file, then change the id, and what you do not need goes.

return case {
  id = "my-write-past-end", -- small letters, digits, hyphens; never changes again
  purpose = "A Write that runs past the end of its buffer ends the stream and changes no octet",
  rules = { "DDP-7.1-13", "DDP-8.3.1-04" }, -- the primary one first: it decides FAIL or NOTE
  role = "responder", -- of the TARGET
  needs = { memory = "write" }, -- what the target must be able to do, else the case is skipped
  run = function(t)
    -- A buffer of the target, with guard areas before and after it.
    local buffer = t:memory { length = 64, remote = "write" }
    local conn = t:connect {}
    -- A good exchange first: any later failure is about the stimulus.
    conn:sanity()

    -- The stimulus. Fields left out are computed correctly: lengths, pad, CRC, Markers, DDP and RDMAP control.
    local sent = conn:send(write { to = buffer, offset = 60, payload = bytes(8), comment = "4 octets too many" })

    -- The answer of a correct target. A set may have several members, the preferred one first.
    conn:expect_terminate { fault.out_of_bounds, of = sent }
    -- Look at the memory.
    t:expect_unchanged(buffer)
  end,
}
