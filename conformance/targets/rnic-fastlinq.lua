-- SPDX-License-Identifier: BSD-3-Clause
-- UNVERIFIED template: Marvell (QLogic) FastLinQ 41000 and 45000 (drivers qed and qedr) under `iwarp-agent --backend verbs` on the RNIC's host.
-- Nobody has run it yet; the settings come from Linux 6.1's drivers, drivers/net/ethernet/qlogic/qed/qed_iwarp.c above all; none of it is
-- a module parameter. The adapter speaks either RoCE or iWARP, as it was configured before the system started: `ibv_devinfo` says which.

return {
  class = "agent",
  agent = "192.0.2.1:7471", -- iwarp-agent --listen
  -- token_file = "token", -- the file given to iwarp-agent --token-file
  address = "192.0.2.1", -- the RNIC's own
  station = "192.0.2.2", -- where the RNIC reaches this host
  revision = 2, -- qed_iwarp_setup: mpa_rev = MPA_NEGOTIATION_TYPE_ENHANCED
  crc = "on", -- QED_IWARP_PARAM_CRC_NEEDED = 1
  markers = "off", -- the drivers know none; what the firmware does is not documented there
  -- longest_timer: qed_iwarp.c knows a time-out of the firmware (IWARP_CONN_ERROR_MPA_TIMEOUT), but not how long it is: put it here if you know it.
  can = {
    "enhanced",
    "peer_to_peer", -- QED_IWARP_PARAM_P2P = 1
    "rtr.send", "rtr.write", "rtr.read", -- qed_iwarp_setup: rtr_type names all three
    "ird.32", -- QED_IWARP_IRD_DEFAULT = 32, QED_IWARP_ORD_DEFAULT = 32: the most, too (qed_iwarp_connect, qed_iwarp_accept)
  },
  -- qedr reports atomics where the PCIe root port has them (qedr_pci_set_atomic); whether they are RFC 7306's on an iWARP stream is not
  -- documented there.
  cannot = { "extensions" },
}
