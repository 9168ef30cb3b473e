/* SPDX-License-Identifier: BSD-3-Clause */
#include "lint.h"

#include <stdlib.h>
#include <sys/param.h>

#include "host/number.h"

/* Times are counted in steps of a sixteenth of each power of two, with memory for the powers that
 * occur. */
enum { STEPS = 16, STEPS_BITS = 4, POWERS = 40 };

struct asked {
    uint64_t time, to;
    uint32_t stag; /* the sink's, or an atomic's identifier */
    uint32_t size;
    bool atomic;
};

struct iw_lint_reads {
    struct asked *ring;
    uint32_t room, first, count;
    uint32_t outstanding; /* most */
    uint64_t answered, most;
    uint32_t *power[POWERS];
};

static struct asked *at(const struct iw_lint_reads *r, uint32_t k)
{
    return &r->ring[(r->first + k) % r->room];
}

static bool grow(struct iw_lint_reads *r)
{
    uint32_t room = r->room ? 2 * r->room : 4;
    struct asked *ring = room <= IW_OBSERVER_READS ? malloc(room * sizeof(*ring)) : NULL;

    if (ring == NULL)
        return false;
    for (uint32_t k = 0; k < r->count; k++)
        ring[k] = *at(r, k);
    free(r->ring);
    r->ring = ring;
    r->room = room;
    r->first = 0;
    return true;
}

void iw_lint_asked(struct iw_lint_side *s, uint64_t time, const struct iw_observation *o)
{
    struct iw_lint_reads *r = s->reads;
    bool atomic = iw_rdmap_op(&o->ddp) == IW_OP_ATOMIC_REQUEST;

    if (r == NULL)
        r = s->reads = calloc(1, sizeof(*r));
    if (r == NULL)
        return;
    if (r->count == r->room && !grow(r)) {
        iw_lint_forget_reads(s);
        return;
    }
    *at(r, r->count++) =
        (struct asked){.time = time,
                       .to = o->read_request.sink_to,
                       .stag = atomic ? o->atomic_request.request_id : o->read_request.sink_stag,
                       .size = o->read_request.size,
                       .atomic = atomic};
    r->outstanding = MAX(r->outstanding, r->count);
}

static bool answers(const struct asked *a, const struct iw_observation *o)
{
    if (iw_rdmap_op(&o->ddp) == IW_OP_ATOMIC_RESPONSE)
        return a->atomic && o->atomic_response.request_id == a->stag;
    return !a->atomic && o->ddp.stag == a->stag && o->ddp.to - a->to <= a->size;
}

static void count_time(struct iw_lint_reads *r, uint64_t time)
{
    unsigned power = 0, step = (unsigned)time;

    if (time >= STEPS) {
        unsigned bits = 63u - (unsigned)__builtin_clzll(time);
        power = bits - STEPS_BITS + 1;
        step = (unsigned)(time >> (bits - STEPS_BITS)) % STEPS;
    }
    if (power >= POWERS) {
        power = POWERS - 1;
        step = STEPS - 1;
    }
    if (r->power[power] == NULL)
        r->power[power] = calloc(STEPS, sizeof(uint32_t));
    if (r->power[power] == NULL)
        return;
    r->power[power][step]++;
    r->answered++;
    r->most = MAX(r->most, time);
}

void iw_lint_answered(struct iw_lint_side *s, uint64_t time, const struct iw_observation *o)
{
    struct iw_lint_reads *r = s->reads;
    uint32_t k = 0;

    if (r == NULL)
        return;
    while (k < r->count && !answers(at(r, k), o))
        k++;
    if (k == r->count)
        return;
    /* Answers come in the order of the requests (RFC 5040 §5.5): the others have none. */
    count_time(r, time > at(r, k)->time ? time - at(r, k)->time : 0);
    r->first = (r->first + k + 1) % r->room;
    r->count -= k + 1;
}

void iw_lint_forget_reads(struct iw_lint_side *s)
{
    if (s->reads != NULL)
        s->reads->count = 0;
}

/* Returns the end of the step up to which this part, in thousandths, of all times lies. */
static uint64_t percentile(const struct iw_lint_reads *r, unsigned share)
{
    uint64_t place = iw_number_place(r->answered, share), seen = 0;

    for (unsigned p = 0; p < POWERS; p++)
        for (unsigned i = 0; r->power[p] != NULL && i < STEPS; i++) {
            seen += r->power[p][i];
            if (seen <= place)
                continue;
            uint64_t end = p ? (uint64_t)(STEPS + i + 1) << (p - 1) : i + 1;
            return MIN(end - 1, r->most);
        }
    return r->most;
}

struct iw_lint_times iw_lint_times(const struct iw_lint_side *s)
{
    const struct iw_lint_reads *r = s->reads;

    if (r == NULL)
        return (struct iw_lint_times){.answered = 0};
    return (struct iw_lint_times){.answered = r->answered,
                                  .p50 = percentile(r, 500),
                                  .p90 = percentile(r, 900),
                                  .p99 = percentile(r, 990),
                                  .most = r->most,
                                  .outstanding = r->outstanding};
}

void iw_lint_free_reads(struct iw_lint_side *s)
{
    if (s->reads == NULL)
        return;
    for (unsigned p = 0; p < POWERS; p++)
        free(s->reads->power[p]);
    free(s->reads->ring);
    free(s->reads);
    s->reads = NULL;
}
