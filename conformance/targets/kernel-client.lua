-- SPDX-License-Identifier: BSD-3-Clause
-- This project's driver (proto/kernel/) under rdma-core's `rping -c`, started for each connection inside the kernel of
-- `tools/siw up --driver iwarp`: the peer connects, the station is rping's server.

return {
  class = "rping",
  inside = "exec env IW_SIW_DRIVER=iwarp iwarp-siw exec -w {writable} {command}",
  restart = "iwarp-siw down; exec iwarp-siw up --driver iwarp",
  console = "iwarp-siw console",
  station = "10.7.0.1",
  version = [[echo "Linux $(uname -r), rdma-core $(dpkg-query -W -f '${Version}' libibverbs1 2>/dev/null | cut -d- -f1)"]],
  connect = "echo N >/sys/module/iwarp/parameters/crc && exec siw-rping-client {host} {port}",
  can = { "crc.off", "crc.on", "markers.off", "enhanced", "revision.2", "peer_to_peer", "rtr", "rtr.send", "rtr.write", "rtr.read" },
  cannot = { "extensions" },
  longest_timer = 60, -- IWK_STARTUP of proto/kernel/iwk_conn.c
}
