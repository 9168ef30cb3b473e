/* SPDX-License-Identifier: BSD-3-Clause */
#include "eta.h"

#include <stdlib.h>
#include <string.h>

#include "host/text.h"

enum { ENOUGH = 10 /* cases that were played */ };

static bool alike(const struct iw_case *a, const struct iw_case *b)
{
    if (a->role != b->role || a->n_needs != b->n_needs)
        return false;
    for (size_t i = 0; i < a->n_needs; i++)
        if (strcmp(a->needs[i].name, b->needs[i].name) != 0 ||
            strcmp(a->needs[i].value, b->needs[i].value) != 0)
            return false;
    return true;
}

void iw_eta_begin(struct iw_eta *e, const struct iw_record *r, uint64_t now)
{
    const struct iw_case **models = iw_got(calloc(r->count + 1, sizeof(const struct iw_case *)));
    e->group_of = iw_got(calloc(r->count + 1, sizeof(*e->group_of)));
    e->groups = iw_got(calloc(r->count + 1, sizeof(*e->groups)));
    e->began = now;
    for (size_t i = 0; i < r->count; i++) {
        const struct iw_entry *entry = &r->entries[i];
        size_t g = 0;
        if (entry->c == NULL)
            continue;
        while (g < e->n_groups && !alike(models[g], entry->c))
            g++;
        if (g == e->n_groups)
            models[e->n_groups++] = entry->c;
        e->group_of[i] = g;
        e->groups[g].left += r->repeat > entry->handed ? r->repeat - entry->handed : 0;
    }
    free(models);
}

void iw_eta_add(struct iw_eta *e, size_t entry, const struct iw_result *result)
{
    if (e->groups == NULL)
        return; /* it has ended before the clock began */
    struct iw_eta_group *g = &e->groups[e->group_of[entry]];
    bool played = result->verdict != IW_VERDICT_SKIP && result->blocked == NULL;
    g->left -= g->left > 0;
    g->done++;
    g->played += played;
    e->played += played;
}

double iw_eta_seconds(const struct iw_eta *e, uint64_t now)
{
    size_t done = 0;
    double left = 0;
    for (size_t i = 0; i < e->n_groups; i++)
        done += e->groups[i].done;
    if (e->played < ENOUGH)
        return -1;
    double all = (double)e->played / (double)done;
    for (size_t i = 0; i < e->n_groups; i++) {
        const struct iw_eta_group *g = &e->groups[i];
        left += (double)g->left * (g->done > 0 ? (double)g->played / (double)g->done : all);
    }
    return left * (double)(now - e->began) / 1e9 / (double)e->played;
}

void iw_eta_free(struct iw_eta *e)
{
    free(e->groups);
    free(e->group_of);
}
