/* SPDX-License-Identifier: BSD-3-Clause */
#include "script_host.h"
#include "script_budget.h"
#include "script_chunk.h"
#include "script_error.h"
#include "script_image.h"
#include "script_primitives.h"
#include "script_value.h"

#include <errno.h>
#include <jansson.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>

#include "base/capability.h"
#include "iwarp/nearest.h"
#include "iwarp/transport.h"

enum { INSTRUCTIONS = 10000 /* between two looks at the clock */ };

struct iw_script *iw_script_of(lua_State *L)
{
    return *(struct iw_script **)lua_getextraspace(L);
}

struct iw_script *iw_script_asks(lua_State *L)
{
    struct iw_script *s = iw_script_of(L);
    s->asked = true;
    return s;
}

/* ---- errors ---- */

/* Takes the "file:line: " off a message that Lua put it before. */
static const char *bare(const char *message)
{
    const char *at = message;

    while (((at = strchr(at, ':')) != NULL)) {
        const char *digits = at + 1;
        size_t n = strspn(digits, "0123456789");

        if (n && digits[n] == ':' && digits[n + 1] == ' ' &&
            memchr(message, ' ', (size_t)(at - message)) == NULL)
            return digits + n + 2;
        at++;
    }
    return message;
}

static int handler(lua_State *L)
{
    char room[IW_SCRIPT_WHERE];
    if (lua_istable(L, 1))
        return 1;
    const char *message = luaL_tolstring(L, 1, NULL);
    const char *where = iw_script_where(L, room);
    iw_script_push_error(L, "ERROR", where != NULL ? bare(message) : message, where);
    return 1;
}

bool iw_script_call(struct iw_script *s, int arguments, int results)
{
    lua_State *L = s->L;
    int base = lua_gettop(L) - arguments;
    lua_pushcfunction(L, handler);
    lua_insert(L, base);
    s->where[0] = 0;
    int status = lua_pcall(L, arguments, results, base);
    lua_remove(L, base);
    if (status == LUA_OK)
        return true;
    if (!lua_istable(L, -1)) { /* out of memory: the handler was not called */
        char reason[80];
        size_t limit = s->limit;
        iw_script_taken(L);
        bool by_target = s->taken >= limit / 4;
        s->limit += 1024 * 1024;
        lua_pop(L, 1);
        lua_gc(L, LUA_GCCOLLECT);
        snprintf(reason, sizeof(reason),
                 by_target ? "the target says more than %zu MiB of memory can take"
                           : "the script takes more than %zu MiB of memory",
                 limit >> 20);
        iw_script_push_error(L, by_target ? "INCONCLUSIVE" : "ERROR", reason,
                             *s->where ? s->where : NULL);
    }
    return false;
}

/* ---- the sandbox ---- */

/* iw.raise(table): ends the case with a verdict; adds where it was. */
static int l_raise(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    char where[IW_SCRIPT_WHERE];
    if (iw_script_where(L, where) != NULL)
        iw_script_set_text(L, "where", where);
    return lua_error(L);
}

/* iw.where(): "file:line" of the case. */
static int l_where(lua_State *L)
{
    char where[IW_SCRIPT_WHERE];
    lua_pushstring(L, iw_script_where(L, where));
    return 1;
}

static const char *const subjects[] = {
    [IW_SUBJECT_SENDER] = "sender",       [IW_SUBJECT_RECEIVER] = "receiver",
    [IW_SUBJECT_BOTH] = "both",           [IW_SUBJECT_INITIATOR] = "initiator",
    [IW_SUBJECT_RESPONDER] = "responder", [IW_SUBJECT_ULP] = "ulp"};

/* iw.rule(id): "FAIL", "NOTE" or "PASS", what breaking the rule amounts to; whose duty it is (a
 * word of the column `subject`); whether only provoking the target shows it. nil if unknown. */
static int l_rule(lua_State *L)
{
    const struct iw_rule *rule = iw_rule_find(luaL_checkstring(L, 1));

    if (rule == NULL)
        return 0;
    lua_pushstring(L, iw_verdict_name(iw_rule_verdict(rule)));
    lua_pushstring(L, subjects[rule->subject]);
    lua_pushboolean(L, rule->testable == IW_TESTABLE_WIRE_ACTIVE);
    return 3;
}

/* iw.check(name): whether there is such a check. */
static int l_check(lua_State *L)
{
    lua_pushboolean(L, iw_check_find(luaL_checkstring(L, 1)) != IW_CHECK_NONE);
    return 1;
}

/* iw.capability(word): nothing if there is such a capability, else what was expected.
 * iw.capability(number): the name of that one, from 1; nil behind the last. */
static int l_capability(lua_State *L)
{
    if (lua_type(L, 1) == LUA_TNUMBER) {
        lua_pushstring(L, iw_capability_at((size_t)luaL_checkinteger(L, 1) - 1));
        return 1;
    }
    char error[IW_CAPABILITY_ERROR];
    if (iw_capability_known(luaL_checkstring(L, 1), error, sizeof(error)))
        return 0;
    lua_pushstring(L, error);
    return 1;
}

/* iw.near(word, list): the name in the list that was probably meant; nil if none is near. Of "rule"
 * and "check" instead of a list: the id or name of one. */
static int l_near(lua_State *L)
{
    const char *word = luaL_checkstring(L, 1);
    if (lua_type(L, 2) == LUA_TSTRING) {
        lua_pushstring(L, strcmp(lua_tostring(L, 2), "rule") == 0 ? iw_nearest_rule(word)
                                                                  : iw_nearest_check(word));
        return 1;
    }
    luaL_checktype(L, 2, LUA_TTABLE);
    struct iw_nearest n;
    iw_nearest_begin(&n, word);
    for (lua_Integer i = 1; lua_rawgeti(L, 2, i) == LUA_TSTRING; i++) {
        iw_nearest_offer(&n, lua_tostring(L, -1)); /* the list keeps it alive */
        lua_pop(L, 1);
    }
    lua_pushstring(L, n.best);
    return 1;
}

/* iw.load(name): the value of lib/<name>.lua, run once. */
static int l_load(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);

    if (!*name || strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(name))
        return luaL_error(L, "bad name of a library file: '%s'", name);
    lua_getfield(L, LUA_REGISTRYINDEX, "iw.loaded");
    if (lua_getfield(L, -1, name) != LUA_TNIL)
        return 1;
    lua_pop(L, 1);
    const char *path = lua_pushfstring(L, "%s/%s.lua", iw_script_of(L)->options->library, name);
    if (iw_script_load_file(L, path))
        return lua_error(L);
    lua_call(L, 0, 1);
    lua_pushvalue(L, -1);
    lua_setfield(L, -4, name);
    return 1;
}

/* A finaliser would run outside of the script's time. */
static int l_setmetatable(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    if (lua_getfield(L, 2, "__gc") != LUA_TNIL)
        return luaL_error(L, "__gc is not allowed");
    lua_pop(L, 1);
    lua_setmetatable(L, 1);
    return 1;
}

static void open_safe(lua_State *L)
{
    static const luaL_Reg libs[] = {
        {LUA_GNAME, luaopen_base},        {LUA_TABLIBNAME, luaopen_table},
        {LUA_STRLIBNAME, luaopen_string}, {LUA_MATHLIBNAME, luaopen_math},
        {LUA_UTF8LIBNAME, luaopen_utf8},  {NULL, NULL},
    };
    static const char *const unsafe[] = {
        "collectgarbage", "dofile", "load", "loadfile", "print", "warn", "pcall", "xpcall", NULL,
    };

    for (const luaL_Reg *lib = libs; lib->func != NULL; lib++) {
        luaL_requiref(L, lib->name, lib->func, 1);
        lua_pop(L, 1);
    }
    for (const char *const *name = unsafe; *name != NULL; name++) {
        lua_pushnil(L);
        lua_setglobal(L, *name);
    }
    lua_register(L, "setmetatable", l_setmetatable);
    lua_getglobal(L, "math"); /* cases play the same every time */
    lua_pushnil(L);
    lua_setfield(L, -2, "random");
    lua_pushnil(L);
    lua_setfield(L, -2, "randomseed");
    lua_pop(L, 1);
}

static int open_protected(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"raise", l_raise},           {"where", l_where}, {"rule", l_rule},
        {"check", l_check},           {"load", l_load},   {"near", l_near},
        {"capability", l_capability}, {NULL, NULL},
    };

    open_safe(L);
    lua_newtable(L);
    lua_setfield(L, LUA_REGISTRYINDEX, "iw.loaded");
    luaL_newlib(L, functions);
    iw_script_add_wire(L);
    iw_script_add_station(L);
    iw_script_add_control(L);
    iw_script_add_capture(L);
    iw_script_add_replay(L);
    lua_setglobal(L, "iw");
    lua_pushcfunction(L, l_load);
    lua_pushstring(L, "init");
    lua_call(L, 1, 1);
    return 1;
}

/* One line from the error table on top of the stack, which is popped. */
static void say(lua_State *L, char *error, size_t room)
{
    lua_getfield(L, -1, "where");
    lua_getfield(L, -2, "reason");
    const char *where = lua_tostring(L, -2);
    const char *reason = lua_tostring(L, -1);
    snprintf(error, room, "%s%s%s", where != NULL ? where : "", where != NULL ? ": " : "",
             reason != NULL ? reason : "unknown error");
    lua_pop(L, 3);
}

int iw_script_open(struct iw_script *s, char *error, size_t room)
{
    s->limit = s->options->memory ? s->options->memory : 64u * 1024 * 1024;
    if (iw_script_image_take(s))
        return 0;
    iw_script_image_begin(s);
    s->L = lua_newstate(iw_script_allocate, s);
    if (s->L == NULL) {
        snprintf(error, room, "no memory for a Lua state");
        return -1;
    }
    *(struct iw_script **)lua_getextraspace(s->L) = s;
    /* Lines are followed too, because a tail call ("return case{...}") leaves no frame behind. */
    lua_sethook(s->L, iw_script_hook, LUA_MASKCOUNT | LUA_MASKLINE, INSTRUCTIONS);
    lua_pushcfunction(s->L, open_protected);
    if (iw_script_call(s, 0, 1)) {
        iw_script_image_keep(s);
        return 0;
    }
    say(s->L, error, room);
    return -1;
}

void iw_script_close(struct iw_script *s)
{
    json_decref(s->kept);
    s->kept = NULL;
    iw_script_end_recording(s);
    if (s->L != NULL || s->stretched)
        iw_script_image_end(s);
    s->L = NULL;
}

/* A chunk that does not compile: Lua shortens a long path in its message, we do not. */
static int syntax_error(lua_State *L, const char *file)
{
    const char *message = lua_tostring(L, -1);
    const char *text = bare(message);
    const char *line = text == message ? message : text - 2;
    while (line > message && line[-1] != ':')
        line--;
    const char *where = text == message ? NULL : lua_pushfstring(L, "%s:%d", file, atoi(line));
    iw_script_push_error(L, "ERROR", text, where);
    return lua_error(L);
}

/* Loads the case file with the vocabulary's `env`, runs it, and hands its value to `collect`. */
static int load_protected(lua_State *L)
{
    struct iw_script *s = iw_script_of(L);

    lua_getfield(L, 1, "collect");
    if (iw_script_load_file(L, s->file))
        return syntax_error(L, s->file);
    lua_getfield(L, 1, "env");
    lua_setupvalue(L, -2, 1);
    lua_call(L, 0, 1);
    lua_call(L, 1, 1);
    return 1;
}

int iw_script_load(struct iw_script *s, char *error, size_t room)
{
    if (s->loaded)
        return 0;
    lua_pushcfunction(s->L, load_protected);
    lua_pushvalue(s->L, -2);
    s->loading = true;
    bool done = iw_script_call(s, 1, 1);
    s->loading = false;
    if (done) {
        s->loaded = true;
        iw_script_image_keep(s);
        return 0;
    }
    say(s->L, error, room);
    return -1;
}
