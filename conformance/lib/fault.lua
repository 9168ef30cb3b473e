-- SPDX-License-Identifier: BSD-3-Clause
-- The Terminates with which a correct target may answer a fault, the preferred one first. What the RFCs leave open is settled in
-- proto/rules/positions.md (OP-...). A case may add to a set: { fault.invalid_stag, terminate { rdmap = "protection" } }.

local strict = iw.load("strict")
local message = iw.load("message")

local rdmap = {
  catastrophic = message.terminate { rdmap = "catastrophic" },
  operation = message.terminate { rdmap = "operation" },
}

local sets = {
  -- MPA
  crc = { "2/0/02" },
  marker = { "2/0/03" },
  too_little_ird = { "2/0/06" },
  no_common_rtr = { "2/0/07" },

  -- DDP, tagged segments
  invalid_stag = { "1/1/00", "1/1/02" }, -- OP-50
  foreign_stag = { "1/1/02", "1/1/00" }, -- of another protection domain or stream (OP-50)
  no_write_access = { "1/1/00", "1/1/02", "0/1/02" }, -- OP-44
  out_of_bounds = { "1/1/01" },
  to_wraps = { "1/1/03", "1/1/01" }, -- OP-47
  past_end_or_wraps = { "1/1/01", "1/1/03" }, -- of a buffer that may lie just below 2^64 (OP-47)
  tagged_version = { "1/1/04" }, -- OP-45, OP-46

  -- DDP, untagged segments
  invalid_queue = { "1/2/01", "0/2/06" }, -- OP-68
  no_buffer = { "1/2/02", "1/2/03" }, -- OP-42
  invalid_msn = { "1/2/03", "1/2/02" }, -- OP-41, OP-42
  invalid_mo = { "1/2/04", "1/2/05" }, -- OP-73
  too_long = { "1/2/05" }, -- OP-73
  runs_past_buffer = { "1/2/05", "1/2/04" }, -- a segment with an MO above 0 (OP-73)
  untagged_version = { "1/2/06" }, -- OP-45, OP-46
  more_reads_than_ird = { "1/2/02", message.terminate {} }, -- OP-70

  -- RDMAP: Read Requests, and the requests of RFC 7306 (OP-82)
  rdmap_invalid_stag = { "0/1/00", "0/1/03" }, -- OP-50 about RDMAP's codes
  rdmap_foreign_stag = { "0/1/03", "0/1/00" }, -- OP-50
  rdmap_no_access = { "0/1/02", "0/1/00" },
  rdmap_out_of_bounds = { "0/1/01" },
  rdmap_to_wraps = { "0/1/04", "0/1/01" }, -- OP-47
  rdmap_past_end_or_wraps = { "0/1/01", "0/1/04" }, -- OP-47
  atomic_invalid_stag = { "0/1/00" }, -- OP-82
  unaligned_atomic = { "0/2/07" },

  -- RDMAP: Sends with Invalidate
  not_invalidatable = { "0/1/09", "0/2/09" }, -- OP-63
  invalidate_invalid_stag = { "0/1/09", "0/2/09", "0/1/00" }, -- OP-63, OP-64

  -- RDMAP: versions, opcodes, responses
  rdmap_version = { "0/2/05" }, -- OP-72
  opcode = { "0/2/06" },
  opcode_of_rfc7306 = { "0/2/06", rdmap.operation }, -- to a target that does not know it (OP-86)
  opcode_with_t = { "0/2/06", message.terminate { ddp = "tagged" } }, -- OP-68
  opcode_on_queue = { "0/2/06", message.terminate { ddp = "untagged" } }, -- OP-68
  unasked_response = { "0/2/06" }, -- OP-66
  atomic_response = { rdmap.operation, rdmap.catastrophic }, -- OP-82
  atomic_response_too_long = { rdmap.operation, "1/2/05", rdmap.catastrophic }, -- OP-82
}

-- Cases share them.
local FIXED = { __newindex = function() error("a set of fault.* stays as it is: put it into a list of your own", 0) end }
for name, set in pairs(sets) do sets[name] = setmetatable(message.flat(set), FIXED) end

return strict.seal("fault", sets)
