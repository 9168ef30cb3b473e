-- SPDX-License-Identifier: BSD-3-Clause
-- The Linux kernel's software iWARP driver (siw) under rdma-core's `rping -s`, inside the user-mode kernel that `tools/siw up`
-- starts. The station runs inside, too: iwarp-conform is executed again there, and writes its results through {writable}.

return {
  class = "rping",
  inside = "exec iwarp-siw exec -w {writable} {command}",
  restart = "iwarp-siw down; exec iwarp-siw up",
  console = "iwarp-siw console",
  coverage = "/dev/siw-coverage",
  address = "10.7.0.1",
  start = "exec siw-rping-server {host} {port}",
  version = [[echo "Linux $(uname -r), rdma-core $(dpkg-query -W -f '${Version}' libibverbs1 2>/dev/null | cut -d- -f1)"]],
  ready = "listening",
  crc = "off",
  markers = "off",
  can = { "rping.16384" },
  longest_timer = 11, -- MPAREQ_TIMEOUT, 10 s, and what the kernel takes to act upon it
  quirks = { "terminate-reversed" }, -- conformance/baselines/siw.md, 1
}
