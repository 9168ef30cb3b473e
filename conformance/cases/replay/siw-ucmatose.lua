-- SPDX-License-Identifier: BSD-3-Clause
-- ucmatose over Linux's soft-iWARP (pcaps/README.md): the recorded responder sends FPDUs before the initiator's first one, which
-- RFC 5044 §7.1.2 forbids, and the initiator resets the connection. The case plays it as recorded.

local function run(differences)
  return function(t) t:replay { capture = "siw/siw-ucmatose-responder-first-crcon.pcap", differences = differences } end
end

return family {
  case {
    id = "replay-siw-ucmatose-responder-first",
    purpose = "A responder that spoke first in the recording sends nothing before the initiator's first FPDU",
    rules = { "MPA-7.1.2-15" }, role = "responder", needs = { agent = true }, tags = { "replay" },
    run = run { "3 missing" }, -- the first Send
  },
  case {
    id = "replay-siw-ucmatose-responder-first-initiator",
    purpose = "An initiator whose peer speaks first takes the Sends, and then resets the connection as recorded",
    rules = { "DDP-5.2-05", "MPA-7.1.1-03" }, role = "initiator", needs = { agent = true }, tags = { "replay" },
    run = run {},
  },
}
