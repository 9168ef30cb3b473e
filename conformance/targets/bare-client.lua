-- SPDX-License-Identifier: BSD-3-Clause
-- Any program that connects and speaks MPA can be a target: here this project's own reference peer, started from PATH for
-- each connection.

return {
  class = "bare",
  connect = "exec iwarp-peer connect {host}:{port} --peer-to-peer on --startup-timeout 5000",
  crc = "on",
  markers = "off",
  can = { "extensions", "ird.16", "tcp.crafted" },
}
