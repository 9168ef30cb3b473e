/* SPDX-License-Identifier: BSD-3-Clause */
#include "live_mutate.h"

#include <stdlib.h>

#include "host/text.h"
#include "world.h"

enum { PAUSE_MS = 2, CROSS = 4, OWN = 3 /* CROSS, OWN: once in N */ };

struct iw_hunt_mutator {
    struct iw_mutate_script script, other;
    struct iw_mutate_region regions[IW_HUNT_MEMORIES];
    uint8_t octets[IW_MUTATE_INPUT_MAX];
};

/* ---- what only a connection has: writes, time, ends ---- */

/* Returns a step that sends, if there is one. */
static size_t some(const struct iw_hunt_input *in, struct iw_mutate_random *r)
{
    size_t first = in->n ? iw_mutate_below(r, in->n) : 0;

    for (size_t k = 0; k < in->n; k++) {
        size_t i = (first + k) % in->n;

        if (iw_hunt_sends(&in->steps[i]) && in->steps[i].length > 1)
            return i;
    }
    return in->n;
}

static void change_writes(struct iw_hunt_input *in, struct iw_mutate_random *r)
{
    size_t i = some(in, r);

    if (i >= in->n)
        return;
    switch (iw_mutate_below(r, 8)) {
    case 0:
        in->steps[i].kind = in->steps[i].kind == IW_FUZZ_B ? IW_FUZZ_A : IW_FUZZ_B;
        break;
    case 1: {
        size_t at = iw_mutate_below(r, in->n + 1);
        iw_hunt_insert(in, at, iw_mutate_chance(r, 2) ? IW_FUZZ_FIN : IW_FUZZ_RST, "", 1);
        break;
    }
    case 2:
        iw_hunt_insert_time(in, i, PAUSE_MS * (1 + (unsigned)iw_mutate_below(r, 5)));
        break;
    default:
        iw_hunt_split(in, i, 1 + iw_mutate_below(r, in->steps[i].length - 1));
        break;
    }
}

/* ---- the sequence ---- */

struct iw_hunt_mutator *iw_hunt_mutator_new(void)
{
    struct iw_hunt_mutator *m = iw_got(calloc(1, sizeof(*m)));

    for (unsigned k = 0; k < IW_HUNT_MEMORIES; k++)
        m->regions[k] = (struct iw_mutate_region){
            .stag = IW_HUNT_STAG + k, .to = IW_HUNT_TO(k), .length = iw_hunt_memory_length(k)};
    m->script.regions = m->other.regions = m->regions;
    m->script.n_regions = m->other.n_regions = IW_HUNT_MEMORIES;
    return m;
}

static bool read_script(struct iw_hunt_mutator *m, struct iw_mutate_script *s,
                        const struct iw_hunt_input *in)
{
    return iw_mutate_read(s, m->octets, iw_hunt_input_write(in, m->octets, sizeof(m->octets)));
}

struct iw_hunt_input *iw_hunt_mutate(struct iw_hunt_mutator *m, const struct iw_hunt_input *in,
                                     const struct iw_hunt_input *other, struct iw_mutate_random *r)
{
    if (!read_script(m, &m->script, in))
        return iw_hunt_input_copy(in);
    if (iw_mutate_chance(r, CROSS) && read_script(m, &m->other, other))
        iw_mutate_cross(&m->script, &m->other, r);
    else
        iw_mutate_change(&m->script, r, NULL);
    struct iw_hunt_input *out =
        iw_hunt_input_read(m->octets, iw_mutate_write(&m->script, m->octets, sizeof(m->octets)));
    while (iw_mutate_chance(r, OWN))
        change_writes(out, r);
    return out;
}
