-- SPDX-License-Identifier: BSD-3-Clause
-- UNVERIFIED template: Intel E810 (drivers ice and irdma) under `iwarp-agent --backend verbs` on the RNIC's host. Nobody has run it yet;
-- the settings come from Linux 6.1's driver, drivers/infiniband/hw/irdma. It has no module parameters.
-- E810 speaks RoCEv2 by default (release notes of Intel's irdman 1.4.4.0; Documentation/networking/devlink/devlink-params.rst):
--   devlink dev param set pci/0000:xx:00.0 name enable_roce value false cmode runtime
--   devlink dev param set pci/0000:xx:00.0 name enable_iwarp value true cmode runtime
-- `ibv_devinfo` then says "transport: iWARP"; iwarp-agent takes no device that speaks RoCE.

return {
  class = "agent",
  agent = "192.0.2.1:7471", -- iwarp-agent --listen
  -- token_file = "token", -- the file given to iwarp-agent --token-file
  address = "192.0.2.1", -- the RNIC's own
  station = "192.0.2.2", -- where the RNIC reaches this host
  revision = 2, -- cm.h: IRDMA_CM_DEFAULT_MPA_VER = 2
  crc = "on", -- cm.c, irdma_build_mpa_v1: C is set in each start-up frame
  markers = "off", -- cm.c, irdma_build_mpa_v2: M only with iw_ooo, which nothing sets; a peer that asks for Markers gets them (snd_mark_en)
  -- longest_timer: cm.c has no timer for a start-up that does not go on. Put one here if the device turns out to have it.
  can = {
    -- cm.c, irdma_negotiate_mpa_v2_ird_ord: an enhanced Request without A, or with neither B, C nor D, is refused (EOPNOTSUPP), so that cases
    -- with an enhanced start-up that is not peer-to-peer are expected to fail.
    "enhanced",
    "peer_to_peer", -- the same: A is set in each enhanced frame
    "rtr.read", "rtr.write", -- the same: the Read is preferred
    "ird.127", -- icrdma_hw.h: ICRDMA_MAX_IRD_SIZE = 127, ICRDMA_MAX_ORD_SIZE = 255
  },
  cannot = {
    "rtr.send", -- cm.c: IETF_FLPDU_ZERO_LEN is not looked at
    "extensions", -- verbs.c sets no atomic_cap
  },
}
