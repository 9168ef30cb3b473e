/* SPDX-License-Identifier: BSD-3-Clause */
#include "schedule.h"

#include <stdio.h>
#include <stdlib.h>

#include "host/json_values.h"
#include "host/text.h"
#include "saved_run.h"

/* What a case costs that takes no time, such as one that is skipped. */
static const double least = 0.001;

/* ---- durations ---- */

/* The seconds by id, of a report's cases. */
static json_t *seconds_by_id(const json_t *report)
{
    json_t *all = iw_got(json_object());
    const json_t *one;
    size_t i;
    json_array_foreach(json_object_get(report, "cases"), i, one)
    {
        json_t *seconds = json_object_get(one, "seconds");
        if (json_is_number(seconds) && json_number_value(seconds) >= 0)
            json_object_set(all, iw_json_get_text(one, "id"), seconds);
    }
    return all;
}

double *iw_schedule_durations(const char *path, const struct iw_case *const *cases, size_t count,
                              char *error, size_t room)
{
    json_t *report = iw_saved_run_read(path, error, room);
    if (report == NULL)
        return NULL;
    json_t *all = seconds_by_id(report);
    double *list = iw_got(calloc(count + 1, sizeof(*list)));
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        const json_t *seconds = json_object_get(all, cases[i]->id);
        list[i] = seconds != NULL ? json_number_value(seconds) : -1;
        known += seconds != NULL;
    }
    json_decref(all);
    json_decref(report);
    if (known > 0 || count == 0)
        return list;
    snprintf(error, room, "%s has none of these cases", path);
    free(list);
    return NULL;
}

/* ---- shards ---- */

struct load {
    size_t place; /* of the case */
    double seconds;
};

/* The longest first; of equals, in their order. */
static int by_seconds(const void *left, const void *right)
{
    const struct load *a = left, *b = right;
    if (a->seconds > b->seconds || a->seconds < b->seconds)
        return a->seconds > b->seconds ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

/* What each case costs: those without a record, the mean of the others. */
static struct load *loads_of(const double *seconds, size_t count)
{
    struct load *loads = iw_got(calloc(count + 1, sizeof(*loads)));
    double sum = 0;
    size_t known = 0;
    for (size_t i = 0; seconds != NULL && i < count; i++) {
        sum += seconds[i] >= 0 ? seconds[i] : 0;
        known += seconds[i] >= 0;
    }
    double mean = known > 0 ? sum / (double)known : 1;
    for (size_t i = 0; i < count; i++) {
        bool has = seconds != NULL && seconds[i] >= 0;
        loads[i] = (struct load){.place = i, .seconds = (has ? seconds[i] : mean) + least};
    }
    return loads;
}

size_t iw_schedule_shard(const struct iw_case **cases, size_t count, const double *seconds,
                         unsigned shard, unsigned shards)
{
    struct load *loads = loads_of(seconds, count);
    double *sums = iw_got(calloc(shards, sizeof(*sums)));
    bool *mine = iw_got(calloc(count + 1, sizeof(*mine)));
    qsort(loads, count, sizeof(*loads), by_seconds);
    for (size_t i = 0; i < count; i++) {
        unsigned lightest = 0;
        for (unsigned k = 1; k < shards; k++)
            lightest = sums[k] < sums[lightest] ? k : lightest;
        sums[lightest] += loads[i].seconds;
        mine[loads[i].place] = lightest + 1 == shard;
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (mine[i])
            cases[kept++] = cases[i];
    free(mine);
    free(sums);
    free(loads);
    return kept;
}

/* ---- order ---- */

void iw_schedule_shuffle(const struct iw_case **cases, size_t count, uint32_t seed)
{
    /* As srand48() sets it: POSIX has its numbers alike everywhere. */
    unsigned short state[3] = {0x330e, (unsigned short)(seed & 0xffff),
                               (unsigned short)(seed >> 16)};
    for (size_t i = count; i > 1; i--) {
        size_t k = (size_t)nrand48(state) % i;
        const struct iw_case *one = cases[k];
        cases[k] = cases[i - 1];
        cases[i - 1] = one;
    }
}
