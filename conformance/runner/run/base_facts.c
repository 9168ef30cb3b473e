/* SPDX-License-Identifier: BSD-3-Clause */
#include "base_facts.h"

#include <stdlib.h>
#include <string.h>

#include "host/text.h"
#include "script/script_case.h"
#include "target/target_can.h"

struct taking {
    struct iw_base_facts *out;
    struct iw_target_spec *spec;
    const struct iw_case *c; /* NULL: it is played */
};

/* ---- what it found ---- */

/* "NAME|ADVICE|TEXT". There is nothing to advise where the user has said something. */
static void take_fact(struct iw_base_facts *out, const struct iw_target_spec *spec, char *line)
{
    const char *name = strsep(&line, "|"), *advice = strsep(&line, "|");
    if (line != NULL)
        iw_facts_add(&out->facts, name, line, iw_target_said(spec, name) ? NULL : advice);
}

/* "2S", "1CM" ...: the revision, and letters for C, M and RFC 6581's S. */
static void take_station(struct iw_target_spec *spec, const char *value)
{
    spec->startup = (struct iw_target_startup){
        .revision = *value == '2' ? 2 : 1,
        .crc = strchr(value, 'C') != NULL,
        .markers = strchr(value, 'M') != NULL,
        .enhanced = strchr(value, 'S') != NULL,
    };
    spec->speaks = true;
}

/* "KEY=VALUE". Words that the user has said come first, and win. */
static void apply(struct iw_target_spec *spec, char *line)
{
    const char *key = strsep(&line, "=");
    if (line == NULL)
        return;
    if (strcmp(key, "station") == 0)
        take_station(spec, line);
    else if (strcmp(key, "cannot") == 0)
        iw_target_add(spec, false, line);
    else if (strcmp(key, "revision") == 0 && !iw_target_said(spec, key))
        iw_target_add_revision(spec, line);
}

static void take_none(struct iw_base_facts *out, const struct iw_target_spec *spec,
                      const char *text)
{
    char *fact = iw_text_format("speaks no MPA: %s", text);
    iw_facts_add(&out->facts, IW_FACT_START_UP, fact, NULL);
    free(fact);
    if (spec->connect != NULL || spec->ask != NULL)
        return; /* it may speak MPA where it connects */
    free(out->no_mpa);
    out->no_mpa = iw_text_copy(text);
}

void iw_base_facts_read(struct iw_base_facts *out, struct iw_target_spec *spec, const char *notes)
{
    char *copy = iw_text_copy(notes), *rest = copy, *line;
    while ((line = strsep(&rest, "\n")) != NULL) {
        if (strncmp(line, "fact: ", 6) == 0)
            take_fact(out, spec, line + 6);
        else if (strncmp(line, "apply: ", 7) == 0)
            apply(spec, line + 7);
        else if (strncmp(line, "none: ", 6) == 0)
            take_none(out, spec, line + 6);
        else if (strncmp(line, "gone: ", 6) == 0 && out->gone == NULL)
            out->gone = iw_text_copy(line + 6);
    }
    free(copy);
}

/* ---- the pool's side ---- */

static bool next(void *context, unsigned worker, struct iw_job *job)
{
    struct taking *t = context;
    (void)worker;
    if (t->c == NULL)
        return false;
    *job = (struct iw_job){.c = t->c};
    t->c = NULL;
    return true;
}

static void done(void *context, unsigned worker, const struct iw_job *job, struct iw_result *result)
{
    struct taking *t = context;
    (void)worker;
    (void)job;
    iw_base_facts_read(t->out, t->spec, result->notes);
    iw_result_free(result);
}

/* ---- taking them ---- */

/* An agent says itself what it can do, and a peer that takes one connection only must not lose it
 * to this. */
static bool wanted(const struct iw_target_spec *spec, const struct iw_case *const *selected,
                   size_t n_selected)
{
    bool listens = spec->class != IW_TARGET_AGENT && (spec->port != 0 || spec->start != NULL);
    if (!listens || !iw_target_can(spec, NULL, "reconnect"))
        return false;
    for (size_t i = 0; i < n_selected; i++)
        if (selected[i]->role == IW_MPA_RESPONDER)
            return true;
    return false;
}

static int play(struct taking *t, struct iw_pool *pool, char *error, size_t room)
{
    struct iw_pool one = {.target = t->spec, .context = t, .next = next, .done = done};
    int status = iw_pool_run_before(pool, &one, error, room);
    return status;
}

int iw_base_facts_take(struct iw_base_facts *out, struct iw_pool *pool, struct iw_target_spec *spec,
                       const struct iw_case *const *selected, size_t n_selected, char *error,
                       size_t room)
{
    struct taking t = {.out = out, .spec = spec};
    struct iw_case *cases = NULL;
    size_t count = 0;
    *out = (struct iw_base_facts){0};
    if (!wanted(spec, selected, n_selected))
        return 0;
    char *file = iw_text_format("%s/facts_case.lua", pool->options->library);
    int status = iw_case_load(file, pool->options, &cases, &count, error, room);
    t.c = cases;
    if (status == 0)
        status = play(&t, pool, error, room);
    iw_case_free_all(cases, count);
    free(file);
    return status;
}

void iw_base_facts_survey(struct iw_base_facts *out, const struct iw_instruments *instruments)
{
    static const char *const texts[IW_INSTRUMENT_COUNT] = {
        [IW_INSTRUMENT_EMPTY_READ] = "does not answer RDMA Reads of no octets",
        [IW_INSTRUMENT_EMPTY_READ_OF_BUFFER] =
            "does not answer RDMA Reads of no octets that name a buffer",
        [IW_INSTRUMENT_PLAIN_READ] =
            "does not answer RDMA Reads where the start-up agrees on no depths, by right",
        [IW_INSTRUMENT_READ] = "does not answer RDMA Reads of one octet",
        [IW_INSTRUMENT_WRITE] = "does not place RDMA Writes of one octet",
        [IW_INSTRUMENT_ECHO] = "does not take Sends of one octet",
        [IW_INSTRUMENT_TERMINATE] =
            "sends no Terminate for a Write to an STag that it does not have",
    };
    static const char *const instead[] = {
        [IW_ABILITY_UNKNOWN] = NULL,
        [IW_ABILITY_WORKS] = NULL,
        [IW_ABILITY_SILENT] = "",
        [IW_ABILITY_ENDS] = ": it ends the connection",
        [IW_ABILITY_ODD] = ": it does something else",
    };
    for (int role = IW_MPA_INITIATOR; role <= IW_MPA_RESPONDER; role++) {
        for (int i = 0; i < IW_INSTRUMENT_COUNT; i++) {
            const char *does = instead[instruments->of[role][i]];
            if (does == NULL)
                continue;
            char *text = iw_text_format("%s%s%s", texts[i],
                                        role == IW_MPA_INITIATOR ? " where it connects" : "", does);
            iw_facts_add(&out->facts, iw_instrument_name((enum iw_instrument)i), text,
                         "cases measure with what works");
            free(text);
        }
    }
}

void iw_base_facts_free(struct iw_base_facts *facts)
{
    iw_facts_free(&facts->facts);
    free(facts->no_mpa);
    free(facts->gone);
    *facts = (struct iw_base_facts){0};
}
