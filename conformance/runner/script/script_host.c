/* SPDX-License-Identifier: BSD-3-Clause */
#include "script_host.h"

#include <errno.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/capability.h"
#include "iwarp/nearest.h"
#include "iwarp/transport.h"

enum {
    INSTRUCTIONS = 10000, /* between two looks at the clock */
    PATIENCE_SECONDS = 3,
    BUSY_SECONDS = 600, /* more for a script that gets too little of the processors */
    SECOND = 1000000000 /* ns */
};

struct iw_script *iw_script_of(lua_State *L)
{
    return *(struct iw_script **)lua_getextraspace(L);
}

/* ---- bounds ---- */

/* "file:line" of the innermost function of the case file on the call stack; s->line if there is
 * none, or if it left its frame to a tail call while the file loads. NULL if neither is known. */
static const char *find_where(lua_State *L, char where[IW_SCRIPT_WHERE])
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

static void *allocate(void *context, void *block, size_t old, size_t size)
{
    struct iw_script *s = context;

    if (block == NULL)
        old = 0;
    if (!size) {
        free(block);
        s->used -= old;
        return NULL;
    }
    if (size > old && size - old > s->limit - s->used) {
        if (s->L != NULL)
            find_where(s->L, s->where);
        return NULL;
    }
    void *more = realloc(block, size);
    if (more != NULL)
        s->used = s->used - old + size;
    return more;
}

static void end_waiting(struct iw_script *s)
{
    if (s->waiting)
        s->waited += iw_transport_now() - s->waiting;
    s->waiting = 0;
}

void iw_script_waits(lua_State *L)
{
    struct iw_script *s = iw_script_of(L);

    end_waiting(s);
    s->waiting = iw_transport_now();
}

/* An error table, as iw.raise() takes one. */
static void push_error(lua_State *L, const char *verdict, const char *reason, const char *where)
{
    lua_newtable(L);
    iw_script_set_text(L, "verdict", verdict);
    iw_script_set_text(L, "reason", reason);
    iw_script_set_text(L, "where", where);
}

uint64_t iw_script_computed(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * SECOND + (uint64_t)used.tv_nsec;
}

/* Moves the deadline of a script that the machine, being busy, has not let compute for as long as
 * it may; false if it has. */
static bool moved(struct iw_script *s, uint64_t now)
{
    uint64_t used = iw_script_computed() - s->computed;

    if (used >= s->given || now >= s->began + s->given + BUSY_SECONDS * (uint64_t)SECOND)
        return false;
    s->deadline = now + (s->given - used);
    return true;
}

void iw_script_check_time(lua_State *L)
{
    struct iw_script *s = iw_script_of(L);
    uint64_t now = iw_transport_now();
    if (!s->deadline || now < s->deadline)
        return;
    end_waiting(s);
    if (s->waited < (now - s->began) / 4) {
        if (moved(s, now))
            return;
        luaL_error(L, "the case took longer than its deadline of %f s", s->allowed);
    }
    char reason[100], where[IW_SCRIPT_WHERE];
    snprintf(reason, sizeof(reason),
             "the case's %g s were over before the target had done its part", s->allowed);
    push_error(L, "INCONCLUSIVE", reason, find_where(L, where));
    lua_error(L);
}

void iw_script_taking(lua_State *L)
{
    struct iw_script *s = iw_script_of(L);

    s->before = s->used;
    s->taking = true;
}

static void end_taking(struct iw_script *s)
{
    if (s->taking && s->used > s->before)
        s->taken += s->used - s->before;
    s->taking = false;
}

void iw_script_taken(lua_State *L)
{
    end_taking(iw_script_of(L));
}

static void hook(lua_State *L, lua_Debug *ar)
{
    struct iw_script *s = iw_script_of(L);

    end_waiting(s);
    if (ar->event == LUA_HOOKCOUNT) {
        iw_script_check_time(L);
        return;
    }
    lua_getinfo(L, "Sl", ar);
    if (*ar->source == '@' && strcmp(ar->source + 1, s->file) == 0)
        s->line = ar->currentline;
}

double iw_script_timer(const struct iw_script *s)
{
    double scale = iw_script_scale(s), timer = s->target != NULL ? s->target->longest_timer : 0;

    return scale < 1 ? timer / scale : timer;
}

double iw_script_patience(const struct iw_script *s)
{
    return s->options->patience > 0 ? s->options->patience : PATIENCE_SECONDS;
}

double iw_script_scale(const struct iw_script *s)
{
    return s->options->time_scale > 0 ? s->options->time_scale : 1;
}

uint64_t iw_script_until(lua_State *L, int argument, double standard)
{
    const struct iw_script *s = iw_script_of(L);
    double seconds = luaL_optnumber(L, argument, standard) * iw_script_scale(s);
    if (!(seconds >= 0))
        seconds = 0;
    if (seconds > 1e6)
        seconds = 1e6;
    uint64_t until = iw_transport_now() + (uint64_t)(seconds * 1e9);
    iw_script_waits(L);
    return s->deadline && until > s->deadline ? s->deadline : until;
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
    const char *where = find_where(L, room);
    push_error(L, "ERROR", where != NULL ? bare(message) : message, where);
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
        end_taking(s);
        bool by_target = s->taken >= limit / 4;
        s->limit += 1024 * 1024;
        lua_pop(L, 1);
        lua_gc(L, LUA_GCCOLLECT);
        snprintf(reason, sizeof(reason),
                 by_target ? "the target says more than %zu MiB of memory can take"
                           : "the script takes more than %zu MiB of memory",
                 limit >> 20);
        push_error(L, by_target ? "INCONCLUSIVE" : "ERROR", reason, *s->where ? s->where : NULL);
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
    if (find_where(L, where) != NULL)
        iw_script_set_text(L, "where", where);
    return lua_error(L);
}

/* iw.where(): "file:line" of the case. */
static int l_where(lua_State *L)
{
    char where[IW_SCRIPT_WHERE];
    lua_pushstring(L, find_where(L, where));
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
    char error[256];
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
    s->L = lua_newstate(allocate, s);
    if (s->L == NULL) {
        snprintf(error, room, "no memory for a Lua state");
        return -1;
    }
    *(struct iw_script **)lua_getextraspace(s->L) = s;
    /* Lines are followed too, because a tail call ("return case{...}") leaves no frame behind. */
    lua_sethook(s->L, hook, LUA_MASKCOUNT | LUA_MASKLINE, INSTRUCTIONS);
    lua_pushcfunction(s->L, open_protected);
    if (iw_script_call(s, 0, 1))
        return 0;
    say(s->L, error, room);
    return -1;
}

void iw_script_close(struct iw_script *s)
{
    if (s->L != NULL)
        lua_close(s->L);
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
    push_error(L, "ERROR", text, where);
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
    lua_pushcfunction(s->L, load_protected);
    lua_pushvalue(s->L, -2);
    s->loading = true;
    bool done = iw_script_call(s, 1, 1);
    s->loading = false;
    if (done)
        return 0;
    say(s->L, error, room);
    return -1;
}

/* ---- fields ---- */

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

/* ---- results ---- */

int iw_script_push_failure(lua_State *L, const char *error)
{
    lua_pushnil(L);
    lua_pushstring(L, error);
    return 2;
}

void *iw_script_push_owned(lua_State *L, const char *type, size_t size, lua_CFunction collect)
{
    void *block = memset(lua_newuserdata(L, size), 0, size);
    if (luaL_newmetatable(L, type)) {
        lua_pushcfunction(L, collect);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    return block;
}
