-- SPDX-License-Identifier: BSD-3-Clause
-- UNVERIFIED template: Chelsio T5 and T6 (driver iw_cxgb4) under `iwarp-agent --backend verbs` on the RNIC's host. Nobody has run it yet; the
-- settings come from Linux 6.1's driver, drivers/infiniband/hw/cxgb4 (module parameters: `modinfo iw_cxgb4`).

return {
  class = "agent",
  agent = "192.0.2.1:7471", -- iwarp-agent --listen
  -- token_file = "token", -- the file given to iwarp-agent --token-file
  address = "192.0.2.1", -- the RNIC's own
  station = "192.0.2.2", -- where the RNIC reaches this host
  revision = 2, -- cm.c: mpa_rev = 2 (parameter; 1: no RFC 6581). Reset, an initiator tries again with revision 1
  crc = "on", -- cm.c: crc_enabled = 1 (parameter); used if either end asks for it
  markers = "off", -- cm.c: markers_enabled = 0 (parameter); a peer that asks for them gets them (xmit_marker_enabled)
  longest_timer = 61, -- cm.c: ep_timeout_secs = 60 (parameter), and what the driver takes to act upon it
  can = {
    "enhanced",
    "peer_to_peer", -- cm.c: peer2peer = 1 (parameter)
    "rtr.read", -- cm.c: p2p_type = 1, the Read (parameter; 0: the Write); the Reply names this one form
    "ird.32", -- cm.c: c4iw_max_read_depth = 32 (parameter); at most what the firmware has (max_ordird_qp)
    "private.252", -- iw_cxgb4.h: MPA_MAX_PRIVATE_DATA = 256, with RFC 6581's four octets
  },
  cannot = {
    "rtr.send", "rtr.write", -- see p2p_type
    "extensions", -- provider.c sets no atomic_cap
  },
}
