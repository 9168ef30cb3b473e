-- SPDX-License-Identifier: BSD-3-Clause
-- siw under rdma-core's `rping -c`, started for each connection inside the kernel of `tools/siw up`: the peer connects, the station is
-- rping's server. Some cases end that kernel, which is started again (conformance/baselines/siw.md, 17).

return {
  class = "rping",
  inside = "exec iwarp-siw exec -w {writable} {command}",
  restart = "iwarp-siw down; exec iwarp-siw up",
  console = "iwarp-siw console",
  coverage = "/dev/siw-coverage",
  station = "10.7.0.1",
  version = [[echo "Linux $(uname -r), rdma-core $(dpkg-query -W -f '${Version}' libibverbs1 2>/dev/null | cut -d- -f1)"]],
  connect = "exec siw-rping-client {host} {port}",
  crc = "off",
  markers = "off",
  cannot = { "peer_to_peer", "rtr" },
  longest_timer = 11, -- MPAREQ_TIMEOUT, 10 s, and what the kernel takes to act upon it
  quirks = { "terminate-reversed" }, -- conformance/baselines/siw.md, 1
}
