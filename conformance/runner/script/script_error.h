/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_SCRIPT_ERROR_H
#define IW_RUNNER_SCRIPT_ERROR_H

/* Where a script is, and errors as iw.raise() takes them. */

#include "script_host.h"

/* Writes "file:line" of the innermost function of the case file on the call stack; s->line if there
 * is none, or if it left its frame to a tail call while the file loads. Returns `where`, or NULL if
 * neither is known. */
const char *iw_script_where(lua_State *L, char where[IW_SCRIPT_WHERE]);
/* Pushes a table {verdict=, reason=, where=}. `where` may be NULL. */
void iw_script_push_error(lua_State *L, const char *verdict, const char *reason, const char *where);

#endif
