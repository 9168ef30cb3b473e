-- SPDX-License-Identifier: BSD-3-Clause
-- siw under `iwarp-agent --backend verbs`, inside the kernel of `tools/siw up`; the station runs inside, too.

return {
  class = "agent",
  inside = "exec iwarp-siw exec -w {writable} {command}",
  restart = "iwarp-siw down; exec iwarp-siw up",
  console = "iwarp-siw console",
  coverage = "/dev/siw-coverage",
  address = "10.7.0.1",
  station = "10.7.0.1",
  agent = "127.0.0.1:7473",
  start = "exec siw-agent 7473",
  version = [[echo "Linux $(uname -r), rdma-core $(dpkg-query -W -f '${Version}' libibverbs1 2>/dev/null | cut -d- -f1)"]],
  ready = "listening",
  can = { "crc.off", "crc.on", "markers.off", "revision", "enhanced", "ird.16" },
  cannot = { "peer_to_peer", "rtr", "extensions" },
  longest_timer = 11, -- MPAREQ_TIMEOUT, 10 s, and what the kernel takes to act upon it
  quirks = { "terminate-reversed" }, -- conformance/baselines/siw.md, 1
}
