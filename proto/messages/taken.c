/* SPDX-License-Identifier: BSD-3-Clause */
#include "messages/taken.h"

#include "iwarp/messages.h"

/* Moves the base over all that is done with. */
static void slide(struct iw_message_state *s)
{
    while ((s->ahead & 1) != 0) {
        s->base++;
        s->refused_before = s->refused_before << 1 | (s->refused_after & 1);
        s->ahead >>= 1;
        s->refused_after >>= 1;
    }
}

enum iw_taken_verdict iw_taken_come(struct iw_taken *t, uint64_t sequence)
{
    if (sequence <= t->came)
        return IW_TAKEN_AGAIN;
    if (sequence == UINT64_MAX) /* the next one would be 0 */
        return IW_TAKEN_WRONG;
    if (t->came == t->state.base) { /* nothing is open, so any gap is one of given-up messages */
        if (sequence - 1 > t->state.base) {
            const uint64_t gap = sequence - 1 - t->state.base;
            t->state.refused_before = gap < 64 ? t->state.refused_before << gap : 0;
            t->state.base = sequence - 1;
        }
    } else if (sequence - t->state.base > IW_MESSAGES_WINDOW) {
        return IW_TAKEN_WRONG;
    }
    const uint64_t first = t->came;
    t->came = sequence;
    for (uint64_t i = first > t->state.base ? first + 1 : t->state.base + 1; i < sequence; i++)
        iw_taken_done(t, i, false);
    return IW_TAKEN_NEXT;
}

void iw_taken_done(struct iw_taken *t, uint64_t sequence, bool refused)
{
    if (sequence <= t->state.base || sequence > t->came)
        return;
    const uint64_t bit = UINT64_C(1) << (sequence - t->state.base - 1);
    t->state.ahead |= bit;
    if (refused)
        t->state.refused_after |= bit;
    slide(&t->state);
}

void iw_taken_back(struct iw_taken *t, uint64_t last)
{
    if (last < t->came)
        t->came = last < t->state.base ? t->state.base : last;
}

enum iw_taken_fate iw_taken_fate(const struct iw_message_state *s, uint64_t sequence)
{
    if (sequence <= s->base) {
        const uint64_t back = s->base - sequence;
        return back < 64 && (s->refused_before >> back & 1) != 0 ? IW_TAKEN_REFUSED
                                                                 : IW_TAKEN_TAKEN;
    }
    const uint64_t place = sequence - s->base - 1;
    if (place >= 64 || (s->ahead >> place & 1) == 0)
        return IW_TAKEN_OPEN;
    return (s->refused_after >> place & 1) != 0 ? IW_TAKEN_REFUSED : IW_TAKEN_TAKEN;
}
