/* SPDX-License-Identifier: BSD-3-Clause */
/* Case descriptions, from Lua tables into structs. */
#include <stdlib.h>
#include <string.h>

#include "host/text.h"
#include "script_budget.h"
#include "script_case.h"
#include "script_host.h"
#include "script_value.h"

static void take_rule(lua_State *L, void *out)
{
    *(const struct iw_rule **)out = iw_rule_find(lua_tostring(L, -1));
}

static void take_tag(lua_State *L, void *out)
{
    *(char **)out = iw_text_copy(lua_tostring(L, -1));
}

static void take_need(lua_State *L, void *out)
{
    *(struct iw_need *)out =
        (struct iw_need){.name = iw_script_text(L, "name"), .value = iw_script_text(L, "value")};
}

/* The list in a field of the table on top of the stack, as an array with members of `size` octets;
 * `take` makes one of what is on top of the stack. */
static void *take_list(lua_State *L, const char *field, size_t size, size_t *count,
                       void (*take)(lua_State *L, void *out))
{
    lua_getfield(L, -1, field);
    *count = (size_t)luaL_len(L, -1);
    char *list = iw_got(calloc(*count, size));
    for (size_t i = 0; i < *count; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        take(L, list + i * size);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return list;
}

/* The normalised case on top of the stack. False if the file has spoilt it since it was checked. */
static bool take_case(lua_State *L, const char *file, size_t index, struct iw_case *c)
{
    *c = (struct iw_case){.id = iw_script_text(L, "id"),
                          .purpose = iw_script_text(L, "purpose"),
                          .file = iw_text_copy(file),
                          .index = (unsigned)index};
    char *role = iw_script_text(L, "role"), *worst = iw_script_text(L, "worst");
    lua_getfield(L, -1, "line");
    c->line = (int)lua_tointeger(L, -1);
    lua_getfield(L, -2, "deadline");
    c->deadline = lua_tonumber(L, -1);
    lua_pop(L, 2);
    c->rules = take_list(L, "rules", sizeof(const struct iw_rule *), &c->n_rules, take_rule);
    c->tags = take_list(L, "tags", sizeof(char *), &c->n_tags, take_tag);
    c->needs = take_list(L, "needs", sizeof(*c->needs), &c->n_needs, take_need);
    bool whole =
        c->id != NULL && c->purpose != NULL && role != NULL && iw_verdict_find(worst, &c->worst);
    if (whole)
        c->role = strcmp(role, "initiator") ? IW_MPA_RESPONDER : IW_MPA_INITIATOR;
    free(role);
    free(worst);
    return whole;
}

int iw_case_load(const char *file, const struct iw_run_options *options, struct iw_case **out,
                 size_t *count, char *error, size_t room)
{
    struct iw_script s = {.options = options, .file = file};

    iw_script_allow_reading(&s);
    bool failed = iw_script_open(&s, error, room) || iw_script_load(&s, error, room);
    if (!failed) {
        size_t n = (size_t)luaL_len(s.L, -1);
        struct iw_case *cases = iw_got(calloc(n, sizeof(*cases)));
        for (size_t i = 0; i < n && !failed; i++) {
            lua_rawgeti(s.L, -1, (lua_Integer)i + 1);
            failed = !take_case(s.L, file, i, &cases[i]);
            lua_pop(s.L, 1);
        }
        if (failed) {
            snprintf(error, room, "%s: it changes its cases after their description", file);
            iw_case_free_all(cases, n);
        } else {
            *out = cases;
            *count = n;
        }
    }
    iw_script_close(&s);
    return failed ? -1 : 0;
}
