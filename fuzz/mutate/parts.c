/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds scripts from parts, and repairs their numbers. */
#include "mutate/mutate.h"

#include <string.h>

#include "iwarp/octets.h"
#include "iwarp/wire.h"

void iw_mutate_duplicate(struct iw_mutate_script *to, const struct iw_mutate_script *from)
{
    memcpy(to, from, offsetof(struct iw_mutate_script, part));
    memcpy(to->part, from->part, from->count * sizeof(to->part[0]));
    memcpy(to->octets, from->octets, from->used);
}

static bool make_room(struct iw_mutate_script *s, size_t at, size_t length)
{
    if (s->count == IW_MUTATE_PARTS || at > s->count || length > IW_MUTATE_ARENA - s->used)
        return false;
    memmove(&s->part[at + 1], &s->part[at], (s->count - at) * sizeof(s->part[0]));
    s->count++;
    return true;
}

bool iw_mutate_insert(struct iw_mutate_script *s, size_t at, enum iw_mutate_kind kind,
                      unsigned step, const void *octets, size_t length)
{
    if (!make_room(s, at, length))
        return false;
    s->part[at] = (struct iw_mutate_part){.kind = (uint8_t)kind,
                                          .step = (uint8_t)step,
                                          .at = (uint32_t)s->used,
                                          .length = (uint32_t)length};
    if (length > 0)
        memcpy(s->octets + s->used, octets, length);
    s->used += length;
    return true;
}

bool iw_mutate_copy(struct iw_mutate_script *s, size_t from, size_t to)
{
    if (from >= s->count || !make_room(s, to, s->part[from].length))
        return false;
    struct iw_mutate_part p = s->part[from < to ? from : from + 1];
    memcpy(s->octets + s->used, s->octets + p.at, p.length);
    p.at = (uint32_t)s->used;
    s->used += p.length;
    s->part[to] = p;
    return true;
}

void iw_mutate_drop(struct iw_mutate_script *s, size_t at, size_t count)
{
    if (at >= s->count)
        return;
    if (count > s->count - at)
        count = s->count - at;
    memmove(&s->part[at], &s->part[at + count], (s->count - at - count) * sizeof(s->part[0]));
    s->count -= count;
}

void iw_mutate_swap(struct iw_mutate_script *s, size_t a, size_t b)
{
    struct iw_mutate_part p = s->part[a];

    s->part[a] = s->part[b];
    s->part[b] = p;
}

/* Returns the untagged header of an FPDU whose QN is one of the four queues. */
static uint8_t *untagged(struct iw_mutate_script *s, const struct iw_mutate_part *p, uint32_t *qn)
{
    uint8_t *o = s->octets + p->at;

    if (p->kind != IW_MUTATE_FPDU || p->length < IW_DDP_UNTAGGED_HEADER ||
        (o[IW_AT_DDP_CONTROL] & IW_DDP_T) != 0)
        return NULL;
    *qn = iw_get32(o + IW_AT_QN);
    return *qn <= IW_QN_ATOMIC_RESPONSE ? o : NULL;
}

void iw_mutate_renumber(struct iw_mutate_script *s)
{
    uint32_t msn[2][4] = {{1, 1, 1, 1}, {1, 1, 1, 1}}, qn;

    for (const struct iw_mutate_part *p = s->part; p < s->part + s->count; p++) {
        uint8_t *o = untagged(s, p, &qn);
        if (o == NULL)
            continue;
        (void)iw_put32(o + IW_AT_MSN, msn[iw_mutate_side(s, p)][qn]);
        if (o[IW_AT_DDP_CONTROL] & IW_DDP_L)
            msn[iw_mutate_side(s, p)][qn]++;
    }
}

void iw_mutate_reoffset(struct iw_mutate_script *s)
{
    uint32_t mo[2][4] = {{0}}, qn;

    for (const struct iw_mutate_part *p = s->part; p < s->part + s->count; p++) {
        uint8_t *o = untagged(s, p, &qn);
        if (o == NULL)
            continue;
        (void)iw_put32(o + IW_AT_MO, mo[iw_mutate_side(s, p)][qn]);
        mo[iw_mutate_side(s, p)][qn] += p->length - IW_DDP_UNTAGGED_HEADER;
        if (o[IW_AT_DDP_CONTROL] & IW_DDP_L)
            mo[iw_mutate_side(s, p)][qn] = 0;
    }
}

void iw_mutate_repair_startups(struct iw_mutate_script *s)
{
    for (const struct iw_mutate_part *p = s->part; p < s->part + s->count; p++)
        if (p->kind == IW_MUTATE_STARTUP && p->length >= IW_MPA_STARTUP_HEADER)
            (void)iw_put16(s->octets + p->at + IW_AT_MPA_PD_LENGTH,
                           (uint16_t)(p->length - IW_MPA_STARTUP_HEADER));
}

void iw_mutate_repair_fpdus(struct iw_mutate_script *s)
{
    for (struct iw_mutate_part *p = s->part; p < s->part + s->count; p++) {
        if (p->kind != IW_MUTATE_FPDU)
            continue;
        memset(p->pad, 0, sizeof(p->pad));
        p->crc = 0;
        p->stated = 0;
        p->bend = 0;
    }
}
