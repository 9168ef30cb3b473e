-- SPDX-License-Identifier: BSD-3-Clause
-- rdma-core's `rping -s -P` on an iWARP device of this host (soft-iWARP on lo: rdma link add siw0 type siw netdev lo).
-- Buffers of 16384 octets (-S) serve every recorded conversation. For a device of another host leave out `start` and give its address.

return {
  class = "rping",
  address = "127.0.0.1",
  port = 7174,
  start = "exec rping -s -P -V -S 16384 -a {host} -p {port}",
  crc = "off",
  markers = "off",
  can = { "rping.16384" }, -- the size of -S
}
