/* SPDX-License-Identifier: BSD-3-Clause */
/* What the observer of a connection calls: counts and hands on what it sees, lends it memory. */
#include "lint.h"

#include <stdlib.h>
#include <sys/param.h>

static void seen_segment(struct iw_lint_connection *c, const struct iw_observation *o)
{
    struct iw_lint *lint = c->lint;
    bool good =
        o->payload != NULL && !(o->fpdu != NULL && o->fpdu->crc_checked && !o->fpdu->crc_good);

    iw_lint_forget(&c->side[o->side].ranges, o->pos);
    if (!good)
        return;
    if (lint->options->messages || !iw_ddp_last(&o->ddp))
        iw_lint_begin_message(c, o);
    if (lint->extract != NULL && iw_ddp_tagged(&o->ddp))
        iw_lint_extract_segment(lint->extract, c, o);
}

static void seen_message(struct iw_lint_connection *c, const struct iw_observation *o)
{
    struct iw_lint_side *s = &c->side[o->side];
    unsigned opcode = iw_rdmap_op(&o->ddp);
    struct iw_lint_count *n = &s->count[opcode];
    uint32_t length = (uint32_t)MIN(o->message_length, UINT32_MAX);

    n->least = n->messages > 0 ? MIN(n->least, length) : length;
    n->most = MAX(n->most, length);
    n->messages++;
    n->octets += o->message_length;
    if (!c->lint->options->summary)
        return;
    if (opcode == IW_OP_READ_REQUEST || opcode == IW_OP_ATOMIC_REQUEST)
        iw_lint_asked(s, c->lint->time, o);
    else if (opcode == IW_OP_READ_RESPONSE || opcode == IW_OP_ATOMIC_RESPONSE)
        iw_lint_answered(&c->side[iw_observed_other(o->side)], c->lint->time, o);
}

static void seen_gap(struct iw_lint_connection *c, const struct iw_observation *o)
{
    struct iw_lint_side *s = &c->side[o->side];

    iw_lint_end_messages(s);
    iw_lint_forget_reads(&c->side[iw_observed_other(o->side)]); /* their answers may be missing */
    if (o->kind == IW_OBSERVED_GAP) {
        if (o->end == o->pos)
            return;
        s->gaps++;
        s->missing += o->end - o->pos;
    }
    iw_lint_break(c, o);
}

void iw_lint_seen(void *context, const struct iw_observation *o)
{
    struct iw_lint_connection *c = context;
    struct iw_lint_side *s = &c->side[o->side];

    switch (o->kind) {
    case IW_OBSERVED_SEGMENT:
        seen_segment(c, o);
        return;
    case IW_OBSERVED_STARTUP:
        s->started = true;
        s->startup = o->startup;
        s->enhanced = o->enhanced;
        break;
    case IW_OBSERVED_MESSAGE:
        seen_message(c, o);
        break;
    case IW_OBSERVED_FINDING:
        s->findings += o->cause == IW_CHECK_NONE;
        iw_lint_finding(c, o);
        return;
    case IW_OBSERVED_LOST:
        s->lost = true;
        iw_lint_break(c, o);
        return;
    case IW_OBSERVED_GAP:
    case IW_OBSERVED_RESYNC:
        seen_gap(c, o);
        return;
    case IW_OBSERVED_FIN:
    case IW_OBSERVED_RESET:
        break;
    }
    if (c->lint->options->messages)
        iw_lint_message(c, o);
    if (o->kind == IW_OBSERVED_MESSAGE)
        iw_lint_end_message(s, o);
}

void *iw_lint_lend(void *context, size_t size)
{
    struct iw_lint_connection *c = context;
    void *block = c->lint->lent + size <= IW_LINT_LENT ? malloc(size) : NULL;

    if (block != NULL)
        c->lint->lent += size;
    return block;
}

void iw_lint_give_back(void *context, void *block, size_t size)
{
    struct iw_lint_connection *c = context;

    c->lint->lent -= size;
    free(block);
}
