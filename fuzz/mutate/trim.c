/* SPDX-License-Identifier: BSD-3-Clause */
#include "mutate/trim.h"

#include "iwarp/wire.h"

/* Goes on to the next stage that has anything to try. */
static void next_stage(struct iw_mutate_trim *t)
{
    do {
        t->stage++;
        t->at = t->stage == IW_MUTATE_TRIM_JOIN ? 1 : 0;
    } while (t->stage < IW_MUTATE_TRIM_REPAIR && t->at >= t->best.count);
    t->width = 2; /* SHORT: the payload is divided by it */
    t->plain = false;
}

bool iw_mutate_trim_begin(struct iw_mutate_trim *t, const uint8_t *data, size_t size)
{
    t->stage = IW_MUTATE_TRIM_DROP;
    t->at = 0;
    t->plain = false;
    t->tries = 0;
    t->most = size;
    if (!iw_mutate_read(&t->best, data, size))
        return false;
    t->width = t->best.count / 2 > 0 ? t->best.count / 2 : 1;
    if (t->best.count == 0)
        next_stage(t);
    return true;
}

/* Returns the octets of a part that are no payload. */
static size_t header(const struct iw_mutate_script *s, const struct iw_mutate_part *p)
{
    if (p->kind == IW_MUTATE_STARTUP)
        return IW_MPA_STARTUP_HEADER;
    if (p->kind != IW_MUTATE_FPDU)
        return 0;
    return p->length > 0 && s->octets[p->at + IW_AT_DDP_CONTROL] & IW_DDP_T
               ? IW_DDP_TAGGED_HEADER
               : IW_DDP_UNTAGGED_HEADER;
}

/* DROP: goes on with shorter rows if this was the last of its length. */
static void next_width(struct iw_mutate_trim *t)
{
    if (t->at < t->best.count)
        return;
    t->at = 0;
    t->width /= 2;
    if (t->width == 0 || t->best.count == 0)
        next_stage(t);
}

/* Makes the attempt given by stage, at and width. Returns false if it would change nothing. */
static bool attempt(struct iw_mutate_trim *t)
{
    struct iw_mutate_part *p = &t->tried.part[t->at];

    switch (t->stage) {
    case IW_MUTATE_TRIM_DROP:
        iw_mutate_drop(&t->tried, t->at, t->width);
        if (!t->plain) {
            iw_mutate_renumber(&t->tried);
            iw_mutate_reoffset(&t->tried);
        }
        return true;
    case IW_MUTATE_TRIM_CUTS:
        if (p->cuts == 0)
            return false;
        p->cuts = 0;
        return true;
    case IW_MUTATE_TRIM_JOIN:
        if (p->joined || p->kind == IW_MUTATE_OTHER || p[-1].step != p->step)
            return false;
        p->joined = true;
        return true;
    case IW_MUTATE_TRIM_SHORT: {
        size_t head = header(&t->tried, p);
        if (p->length <= head)
            return false;
        p->length -= (uint32_t)((p->length - head + t->width - 1) / t->width);
        if (p->kind == IW_MUTATE_STARTUP)
            iw_mutate_repair_startups(&t->tried);
        return true;
    }
    case IW_MUTATE_TRIM_REPAIR:
        if (t->at == 0)
            iw_mutate_repair_fpdus(&t->tried);
        else
            iw_mutate_repair_startups(&t->tried);
        return true;
    default:
        return false;
    }
}

/* Moves on to the next attempt after a failure, or after one that changes nothing. */
static void advance(struct iw_mutate_trim *t)
{
    switch (t->stage) {
    case IW_MUTATE_TRIM_DROP:
        t->plain = !t->plain;
        if (t->plain)
            return;
        t->at += t->width;
        next_width(t);
        return;
    case IW_MUTATE_TRIM_SHORT:
        if (t->width < 8) {
            t->width *= 2;
            return;
        }
        t->width = 2;
        break;
    case IW_MUTATE_TRIM_REPAIR:
        if (++t->at == 2)
            next_stage(t);
        return;
    default:
        break;
    }
    if (++t->at >= t->best.count)
        next_stage(t);
}

bool iw_mutate_trim_try(struct iw_mutate_trim *t, uint8_t *out, size_t room, size_t *length)
{
    while (t->stage != IW_MUTATE_TRIM_DONE) {
        iw_mutate_duplicate(&t->tried, &t->best);
        if (attempt(t)) {
            *length = iw_mutate_write(&t->tried, out, room);
            t->tries++;
            if (*length <= t->most)
                return true;
        }
        advance(t);
    }
    return false;
}

void iw_mutate_trim_verdict(struct iw_mutate_trim *t, bool good)
{
    if (!good) {
        advance(t);
        return;
    }
    iw_mutate_duplicate(&t->best, &t->tried);
    if (t->stage == IW_MUTATE_TRIM_DROP) { /* what follows has taken its place */
        t->plain = false;
        next_width(t);
    } else if (t->stage != IW_MUTATE_TRIM_SHORT) { /* that: again */
        advance(t);
    }
}
