-- SPDX-License-Identifier: BSD-3-Clause
-- The practice range (fuzz/range) as initiator, started from PATH for each connection with the bugs of IW_RANGE_BUG.

return {
  class = "bare",
  connect = "exec iwarp-range --bug \"${IW_RANGE_BUG:-0}\" --connect {host}:{port}",
  crc = "on",
  markers = "off",
  can = { "extensions", "private.512", "read", "send" },
  cannot = { "peer_to_peer", "rtr" },
}
