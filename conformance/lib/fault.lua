-- SPDX-License-Identifier: BSD-3-Clause
-- The Terminates with which a correct target may answer a fault, the preferred one first, and why there is more than one;
-- proto/rules/positions.md has each position (OP-...). A case may add to a set: { fault.invalid_stag, terminate { rdmap = "protection" } }.

local strict = iw.load("strict")
local message = iw.load("message")

local rdmap = {
  catastrophic = message.terminate { rdmap = "catastrophic" },
  operation = message.terminate { rdmap = "operation" },
}

local sets = {
  -- MPA
  crc = { "2/0/02" },
  crc_without_headers = { message.terminate { llp = "mpa", code = "crc", m = false, d = false, r = false } }, -- no segment can be named
  marker = { "2/0/03" },
  too_little_ird = { "2/0/06" },
  no_common_rtr = { "2/0/07" },
  malformed_startup = { "2/0/05", "2/0/04" }, -- an initiator may report it before it closes (OP-32)
  no_room_for_fpdu = { "2/0/05" }, -- there are too many connections with the beginning of an FPDU
  first_is_no_rtr = { "2/0/07", "2/0/05" }, -- RFC 6581 does not say what a responder does then

  -- DDP, tagged segments
  invalid_stag = { "1/1/00", "1/1/02" }, -- many designs cannot distinguish it from a foreign one (OP-50)
  foreign_stag = { "1/1/02", "1/1/00" }, -- of another protection domain or stream (OP-50)
  no_write_access = { "1/1/00", "1/1/02", "0/1/02" }, -- DDP has no code for it (OP-44)
  out_of_bounds = { "1/1/01" },
  to_wraps = { "1/1/03", "1/1/01" }, -- the bounds may be checked first (OP-47)
  past_end_or_wraps = { "1/1/01", "1/1/03" }, -- of a buffer that may lie just below 2^64 (OP-47)
  tagged_version = { "1/1/04" }, -- the check is required (OP-45)

  -- DDP, untagged segments
  invalid_queue = { "1/2/01", "0/2/06", "1/2/02", "1/2/03" }, -- the opcode (OP-68), the MSN, or the lack of a buffer comes first (OP-46)
  invalid_queue_in_turn = { "1/2/01", "0/2/06" }, -- where a buffer is posted and the MSN is in turn (OP-68)
  no_buffer = { "1/2/02", "1/2/03" }, -- the MSN is beyond the posted receives (OP-42)
  invalid_msn = { "1/2/03", "1/2/02" }, -- likewise (OP-41, OP-42)
  invalid_mo = { "1/2/04", "1/2/05" }, -- from there on the message is too long as well (OP-73)
  too_long = { "1/2/05" }, -- the first segment that runs past the buffer (OP-73)
  octets_left_out = { "1/2/04", message.terminate { ddp = "untagged" } }, -- no code is for it, and a sink need not notice it
  runs_past_buffer = { "1/2/05", "1/2/04" }, -- a segment whose MO may count as the fault (OP-73)
  untagged_version = { "1/2/06" }, -- the check is required (OP-45)
  request_past_buffer = { "1/2/04", "1/2/05", rdmap.operation, rdmap.catastrophic }, -- RDMAP may look at its length first (OP-67)
  more_reads_than_ird = { "1/2/02", message.terminate {} }, -- only the peer is forbidden to send them (OP-70)

  -- RDMAP: what the target's own ULP asks for
  own_error = { rdmap.catastrophic, rdmap.operation }, -- a local error is the obvious one, and no code is for it

  -- RDMAP: Read Requests, and the requests of RFC 7306 (OP-82)
  rdmap_invalid_stag = { "0/1/00", "0/1/03" }, -- as invalid_stag (OP-50)
  rdmap_foreign_stag = { "0/1/03", "0/1/00" }, -- as foreign_stag (OP-50)
  rdmap_revoked_stag = { "0/1/00" }, -- it was valid when the Read began: no other code fits
  rdmap_no_access = { "0/1/02", "0/1/00" }, -- a design may keep no STag for what is not open (OP-50)
  rdmap_out_of_bounds = { "0/1/01" },
  rdmap_to_wraps = { "0/1/04", "0/1/01" }, -- as to_wraps (OP-47)
  rdmap_past_end_or_wraps = { "0/1/01", "0/1/04" }, -- as past_end_or_wraps (OP-47)
  atomic_invalid_stag = { "0/1/00" }, -- OP-82: the codes of Read Requests
  unaligned_atomic = { "0/2/07" },

  -- RDMAP: Sends with Invalidate
  not_invalidatable = { "0/1/09", "0/2/09" }, -- the code stands under two error types (OP-63)
  invalidate_invalid_stag = { "0/1/09", "0/2/09", "0/1/00" }, -- or the code for any invalid STag (OP-63, OP-64)

  -- RDMAP: versions, opcodes, responses
  rdmap_version = { "0/2/05" }, -- also for 0 (OP-72)
  opcode = { "0/2/06" },
  send_with_t = { "0/2/06", "1/1/00", "1/2/01" }, -- RDMAP's code, or DDP's for its STag or queue (OP-68)
  opcode_with_t = { "0/2/06", message.terminate { ddp = "tagged" } }, -- RDMAP's code, or one of DDP's (OP-68)
  opcode_on_queue = { "0/2/06", message.terminate { ddp = "untagged" } }, -- likewise (OP-68)
  unasked_response = { "0/2/06" }, -- what else a case accepts depends on the sink that it names (OP-66)
  unasked_response_nowhere = { "0/2/06", "1/1/00", "1/1/02", "0/1/00" }, -- its sink is an invalid STag, which may be checked first (OP-66)

  -- RFC 7306: no code is for these (OP-82)
  atomic_opcode = { "0/2/06", message.terminate { rdmap = "operation", d = true, r = false } },
  atomic_request_length = { rdmap.operation, rdmap.catastrophic, "1/2/05" }, -- DDP may see the end of its buffer
  immediate_length = { message.terminate { rdmap = "operation", d = true, r = false }, rdmap.operation, rdmap.catastrophic,
    "1/2/05" }, -- likewise
  atomic_response = { rdmap.operation, rdmap.catastrophic },
  atomic_response_too_long = { rdmap.operation, "1/2/05", rdmap.catastrophic }, -- as atomic_request_length
  early_atomic_response = { rdmap.operation, message.terminate { ddp = "untagged" }, rdmap.catastrophic }, -- out of turn: DDP may find no buffer
  early_read_response = { rdmap.operation, message.terminate { rdmap = "protection" }, message.terminate {} }, -- or any: only its turn is wrong

  -- RFC 7306: to a target that does not know it (OP-86)
  opcode_of_rfc7306 = { "0/2/06", rdmap.operation },
  atomic_response_of_rfc7306 = { "0/2/06", rdmap.operation, "1/2/01" }, -- nor does it know queue 3
}

local set = {}

-- Returns whether a set names this code, "1/1/00"; a Terminate of any code names none.
function set:has(code)
  for _, one in ipairs(self) do
    if code and message.code_of(one.fields) == code then return true end
  end
  return false
end

-- Returns the codes that a set names, for a report: "1/1/00 or 1/1/02".
function set:codes()
  local codes = {}
  for _, one in ipairs(self) do codes[#codes + 1] = message.code_of(one.fields) end
  return table.concat(codes, " or ")
end

-- Cases share them.
local FIXED = { __index = set, __newindex = function() error("a set of fault.* stays as it is: put it into a list of your own", 0) end }
for name, list in pairs(sets) do sets[name] = setmetatable(message.flat(list), FIXED) end

return strict.seal("fault", sets)
