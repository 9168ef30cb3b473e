-- SPDX-License-Identifier: BSD-3-Clause
-- Conversations of rping over Linux's soft-iWARP (pcaps/README.md), replayed in both roles. A stock `rping -s` needs -P, and
-- -S 16384 for the buffers of the 16K conversation. The number of exchanges that a client makes is its user's choice, so an
-- agent plays the client here.

local recordings = {
  { name = "64B-crcoff", text = "five exchanges of 64 octets, without CRCs", needs = {} },
  { name = "64B-crcon", text = "five exchanges of 64 octets", needs = {} },
  { name = "16K-crcon", text = "three exchanges of 16384 octets", needs = {} },
  { name = "p2p-crcon", text = "three exchanges of 64 octets in peer-to-peer mode", needs = { peer_to_peer = true, rtr = "write" } },
}
local RULES = { "RDMAP-5.5-10", "RDMAP-4.4-01", "RDMAP-4.1-08", "RDMAP-3.1-02", "DDP-4.1-03", "DDP-4.1-11", "DDP-4.3-08", "DDP-4.3-12",
                "DDP-5.2-04", "DDP-5.2-05", "DDP-5.2-08", "MPA-7.1.1-03", "MPA-7.1.1-16", "EMPA-10-01", "EMPA-10-05", "EMPA-9.2-04" }

return family {
  each(recordings, function(recording)
    local function run(t) t:replay { capture = "siw/siw-rping-" .. recording.name .. ".pcap" } end
    local client = { agent = true }
    for need, value in pairs(recording.needs) do client[need] = value end
    recording.needs.class = "rping agent"
    return {
      case {
        id = "replay-siw-rping-" .. recording.name:lower(),
        purpose = "The target serves the recorded client of " .. recording.text .. " as siw's rping server did",
        rules = RULES, role = "responder", needs = recording.needs, tags = { "replay" }, run = run,
      },
      case {
        id = "replay-siw-rping-" .. recording.name:lower() .. "-initiator",
        purpose = "The target, in the part of the recorded client of " .. recording.text .. ", sends what siw's sent",
        rules = RULES, role = "initiator", needs = client, tags = { "replay" }, run = run,
      },
    }
  end),
}
