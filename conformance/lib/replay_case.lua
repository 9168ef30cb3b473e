-- SPDX-License-Identifier: BSD-3-Clause
-- The case of `iwarp-conform replay`: a conversation of a capture, chosen on the command line.

return use("replay").as_case(case)
