/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules that the wire alone does not decide: they are judged if the caller gives the EMSS, or
 * states that nobody has configured the sides (struct iw_observer_config). */
#include "observer/observer_internal.h"

bool iw_observer_wants_crc(const struct iw_observer *o, const struct iw_observed_side *s)
{
    return o->config.default_config && s->startup.revision != 0 &&
           !(s->startup.flags & IW_MPA_FLAG_C);
}

void iw_observer_note_input(struct iw_observer *o, enum iw_side side, uint64_t pos, size_t length)
{
    struct iw_observed_side *s = &o->side[side];

    s->input_pos = pos;
    s->input_end = pos + length;
    if (o->config.emss > 0 && length > o->config.emss)
        s->offload = true; /* the NIC cuts: the sender's EMSS cannot be known */
}

/* An FPDU that begins before the input in which it ends fits into one segment, but was cut. Octets
 * that were held after a gap are not judged. */
static bool cut(const struct iw_observer *o, const struct iw_observed_side *s)
{
    uint64_t size = o->now->end - o->now->pos;

    return size <= o->config.emss && o->now->pos < s->input_pos && o->now->end > s->input_pos &&
           o->now->end <= s->input_end;
}

void iw_observer_check_size(struct iw_observer *o)
{
    const struct iw_observed_side *s = &o->side[o->now->side];
    if (o->config.emss == 0 || o->now->fpdu == NULL || s->offload || !s->markers_known)
        return;
    uint32_t mulpdu = iw_wire_mulpdu(o->config.emss, s->deframer.markers);
    if (o->now->ulpdu_length > mulpdu)
        iw_observer_find(o, IW_CHECK_MPA_MULPDU_OVER, o->now->fpdu->header_pos,
                         o->now->ulpdu_length, mulpdu);
    else if (o->now->payload != NULL && !iw_ddp_last(&o->now->ddp) && o->now->ulpdu_length < mulpdu)
        iw_observer_find(o, IW_CHECK_MPA_MULPDU_UNDER, o->now->fpdu->header_pos,
                         o->now->ulpdu_length, mulpdu);
    if (cut(o, s))
        iw_observer_find(o, IW_CHECK_MPA_FPDU_CUT, s->input_pos, s->input_pos - o->now->pos, 0);
}
