-- SPDX-License-Identifier: BSD-3-Clause
-- How long a target may leave a connection open that has to end (OP-15, OP-74): at once only after a start-up frame that is
-- invalid (RFC 5044 §8, code 4). Otherwise a timer may end it, or its ULP, and no RFC says when. An expectation has waited for
-- the target's longest timer where its target file states that.

local timers = {}

-- Seconds to wait for what a timer of the target may put off, the end of a connection or of a start-up; nil: as for anything else.
-- In full operation no timer excuses silence: the answer comes "at the earliest possible opportunity" (RFC 5040 §7.1).
function timers.seconds()
  local seconds = iw.timer()
  return seconds > iw.patience() and seconds or nil
end

-- Whether a connection that is still open when an expectation has waited is one that should have ended.
local function known(t) return t.peer.longest_timer or t.peer.embedded end

-- Ends the case INCONCLUSIVE if nobody knows whether the target would still have ended the connection.
function timers.check(t, why)
  if known(t) then return end
  t:inconclusive("the target has not ended the connection yet, and its timers are not known (longest_timer in a target file)",
    { expected = why.expected, actual = why.actual })
end

return timers
