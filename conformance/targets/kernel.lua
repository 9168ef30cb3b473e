-- SPDX-License-Identifier: BSD-3-Clause
-- This project's driver (proto/kernel/) under rdma-core's `rping -s -P`, inside the kernel of `tools/siw up --driver iwarp`; the station
-- runs inside, too. CRCs are used if the station asks for them.

return {
  class = "rping",
  inside = "exec env IW_SIW_DRIVER=iwarp iwarp-siw exec -w {writable} {command}",
  restart = "iwarp-siw down; exec iwarp-siw up --driver iwarp",
  console = "iwarp-siw console",
  address = "10.7.0.1",
  start = "cd /sys/module/iwarp/parameters && echo N >crc && echo N >responder_first && exec siw-rping-server {host} {port}",
  version = [[echo "Linux $(uname -r), rdma-core $(dpkg-query -W -f '${Version}' libibverbs1 2>/dev/null | cut -d- -f1)"]],
  ready = "listening",
  can = {
    "crc.off", "crc.on", "markers.off", "enhanced", "revision.1", "revision.2", "peer_to_peer", "rtr", "rtr.send", "rtr.write", "rtr.read",
    "ird", "rping.16384",
  },
  cannot = { "extensions" },
  longest_timer = 60, -- IWK_STARTUP of proto/kernel/iwk_conn.c
}
