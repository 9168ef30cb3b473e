/* SPDX-License-Identifier: BSD-3-Clause */
#include "primitives.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host/text.h"
#include "play.h"

static const char helpers[] =
    "function hex(s)\n"
    "  return (s:gsub('.', function(c) return ('%02x'):format(c:byte()) end))\n"
    "end\n"
    "function show(v)\n"
    "  if type(v) == 'string' then return v:find '[^%g ]' and 'x' .. hex(v) or v end\n"
    "  if type(v) ~= 'table' then return tostring(v) end\n"
    "  local fields = {}\n"
    "  for k, w in pairs(v) do fields[#fields + 1] = k .. '=' .. show(w) end\n"
    "  table.sort(fields)\n"
    "  return '{' .. table.concat(fields, ' ') .. '}'\n"
    "end\n";

void primitives_open(struct iw_script *s)
{
    char error[512];

    s->file = PRIMITIVES_FILE;
    if (s->options == NULL)
        s->options = &play_options;
    if (iw_script_open(s, error, sizeof(error)))
        fail_msg("%s", error);
    assert_int_equal(luaL_dostring(s->L, helpers), LUA_OK);
    lua_settop(s->L, 0);
}

char *primitives_show(struct iw_script *s)
{
    char *text;

    lua_getglobal(s->L, "show");
    lua_insert(s->L, -2);
    lua_call(s->L, 1, 1);
    text = iw_text_copy(lua_tostring(s->L, -1));
    lua_pop(s->L, 1);
    return text;
}

char *primitives_run(struct iw_script *s, const char *code)
{
    lua_State *L = s->L;
    int top = lua_gettop(L);
    char *text;

    if (luaL_loadbuffer(L, code, strlen(code), "@" PRIMITIVES_FILE))
        fail_msg("%s", lua_tostring(L, -1));
    if (iw_script_call(s, 0, 1)) {
        text = primitives_show(s);
    } else {
        lua_getfield(L, -1, "verdict");
        lua_getfield(L, -2, "where");
        lua_getfield(L, -3, "reason");
        text =
            iw_text_format("%s %s: %s", lua_tostring(L, -3),
                           lua_isnil(L, -2) ? "nowhere" : lua_tostring(L, -2), lua_tostring(L, -1));
        lua_pop(L, 4);
    }
    assert_int_equal(lua_gettop(L), top);
    return text;
}

void primitives_give(struct iw_script *s, const char *code, const char *expected)
{
    char *text = primitives_run(s, code);

    if (strcmp(text, expected) != 0)
        print_error("%s\n", code);
    assert_string_equal(text, expected);
    free(text);
}
