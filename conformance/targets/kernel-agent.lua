-- SPDX-License-Identifier: BSD-3-Clause
-- This project's driver (proto/kernel/) under `iwarp-agent --backend verbs`, inside the kernel of `tools/siw up --driver iwarp`; the
-- station runs inside, too. CRCs are used if the station asks for them.

return {
  class = "agent",
  inside = "exec env IW_SIW_DRIVER=iwarp iwarp-siw exec -w {writable} {command}",
  restart = "iwarp-siw down; exec iwarp-siw up --driver iwarp",
  console = "iwarp-siw console",
  address = "10.7.0.1",
  station = "10.7.0.1",
  agent = "127.0.0.1:7473",
  start = "cd /sys/module/iwarp/parameters && echo N >crc && echo N >responder_first && exec siw-agent 7473 --device iw0",
  version = [[echo "Linux $(uname -r), rdma-core $(dpkg-query -W -f '${Version}' libibverbs1 2>/dev/null | cut -d- -f1)"]],
  ready = "listening",
  can = {
    "crc.off", "crc.on", "markers.off", "markers.on", "enhanced", "revision.1", "revision.2", "peer_to_peer", "rtr", "rtr.send", "rtr.write",
    "rtr.read", "ird", "ird.1", "ird.2", "ird.16",
  },
  cannot = { "extensions" },
  longest_timer = 60, -- IWK_STARTUP of proto/kernel/iwk_conn.c
}
