-- SPDX-License-Identifier: BSD-3-Clause
-- rdma-core's `rping -c` on another host, started over ssh for each connection. -tt: with ssh the remote command ends, too.
-- BatchMode: a key must do, there is nobody to ask. The station is rping's server; 192.0.2.2 is where the peer reaches it.

return {
  class = "rping",
  connect = "exec ssh -tt -o BatchMode=yes -o ConnectTimeout=5 192.0.2.1 rping -c -V -C 3 -a {host} -p {port}",
  connect_within = 20,
  station = "192.0.2.2",
  crc = "off",
  markers = "off",
  cannot = { "peer_to_peer", "rtr" },
}
