-- SPDX-License-Identifier: BSD-3-Clause
-- What `iwarp-conform replay` plays: a conversation of a capture, as the command line says.

return use("replay").as_case(case)
