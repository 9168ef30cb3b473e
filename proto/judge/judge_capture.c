/* SPDX-License-Identifier: BSD-3-Clause */
#include "judge/judge_internal.h"

#include "host/clock.h"

/* As large as an IPv4 packet can be: a frame is what one call sent or received, as in a capture on
 * a host whose NIC cuts the segments. */
enum {
    PIECE = 65495,
    OVERHEAD = 200 /* octets of a frame, its acknowledgement and their blocks */
};

/* Returns whether so many octets, in one frame, may be recorded; if not, nothing more is. */
static bool take(struct iw_judge *j, size_t length)
{
    if (j->capture == NULL)
        return false;
    if (j->left < length + OVERHEAD) {
        char error[IW_CAPTURE_ERROR];
        (void)iw_synth_finish(j->capture, error);
        iw_synth_free(j->capture);
        j->capture = NULL;
        j->cut = true;
        return false;
    }
    j->left -= length + OVERHEAD;
    return true;
}

void iw_judge_record_opened(struct iw_judged *c, const struct iw_synth_tcp *tcp)
{
    struct iw_synth_tcp more = *tcp;
    struct iw_synth_span span;
    more.mss = PIECE;
    more.told = 1460;
    c->recorded = take(c->judge, 2 * OVERHEAD)
                      ? iw_synth_connect(c->judge->capture, &more, iw_clock_wall(), &span)
                      : -1;
}

static void remember(struct iw_judged_side *s, uint64_t pos, uint64_t end, uint64_t frame)
{
    s->pieces[s->next] = (struct iw_judge_piece){pos, end, frame};
    s->next = (s->next + 1) % IW_JUDGE_PIECES;
}

void iw_judge_record_octets(struct iw_judged *c, enum iw_side side, uint64_t pos, const void *data,
                            size_t length)
{
    const uint8_t *at = data;
    while (length > 0 && c->recorded >= 0) {
        size_t piece = length < PIECE ? length : PIECE;
        if (!take(c->judge, piece)) {
            c->recorded = -1;
            return;
        }
        struct iw_synth_span span =
            iw_synth_data(c->judge->capture, c->recorded, side, iw_clock_wall(), at, piece);
        remember(&c->side[side], pos, pos + piece, span.first);
        at += piece;
        pos += piece;
        length -= piece;
    }
}

void iw_judge_record_ended(struct iw_judged *c, enum iw_side side, bool reset)
{
    if (c->recorded < 0 || !take(c->judge, 0))
        return;
    struct iw_synth_span span =
        reset ? iw_synth_reset(c->judge->capture, c->recorded, side, iw_clock_wall())
              : iw_synth_fin(c->judge->capture, c->recorded, side, iw_clock_wall());
    remember(&c->side[side], c->side[side].octets, UINT64_MAX, span.first);
}

uint64_t iw_judge_frame(const struct iw_judged *c, enum iw_side side, uint64_t pos)
{
    const struct iw_judged_side *s = &c->side[side];
    for (unsigned i = 1; i <= IW_JUDGE_PIECES; i++) {
        const struct iw_judge_piece *p =
            &s->pieces[(s->next + IW_JUDGE_PIECES - i) % IW_JUDGE_PIECES];
        if (pos >= p->pos && pos < p->end)
            return p->frame;
    }
    return 0;
}
