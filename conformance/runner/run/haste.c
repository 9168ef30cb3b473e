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
    SHORTEST_MS = 50, /* but no less */
    MS = 1000         /* in a second */
};

/* A deviation, or why a case was INCONCLUSIVE. */
struct iw_vain {
    struct iw_deviation deviation; /* how NULL: it is none */
    char *blocked;                 /* the instrument that does not work; NULL: none is */
    char *reason;
    char *expected;
    unsigned cases;
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

static void count(struct iw_haste *h, const struct iw_result *r, const struct iw_deviation *d)
{
    struct iw_vain *v = find(h, r, d);
    if (v == NULL) {
        if (h->count == MOST)
            return;
        h->list = iw_got(realloc(h->list, (h->count + 1) * sizeof(*h->list)));
        v = &h->list[h->count++];
        *v = (struct iw_vain){.blocked = iw_text_copy(r->blocked),
                              .reason = iw_text_copy(r->reason),
                              .expected = iw_text_copy(r->expected)};
        if (d != NULL)
            v->deviation = iw_deviation_copy(d);
    }
    if (++v->cases == ENOUGH)
        h->due = true;
}

static bool established(const struct iw_haste *h, const struct iw_result *r,
                        const struct iw_deviation *d)
{
    const struct iw_vain *v = find(h, r, d);
    return v != NULL && v->cases >= ENOUGH;
}

/* Whether all that a case saw is established. A crash is, and need not come twice. */
static bool is_known(const struct iw_haste *h, const struct iw_result *r)
{
    for (size_t i = 0; i < r->n_deviations; i++)
        if (r->deviations[i].rule != NULL && !established(h, r, &r->deviations[i]))
            return false;
    return r->n_deviations > 0 ||
           (r->verdict == IW_VERDICT_INCONCLUSIVE && established(h, r, NULL));
}

bool iw_haste_stands(struct iw_haste *h, const struct iw_run_options *options, double patience,
                     const struct iw_result *r)
{
    bool hasty = patience > 0;
    bool waited = r->waited >= (hasty ? patience : iw_pool_patience(options)) * scale_of(options);
    if (r->slowest > 0)
        h->answers[bucket(r->slowest)]++;
    if (!waited)
        return true;
    if (hasty)
        return is_known(h, r);
    for (size_t i = 0; i < r->n_deviations; i++)
        count(h, r, &r->deviations[i]);
    if (r->n_deviations == 0 && r->verdict == IW_VERDICT_INCONCLUSIVE)
        count(h, r, NULL);
    return true;
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
