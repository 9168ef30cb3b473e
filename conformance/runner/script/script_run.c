/* SPDX-License-Identifier: BSD-3-Clause */
/* Plays one case: the script, then the end that every case has, then the capture. */
#include <stdlib.h>
#include <string.h>

#include "host/text.h"
#include "iwarp/transport.h"
#include "script_budget.h"
#include "script_host.h"
#include "script_run.h"
#include "script_value.h"
#include "sequence.h"

enum { ERROR_ROOM = 1024 };

/* A field of the table on top of the stack; `standard` if it is no whole number. */
static lua_Integer integer(lua_State *L, const char *field, lua_Integer standard)
{
    int whole = 0;
    lua_getfield(L, -1, field);
    lua_Integer value = lua_tointegerx(L, -1, &whole);
    lua_pop(L, 1);
    return whole ? value : standard;
}

static bool truth(lua_State *L, const char *field)
{
    bool value = lua_getfield(L, -1, field) != LUA_TNIL && lua_toboolean(L, -1);
    lua_pop(L, 1);
    return value;
}

/* The table on top of the stack. */
static struct iw_deviation deviation(lua_State *L)
{
    char *verdict = iw_script_text(L, "verdict"), *rule = iw_script_text(L, "rule");
    struct iw_deviation d = {
        .verdict = IW_VERDICT_FAIL,
        .rule = rule != NULL ? iw_rule_find(rule) : NULL,
        .how = iw_script_text(L, "how"),
        .wire = truth(L, "wire"),
        .fault = iw_script_text(L, "fault"),
        .came = iw_script_text(L, "came"),
        .text = iw_script_text(L, "reason"),
        .expected = iw_script_text(L, "expected"),
        .actual = iw_script_text(L, "actual"),
        .connection = (int)integer(L, "connection", -1),
        .from_target = truth(L, "from_target"),
        .position = (uint64_t)integer(L, "position", 0),
    };
    iw_verdict_find(verdict, &d.verdict);
    free(verdict);
    free(rule);
    return d;
}

static void take_deviations(lua_State *L, struct iw_result *out)
{
    if (lua_getfield(L, -1, "deviations") == LUA_TTABLE) {
        size_t count = (size_t)luaL_len(L, -1);
        if (count > 0)
            out->deviations = iw_got(calloc(count, sizeof(*out->deviations)));
        while (out->n_deviations < count) {
            lua_rawgeti(L, -1, (lua_Integer)out->n_deviations + 1);
            out->deviations[out->n_deviations++] = deviation(L);
            lua_pop(L, 1);
        }
    }
    lua_pop(L, 1);
}

/* The table on top of the stack: an error, or what `finish` returned. */
static void take_result(lua_State *L, struct iw_result *out)
{
    char *verdict = iw_script_text(L, "verdict");
    char *rule = iw_script_text(L, "rule");

    out->verdict = IW_VERDICT_ERROR;
    iw_verdict_find(verdict, &out->verdict);
    out->rule = rule != NULL ? iw_rule_find(rule) : NULL;
    out->reason = iw_script_text(L, "reason");
    out->expected = iw_script_text(L, "expected");
    out->actual = iw_script_text(L, "actual");
    out->where = iw_script_text(L, "where");
    out->observed = iw_script_text(L, "observed");
    out->notes = iw_script_text(L, "notes");
    out->blocked = iw_script_text(L, "blocked");
    take_deviations(L, out);
    free(verdict);
    free(rule);
}

static void set_error(struct iw_result *out, const char *reason)
{
    out->verdict = IW_VERDICT_ERROR;
    free(out->reason);
    out->reason = iw_text_copy(reason);
}

/* Calls vocabulary.ending[step] with the outcome so far (a table, or nil), which is on top of the
 * stack. An error becomes the outcome, through vocabulary.ending.merge. */
static void end_step(struct iw_script *s, int vocabulary, const char *step)
{
    lua_State *L = s->L;

    lua_getfield(L, vocabulary, "ending");
    lua_getfield(L, -1, step);
    lua_pushvalue(L, -3);
    if (iw_script_call(s, 1, 0)) {
        lua_pop(L, 1);
        return;
    }
    lua_getfield(L, -2, "merge");
    lua_pushvalue(L, -4); /* the outcome so far */
    lua_pushvalue(L, -3); /* the error */
    iw_script_call(s, 2, 1);
    lua_replace(L, -4);
    lua_pop(L, 2);
}

/* vocabulary.play(case), then the steps that end every case. On the stack: the vocabulary, the list
 * of cases. */
static void play(struct iw_script *s, struct iw_result *out)
{
    lua_State *L = s->L;
    int vocabulary = lua_gettop(L) - 1;

    lua_getfield(L, vocabulary, "play");
    lua_rawgeti(L, -2, (lua_Integer)s->playing->index + 1);
    if (iw_script_call(s, 1, 0))
        lua_pushnil(L);
    iw_script_allow_playing(s, 4 * iw_script_patience(s) + 2);
    end_step(s, vocabulary, "close");
    end_step(s, vocabulary, "alive");
    lua_getfield(L, vocabulary, "ending");
    lua_getfield(L, -1, "result");
    lua_pushvalue(L, -3);
    iw_script_call(s, 1, 1);
    take_result(L, out);
}

static void save(struct iw_exchange *x, const struct iw_case *c,
                 const struct iw_run_options *options, struct iw_result *out)
{
    char title[2048], round[16] = "";
    snprintf(title, sizeof(title), "case %s: %s\n%s%s%s", c->id, c->purpose,
             iw_verdict_name(out->verdict), out->reason != NULL ? ": " : "",
             out->reason != NULL ? out->reason : "");
    if (options->round > 0)
        snprintf(round, sizeof(round), ".%u", options->round + 1);
    char *path = iw_text_format("%s/%s%s.pcapng", options->pcap_dir, c->id, round);
    char error[512];
    if (!iw_exchange_save(x, path, title, error, sizeof(error))) {
        out->pcap = path;
        out->frames = iw_exchange_frames(x);
        for (size_t i = 0; i < out->n_deviations; i++) {
            struct iw_deviation *d = &out->deviations[i];
            d->frame = iw_exchange_frame(x, d->connection, d->from_target, d->position);
        }
        return;
    }
    free(path);
    char reason[1024];
    snprintf(reason, sizeof(reason), "the capture could not be written: %s", error);
    if (out->verdict != IW_VERDICT_ERROR)
        set_error(out, reason);
}

/* Returns whether the list of cases on the stack has this one in its place. A loop over pairs() has
 * another order in each state. */
static bool is_case(lua_State *L, const struct iw_case *c)
{

    lua_rawgeti(L, -1, (lua_Integer)c->index + 1);
    lua_getfield(L, -1, "id");
    bool same = strcmp(lua_tostring(L, -1), c->id) == 0;
    lua_pop(L, 2);
    return same;
}

int iw_script_run_case(const struct iw_case *c, struct iw_target *target,
                       const struct iw_run_options *options, struct iw_result *out)
{
    struct iw_script s = {.options = options, .file = c->file, .playing = c, .target = target};
    struct iw_exchange *exchange = iw_exchange_create();
    uint64_t began = iw_transport_now();
    *out = (struct iw_result){.id = iw_text_copy(c->id), .role = c->role};
    s.station = iw_station_create(exchange, target->tun, options->trace);
    iw_station_quirks(s.station, options->no_quirks,
                      target->quirks | (options->quirks != NULL ? options->quirks[c->role] : 0));
    if (options->trace != NULL)
        fprintf(options->trace, "case %s\n", c->id);
    iw_script_allow_reading(&s);
    char error[ERROR_ROOM];
    if (iw_script_open(&s, error, sizeof(error)) || iw_script_load(&s, error, sizeof(error))) {
        set_error(out, error);
    } else if ((lua_Integer)c->index >= luaL_len(s.L, -1)) {
        set_error(out, "the case file has changed since it was read");
    } else if (!is_case(s.L, c)) {
        set_error(out,
                  "the file gives other cases, or in another order, each time that it is read");
    } else {
        s.line = c->line;
        iw_script_allow_playing(&s, c->deadline);
        play(&s, out);
    }
    out->waited = iw_script_waits_of(&s);
    out->slowest = (double)s.slowest / 1e9;
    iw_script_close(&s);
    if (out->verdict != IW_VERDICT_PASS && out->where == NULL)
        out->where = iw_text_format("%s:%d", c->file, c->line);
    out->heard = iw_exchange_heard(exchange);
    if (options->exchange)
        out->exchange = iw_sequence_json(exchange);
    if (options->pcap_dir != NULL)
        save(exchange, c, options, out);
    iw_station_destroy(s.station);
    iw_exchange_destroy(exchange);
    out->seconds = (double)(iw_transport_now() - began) / 1e9;
    return 0;
}
