-- SPDX-License-Identifier: BSD-3-Clause
-- rdma-core's `rping -s -P` on our own libibverbs (iwarp-run): what a program of the distribution gets of this stack.

return {
  class = "rping",
  address = "127.0.0.1",
  port = 7476,
  start = "exec iwarp-run --crc off --responder-first off rping -s -P -V -S 16384 -a {host} -p {port}",
  can = {
    "crc.off", "crc.on", "markers.off", "enhanced", "revision.1", "revision.2", "peer_to_peer", "rtr", "rtr.send", "rtr.write", "rtr.read", "ird",
    "extensions", "rping.16384",
  },
  longest_timer = 60, -- STARTUP of proto/verbs/link.c
}
