/* SPDX-License-Identifier: BSD-3-Clause */
#include "haste.h"

#include <stdlib.h>
#include <string.h>

#include "findings.h"
#include "host/text.h"
#include "pool_clock.h"

enum {
    ENOUGH = 3,       /* cases that saw the same */
    MOST = 64,        /* different things that are kept */
    NEARLY_ALL = 95,  /* percent of the cases with an answer */
    TIMES = 10,       /* as long as the slowest of these */
    SHORTEST_MS = 20, /* but no less */
    MS = 1000         /* in a second */
};

/* A deviation, or why a case was INCONCLUSIVE. */
struct iw_vain {
    struct iw_deviation deviation; /* how NULL: it is none */
    char *blocked;                 /* the instrument that does not work; NULL: none is */
    char *reason;
    char *expected;
    unsigned cases;   /* that saw it */
    unsigned patient; /* with the whole patience */
    bool trying;      /* such a case is under way */
    bool elusive;     /* one has not seen it with the whole patience */
};

static double scale_of(const struct iw_run_options *options)
{
    return options->time_scale > 0 ? options->time_scale : 1;
}

static unsigned bucket(double seconds)
{
    unsigned log = 0;
    while (log < IW_HASTE_TIMES - 1 && seconds * MS > (double)(1u << log))
        log++;
    return log;
}

/* Returns the seconds within which the target has given nearly all of its answers. */
static double usual_answer(const struct iw_haste *h)
{
    unsigned all = 0, some = 0, log = 0;
    for (unsigned i = 0; i < IW_HASTE_TIMES; i++)
        all += h->answers[i];
    while (log < IW_HASTE_TIMES - 1 && (some += h->answers[log]) * 100 < all * NEARLY_ALL)
        log++;
    return (double)(1u << log) / MS;
}

double iw_haste_patience(const struct iw_haste *h, const struct iw_run_options *options)
{
    if (!h->due)
        return 0;
    double scale = scale_of(options);
    double seconds = TIMES * usual_answer(h), least = (double)SHORTEST_MS / MS;
    if (seconds < least)
        seconds = least;
    if (scale < 1)
        seconds /= scale; /* the target is no faster for it */
    return seconds < iw_pool_patience(options) ? seconds : 0;
}

static bool same(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Which answer of an instrument a case missed is no matter: none comes. */
static bool same_reason(const struct iw_vain *v, const struct iw_result *r)
{
    return same(v->blocked, r->blocked) &&
           (r->blocked != NULL || (same(v->reason, r->reason) && same(v->expected, r->expected)));
}

static struct iw_vain *find(const struct iw_haste *h, const struct iw_result *r,
                            const struct iw_deviation *d)
{
    for (size_t i = 0; i < h->count; i++) {
        struct iw_vain *v = &h->list[i];
        if (d != NULL ? v->deviation.how != NULL && iw_deviations_joined(&v->deviation, d)
                      : v->deviation.how == NULL && same_reason(v, r))
            return v;
    }
    return NULL;
}

/* As find(), and adds what is not there; NULL if there is no room. */
static struct iw_vain *find_or_add(struct iw_haste *h, const struct iw_result *r,
                                   const struct iw_deviation *d)
{
    struct iw_vain *v = find(h, r, d);
    if (v != NULL || h->count == MOST)
        return v;
    h->list = iw_got(realloc(h->list, (h->count + 1) * sizeof(*h->list)));
    v = &h->list[h->count++];
    *v = (struct iw_vain){.blocked = iw_text_copy(r->blocked),
                          .reason = iw_text_copy(r->reason),
                          .expected = iw_text_copy(r->expected)};
    if (d != NULL)
        v->deviation = iw_deviation_copy(d);
    return v;
}

/* Counts one thing that a case saw. */
static void count(struct iw_haste *h, bool hasty, const struct iw_result *r,
                  const struct iw_deviation *d)
{
    struct iw_vain *v = find_or_add(h, r, d);
    if (v == NULL)
        return;
    v->cases++;
    if (!hasty && ++v->patient == ENOUGH)
        h->due = true;
}

static void count_all(struct iw_haste *h, bool hasty, const struct iw_result *r)
{
    for (size_t i = 0; i < r->n_deviations; i++)
        count(h, hasty, r, &r->deviations[i]);
    if (r->n_deviations == 0 && r->verdict == IW_VERDICT_INCONCLUSIVE)
        count(h, hasty, r, NULL);
}

static bool established(const struct iw_haste *h, const struct iw_result *r,
                        const struct iw_deviation *d)
{
    const struct iw_vain *v = find(h, r, d);
    return v != NULL && v->patient > 0 && v->cases >= ENOUGH;
}

/* Judges a case by one thing that it saw in haste. */
static enum iw_haste_verdict judge(struct iw_haste *h, const struct iw_result *r,
                                   const struct iw_deviation *d, iw_haste_trial *trial)
{
    if (established(h, r, d))
        return IW_HASTE_STANDS;
    struct iw_vain *v = find(h, r, d);
    if (v == NULL || v->elusive)
        return IW_HASTE_AGAIN;
    *trial = (iw_haste_trial)(v - h->list) + 1;
    if (v->trying)
        return IW_HASTE_LATER;
    v->trying = true;
    return IW_HASTE_AGAIN;
}

/* A crash is established, and need not come twice. */
enum iw_haste_verdict iw_haste_judge_later(struct iw_haste *h, const struct iw_result *r,
                                           iw_haste_trial *trial)
{
    *trial = 0;
    for (size_t i = 0; i < r->n_deviations; i++) {
        enum iw_haste_verdict verdict =
            r->deviations[i].rule != NULL ? judge(h, r, &r->deviations[i], trial) : IW_HASTE_STANDS;
        if (verdict != IW_HASTE_STANDS)
            return verdict;
    }
    if (r->n_deviations > 0)
        return IW_HASTE_STANDS;
    return r->verdict == IW_VERDICT_INCONCLUSIVE ? judge(h, r, NULL, trial) : IW_HASTE_AGAIN;
}

enum iw_haste_verdict iw_haste_judge(struct iw_haste *h, const struct iw_run_options *options,
                                     double patience, const struct iw_result *r,
                                     iw_haste_trial *trial)
{
    bool hasty = patience > 0;
    bool waited = r->waited >= (hasty ? patience : iw_pool_patience(options)) * scale_of(options);
    *trial = 0;
    if (r->slowest > 0)
        h->answers[bucket(r->slowest)]++;
    if (!waited)
        return IW_HASTE_STANDS;
    count_all(h, hasty, r);
    return hasty ? iw_haste_judge_later(h, r, trial) : IW_HASTE_STANDS;
}

void iw_haste_tried(struct iw_haste *h, iw_haste_trial trial)
{
    if (trial == 0)
        return;
    struct iw_vain *v = &h->list[trial - 1];
    v->trying = false;
    v->elusive = v->patient == 0;
}

bool iw_haste_trying(const struct iw_haste *h, iw_haste_trial trial)
{
    return trial > 0 && h->list[trial - 1].trying;
}

void iw_haste_free(struct iw_haste *h)
{
    for (size_t i = 0; i < h->count; i++) {
        iw_deviation_free(&h->list[i].deviation);
        free(h->list[i].blocked);
        free(h->list[i].reason);
        free(h->list[i].expected);
    }
    free(h->list);
    *h = (struct iw_haste){0};
}
