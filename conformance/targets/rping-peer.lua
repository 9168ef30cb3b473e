-- SPDX-License-Identifier: BSD-3-Clause
-- This project's own reference peer as rping's server, started from PATH, for the replay cases.

return {
  class = "rping",
  address = "127.0.0.1",
  start = "exec iwarp-peer listen {host}:{port} --personality rping --crc off",
  ready = "listening on",
  crc = "off",
  markers = "off",
  can = { "extensions", "rping.1048576", "tcp.crafted" },
}
