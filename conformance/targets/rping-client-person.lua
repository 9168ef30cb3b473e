-- SPDX-License-Identifier: BSD-3-Clause
-- rdma-core's `rping -c` on a host where the runner can start nothing: it asks a person.

return {
  class = "rping",
  ask = "start  rping -c -V -C 3 -a {host} -p {port}",
  connect_within = 120,
  station = "192.0.2.2",
  crc = "off",
  markers = "off",
  cannot = { "peer_to_peer", "rtr" },
}
