-- SPDX-License-Identifier: BSD-3-Clause
-- This project's own reference peer as rping's client, started from PATH for each connection: the station is the server.

return {
  class = "rping",
  connect = "exec iwarp-peer connect {host}:{port} --personality rping --count 3 --verify --startup-timeout 5000",
  crc = "on",
  markers = "off",
  can = { "extensions", "ird.16" },
  cannot = { "peer_to_peer", "rtr" },
}
