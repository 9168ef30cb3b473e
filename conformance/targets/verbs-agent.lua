-- SPDX-License-Identifier: BSD-3-Clause
-- Our own libibverbs (iwarp-run) under `iwarp-agent --backend verbs`: what a program of verbs gets of this stack. CRCs are used if
-- the station asks for them.

return {
  class = "agent",
  address = "127.0.0.1",
  agent = "127.0.0.1:7475",
  start = "exec iwarp-run --crc off --responder-first off iwarp-agent --backend verbs --device iwarp0 --no-token --listen 127.0.0.1:7475",
  can = {
    "crc.off", "crc.on", "markers.off", "markers.on", "enhanced", "revision.1", "revision.2", "peer_to_peer", "rtr", "rtr.send", "rtr.write",
    "rtr.read", "ird", "ird.1", "ird.2", "ird.16", "extensions",
  },
  longest_timer = 60, -- STARTUP of proto/verbs/link.c
}
