/* SPDX-License-Identifier: BSD-3-Clause */
/* From octets in any order to whole FPDUs in order; gives up octets on the way. */
#include <string.h>

#include "observer/observer_internal.h"

#define POSITIONS (UINT64_MAX / 2) /* octets beyond are ignored */

/* Passes over n octets, of which the first stands at s->next. */
static void pass(struct iw_observed_side *s, struct iw_iov *octets, size_t n)
{
    octets->base = (uint8_t *)octets->base + n;
    octets->length -= n;
    s->next += n;
}

/* Judges octets from s->next on as far as they are whole FPDUs. Returns the number of octets done
 * with. */
static size_t judge(struct iw_observer *o, struct iw_observed_side *s, struct iw_iov octets,
                    bool last)
{
    const uint64_t first = s->next;

    iw_deframer_lend(&s->deframer, o->scratch->room, sizeof(o->scratch->room));
    while (s->phase == PHASE_FULL) {
        if (s->seeking) {
            pass(s, &octets, iw_observer_seek(o, s, octets.base, octets.length, last));
            if (s->seeking)
                break;
            iw_deframer_move(&s->deframer, s->next);
        }
        if (!iw_observer_first_marker(o, s, octets.base, octets.length))
            break;
        bool end = s->settled || (s->fin_known && s->next + octets.length == s->fin_pos);
        bool waits = false;
        s->redo = s->retake = s->await = false;
        s->ends = last || end;
        o->raw = octets.base;
        o->raw_length = octets.length;
        if (iw_observer_framing(o, s, octets, last, end) == IW_FRAMING_WAITS) {
            /* Markers at other places may explain it, which a CRC shows. */
            if (s->deframer.crc && iw_observer_lacks_marker(o, s, true, last || end, &waits))
                continue;
            break;
        }
        size_t size = iw_deframer_measure(&s->deframer, &octets, 1);
        if (iw_observer_lacks_marker(o, s, size > octets.length, last || end, &waits))
            continue;
        if (size == 0 || size > octets.length || waits)
            break;
        struct iw_iov piece = {octets.base, size};
        o->scratch->n_pending = 0;
        (void)iw_deframer_input(&s->deframer, s->next, &piece, 1);
        if (s->retake || s->await)
            iw_deframer_move(&s->deframer, s->next);
        if (s->await)
            break;
        if (s->retake)
            continue;
        if (s->redo) {
            iw_observer_unframe(o, s);
            size = s->markers_known ? s->step : 0; /* it may hold the first Marker */
        }
        pass(s, &octets, size);
    }
    (void)iw_deframer_return(&s->deframer);
    return (size_t)(s->next - first);
}

/* Returns the size of the FPDU at s->next, 0 if its ULPDU_Length is not here. Unlike judge() it
 * finds no fault with it: what is here may yet turn out to be framed otherwise. */
static size_t fpdu_size(const struct iw_observed_side *s, struct iw_iov here)
{
    struct iw_fpdu fpdu;

    (void)iw_deframer_peek(&s->deframer, s->next, here.base, here.length, &fpdu, NULL, 0);
    return fpdu.size;
}

/* After the octets that are here from s->next on, octets are missing up to `to`. If they belong to
 * the FPDU at s->next, framing goes on after it. */
static void give_up(struct iw_observer *o, struct iw_observed_side *s, struct iw_iov here,
                    uint64_t to)
{
    uint64_t from = s->next + here.length;
    size_t size = 0;

    if (s->phase == PHASE_FULL && !s->seeking && !s->unproven && here.length > 0)
        size = fpdu_size(s, here);
    if (size > here.length && s->next + size >= to) {
        iw_observer_cut_fpdu(o, s, here.base, here.length);
        to = s->next + size;
    } else {
        iw_observer_unframe(o, s);
    }
    iw_observer_begin(o, IW_OBSERVED_GAP, s->self, from, to);
    iw_observer_show(o);
    s->missed = true;
    s->next = to;
    iw_deframer_move(&s->deframer, to);
    iw_hold_skip(s);
}

static void remove_gap(struct iw_observed_side *s)
{
    s->gaps--;
    memmove(&s->gap[0], &s->gap[1], s->gaps * sizeof(s->gap[0]));
}

/* Gives up the first missing octets, as many as `to` says or until there are some. */
static void give_up_first(struct iw_observer *o, struct iw_observed_side *s, uint64_t to)
{
    uint64_t island = iw_hold_island(s);

    give_up(o, s, iw_hold_peek(s), to < island ? to : island);
}

void iw_observer_judge_held(struct iw_observer *o, enum iw_side side)
{
    struct iw_observed_side *s = &o->side[side];

    while (s->phase == PHASE_FULL) {
        struct iw_iov held = iw_hold_peek(s);

        if (held.length > 0) {
            (void)judge(o, s, held, false);
            iw_hold_skip(s);
        }
        while (s->gaps > 0 && s->gap[0].to <= iw_hold_edge(s))
            remove_gap(s);
        if (s->gaps == 0 || s->gap[0].from > iw_hold_edge(s))
            return;
        give_up_first(o, s, s->gap[0].to);
    }
    iw_hold_drop(s);
}

void iw_observer_judge_last(struct iw_observer *o, struct iw_observed_side *s)
{
    if (s->phase != PHASE_FULL || s->hold.octets == NULL)
        return;
    (void)judge(o, s, iw_hold_peek(s), true);
    iw_hold_skip(s);
}

/* Returns how many of `length` octets at `pos` to hold before looking again: if they continue those
 * held and nothing lies beyond, only those that complete the FPDU. */
static size_t wanted(struct iw_observed_side *s, uint64_t pos, size_t length)
{
    struct iw_iov held = iw_hold_peek(s);

    if (held.length == 0 || s->seeking || pos != s->next + held.length ||
        iw_hold_island(s) != UINT64_MAX)
        return length;
    size_t size = fpdu_size(s, held);
    /* The ULPDU_Length is not whole, or it is not clear yet whether it is one. */
    size_t want = size <= held.length ? 1 : size - held.length;
    return want < length ? want : length;
}

/* Makes room: there is no place for the octets at `pos`, which are not before the edge. */
static void make_room(struct iw_observer *o, struct iw_observed_side *s, uint64_t pos,
                      struct iw_iov octets)
{
    struct iw_iov held = iw_hold_peek(s);

    if (iw_hold_island(s) != UINT64_MAX)
        give_up_first(o, s, UINT64_MAX);
    else if (pos > s->next + held.length)
        give_up(o, s, held, pos);
    else if (s->seeking)
        (void)judge(o, s, held.length > 0 ? held : octets, true);
    else
        give_up(o, s, held.length > 0 ? held : octets, pos + octets.length);
    iw_hold_skip(s);
}

/* A segment that is a list of FPDUs, and nothing else, is evidence for the framing that was found.
 */
static void count_aligned(struct iw_observed_side *s, bool aligned)
{
    s->aligned = !aligned ? 0 : s->aligned < ALIGNED ? s->aligned + 1 : ALIGNED;
    if (s->aligned >= ALIGNED && s->markers_known)
        s->unproven = false;
}

static void feed_fpdus(struct iw_observer *o, struct iw_observed_side *s, uint64_t pos,
                       const uint8_t *octets, size_t length)
{
    const size_t all = length;
    const uint64_t first = pos;

    while (length > 0 && s->phase == PHASE_FULL) {
        uint64_t edge = iw_hold_edge(s), island = iw_hold_island(s);
        /* Of octets that are held already the first copy counts. */
        size_t fresh = island - pos < length ? (size_t)(island - pos) : length;
        struct iw_iov here = {(void *)(uintptr_t)octets, length};
        size_t done;
        if (pos < edge) { /* known */
            done = edge - pos < length ? (size_t)(edge - pos) : length;
            iw_observer_judge_held(o, s->self);
        } else if (pos == s->next &&
                   (done = judge(o, s, (struct iw_iov){here.base, fresh}, false)) > 0) {
            iw_hold_skip(s); /* the octets held after it may go on from here */
            if (s->unproven)
                count_aligned(s, done == all && s->found_at <= first);
        } else {
            size_t want = wanted(s, pos, length);
            done = want - iw_hold_put(s, pos, octets, want);
            if (done > 0)
                iw_observer_judge_held(o, s->self);
            else
                make_room(o, s, pos, here);
        }
        pos += done;
        octets += done;
        length -= done;
    }
    iw_observer_judge_held(o, s->self);
}

/* Takes octets until both start-up frames are known. */
static void feed_startup(struct iw_observer *o, struct iw_observed_side *s, uint64_t pos,
                         const uint8_t *octets, size_t length)
{
    size_t refused = iw_hold_put(s, pos, octets, length);

    if (s->phase == PHASE_STARTUP)
        iw_observer_seek_startup(o, s->self, false);
    if (refused > 0 && (s->phase == PHASE_STARTUP || s->phase == PHASE_FRAMED))
        iw_observer_assume(o, NULL);
    if (s->phase == PHASE_FULL)
        feed_fpdus(o, s, pos, octets, length);
    else if (s->phase == PHASE_STARTUP || s->phase == PHASE_FRAMED)
        iw_observer_check_early(o, s->self);
}

int iw_observer_input(struct iw_observer *o, enum iw_side side, uint64_t pos, const void *data,
                      size_t length)
{
    struct iw_observed_side *s = &o->side[side];

    if (s->as_ulpdus || s->phase == PHASE_LOST)
        return -1;
    if (s->reset || s->phase == PHASE_LEFT || (s->fin_known && pos >= s->fin_pos) ||
        pos > POSITIONS || length > POSITIONS - pos)
        return 0;
    if (s->fin_known && length > s->fin_pos - pos)
        length = (size_t)(s->fin_pos - pos);
    if (length == 0)
        return 0;
    if (pos + length > s->top)
        s->top = pos + length;
    iw_observer_note_input(o, side, pos, length);
    if (s->phase == PHASE_FULL)
        feed_fpdus(o, s, pos, data, length);
    else
        feed_startup(o, s, pos, data, length);
    iw_observer_judge_end(o, side);
    return s->phase == PHASE_LOST ? -1 : 0;
}

/* ---- octets that do not come ---- */

static bool follows(const struct iw_observed_side *s)
{
    return !s->as_ulpdus && !s->reset && s->phase != PHASE_LOST && s->phase != PHASE_LEFT;
}

/* Gives up the first gap, whatever comes before it, when there are too many gaps to remember. */
static void crowd_out(struct iw_observer *o, struct iw_observed_side *s)
{
    while (s->gaps == GAPS && s->phase == PHASE_FULL) {
        give_up_first(o, s, s->gap[0].to);
        iw_observer_judge_held(o, s->self);
    }
}

void iw_observer_gap(struct iw_observer *o, enum iw_side side, uint64_t from, uint64_t to)
{
    struct iw_observed_side *s = &o->side[side];
    size_t at = 0;

    if (!follows(s) || to > POSITIONS || to <= s->next || from >= to)
        return;
    if (to > s->top)
        s->top = to;
    if (s->phase != PHASE_FULL &&
        (from <= iw_hold_edge(s) ? s->phase == PHASE_STARTUP : s->gaps == GAPS))
        iw_observer_assume(o, NULL);
    if (s->gaps == GAPS)
        crowd_out(o, s);
    if (s->gaps == GAPS)
        return; /* lost, or left */
    while (at < s->gaps && s->gap[at].from < from)
        at++;
    memmove(&s->gap[at + 1], &s->gap[at], (s->gaps - at) * sizeof(s->gap[0]));
    s->gap[at] = (struct iw_observed_range){.from = from, .to = to};
    s->gaps++;
    iw_observer_judge_held(o, side);
    iw_observer_judge_end(o, side);
}

void iw_observer_acked(struct iw_observer *o, enum iw_side side, uint64_t pos)
{
    struct iw_observed_side *s = &o->side[side];

    if (pos > s->acked && pos <= POSITIONS)
        s->acked = pos;
}

void iw_observer_flush(struct iw_observer *o)
{
    bool waits = false;

    for (int i = 0; i < 2; i++)
        waits |= follows(&o->side[i]) && o->side[i].phase != PHASE_FULL && o->side[i].top > 0;
    if (waits)
        iw_observer_assume(o, NULL);
    for (int i = 0; i < 2; i++) {
        struct iw_observed_side *s = &o->side[i];

        while (follows(s) && iw_hold_island(s) != UINT64_MAX) {
            give_up_first(o, s, UINT64_MAX);
            iw_observer_judge_held(o, s->self);
        }
        if (follows(s))
            iw_observer_judge_last(o, s);
        iw_observer_judge_end(o, s->self);
    }
}
