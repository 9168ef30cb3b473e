/* SPDX-License-Identifier: BSD-3-Clause */
/* Case descriptions, from Lua tables into structs. */
#include <stdlib.h>
#include <string.h>

#include "script_case.h"
#include "script_host.h"

static void take_rules(lua_State *L, struct iw_case *c)
{

    lua_getfield(L, -1, "rules");
    size_t n = (size_t)luaL_len(L, -1);
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): the list is one of pointers */
    c->rules = calloc(n + 1, sizeof(*c->rules));
    for (size_t i = 0; c->rules && i < n; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        c->rules[c->n_rules++] = iw_rule_find(lua_tostring(L, -1));
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static void take_tags(lua_State *L, struct iw_case *c)
{

    lua_getfield(L, -1, "tags");
    size_t n = (size_t)luaL_len(L, -1);
    c->tags = calloc(n + 1, sizeof(*c->tags));
    for (size_t i = 0; c->tags && i < n; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        c->tags[c->n_tags++] = strdup(lua_tostring(L, -1));
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static void take_needs(lua_State *L, struct iw_case *c)
{

    lua_getfield(L, -1, "needs");
    size_t n = (size_t)luaL_len(L, -1);
    c->needs = calloc(n + 1, sizeof(*c->needs));
    for (size_t i = 0; c->needs && i < n; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        c->needs[c->n_needs].name = iw_script_text(L, "name");
        c->needs[c->n_needs++].value = iw_script_text(L, "value");
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

/* The normalised case on top of the stack. False if there was no memory. */
static bool take(lua_State *L, const char *file, struct iw_case *c)
{
    char *role = iw_script_text(L, "role");
    char *worst = iw_script_text(L, "worst");

    c->id = iw_script_text(L, "id");
    c->purpose = iw_script_text(L, "purpose");
    c->file = strdup(file);
    lua_getfield(L, -1, "line");
    c->line = (int)lua_tointeger(L, -1);
    lua_getfield(L, -2, "deadline");
    c->deadline = lua_tonumber(L, -1);
    lua_pop(L, 2);
    take_rules(L, c);
    take_tags(L, c);
    take_needs(L, c);
    bool done = role && worst && c->id && c->purpose && c->file && c->rules && c->tags && c->needs;
    if (done) {
        c->role = strcmp(role, "initiator") ? IW_MPA_RESPONDER : IW_MPA_INITIATOR;
        iw_verdict_find(worst, &c->worst);
    }
    free(role);
    free(worst);
    return done;
}

int iw_case_load(const char *file, const struct iw_run_options *options, struct iw_case **out,
                 size_t *count, char *error, size_t room)
{
    struct iw_script s = {.options = options, .file = file};
    struct iw_case *cases = NULL;
    size_t n = 0, taken = 0;

    iw_script_allow_reading(&s);
    int failed = iw_script_open(&s, error, room) || iw_script_load(&s, error, room);
    if (!failed) {
        n = (size_t)luaL_len(s.L, -1);
        cases = calloc(n + 1, sizeof(*cases));
        while (cases && taken < n) {
            lua_rawgeti(s.L, -1, (lua_Integer)taken + 1);
            cases[taken].index = (unsigned)taken;
            if (!take(s.L, file, &cases[taken++]))
                break;
            lua_pop(s.L, 1);
        }
        failed = !cases || taken < n || (n && !cases[n - 1].id);
        if (failed)
            snprintf(error, room, "%s: no memory for its cases", file);
    }
    iw_script_close(&s);
    if (failed) {
        iw_case_free_all(cases, taken);
        return -1;
    }
    *out = cases;
    *count = n;
    return 0;
}
