/* SPDX-License-Identifier: BSD-3-Clause */
/* Target files: a Lua file that returns a table of plain values; no libraries, bounded work. */
#include <lauxlib.h>
#include <lua.h>
#include <stdlib.h>
#include <string.h>

#include "base/capability.h"
#include "host/text.h"
#include "iwarp/nearest.h"
#include "iwarp/transport.h"
#include "target_spec.h"

enum { INSTRUCTIONS = 1000000, MEMORY = 16 << 20 };

/* ---- fields; each of these raises an error that names the field ---- */

static const char *string_of(lua_State *L, const char *field)
{
    if (lua_type(L, -1) != LUA_TSTRING ||
        memchr(lua_tostring(L, -1), 0, lua_rawlen(L, -1)) != NULL || !lua_rawlen(L, -1))
        luaL_error(L, "%s: expected a text", field);
    return lua_tostring(L, -1);
}

static void expect(lua_State *L, bool good, const char *field, const char *expected)
{
    if (!good)
        luaL_error(L, "%s: expected %s", field, expected);
}

static void unknown(lua_State *L, const char *field)
{
    static const char *const fields[] = {
        "name",   "address",        "start",    "station",    "ready",   "connect", "class",
        "crc",    "markers",        "revision", "port",       "agent",   "can",     "cannot",
        "ask",    "connect_within", "inside",   "token_file", "restart", "console", "coverage",
        "quirks", "longest_timer",  "ends",     "version",    "device"};
    struct iw_nearest n;

    iw_nearest_begin(&n, field);
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
        iw_nearest_offer(&n, fields[i]);
    luaL_error(L, "unknown field '%s'%s%s%s", field, n.best != NULL ? " (did you mean '" : "",
               n.best != NULL ? n.best : "", n.best != NULL ? "'?)" : "");
}

static void take_text(lua_State *L, struct iw_target_spec *spec, const char *field)
{
    const struct {
        const char *name;
        char **to;
    } texts[] = {{"name", &spec->name},       {"address", &spec->host},
                 {"start", &spec->start},     {"station", &spec->station_host},
                 {"ready", &spec->ready},     {"connect", &spec->connect},
                 {"ask", &spec->ask},         {"token_file", &spec->token_file},
                 {"inside", &spec->inside},   {"restart", &spec->restart},
                 {"console", &spec->console}, {"coverage", &spec->coverage},
                 {"version", &spec->version}};
    size_t i = 0;

    while (i < sizeof(texts) / sizeof(*texts) && strcmp(field, texts[i].name) != 0)
        i++;
    if (i == sizeof(texts) / sizeof(*texts))
        unknown(L, field);
    free(*texts[i].to);
    *texts[i].to = iw_text_copy(string_of(L, field));
}

static void take_port(lua_State *L, struct iw_target_spec *spec)
{
    int whole = 0;
    lua_Integer port = lua_tointegerx(L, -1, &whole);
    expect(L, whole && port >= 1 && port <= 65535, "port", "a number from 1 to 65535");
    spec->port = (uint16_t)port;
}

static double seconds_of(lua_State *L, const char *field)
{
    double seconds = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : 0;
    expect(L, seconds > 0 && seconds <= 3600, field, "seconds: a number above 0, at most 3600");
    return seconds;
}

static void take_agent(lua_State *L, struct iw_target_spec *spec)
{
    struct iw_host_port at;
    char error[160];
    if (iw_transport_parse(string_of(L, "agent"), &at, error, sizeof(error)))
        luaL_error(L, "agent: %s", error);
    free(spec->agent_host);
    spec->agent_host = iw_text_copy(at.host);
    spec->agent_port = at.port;
}

static void take_capabilities(lua_State *L, struct iw_target_spec *spec, bool can,
                              const char *field)
{
    char error[IW_CAPABILITY_ERROR];
    expect(L, lua_istable(L, -1), field, "a list of capabilities");
    for (lua_Integer i = 1, n = luaL_len(L, -1); i <= n; i++) {
        lua_rawgeti(L, -1, i);
        if (!iw_capability_known(string_of(L, field), error, sizeof(error)))
            luaL_error(L, "%s: expected %s", field, error);
        iw_target_add(spec, can, string_of(L, field));
        lua_pop(L, 1);
    }
}

static void take_quirks(lua_State *L, struct iw_target_spec *spec)
{
    char error[256];
    expect(L, lua_istable(L, -1), "quirks", "a list of quirks");
    for (lua_Integer i = 1, n = luaL_len(L, -1); i <= n; i++) {
        lua_rawgeti(L, -1, i);
        if (!iw_target_add_quirk(spec, string_of(L, "quirks"), error, sizeof(error)))
            luaL_error(L, "quirks: expected %s", error);
        lua_pop(L, 1);
    }
}

/* { name = ..., driver = ... } */
static void take_device(lua_State *L, struct iw_target_spec *spec)
{
    expect(L, lua_istable(L, -1), "device",
           "a table of texts: name, driver, firmware, kernel, operator");
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        int field = 0;
        while (
            field < IW_DEVICE_FIELDS &&
            (lua_type(L, -2) != LUA_TSTRING ||
             strcmp(lua_tostring(L, -2), iw_device_field_name((enum iw_device_field)field)) != 0))
            field++;
        expect(L, field < IW_DEVICE_FIELDS, "device",
               "its fields to be name, driver, firmware, kernel, operator");
        iw_device_say(&spec->device, (enum iw_device_field)field, string_of(L, "device"));
        lua_pop(L, 1);
    }
}

static void take_field(lua_State *L, struct iw_target_spec *spec, const char *field)
{
    if (strcmp(field, "class") == 0)
        expect(L, iw_target_class_find(string_of(L, field), &spec->class), field,
               "\"bare\", \"rping\" or \"agent\"");
    else if (strcmp(field, "crc") == 0)
        expect(L, iw_target_add_crc(spec, string_of(L, field)), field, "\"on\" or \"off\"");
    else if (strcmp(field, "markers") == 0)
        expect(L, iw_target_add_markers(spec, string_of(L, field)), field, "\"on\" or \"off\"");
    else if (strcmp(field, "revision") == 0)
        expect(L,
               lua_isinteger(L, -1) &&
                   iw_target_add_revision(spec, lua_tointeger(L, -1) == 1   ? "1"
                                                : lua_tointeger(L, -1) == 2 ? "2"
                                                                            : ""),
               field, "1 or 2");
    else if (strcmp(field, "port") == 0)
        take_port(L, spec);
    else if (strcmp(field, "connect_within") == 0)
        spec->connect_within = seconds_of(L, field);
    else if (strcmp(field, "ends") == 0)
        expect(L, spec->ends_connection = strcmp(string_of(L, field), "connection") == 0, field,
               "\"connection\"");
    else if (strcmp(field, "longest_timer") == 0)
        spec->longest_timer = seconds_of(L, field);
    else if (strcmp(field, "agent") == 0)
        take_agent(L, spec);
    else if (strcmp(field, "quirks") == 0)
        take_quirks(L, spec);
    else if (strcmp(field, "device") == 0)
        take_device(L, spec);
    else if (strcmp(field, "can") == 0 || strcmp(field, "cannot") == 0)
        take_capabilities(L, spec, field[3] == 0, field);
    else
        take_text(L, spec, field);
}

static void check_whole(lua_State *L, const struct iw_target_spec *spec)
{
    if (spec->inside != NULL && strstr(spec->inside, "{command}") == NULL)
        luaL_error(L, "inside: expected {command} in it");
    if ((spec->restart != NULL || spec->console != NULL || spec->coverage != NULL) &&
        spec->inside == NULL)
        luaL_error(L, "%s: of use only with inside",
                   spec->restart != NULL   ? "restart"
                   : spec->console != NULL ? "console"
                                           : "coverage");
    if (spec->class == IW_TARGET_AGENT) {
        if (spec->agent_host == NULL)
            luaL_error(L, "a target of class agent needs agent = \"HOST:PORT\"");
        return;
    }
    if (spec->agent_host != NULL || spec->token_file != NULL)
        luaL_error(L, "%s: only a target of class agent has one",
                   spec->agent_host != NULL ? "agent" : "token_file");
    if (spec->connect != NULL && spec->ask != NULL)
        luaL_error(L, "ask: a target that has a command to connect needs no person");
    if (spec->connect_within > 0 && spec->connect == NULL && spec->ask == NULL)
        luaL_error(L, "connect_within: of use only with connect or ask");
    if (spec->connect == NULL && spec->ask == NULL && spec->host == NULL)
        luaL_error(L, "expected address and port, connect, or ask");
    if (spec->host != NULL && !spec->port && spec->start == NULL)
        luaL_error(L, "port: missing; only a peer that is started can be given one");
    if (spec->ends_connection && spec->start == NULL)
        luaL_error(L, "ends: of use only with start");
    if (spec->ready != NULL && spec->start == NULL)
        luaL_error(L, "ready: of use only with start");
}

/* ---- reading ---- */

static void too_long(lua_State *L, lua_Debug *ar)
{
    (void)ar;
    luaL_error(L, "takes too long");
}

/* (path, spec) */
static int read_protected(lua_State *L)
{
    const char *path = lua_tostring(L, 1);
    struct iw_target_spec *spec = lua_touserdata(L, 2);
    if (luaL_loadfilex(L, path, "t"))
        return lua_error(L);
    lua_call(L, 0, 1);
    if (!lua_istable(L, -1))
        return luaL_error(L, "%s: expected a table: return { ... }", path);
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        if (lua_type(L, -2) != LUA_TSTRING)
            return luaL_error(L, "expected named fields only");
        take_field(L, spec, lua_tostring(L, -2));
        lua_pop(L, 1);
    }
    check_whole(L, spec);
    return 0;
}

/* *context: octets that are left. */
static void *allocate(void *context, void *block, size_t old, size_t size)
{
    size_t *left = context;
    if (block == NULL)
        old = 0;
    if (size > old && size - old > *left)
        return NULL;
    void *more = size ? realloc(block, size) : NULL;
    if (!size)
        free(block);
    if (more != NULL || !size)
        *left = *left + old - size;
    return more;
}

static char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *name = iw_text_copy(slash != NULL ? slash + 1 : path);
    char *dot = strrchr(name, '.');
    if (dot != NULL && dot != name)
        *dot = 0;
    return name;
}

struct iw_target_spec *iw_target_read(const char *path, char *error, size_t room)
{
    struct iw_target_spec *spec = iw_got(calloc(1, sizeof(*spec)));
    size_t left = MEMORY;
    lua_State *L = iw_got(lua_newstate(allocate, &left));
    lua_sethook(L, too_long, LUA_MASKCOUNT, INSTRUCTIONS);
    lua_pushcfunction(L, read_protected);
    lua_pushstring(L, path);
    lua_pushlightuserdata(L, spec);
    if (lua_pcall(L, 2, 0, 0)) {
        const char *why = lua_tostring(L, -1);
        if (why != NULL && strstr(why, path) != NULL)
            snprintf(error, room, "%s", why);
        else
            snprintf(error, room, "%s: %s", path, why != NULL ? why : "not readable");
        lua_close(L);
        iw_target_free(spec);
        return NULL;
    }
    lua_close(L);
    if (spec->name == NULL)
        spec->name = name_of(path);
    return spec;
}
