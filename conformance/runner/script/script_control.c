/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of `iw` that reaches the target: what it is, what it can do, and its agent. */
#include <assert.h>
#include <string.h>

#include "base/instrument.h"
#include "iwarp/control.h"
#include "iwarp/transport.h"
#include "script_budget.h"
#include "script_host.h"
#include "script_primitives.h"
#include "script_value.h"

enum { REPLY_SECONDS = 5 };

static struct iw_target *target_of(lua_State *L)
{
    struct iw_target *target = iw_script_of(L)->target;

    if (target == NULL)
        luaL_error(L, "there is no target outside of a case's run function");
    return target;
}

static struct iw_control *control_of(lua_State *L)
{
    struct iw_control *control = target_of(L)->control;

    if (control == NULL)
        luaL_error(L, "this target has no agent; the case's needs must say that it wants one");
    return control;
}

/* ---- JSON and Lua ---- */

static json_t *to_json(lua_State *L, int index, int depth);

static json_t *list_to_json(lua_State *L, int index, int depth)
{
    json_t *list = json_array();
    lua_Integer n = luaL_len(L, index);

    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, index, i);
        json_array_append_new(list, to_json(L, lua_gettop(L), depth));
        lua_pop(L, 1);
    }
    return list;
}

static json_t *table_to_json(lua_State *L, int index, int depth)
{
    json_t *object = json_object();

    lua_pushnil(L);
    while (lua_next(L, index)) {
        if (lua_type(L, -2) == LUA_TSTRING)
            json_object_set_new(object, lua_tostring(L, -2), to_json(L, lua_gettop(L), depth));
        lua_pop(L, 1);
    }
    return object;
}

/* A key and a value for each table that stands in another. */
static_assert(3 + 2 * IW_CONTROL_DEPTH <= LUA_MINSTACK, "a request has room on Lua's stack");

/* A table with a field 1, or with `n`, is a list. What JSON has no word for becomes null, and so
 * does what an agent would refuse: more than IW_CONTROL_DEPTH tables within one another. */
static json_t *to_json(lua_State *L, int index, int depth)
{
    bool list;
    switch (lua_type(L, index)) {
    case LUA_TBOOLEAN:
        return json_boolean(lua_toboolean(L, index));
    case LUA_TSTRING:
        return json_string(lua_tostring(L, index));
    case LUA_TNUMBER:
        return lua_isinteger(L, index) ? json_integer(lua_tointeger(L, index))
                                       : json_real(lua_tonumber(L, index));
    case LUA_TTABLE:
        if (!depth)
            return json_null();
        list = lua_rawgeti(L, index, 1) != LUA_TNIL;
        list = lua_getfield(L, index, "n") != LUA_TNIL || list;
        lua_pop(L, 2);
        return list ? list_to_json(L, index, depth - 1) : table_to_json(L, index, depth - 1);
    default:
        return json_null();
    }
}

/* Of an agent, so that it is not nested too deep for the stack. */
static void push_json(lua_State *L, json_t *value)
{
    const char *key;
    json_t *member;
    size_t i;
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        lua_newtable(L);
        json_object_foreach(value, key, member)
        {
            push_json(L, member);
            lua_setfield(L, -2, key);
        }
        return;
    case JSON_ARRAY:
        lua_newtable(L);
        json_array_foreach(value, i, member)
        {
            push_json(L, member);
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
        return;
    case JSON_STRING:
        lua_pushlstring(L, json_string_value(value), json_string_length(value));
        return;
    case JSON_INTEGER:
        lua_pushinteger(L, json_integer_value(value));
        return;
    case JSON_REAL:
        lua_pushnumber(L, json_real_value(value));
        return;
    case JSON_TRUE:
    case JSON_FALSE:
        lua_pushboolean(L, json_is_true(value));
        return;
    case JSON_NULL:
        lua_pushnil(L);
        return;
    }
}

/* Where the script keeps a JSON value, so that a Lua error does not leak it. */
static json_t **keep(lua_State *L)
{
    json_t **kept = &iw_script_of(L)->kept;

    json_decref(*kept);
    *kept = NULL;
    return kept;
}

static int push_kept(lua_State *L, json_t **kept)
{
    iw_script_taking(L);
    push_json(L, *kept);
    iw_script_taken(L);
    json_decref(*kept);
    *kept = NULL;
    return 1;
}

/* ---- the agent ---- */

/* iw.control(request [, seconds]): the reply, or nil and the error (also if the agent refused). */
static int l_control(lua_State *L)
{
    struct iw_control *control = control_of(L);
    char error[256] = "";
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 2);
    json_t **kept = keep(L);
    *kept = to_json(L, 1, IW_CONTROL_DEPTH);
    *kept =
        iw_control_call(control, *kept, iw_script_until(L, 2, REPLY_SECONDS), error, sizeof(error));
    if (*kept == NULL) {
        iw_script_check_time(L);
        iw_script_push_failure(L, error);
        lua_pushboolean(L, iw_control_lost(control));
        return 3;
    }
    if (!json_is_true(json_object_get(*kept, "ok"))) {
        const char *why = json_string_value(json_object_get(*kept, "error"));
        return iw_script_push_failure(L, why != NULL ? why : "refused without a reason");
    }
    return push_kept(L, kept);
}

/* iw.event([seconds]): the agent's next event; nil if none came. Connections are read meanwhile. */
static int l_event(lua_State *L)
{
    struct iw_script *s = iw_script_of(L);
    struct iw_control *control = control_of(L);
    uint64_t until = iw_script_until(L, 1, iw_script_patience(s));
    lua_settop(L, 1);
    json_t **kept = keep(L);
    while ((*kept = iw_control_event(control, 0)) == NULL) {
        if (iw_control_lost(control) ||
            !iw_station_wait(s->station, iw_control_fd(control), until)) {
            iw_script_check_time(L);
            return 0;
        }
    }
    iw_script_answered(s);
    return push_kept(L, kept);
}

/* ---- the target ---- */

/* iw.target(): {class, name, host, port, station_host, agent, embedded}; if something was said of
 * them, longest_timer (seconds), and startup: {crc, markers, revision, enhanced}. */
static int l_target(lua_State *L)
{
    const struct iw_target *t = target_of(L);

    lua_newtable(L);
    iw_script_set_text(L, "class", iw_target_class_name(t->class));
    iw_script_set_text(L, "name", t->name);
    iw_script_set_text(L, "host", t->host);
    iw_script_set_integer(L, "port", t->port);
    iw_script_set_text(L, "station_host", t->station_host != NULL ? t->station_host : t->host);
    iw_script_set_boolean(L, "agent", t->control != NULL);
    iw_script_set_boolean(L, "embedded", t->embedded);
    if (t->longest_timer > 0) {
        lua_pushnumber(L, t->longest_timer);
        lua_setfield(L, -2, "longest_timer");
    }
    if (t->startup != NULL) {
        lua_newtable(L);
        iw_script_set_boolean(L, "crc", t->startup->crc);
        iw_script_set_boolean(L, "markers", t->startup->markers);
        iw_script_set_integer(L, "revision", t->startup->revision);
        iw_script_set_boolean(L, "enhanced", t->startup->enhanced);
        lua_setfield(L, -2, "startup");
    }
    return 1;
}

/* iw.can(capability) */
static int l_can(lua_State *L)
{
    const struct iw_target *t = target_of(L);

    lua_pushboolean(L, t->can != NULL && t->can(t, luaL_checkstring(L, 1)));
    return 1;
}

/* iw.instrument(name): whether it works with a target of the case's role, and a word for that; nil
 * if nobody knows. */
static int l_instrument(lua_State *L)
{
    const struct iw_script *s = iw_script_asks(L);
    const char *name = luaL_checkstring(L, 1);
    enum iw_instrument instrument;

    if (!iw_instrument_find(name, &instrument))
        return luaL_error(L, "unknown instrument '%s'", name);
    enum iw_ability ability =
        s->playing == NULL
            ? IW_ABILITY_UNKNOWN
            : iw_instrument_ability(s->options->instruments, s->playing->role, instrument);
    if (ability == IW_ABILITY_UNKNOWN)
        return 0;
    lua_pushboolean(L, ability == IW_ABILITY_WORKS);
    lua_pushstring(L, iw_ability_name(ability));
    return 2;
}

/* iw.about(name): whether the case judges this instrument. */
static int l_about(lua_State *L)
{
    const struct iw_case *c = iw_script_asks(L)->playing;
    const char *name = luaL_checkstring(L, 1);
    enum iw_instrument instrument;

    if (!iw_instrument_find(name, &instrument))
        return luaL_error(L, "unknown instrument '%s'", name);
    lua_pushboolean(L,
                    c != NULL && c->n_rules > 0 && iw_instrument_serves(instrument, c->rules[0]));
    return 1;
}

/* iw.initiate(host, port): true, or nil and the error. */
static int l_initiate(lua_State *L)
{
    struct iw_target *t = target_of(L);
    const char *host = luaL_checkstring(L, 1);
    uint16_t port = (uint16_t)luaL_checkinteger(L, 2);
    char error[256] = "this target cannot be made to connect";

    iw_script_waits(L);
    if (t->initiate == NULL || t->initiate(t, host, port, error, sizeof(error)))
        return iw_script_push_failure(L, error);
    lua_pushboolean(L, 1);
    return 1;
}

/* iw.death(): how the target's process ended; nil while it is alive. */
static int l_death(lua_State *L)
{
    struct iw_target *t = target_of(L);
    lua_pushstring(L, t->death != NULL ? t->death(t) : NULL);
    return 1;
}

void iw_script_add_control(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"control", l_control},
        {"event", l_event},
        {"target", l_target},
        {"can", l_can},
        {"initiate", l_initiate},
        {"death", l_death},
        {"instrument", l_instrument},
        {"about", l_about},
        {NULL, NULL},
    };

    luaL_setfuncs(L, functions, 0);
}
