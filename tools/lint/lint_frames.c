/* SPDX-License-Identifier: BSD-3-Clause */
/* Which frame an octet was in: of those that have not been judged yet, and of the first octet of
 * messages that have come in part. */
#include "lint.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_RANGES = 256 /* frames whose octets are remembered */ };

void iw_lint_no_ranges(struct iw_lint_ranges *r)
{
    r->all = r->few;
    r->room = IW_LINT_FEW_RANGES;
    r->count = 0;
}

void iw_lint_free_ranges(struct iw_lint_ranges *r)
{
    if (r->all != r->few)
        free(r->all);
}

/* Forgets the oldest ranges. */
static void drop(struct iw_lint_ranges *r, uint32_t n)
{
    r->count -= n;
    memmove(r->all, r->all + n, r->count * sizeof(*r->all));
}

/* Makes room for one more. Returns false if the oldest has to go instead. */
static bool grow(struct iw_lint_ranges *r)
{
    uint32_t room = 2 * r->room;
    struct iw_lint_range *all = room <= MOST_RANGES ? malloc(room * sizeof(*all)) : NULL;

    if (all == NULL)
        return false;
    memcpy(all, r->all, r->count * sizeof(*all));
    iw_lint_free_ranges(r);
    r->all = all;
    r->room = room;
    return true;
}

void iw_lint_remember(struct iw_lint_connection *c, enum iw_side side, uint64_t pos, uint64_t end)
{
    struct iw_lint_ranges *r = &c->side[side].ranges;

    if (r->count == r->room && !grow(r))
        drop(r, 1);
    r->all[r->count++] = (struct iw_lint_range){pos, end, c->lint->frame};
}

void iw_lint_forget(struct iw_lint_ranges *r, uint64_t pos)
{
    uint32_t n = 0;

    while (n < r->count && r->all[n].end <= pos)
        n++;
    drop(r, n);
}

static unsigned begun_kind(const struct iw_ddp_header *h)
{
    if (iw_ddp_tagged(h))
        return iw_rdmap_op(h) == IW_OP_WRITE ? IW_LINT_BEGUN - 2 : IW_LINT_BEGUN - 1;
    return h->qn < IW_LINT_BEGUN - 2 ? h->qn : 0;
}

void iw_lint_begin_message(struct iw_lint_connection *c, const struct iw_observation *o)
{
    struct iw_lint_begun *b = &c->side[o->side].begun[begun_kind(&o->ddp)];

    if (!b->open)
        *b = (struct iw_lint_begun){true, o->pos, iw_lint_frame(c, o->side, o->pos)};
}

void iw_lint_end_message(struct iw_lint_side *s, const struct iw_observation *o)
{
    s->begun[begun_kind(&o->ddp)].open = false;
}

void iw_lint_end_messages(struct iw_lint_side *s)
{
    for (unsigned i = 0; i < IW_LINT_BEGUN; i++)
        s->begun[i].open = false;
}

uint64_t iw_lint_frame(const struct iw_lint_connection *c, enum iw_side side, uint64_t pos)
{
    const struct iw_lint_side *s = &c->side[side];
    const struct iw_lint_range *range = s->ranges.all;

    /* The first copy of an octet is the one that counts, hence from the oldest on. */
    for (uint32_t k = 0; k < s->ranges.count; k++, range++)
        if (pos >= range->pos && pos < range->end)
            return range->frame;
    for (unsigned i = 0; i < IW_LINT_BEGUN; i++)
        if (s->begun[i].open && s->begun[i].pos == pos)
            return s->begun[i].frame;
    return c->lint->frame;
}
