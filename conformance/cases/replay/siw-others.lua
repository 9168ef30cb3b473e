-- SPDX-License-Identifier: BSD-3-Clause
-- Other programs over Linux's soft-iWARP (pcaps/README.md), replayed in both roles against an agent. The same recording
-- makes the agent play the other role.

local recordings = {
  { name = "rdma_server-crcoff", text = "rdma_server and rdma_client, without CRCs" },
  { name = "rdma_server-crcon", text = "rdma_server and rdma_client" },
  -- perftest has two connections per run; lib/map_perftest.lua says where it advertises its buffers.
  { name = "ib_send_lat-64B-crcon", text = "ib_send_lat: Sends in turn" },
  { name = "ib_write_bw-32K-crcon", text = "ib_write_bw: RDMA Writes of 32768 octets" },
  { name = "ib_read_bw-32K-crcon", text = "ib_read_bw: RDMA Reads of 32768 octets, four at a time" },
}
local RULES = { "RDMAP-5.5-10", "RDMAP-4.4-01", "RDMAP-4.1-08", "RDMAP-3.1-02", "DDP-4.1-03", "DDP-4.1-11", "DDP-4.3-08", "DDP-4.3-12",
                "DDP-5.2-04", "DDP-5.2-05", "DDP-5.2-08", "MPA-7.1.1-03", "MPA-7.1.1-16", "EMPA-10-01", "EMPA-10-05" }

return family {
  each(recordings, function(recording)
    return both_roles {
      id = "replay-siw-" .. recording.name:lower():gsub("_", "-"),
      purpose = "The target does what the recorded peer did: " .. recording.text,
      rules = RULES, needs = { agent = true }, tags = { "replay" },
      run = function(t) t:replay { capture = "siw/siw-" .. recording.name .. ".pcap" } end,
    }
  end),
}
