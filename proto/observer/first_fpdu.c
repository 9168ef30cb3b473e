/* SPDX-License-Identifier: BSD-3-Clause */
/* CRC fields that are left out: the FPDUs of a side follow each other without them. */
#include "iwarp/crc32c.h"
#include "iwarp/octets.h"
#include "observer/observer_internal.h"

/* Returns whether this side may yet show that it leaves CRC fields out: its first FPDU does. */
static bool undecided(const struct iw_observer *o, const struct iw_observed_side *s)
{
    return !o->config.no_quirks && s->phase == PHASE_FULL && s->segments == 0 && !s->missed &&
           !s->told && !s->seeking && !s->unproven && !o->joined && !s->deframer.bare;
}

/* Octets from a position on. */
struct rest {
    uint64_t pos;
    const uint8_t *octets;
    size_t length;
};

static struct rest after(const struct rest *r, size_t n)
{
    return (struct rest){.pos = r->pos + n, .octets = r->octets + n, .length = r->length - n};
}

static bool crc_right(const struct iw_observed_side *s, const uint8_t *octets, size_t size)
{
    size_t covered = size - IW_MPA_CRC_FIELD;
    uint32_t crc = s->deframer.crc32c(IW_CRC32C_INIT, octets, covered);

    return iw_crc32c_finish(crc) == iw_crc32c_get(octets + covered);
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
    return iw_observer_probe_header(o, d, r->pos, r->octets, r->length, &size);
}

/* What is known of the octets of a side beside themselves. */
struct tail {
    bool last; /* no more will be seen */
    bool end;  /* no more were sent */
};

static enum iw_crc_field cut(struct tail t)
{
    return t.last || t.end ? IW_CRC_FIELD_THERE : IW_CRC_FIELD_WAITS;
}

/* What the octets say of one FPDU, whose size is `size` without a CRC field. */
static enum iw_crc_field look(const struct iw_observer *o, const struct iw_observed_side *s,
                              const struct iw_deframer *bare, const struct rest *r, size_t size,
                              struct tail t)
{
    const struct rest next = after(r, size);
    bool assumed = iw_quirk_in(o->config.quirks[s->self], IW_QUIRK_CRC_ABSENT);
    uint32_t with;

    if (next.length == 0)
        return t.end || assumed ? IW_CRC_FIELD_ABSENT : cut(t);
    (void)iw_observer_probe_header(o, &s->deframer, r->pos, r->octets, r->length, &with);
    if (with > r->length)
        return cut(t);
    enum iw_fpdu_probe without = begins(o, bare, &next);
    if (without == IW_PROBE_BAD || crc_right(s, r->octets, with))
        return IW_CRC_FIELD_THERE;
    if (without == IW_PROBE_CUT)
        return cut(t);
    const struct rest agreed = after(r, with);
    switch (begins(o, &s->deframer, &agreed)) {
    case IW_PROBE_BAD:
        return IW_CRC_FIELD_ABSENT;
    case IW_PROBE_CUT:
        return cut(t);
    default:
        return IW_CRC_FIELD_THERE;
    }
}

/* As look(), at the first FPDU and, where it is not the last, at the second one: an ULPDU_Length
 * that is wrong, once, looks like a CRC field that is left out. */
static enum iw_crc_field look_at_two(const struct iw_observer *o, const struct iw_observed_side *s,
                                     const struct iw_deframer *bare, const struct rest *r,
                                     struct tail t)
{
    enum iw_crc_field field = IW_CRC_FIELD_ABSENT;
    struct rest at = *r;

    for (int i = 0; i < 2 && at.length > 0 && field == IW_CRC_FIELD_ABSENT; i++) {
        uint32_t size;
        enum iw_fpdu_probe probe =
            iw_observer_probe_header(o, bare, at.pos, at.octets, at.length, &size);
        if (probe == IW_PROBE_BAD)
            return IW_CRC_FIELD_THERE;
        if (probe == IW_PROBE_CUT || size > at.length)
            return i == 0 ? IW_CRC_FIELD_THERE : cut(t);
        field = look(o, s, bare, &at, size, t);
        at = after(&at, size);
    }
    return field;
}

enum iw_crc_field iw_observer_crc_field(struct iw_observer *o, struct iw_observed_side *s,
                                        struct iw_iov octets, bool last, bool end)
{
    struct iw_deframer bare = s->deframer;
    uint32_t size;

    if (!undecided(o, s))
        return IW_CRC_FIELD_THERE;
    bare.bare = true;
    const struct rest r = {.pos = s->next, .octets = octets.base, .length = octets.length};
    if (iw_observer_probe_header(o, &bare, r.pos, r.octets, r.length, &size) != IW_PROBE_GOOD ||
        size > r.length)
        return IW_CRC_FIELD_THERE;
    enum iw_crc_field field = look_at_two(o, s, &bare, &r, (struct tail){.last = last, .end = end});
    if (field == IW_CRC_FIELD_WAITS && r.length >= size + IW_MPA_CRC_FIELD)
        s->field_waited = true;
    if (field != IW_CRC_FIELD_ABSENT)
        return field;
    s->crc_absent = (struct iw_fault){.check = IW_CHECK_MPA_CRC_ABSENT, .pos = s->next + size};
    s->deframer.bare = true;
    s->deframer.crc = false; /* there is none to check */
    iw_deframer_move(&s->deframer, s->next);
    return field;
}

bool iw_observer_lacks_crc(const struct iw_observer *o, enum iw_side side)
{
    const struct iw_observed_side *s = &o->side[side];
    struct iw_deframer bare = s->deframer;
    struct iw_iov held = iw_hold_peek(s);
    struct rest at = {.pos = s->next, .octets = held.base, .length = held.length};

    bare.bare = true;
    if (!undecided(o, s) || iw_observed_gap(s) || at.length == 0)
        return false;
    for (int i = 0; i < 2 && at.length > 0; i++) {
        uint32_t size;
        if (iw_observer_probe_header(o, &bare, at.pos, at.octets, at.length, &size) !=
                IW_PROBE_GOOD ||
            size > at.length)
            return false;
        at = after(&at, size);
    }
    return at.length == 0;
}

void iw_observer_settle(struct iw_observer *o, enum iw_side side)
{
    struct iw_observed_side *s = &o->side[side];

    if (!iw_observer_lacks_crc(o, side))
        return;
    s->settled = true;
    iw_observer_judge_held(o, side);
}
