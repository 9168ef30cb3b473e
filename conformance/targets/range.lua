-- SPDX-License-Identifier: BSD-3-Clause
-- The practice range (fuzz/range), started from PATH with the bugs whose numbers are in IW_RANGE_BUG ("3,7").

return {
  class = "bare",
  address = "127.0.0.1",
  -- Says where it is when it is ended because it hangs.
  start = "ASAN_OPTIONS=handle_abort=1:${ASAN_OPTIONS:-} exec iwarp-range --bug \"${IW_RANGE_BUG:-0}\" --port {port}",
  ready = "listening on",
  crc = "on",
  markers = "off",
  can = { "extensions", "private.512", "read", "send" },
}
