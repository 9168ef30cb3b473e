/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "observer/observer_internal.h"

static void find_in_header(struct iw_observer *o, enum iw_check check)
{
    struct iw_ulpdu_fault fault = iw_rdmap_header_fault(&o->now->ddp, check, o->version);

    iw_observer_find_at(o, check, fault.offset, fault.got, fault.want);
}

static void check_reserved(struct iw_observer *o)
{
    unsigned seen = 0;
    enum iw_check check;
    while ((check = iw_rdmap_check_reserved(&o->now->ddp, &seen)) != IW_CHECK_NONE)
        find_in_header(o, check);
}

static void pass_over(struct iw_switches *passed, enum iw_check check)
{
    passed->any = true;
    passed->set[check] |= 1u << IW_SWITCH_IGNORE;
}

/* Forgets a message whose segment names a queue or a message type that it cannot be of. */
static void forget_message(struct iw_observer *o)
{
    const struct iw_ddp_header *h = &o->now->ddp;
    struct iw_observed_side *s = &o->side[o->now->side];
    unsigned opcode = iw_rdmap_op(h);

    s->queue[iw_rdmap_queue(opcode)].lost = true;
    if (!iw_ddp_tagged(h) && h->qn < QUEUES)
        s->queue[h->qn].lost = true;
    if (iw_ddp_tagged(h) || iw_rdmap_is_tagged(opcode))
        s->tagged[0].open = s->tagged[1].open = false;
    iw_observer_doubt_reads(o);
}

/* Returns whether T is not the one of the opcode, which is that of a tagged message: then there is
 * no queue number, and the fields are those of a tagged header. */
static bool lacks_t(uint8_t ddp_control, uint8_t rdmap_control)
{
    return iw_rdmap_is_tagged(rdmap_control & 0xfu) && !(ddp_control & IW_DDP_T);
}

/* A receiver takes it for an untagged one, of whose fields it may find another one wrong first. */
static void doubt_reaction(struct iw_observer *o)
{
    o->side[o->now->side].provocation.doubtful = true;
}

/* A mutant of the endpoint is not a mutant of the observer. */
static enum iw_check judge(const struct iw_observer *o, const struct iw_switches *passed)
{
#ifdef IW_PROVE
    iw_prove_pause(true);
#endif
    enum iw_check check =
        iw_rdmap_check_header(&o->now->ddp, o->version, o->config.extensions, passed);
#ifdef IW_PROVE
    iw_prove_pause(false);
#endif
    return check;
}

bool iw_observer_judge_header(struct iw_observer *o)
{
    check_reserved(o);
    if (judge(o, NULL) == IW_CHECK_NONE)
        return true;
    const struct iw_ddp_header *h = &o->now->ddp;
    bool placeable = true;
    struct iw_switches passed;
    memset(&passed, 0, sizeof(passed));
    if (lacks_t(h->ddp_control, h->rdmap_control)) {
        pass_over(&passed, IW_CHECK_DDP_QN);
        doubt_reaction(o);
    }
    enum iw_check check;
    while ((check = judge(o, &passed)) != IW_CHECK_NONE) {
        pass_over(&passed, check);
        find_in_header(o, check);
        if (check == IW_CHECK_DDP_QN || check == IW_CHECK_RDMAP_OPCODE_QUEUE) {
            pass_over(&passed, IW_CHECK_RDMAP_OPCODE_QUEUE);
            placeable = false;
        } else if (check == IW_CHECK_RDMAP_OPCODE || check == IW_CHECK_RDMAP_OPCODE_TAGGED) {
            /* DDP numbers an unassigned opcode's messages all the same. */
            placeable = placeable && check == IW_CHECK_RDMAP_OPCODE && !iw_ddp_tagged(h);
            iw_observer_doubt_reads(o);
        }
    }
    if (!placeable)
        forget_message(o);
    return placeable;
}

/* Returns what is wrong with a ULPDU that holds no whole header. */
static enum iw_check stub_check(const uint8_t *ulpdu, size_t length)
{
    return length >= IW_DDP_TAGGED_HEADER &&
                   lacks_t(ulpdu[IW_AT_DDP_CONTROL], ulpdu[IW_AT_RDMAP_CONTROL])
               ? IW_CHECK_RDMAP_OPCODE_TAGGED
               : IW_CHECK_DDP_HEADER_SHORT;
}

void iw_observer_expect_header(struct iw_observer *o, const uint8_t *ulpdu, size_t length,
                               bool header)
{
    struct iw_observed_side *s = &o->side[o->now->side];
    struct iw_switches passed;
    if (!header) {
        (void)iw_observed_cause(s, stub_check(ulpdu, length));
        return;
    }
    memset(&passed, 0, sizeof(passed));
    for (enum iw_check check; (check = judge(o, &passed)) != IW_CHECK_NONE;) {
        pass_over(&passed, check);
        (void)iw_observed_cause(s, check);
    }
}

void iw_observer_judge_stub(struct iw_observer *o, const uint8_t *ulpdu, size_t length)
{
    bool tagged = length > 0 && (ulpdu[IW_AT_DDP_CONTROL] & IW_DDP_T);
    if (stub_check(ulpdu, length) == IW_CHECK_RDMAP_OPCODE_TAGGED) {
        iw_observer_find_at(o, IW_CHECK_RDMAP_OPCODE_TAGGED, IW_AT_RDMAP_CONTROL,
                            ulpdu[IW_AT_RDMAP_CONTROL] & 0xfu, 0);
        doubt_reaction(o);
    } else {
        iw_observer_find_at(o, IW_CHECK_DDP_HEADER_SHORT, IW_AT_DDP_CONTROL, length,
                            tagged ? IW_DDP_TAGGED_HEADER : IW_DDP_UNTAGGED_HEADER);
    }
}
