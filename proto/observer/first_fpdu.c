/* SPDX-License-Identifier: BSD-3-Clause */
/* Framing that is wrong from the first FPDU of a side on, and always in the same way: CRC fields
 * are left out, or the ULPDU_Length is in reversed octet order. */
#include "iwarp/octets.h"
#include "observer/observer_internal.h"

enum { LOOKED_AT = 2 }; /* FPDUs: one alone may have a wrong ULPDU_Length that looks like it */

static const struct {
    enum iw_quirk quirk;
    enum iw_check check;
} ways[] = {
    {IW_QUIRK_CRC_ABSENT, IW_CHECK_MPA_CRC_ABSENT},
    {IW_QUIRK_LENGTH_ORDER, IW_CHECK_MPA_LENGTH_ORDER},
};

enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* Returns whether this side may yet show it: its first FPDU does. */
static bool undecided(const struct iw_observer *o, const struct iw_observed_side *s)
{
    return !o->config.no_quirks && s->phase == PHASE_FULL && s->segments == 0 && !s->missed &&
           !s->as_ulpdus && !s->seeking && !s->unproven && !o->joined && s->frame_quirk == 0;
}

/* Returns a deframer for octets that are framed in that way. */
static struct iw_deframer framed(const struct iw_observed_side *s, enum iw_quirk quirk)
{
    struct iw_deframer d = s->deframer;

    if (quirk == IW_QUIRK_CRC_ABSENT) {
        d.bare = true;
        d.crc = false; /* there is none to check */
    } else {
        d.turned = true;
    }
    return d;
}

/* Octets from a position on. */
struct rest {
    uint64_t pos;
    const uint8_t *octets;
    size_t length;
    bool last; /* no more will be seen */
    bool end;  /* no more were sent */
};

static struct rest after(const struct rest *r, size_t n)
{
    struct rest next = *r;

    next.pos += n;
    next.octets += n;
    next.length -= n;
    return next;
}

static enum iw_fpdu_probe header(const struct iw_observer *o, const struct iw_deframer *d,
                                 const struct rest *r, uint32_t *size)
{
    return iw_observer_probe_header(o, d, r->pos, r->octets, r->length, size);
}

/* Returns whether an FPDU begins there. The first four octets, Markers apart, rule out most. */
static enum iw_fpdu_probe begins(const struct iw_observer *o, const struct iw_deframer *d,
                                 const struct rest *r)
{
    uint8_t first[IW_MPA_LENGTH_FIELD + IW_MPA_LENGTH_FIELD];
    struct iw_fpdu fpdu;
    uint32_t size;
    size_t n = iw_deframer_peek(d, r->pos, r->octets, r->length, &fpdu, first + IW_MPA_LENGTH_FIELD,
                                sizeof(first) - IW_MPA_LENGTH_FIELD);

    if (fpdu.size > 0 && n == sizeof(first) - IW_MPA_LENGTH_FIELD) {
        iw_put16(first, fpdu.length);
        if (!iw_observer_may_begin(first))
            return IW_PROBE_BAD;
    }
    return header(o, d, r, &size);
}

/* What octets that are cut off say. */
static enum iw_framing cut(const struct rest *r)
{
    return r->last || r->end ? IW_FRAMING_AGREED : IW_FRAMING_WAITS;
}

/* Returns what follows if the FPDU is framed as agreed: whether another one begins there, GOOD
 * where the octets end, BAD where they end before. */
static enum iw_fpdu_probe go_on(const struct iw_observer *o, const struct iw_observed_side *s,
                                const struct rest *r, uint32_t *size)
{
    if (header(o, &s->deframer, r, size) != IW_PROBE_GOOD || *size > r->length)
        return IW_PROBE_BAD;
    const struct rest next = after(r, *size);
    return next.length == 0 ? IW_PROBE_GOOD : begins(o, &s->deframer, &next);
}

/* What the octets say of one FPDU, whose size is `size` without a CRC field. */
static enum iw_framing look_bare(const struct iw_observer *o, const struct iw_observed_side *s,
                                 const struct iw_deframer *other, const struct rest *r, size_t size,
                                 bool assumed)
{
    const struct rest next = after(r, size);
    uint32_t agreed;

    if (next.length == 0)
        return r->end || assumed ? IW_FRAMING_OTHER : cut(r);
    enum iw_fpdu_probe with = go_on(o, s, r, &agreed);
    if (agreed > r->length)
        return cut(r); /* a few octets more will show it */
    enum iw_fpdu_probe without = begins(o, other, &next);
    if (without == IW_PROBE_BAD || iw_observer_crc_right(s->deframer.crc32c, r->octets, agreed))
        return IW_FRAMING_AGREED;
    if (without == IW_PROBE_CUT || with == IW_PROBE_CUT || agreed == r->length)
        return cut(r);
    return with == IW_PROBE_BAD ? IW_FRAMING_OTHER : IW_FRAMING_AGREED;
}

/* What they say of one FPDU, whose size is `size` if its ULPDU_Length is turned. */
static enum iw_framing look_turned(const struct iw_observer *o, const struct iw_observed_side *s,
                                   const struct iw_deframer *other, const struct rest *r,
                                   size_t size, bool assumed)
{
    const struct rest next = after(r, size);
    uint32_t agreed;

    enum iw_fpdu_probe with = go_on(o, s, r, &agreed);
    if (agreed == size)
        return IW_FRAMING_AGREED; /* a ULPDU_Length that is the same in either order */
    if (other->crc)
        return iw_observer_crc_right(s->deframer.crc32c, r->octets, size) ? IW_FRAMING_OTHER
                                                                          : IW_FRAMING_AGREED;
    if (with != IW_PROBE_BAD)
        return IW_FRAMING_AGREED;
    if (next.length == 0)
        return r->end || assumed ? IW_FRAMING_OTHER : cut(r);
    switch (begins(o, other, &next)) {
    case IW_PROBE_GOOD:
        return IW_FRAMING_OTHER;
    case IW_PROBE_CUT:
        return cut(r);
    default:
        return IW_FRAMING_AGREED;
    }
}

/* Looks at the first FPDUs, as many as are there. A right CRC is proof by itself. */
static enum iw_framing look_at_all(const struct iw_observer *o, const struct iw_observed_side *s,
                                   const struct iw_deframer *other, const struct rest *r,
                                   bool assumed)
{
    enum iw_framing found = IW_FRAMING_OTHER;
    struct rest at = *r;
    int most = other->crc ? 1 : LOOKED_AT;

    for (int i = 0; i < most && at.length > 0 && found == IW_FRAMING_OTHER; i++) {
        uint32_t size;
        enum iw_fpdu_probe probe = header(o, other, &at, &size);
        if (probe == IW_PROBE_BAD)
            return IW_FRAMING_AGREED;
        if (probe == IW_PROBE_CUT || size > at.length)
            return i == 0 ? IW_FRAMING_AGREED : cut(&at);
        found = other->bare ? look_bare(o, s, other, &at, size, assumed)
                            : look_turned(o, s, other, &at, size, assumed);
        at = after(&at, size);
    }
    return found;
}

/* From now on the side is framed as `other` says. */
static void take(struct iw_observed_side *s, const struct iw_deframer *other, const struct rest *r,
                 size_t way)
{
    struct iw_fault *f = &s->frame_fault;
    struct iw_fpdu fpdu;

    (void)iw_deframer_peek(other, r->pos, r->octets, r->length, &fpdu, NULL, 0);
    *f = (struct iw_fault){.check = ways[way].check, .pos = fpdu.pos + fpdu.size};
    if (other->turned)
        *f = (struct iw_fault){.check = ways[way].check,
                               .pos = fpdu.header_pos,
                               .got = iw_quirk_turn16(fpdu.length),
                               .want = fpdu.length};
    s->deframer = *other;
    s->frame_quirk = iw_quirk_bit(ways[way].quirk);
    iw_deframer_move(&s->deframer, s->next);
}

enum iw_framing iw_observer_framing(struct iw_observer *o, struct iw_observed_side *s,
                                    struct iw_iov octets, bool last, bool end)
{
    const struct rest r = {s->next, octets.base, octets.length, last, end};
    enum iw_framing found = IW_FRAMING_AGREED;

    if (!undecided(o, s))
        return found;
    for (size_t i = 0; i < WAYS; i++) {
        struct iw_deframer other = framed(s, ways[i].quirk);
        uint32_t agreed;
        bool assumed = iw_quirk_in(o->config.quirks[s->self], ways[i].quirk);
        switch (look_at_all(o, s, &other, &r, assumed)) {
        case IW_FRAMING_AGREED:
            break;
        case IW_FRAMING_OTHER:
            take(s, &other, &r, i);
            return IW_FRAMING_OTHER;
        case IW_FRAMING_WAITS:
            found = IW_FRAMING_WAITS;
            (void)header(o, &s->deframer, &r, &agreed);
            s->whole_waited |= agreed > 0 && agreed <= r.length;
            break;
        }
    }
    return found;
}

/* Returns whether the octets end where FPDUs do that are framed in that way. */
static bool ends_with_fpdu(const struct iw_observer *o, const struct iw_deframer *other,
                           struct rest at)
{
    for (int i = 0; i < LOOKED_AT && at.length > 0; i++) {
        uint32_t size;
        if (header(o, other, &at, &size) != IW_PROBE_GOOD || size > at.length)
            return false;
        at = after(&at, size);
    }
    return at.length == 0;
}

bool iw_observer_unsettled(const struct iw_observer *o, enum iw_side side)
{
    const struct iw_observed_side *s = &o->side[side];
    struct iw_iov held = iw_hold_peek(s);
    const struct rest r = {.pos = s->next, .octets = held.base, .length = held.length};
    uint32_t agreed;

    if (iw_observer_startup_waits(o, side))
        return true;
    if (iw_observed_gap(s) || r.length == 0)
        return false;
    if (s->await || !undecided(o, s))
        return s->await;
    bool found = header(o, &s->deframer, &r, &agreed) == IW_PROBE_GOOD && agreed <= r.length;
    for (size_t i = 0; i < WAYS; i++) {
        struct iw_deframer other = framed(s, ways[i].quirk);
        found |= !other.crc && ends_with_fpdu(o, &other, r);
    }
    return found;
}

void iw_observer_settle(struct iw_observer *o, enum iw_side side)
{
    struct iw_observed_side *s = &o->side[side];

    if (!iw_observer_unsettled(o, side))
        return;
    if (s->phase == PHASE_STARTUP) {
        iw_observer_seek_startup(o, side, true);
        return;
    }
    s->settled = true;
    iw_observer_judge_held(o, side);
}
