/* SPDX-License-Identifier: BSD-3-Clause */
#include "survey.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/text.h"
#include "script/script_case.h"

enum { ROLES = 2 }; /* surveyed side by side where the pool has two workers */

struct taking {
    struct iw_survey *survey;
    const struct iw_case *cases;
    size_t count, next;
    bool wanted[ROLES];
};

/* ---- what it found ---- */

/* A line "works: empty-read", or another word for what comes of it. */
static void take_line(struct iw_survey *survey, enum iw_mpa_role role, char *line)
{
    char *name = strstr(line, ": ");
    enum iw_instrument instrument;
    enum iw_ability ability;
    if (name == NULL)
        return;
    *name = 0;
    if (iw_ability_find(line, &ability) && iw_instrument_find(name + 2, &instrument))
        survey->instruments.of[role][instrument] = ability;
}

/* Of some numbers of octets the PD_Length is valid in either order: whoever turns others turns
 * these, too. */
static iw_quirks shown(const struct iw_result *result)
{
    const char *check = iw_check_info(IW_CHECK_MPA_PD_ORDER)->name;
    iw_quirks quirks = 0;

    for (size_t i = 0; i < result->n_deviations; i++)
        if (result->deviations[i].wire && strcmp(result->deviations[i].how, check) == 0)
            quirks = iw_quirk_bit(IW_QUIRK_PD_ORDER);
    return quirks;
}

/* ---- the pool's side ---- */

static bool next(void *context, unsigned worker, struct iw_job *job)
{
    struct taking *t = context;
    (void)worker;
    while (t->next < t->count && !t->wanted[t->cases[t->next].role])
        t->next++;
    if (t->next == t->count)
        return false;
    *job = (struct iw_job){.c = &t->cases[t->next++], .option = t->survey->option};
    return true;
}

static void done(void *context, unsigned worker, const struct iw_job *job, struct iw_result *result)
{
    struct taking *t = context;
    struct iw_survey *survey = t->survey;
    char **notes = &survey->notes[job->c->role];
    (void)worker;
    free(*notes);
    *notes = iw_text_copy(result->notes);
    char *copy = iw_text_copy(result->notes), *rest = copy, *line;
    while ((line = strsep(&rest, "\n")) != NULL)
        take_line(survey, job->c->role, line);
    free(copy);
    survey->quirks[job->c->role] |= shown(result);
    if (survey->gone == NULL && result->n_deviations > 0 &&
        strcmp(result->deviations[0].how, "gone") == 0)
        survey->gone = iw_text_copy(result->reason);
    iw_result_free(result);
}

/* ---- taking it ---- */

/* Nobody is asked to lend a hand for it. */
static bool can_have(const struct iw_target_spec *spec, enum iw_mpa_role role)
{
    if (role == IW_MPA_RESPONDER || spec->class == IW_TARGET_AGENT)
        return true;
    return spec->connect != NULL;
}

static int play(struct taking *t, struct iw_pool *pool, char *error, size_t room)
{
    struct iw_pool one = {
        .target = pool->target, .workers = ROLES, .context = t, .next = next, .done = done};
    int status = iw_pool_run_before(pool, &one, error, room);
    pool->reached = one.reached;
    return status;
}

int iw_survey_take(struct iw_survey *out, struct iw_pool *pool,
                   const struct iw_case *const *selected, size_t n_selected, char *error,
                   size_t room)
{
    struct taking t = {.survey = out};
    struct iw_case *cases = NULL;
    *out = (struct iw_survey){.option = out->option};
    for (size_t i = 0; i < n_selected; i++)
        if (can_have(pool->target, selected[i]->role))
            t.wanted[selected[i]->role] = true;
    if (!t.wanted[0] && !t.wanted[1])
        return 0;
    char *file = iw_text_format("%s/survey_case.lua", pool->options->library);
    int status = iw_case_load(file, pool->options, &cases, &t.count, error, room);
    t.cases = cases;
    if (status == 0)
        status = play(&t, pool, error, room);
    iw_case_free_all(cases, t.count);
    free(file);
    return status;
}

void iw_survey_free(struct iw_survey *survey)
{
    free(survey->gone);
    free(survey->notes[0]);
    free(survey->notes[1]);
    *survey = (struct iw_survey){0};
}
