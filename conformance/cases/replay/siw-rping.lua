-- SPDX-License-Identifier: BSD-3-Clause
-- The client's side of what rping and Linux's soft-iWARP said to each other (pcaps/README.md). A
-- stock `rping -s` needs -P, and -S 16384 for the buffers of the 16K conversation.

local recordings = {
  { "64B-crcoff", "five exchanges of 64 octets, without CRCs", { crc = "off" } },
  { "64B-crcon", "five exchanges of 64 octets", {} },
  { "16K-crcon", "three exchanges of 16384 octets", {} },
  { "p2p-crcon", "three exchanges of 64 octets in peer-to-peer mode", { peer_to_peer = true, rtr = "write" } },
}

local list = {}
for i, recording in ipairs(recordings) do
  local name, what, needs = table.unpack(recording)
  needs.class = "rping agent"
  needs.enhanced = true
  list[i] = case {
    id = "replay-siw-rping-" .. name:lower(),
    purpose = "The target serves the recorded client of " .. what .. " as siw's rping server did",
    rules = { "RDMAP-5.5-10", "RDMAP-4.4-01", "RDMAP-4.1-08", "RDMAP-3.1-02", "DDP-4.1-03", "DDP-4.1-11",
              "DDP-4.3-08", "DDP-4.3-12", "DDP-5.2-04", "DDP-5.2-05", "DDP-5.2-08", "MPA-7.1.1-03",
              "MPA-7.1.1-16", "EMPA-10-01", "EMPA-10-05", "EMPA-9.2-04" },
    role = "responder",
    needs = needs,
    tags = { "replay" },
    run = function(t) use("replay").initiator(t, "siw/siw-rping-" .. name .. ".pcap", 1) end,
  }
end
return list
