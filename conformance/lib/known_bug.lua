-- SPDX-License-Identifier: BSD-3-Clause
-- Cases named after a bug of some stack (cases/bugs): use "known_bug". Case files load this, once the vocabulary is there.

local vocabulary = iw.load("init").env

-- Describes a case, for both roles unless `fields` has one. Its tags are those of a bug seen in the field unless `fields` has others.
return function(fields)
  fields.tags = fields.tags or { "known-bug", "field" }
  if fields.role then return vocabulary.case(fields) end
  return vocabulary.both_roles(fields)
end
