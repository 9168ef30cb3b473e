/* SPDX-License-Identifier: BSD-3-Clause */
/* Avoids sequences that repeat a known crash. A peer that needs seconds to come back from a crash
 * gains little from the same one again and again. */
#include "hunt.h"
#include "iwarp/wire.h"
#include "live_plan.h"

enum {
    ALIKE = 2,
    SELDOM = 16,
    LEAST = 2 /* frames: fewer would keep out everything */,
    OCTETS = 0x200,
    REQUEST = 0x100
};

size_t iw_hunt_pattern(const struct iw_hunt_input *in, uint16_t *out, size_t room)
{
    struct iw_hunt_plan p = {0};
    size_t n = 0;

    iw_hunt_plan_make(&p, in);
    for (size_t i = 0; i < p.n_units && n < room; i++) {
        const uint8_t *octets = p.octets + p.units[i].at;
        uint8_t said = iw_hunt_said(&p, &p.units[i]);
        bool block = p.units[i].length > IW_MPA_STARTUP_HEADER;

        if (said == IW_SAID_REQUEST || said == IW_SAID_REPLY) /* flags, and A of RFC 6581 */
            out[n++] = (uint16_t)(REQUEST | (octets[IW_AT_MPA_FLAGS] & ~IW_MPA_FLAG_RES) |
                                  (block && octets[IW_AT_MPA_IRD] & 0x80 ? 1 : 0));
        else
            out[n++] = said == IW_SAID_OCTETS ? OCTETS : said;
    }
    iw_hunt_plan_free(&p);
    return n;
}

bool iw_hunt_deadly(struct iw_hunt *h, const struct iw_hunt_input *in)
{
    uint16_t own[2 * IW_HUNT_PATTERN];
    size_t n = 0, alike = 0;
    for (const struct iw_hunt_finding *f = h->findings; f != NULL; f = f->next) {
        size_t k = 0;

        if (f->n_pattern < LEAST)
            continue;
        if (!n)
            n = iw_hunt_pattern(in, own, 2 * IW_HUNT_PATTERN);
        for (size_t i = 0; i < n && k < f->n_pattern; i++)
            k += own[i] == f->pattern[k];
        if (k == f->n_pattern)
            return true;
        alike += n && own[0] == f->pattern[0];
    }
    /* More than one finding after such a start-up: sequences like that are the most frequent, so
     * let only a few pass. */
    return alike >= ALIKE && iw_mutate_below(&h->random, SELDOM);
}
