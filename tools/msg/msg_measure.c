/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg_measure.h"
#include "msg_exchange.h"

#include "host/clock.h"
#include "host/complain.h"
#include "host/json_values.h"
#include "host/number.h"
#include "host/text.h"
#include "standard.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BLOCKS = 20 };

#define SETTLE_NS UINT64_C(3000000) /* until whoever serves the other way has gone to sleep */

static int go(struct msg_way *w, unsigned round, double interval, bool counts)
{
    const uint64_t begun = iw_clock_now();
    const int status = w->go(w->of, round);
    if (status < 0 && counts)
        w->ns[w->done++] = iw_clock_now() - begun;
    if (interval > 0)
        nanosleep(&(struct timespec){(time_t)interval,
                                     (long)((interval - (double)(time_t)interval) * 1e9)},
                  NULL);
    return status;
}

/* Reads both processors' clocks, the far one first if `begins`: asking for it is not counted. */
static int read_clocks(struct msg_way *w, bool begins, uint64_t *near, uint64_t *far)
{
    int status = -1;
    if (!begins)
        *near = iw_clock_cpu();
    if (w->far != NULL)
        status = w->far(w->talk, far);
    if (begins)
        *near = iw_clock_cpu();
    return status;
}

static int run_block(const struct msg_exchange *e, struct msg_way *w, unsigned rounds, bool settles)
{
    uint64_t near[2], far[2] = {0, 0};
    unsigned round = 0;
    int status = -1;
    const uint64_t until = iw_clock_now() + SETTLE_NS;
    while (settles && status < 0 && (round == 0 || iw_clock_now() < until))
        status = go(w, round++, 0, false);
    if (status < 0)
        status = read_clocks(w, true, &near[0], &far[0]);
    if (status >= 0)
        return status;
    for (unsigned i = 0; status < 0 && i < rounds && !iw_standard_interrupted(); i++)
        status = go(w, round++, e->interval, true);
    if (status < 0)
        status = read_clocks(w, false, &near[1], &far[1]);
    if (status >= 0)
        return status;
    w->near_cpu += near[1] - near[0];
    w->far_cpu += far[1] - far[0];
    return -1;
}

static int later(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static double at_share(const struct msg_way *w, unsigned share)
{
    return (double)w->ns[iw_number_place(w->done, share)] / 1000;
}

static void report(const struct msg_exchange *e, uint32_t number, const char *what,
                   struct msg_way *w)
{
    if (w->done == 0)
        return;
    qsort(w->ns, w->done, sizeof(*w->ns), later);
    const double near = (double)w->near_cpu / 1000 / w->done,
                 far = (double)w->far_cpu / 1000 / w->done, least = (double)w->ns[0] / 1000,
                 most = (double)w->ns[w->done - 1] / 1000;
    if (e->json) {
        json_t *all = json_pack("{ss sI sI si sf sf sf sf sf}", "type", w->type, "number",
                                (json_int_t)number, "octets", (json_int_t)e->size, "round_trips",
                                (int)w->done, "us_least", least, "us_p50", at_share(w, 500),
                                "us_p99", at_share(w, 990), "us_most", most, "cpu_us", near);
        if (w->far != NULL)
            json_object_set_new(all, "far_cpu_us", json_real(far));
        (void)iw_json_line(all, stdout);
        return;
    }
    printf("%" PRIu32 "%s: %u %s of %" PRIu64
           " octets: least %.2f us, p50 %.2f, p99 %.2f, most %.2f; processor %.2f us each",
           number, w->name, w->done, what, e->size, least, at_share(w, 500), at_share(w, 990), most,
           near);
    if (w->far != NULL)
        printf(", at the other end %.2f", far);
    printf("\n");
}

static int run_blocks(const struct msg_exchange *e, struct msg_way *ways, size_t count)
{
    const unsigned blocks = count == 1 ? 1 : e->count < BLOCKS ? e->count : BLOCKS;
    int status = -1;
    for (size_t i = 0; i < count; i++)
        for (unsigned j = 0; status < 0 && j < e->warm_up && !iw_standard_interrupted(); j++)
            status = go(&ways[i], j, e->interval, false);
    for (unsigned b = 0; b < blocks; b++) {
        const unsigned rounds = e->count / blocks + (b < e->count % blocks);
        for (size_t i = 0; status < 0 && i < count && !iw_standard_interrupted(); i++)
            status = run_block(e, &ways[(i + b) % count], rounds, count > 1);
    }
    return status;
}

int msg_measure(const struct msg_exchange *e, uint32_t number, const char *one, const char *several,
                struct msg_way *ways, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ways[i].ns = iw_got(calloc(e->count, sizeof(*ways[i].ns)));
    const int status = run_blocks(e, ways, count);
    for (size_t i = 0; i < count; i++) {
        report(e, number, ways[i].done == 1 ? one : several, &ways[i]);
        free(ways[i].ns);
    }
    return status >= 0 ? status : iw_standard_interrupted() ? IW_EXIT_INTERRUPTED : IW_EXIT_GOOD;
}
