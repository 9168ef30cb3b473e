/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of `iw` that `iwarp-conform replay` stands on. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/text.h"
#include "script_budget.h"
#include "script_chunk.h"
#include "script_host.h"
#include "script_primitives.h"
#include "script_replay.h"
#include "script_value.h"

/* The table that the file of a map returns. It sees nothing but strings, tables and numbers. */
static void push_map(lua_State *L, const char *path)
{
    static const char *const seen[] = {"string", "table", "math", "ipairs", "pairs", NULL};

    if (iw_script_load_file(L, path))
        lua_error(L);
    lua_newtable(L);
    for (const char *const *name = seen; *name != NULL; name++) {
        lua_getglobal(L, *name);
        lua_setfield(L, -2, *name);
    }
    lua_setupvalue(L, -2, 1);
    lua_call(L, 0, 1);
    if (!lua_istable(L, -1))
        luaL_error(L, "%s: expected a file that returns a table", path);
}

/* iw.replay(): {capture, as, stream, map, time, private} as the command line says; a map of a file
 * is a table. */
static int l_replay(lua_State *L)
{
    const struct iw_replay *replay = iw_script_asks(L)->options->replay;

    if (replay == NULL)
        return luaL_error(L, "this is no run of `iwarp-conform replay`");
    lua_newtable(L);
    iw_script_set_text(L, "capture", replay->capture);
    iw_script_set_text(L, "as", replay->as);
    iw_script_set_text(L, "stream", replay->stream);
    iw_script_set_text(L, "time", replay->time);
    iw_script_set_text(L, "private", replay->private);
    iw_script_set_text(L, "map", replay->map);
    if (replay->map != NULL && strpbrk(replay->map, "./") != NULL) {
        push_map(L, replay->map);
        lua_setfield(L, -2, "map");
    }
    return 1;
}

void iw_script_add_replay(lua_State *L)
{
    lua_pushcfunction(L, l_replay);
    lua_setfield(L, -2, "replay");
}

/* On the stack: the name of the function. */
static int ask(lua_State *L)
{
    lua_getglobal(L, "iw");
    lua_getfield(L, -1, "load");
    lua_pushstring(L, "replay");
    lua_call(L, 1, 1);
    lua_pushvalue(L, 1);
    lua_gettable(L, -2);
    lua_call(L, 0, 1);
    return 1;
}

/* Returns the message without "FILE.lua:LINE: " before it, if that is a file of ours: our user has
 * not written it. */
static const char *without_place(const char *message, const char *library)
{
    const char *end = strstr(message, ".lua:"), *name = end;
    if (end == NULL)
        return message;
    while (name > message && name[-1] != '/')
        name--;
    char *file = iw_text_format("%s/%.*s.lua", library, (int)(end - name), name);
    const char *rest = end + 5;
    rest += strspn(rest, "0123456789");
    bool ours = access(file, F_OK) == 0 && strncmp(rest, ": ", 2) == 0;
    free(file);
    return ours ? rest + 2 : message;
}

int iw_script_ask_replay(const struct iw_run_options *options, const char *what, char **text,
                         char *error, size_t room)
{
    struct iw_script s = {.options = options, .file = "replay"};
    iw_script_allow_reading(&s);
    bool failed = iw_script_open(&s, error, room);
    if (!failed) {
        lua_pushcfunction(s.L, ask);
        lua_pushstring(s.L, what);
        failed = !iw_script_call(&s, 1, 1);
        if (failed)
            lua_getfield(s.L, -1, "reason");
        const char *answer = lua_tostring(s.L, -1);
        if (failed)
            snprintf(error, room, "%s",
                     answer != NULL ? without_place(answer, options->library) : "unknown error");
        else
            failed = answer == NULL || (*text = strdup(answer)) == NULL;
    }
    iw_script_close(&s);
    return failed ? -1 : 0;
}
