-- SPDX-License-Identifier: BSD-3-Clause
-- An iwarp-agent on another host (here: through a tunnel, ssh -L 7471:127.0.0.1:7471 HOST), started by somebody else.

return {
  class = "agent",
  agent = "127.0.0.1:7471",
  -- token_file = "agent.token", -- the file given to iwarp-agent --token-file
  address = "192.0.2.1", -- where the agent's listeners are reached
  station = "192.0.2.2", -- where the peer reaches this host
}
