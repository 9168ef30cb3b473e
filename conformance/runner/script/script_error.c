/* SPDX-License-Identifier: BSD-3-Clause */
#include "script_error.h"

#include <stdio.h>
#include <string.h>

#include "script_value.h"

const char *iw_script_where(lua_State *L, char where[IW_SCRIPT_WHERE])
{
    const struct iw_script *s = iw_script_of(L);
    int line = s->line;
    lua_Debug ar;
    for (int level = 0; lua_getstack(L, level, &ar); level++) {
        if (!lua_getinfo(L, "Slt", &ar))
            continue;
        if (ar.currentline >= 0 && *ar.source == '@' && strcmp(ar.source + 1, s->file) == 0) {
            line = ar.currentline;
            break;
        }
        if (s->loading && ar.istailcall)
            break; /* its caller left no frame: "return case{...}" in a function */
    }
    if (line <= 0)
        return NULL;
    snprintf(where, IW_SCRIPT_WHERE, "%s:%d", s->file, line);
    return where;
}

void iw_script_push_error(lua_State *L, const char *verdict, const char *reason, const char *where)
{
    lua_newtable(L);
    iw_script_set_text(L, "verdict", verdict);
    iw_script_set_text(L, "reason", reason);
    iw_script_set_text(L, "where", where);
}
