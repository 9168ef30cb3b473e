-- SPDX-License-Identifier: BSD-3-Clause
-- A minimal TAP producer for the plain Lua tests of this folder.
local tap = { count = 0, failed = 0 }

function tap.ok(condition, name, ...)
  tap.count = tap.count + 1
  if not condition then tap.failed = tap.failed + 1 end
  print(("%s %d - %s"):format(condition and "ok" or "not ok", tap.count, name))
  if not condition and select("#", ...) > 0 then
    print("# " .. table.concat({ ... }, " "):gsub("\n", "\n# "))
  end
  return condition
end

function tap.is(actual, expected, name)
  return tap.ok(actual == expected, name, "expected:", tostring(expected), "\nactual:  ",
    tostring(actual))
end

-- Prints the plan and ends the program: 0 if every test was ok.
function tap.done()
  print("1.." .. tap.count)
  if tap.failed > 0 then print(("# %d of %d failed"):format(tap.failed, tap.count)) end
  os.exit(tap.failed == 0 and tap.count > 0 and 0 or 1)
end

return tap
