-- SPDX-License-Identifier: BSD-3-Clause
-- This project's own reference peer, as a stranger sees it: started from PATH, nothing but TCP between us.

return {
  class = "bare",
  address = "127.0.0.1",
  start = "exec iwarp-peer listen {host}:{port}",
  ready = "listening on",
  crc = "on",
  markers = "off",
  can = { "echo", "extensions", "tcp.crafted" },
}
