/* SPDX-License-Identifier: BSD-3-Clause */
#include "script_value.h"

#include <lauxlib.h>
#include <string.h>

#include "host/text.h"

char *iw_script_text(lua_State *L, const char *field)
{
    char *copy =
        lua_getfield(L, -1, field) == LUA_TSTRING ? iw_text_copy(lua_tostring(L, -1)) : NULL;
    lua_pop(L, 1);
    return copy;
}

uint64_t iw_script_number(lua_State *L, int table, const char *field, uint64_t standard,
                          uint64_t most)
{
    uint64_t value = standard;

    if (lua_getfield(L, table, field) != LUA_TNIL) {
        int whole = lua_isboolean(L, -1);
        value = (uint64_t)(whole ? lua_toboolean(L, -1) : lua_tointegerx(L, -1, &whole));
        if (!whole)
            luaL_error(L, "field '%s' is no whole number", field);
        if (value > most)
            luaL_error(L, "field '%s' is %I, it must be 0 to %I", field, (lua_Integer)value,
                       (lua_Integer)most);
    }
    lua_pop(L, 1);
    return value;
}

bool iw_script_boolean(lua_State *L, int table, const char *field, bool standard)
{
    bool value = standard;

    if (lua_getfield(L, table, field) != LUA_TNIL)
        value = lua_isinteger(L, -1) ? lua_tointeger(L, -1) != 0 : lua_toboolean(L, -1);
    lua_pop(L, 1);
    return value;
}

void iw_script_set_text(lua_State *L, const char *field, const char *text)
{
    lua_pushstring(L, text);
    lua_setfield(L, -2, field);
}

void iw_script_set_octets(lua_State *L, const char *field, const void *octets, size_t length)
{
    lua_pushlstring(L, octets, length);
    lua_setfield(L, -2, field);
}

void iw_script_set_integer(lua_State *L, const char *field, uint64_t value)
{
    lua_pushinteger(L, (lua_Integer)value);
    lua_setfield(L, -2, field);
}

void iw_script_set_boolean(lua_State *L, const char *field, bool value)
{
    lua_pushboolean(L, value);
    lua_setfield(L, -2, field);
}

int iw_script_push_failure(lua_State *L, const char *error)
{
    lua_pushnil(L);
    lua_pushstring(L, error);
    return 2;
}
