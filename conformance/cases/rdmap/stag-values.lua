-- SPDX-License-Identifier: BSD-3-Clause

-- Only the STag keeps a stranger's Write out of a buffer (RFC 5040 §8.1.1). Field bugs: STags 1, 2, 3
-- (OSC 1.2), STags made of addresses (SoftUiWARP).

local COUNT = 32

local function made(t)
  local stags = {}
  for i = 1, COUNT do stags[i] = t:memory { length = 16, guard = 0, remote = "write" }.stag end
  return stags
end

local function different(values)
  local seen, count = {}, 0
  for _, value in ipairs(values) do
    if not seen[value] then count = count + 1 end
    seen[value] = true
  end
  return count
end

return family {
  case {
    id = "rdmap-stags-unpredictable",
    purpose = ("%d STags made one after another do not follow each other by a constant step"):format(COUNT),
    rules = { "RDMAP-8.1.1-08" },
    role = "responder",
    needs = { memory = "write" },
    tags = { "field" },
    run = function(t)
      local stags, steps = made(t), {}
      t:check(different(stags) == COUNT, "the target gave out the same STag twice")
      for i = 2, COUNT do steps[#steps + 1] = (stags[i] - stags[i - 1]) & 0xffffffff end
      t:check(different(steps) > COUNT // 2, "the target's STags follow each other in a pattern",
        { expected = "steps that differ", actual = ("%d different steps in %d STags"):format(different(steps), COUNT) })
    end,
  },
  case {
    id = "rdmap-stags-spread",
    purpose = ("%d STags made one after another spread over the whole range"):format(COUNT),
    rules = { "RDMAP-8.1.1-09" },
    role = "responder",
    needs = { memory = "write" },
    run = function(t)
      local eighths = {}
      for i, stag in ipairs(made(t)) do eighths[i] = stag >> 29 end
      -- Of 32 random STags, fewer than 4 of 8 parts are hit once in 10^11 runs.
      t:check(different(eighths) >= 4, "the target's STags are close together",
        { expected = "at least 4 of 8 parts of the range", actual = different(eighths) .. " of them" })
    end,
  },
}
