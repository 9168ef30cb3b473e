/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes to whole scripts. */
#include "mutate/mutate.h"

#include <string.h>

#include "iwarp/octets.h"
#include "iwarp/wire.h"

enum {
    GROWTH = 4096,    /* octets to which a part is made longer at most, with rare exceptions */
    PARTS_WANTED = 64 /* longer scripts are rather shortened */
};

/* What the changes so far require of the repairs. */
struct intent {
    bool numbers; /* MSN or MO were changed on purpose */
    bool frame;   /* CRC, length or Marker */
    bool startup; /* PD_Length */
};

static struct iw_mutate_part *any_part(struct iw_mutate_script *s, struct iw_mutate_random *r,
                                       int kind)
{
    for (int tries = 0; s->count > 0 && tries < 8; tries++) {
        struct iw_mutate_part *p = &s->part[iw_mutate_below(r, s->count)];
        if (kind < 0 || p->kind == kind)
            return p;
    }
    return NULL;
}

/* Moves a part's octets to the arena's end, where they can grow. Returns the room there, 0 if there
 * is none. */
static size_t loosen(struct iw_mutate_script *s, struct iw_mutate_part *p,
                     struct iw_mutate_random *r)
{
    size_t most = iw_mutate_chance(r, 64) ? UINT16_MAX : GROWTH;

    if (p->length > most)
        most = p->length;
    if (most > IW_MUTATE_ARENA - s->used)
        return 0;
    memmove(s->octets + s->used, s->octets + p->at, p->length);
    p->at = (uint32_t)s->used;
    return most;
}

/* ---- the octets of one part ---- */

static void change_fields(struct iw_mutate_script *s, struct iw_mutate_random *r,
                          struct intent *wanted)
{
    struct iw_mutate_part *p = any_part(s, r, IW_MUTATE_FPDU);
    uint8_t before[IW_DDP_UNTAGGED_HEADER];
    size_t most = p ? loosen(s, p, r) : 0, size, head;
    uint8_t *o = s->octets + s->used;

    if (most == 0)
        return;
    size = p->length;
    head = size < sizeof before ? size : sizeof before;
    memcpy(before, o, head);
    iw_mutate_ulpdu(r, s, o, &size, most);
    p->length = (uint32_t)size;
    s->used += size;
    if (head == sizeof before && size >= head && memcmp(before + 10, o + 10, 8) != 0)
        wanted->numbers = true;
}

static void change_startup(struct iw_mutate_script *s, struct iw_mutate_random *r,
                           struct intent *wanted)
{
    struct iw_mutate_part *p = any_part(s, r, IW_MUTATE_STARTUP);
    size_t most = p ? loosen(s, p, r) : 0, size;

    if (most == 0)
        return;
    size = p->length;
    iw_mutate_startup(r, s->octets + s->used, &size, most);
    if (size == p->length)
        wanted->startup = true;
    p->length = (uint32_t)size;
    s->used += size;
}

static void change_octets(struct iw_mutate_script *s, struct iw_mutate_random *r,
                          iw_mutate_octets_fn octets)
{
    struct iw_mutate_part *p = any_part(s, r, -1);
    size_t most = p ? loosen(s, p, r) : 0;
    uint8_t *o = s->octets + s->used;

    if (most == 0)
        return;
    if (p->kind == IW_MUTATE_OCTETS && iw_mutate_chance(r, 2)) { /* it may be a ULPDU alone */
        size_t size = p->length;
        iw_mutate_ulpdu(r, s, o, &size, most);
        p->length = (uint32_t)size;
    } else if (octets)
        p->length = (uint32_t)octets(o, p->length, most);
    else
        p->length = (uint32_t)iw_mutate_havoc(r, o, p->length, most);
    s->used += p->length;
}

/* ---- framing ---- */

static void bend_frame(struct iw_mutate_script *s, struct iw_mutate_random *r,
                       struct intent *wanted)
{
    static const uint16_t stated[] = {1, 2, 4, 0xffff, 0xfffe, 0xfffc, 0x8000, 508, 512};
    struct iw_mutate_part *p = any_part(s, r, IW_MUTATE_FPDU);

    if (!p)
        return;
    wanted->frame = true;
    switch (iw_mutate_below(r, 5)) {
    case 0:
        p->crc =
            iw_mutate_chance(r, 2) ? 1u << iw_mutate_below(r, 32) : (uint32_t)iw_mutate_next(r);
        break;
    case 1:
        p->stated = stated[iw_mutate_below(r, sizeof stated / sizeof stated[0])];
        break;
    case 2:
        p->stated = (uint16_t)(0u - p->length +
                               iw_mutate_below(r, 20)); /* ULPDU_Length is that small number */
        break;
    case 3:
        p->pad[0] = p->pad[1] = p->pad[2] = (uint8_t)iw_mutate_next(r);
        break;
    default:
        p->marker = (uint16_t)iw_mutate_below(r, 1 + p->length / 508u);
        p->bend = 1u << iw_mutate_below(r, 32);
        break;
    }
}

/* Changes where steps begin and end. */
static void cut(struct iw_mutate_script *s, struct iw_mutate_random *r)
{
    struct iw_mutate_part *p = any_part(s, r, -1);
    size_t index;

    if (!p)
        return;
    index = (size_t)(p - s->part);
    switch (iw_mutate_below(r, 4)) {
    case 0:
        p->joined = !p->joined;
        break;
    case 1:
        p->cuts = 0;
        break;
    case 2: /* many small ones */
        p->cuts = 0;
        for (uint16_t at = 0, some = (uint16_t)(1 + iw_mutate_below(r, 8));
             p->cuts < IW_MUTATE_CUTS;)
            p->cut[p->cuts++] = at = (uint16_t)(at + some);
        break;
    default: {
        uint16_t at =
            (uint16_t)(1 + iw_mutate_below(r, iw_mutate_chance(r, 2) ? 24 : p->length + 8));
        if (p->cuts > 0 && (p->cuts == IW_MUTATE_CUTS || p->cut[p->cuts - 1] >= at))
            p->cuts = 0;
        p->cut[p->cuts++] = at;
        break;
    }
    }
    if (iw_mutate_chance(r, 8)) /* everything in as few steps as can be */
        for (size_t i = index; i < s->count; i++)
            s->part[i].joined = true;
}

/* Returns true if part `at` is on the stream of `p`. */
static bool same_stream(const struct iw_mutate_script *s, size_t at, const struct iw_mutate_part *p)
{
    return s->part[at].kind != IW_MUTATE_OTHER &&
           iw_mutate_side(s, &s->part[at]) == iw_mutate_side(s, p);
}

/* Returns where part `at` begins on its stream; `scratch` has `room` octets. */
static uint64_t position(const struct iw_mutate_script *s, size_t at, uint8_t *scratch, size_t room)
{
    uint64_t pos = 0;

    for (size_t i = 0; i < at; i++)
        if (same_stream(s, i, &s->part[at]))
            pos = s->part[i].kind == IW_MUTATE_STARTUP
                      ? 0
                      : pos + iw_mutate_frame(s, &s->part[i], pos, scratch, room);
    return pos;
}

/* Puts the next part between two halves: a step that comes while an FPDU is half read. */
static void interleave(struct iw_mutate_script *s, struct iw_mutate_random *r)
{
    struct iw_mutate_part *p = any_part(s, r, IW_MUTATE_FPDU);
    size_t at = p ? (size_t)(p - s->part) : 0, size, first, room = IW_MUTATE_ARENA - s->used;
    uint8_t *frame = s->octets + s->used;
    uint64_t pos;

    if (!p || at + 1 >= s->count || same_stream(s, at + 1, p) || s->count + 1 > IW_MUTATE_PARTS)
        return;
    pos = position(s, at, frame, room);
    size = iw_mutate_frame(s, p, pos, frame, room);
    if (size < 2)
        return;
    s->used += size;
    first = 1 + iw_mutate_below(r, size - 1);
    p->kind = IW_MUTATE_OCTETS;
    p->at = (uint32_t)(frame - s->octets);
    p->length = (uint32_t)first;
    p->cuts = 0;
    if (!iw_mutate_insert(s, at + 2, IW_MUTATE_OCTETS, p->step, frame + first, size - first))
        p->length = (uint32_t)size;
}

/* Inserts a copy of later octets, out of order: IW_FUZZ_AT, with the distance ahead. */
static void send_early(struct iw_mutate_script *s, struct iw_mutate_random *r)
{
    size_t from = iw_mutate_below(r, s->count), to = from, ahead = 0, size = 0;
    uint8_t *body = s->octets + s->used;
    size_t room = IW_MUTATE_ARENA - s->used;
    uint64_t pos;
    unsigned side;

    if (s->count == 0 || s->part[from].kind == IW_MUTATE_OTHER || room < 2)
        return;
    side = iw_mutate_side(s, &s->part[from]);
    pos = position(s, from, body, room);
    for (uint32_t some = 1 + iw_mutate_below(r, 3); some > 0 && to < s->count; to++) {
        if (!same_stream(s, to, &s->part[from]))
            continue;
        size = iw_mutate_frame(s, &s->part[to], pos + ahead, body + 2, room - 2);
        if (size == 0 || ahead + size > 0x7fff)
            return;
        if (--some == 0)
            break;
        ahead += size;
    }
    if (to == s->count)
        return;
    if (iw_mutate_chance(r, 4) && size > 4) { /* only its end */
        uint32_t skip = iw_mutate_below(r, size);
        memmove(body + 2, body + 2 + skip, size - skip);
        size -= skip;
        ahead += skip;
    }
    if (iw_mutate_chance(r, 8))
        ahead |= 0x8000u;
    body[0] = (uint8_t)ahead;
    body[1] = (uint8_t)(ahead >> 8);
    s->used += size + 2;
    (void)iw_mutate_insert(s, from, IW_MUTATE_OTHER,
                           IW_FUZZ_AT | (side == IW_FUZZ_B ? IW_FUZZ_OF_B : 0u), body, size + 2);
}

/* ---- which parts there are ---- */

static void insert_fpdu(struct iw_mutate_script *s, struct iw_mutate_random *r)
{
    uint8_t ulpdu[256];
    const struct iw_mutate_part *like = any_part(s, r, IW_MUTATE_FPDU);
    size_t size = iw_mutate_make(r, s, ulpdu, sizeof ulpdu);
    unsigned side = like ? like->step : iw_mutate_chance(r, 4) ? IW_FUZZ_B : IW_FUZZ_A;
    size_t at = like && iw_mutate_chance(r, 2) ? (size_t)(like - s->part) + 1
                                               : iw_mutate_below(r, s->count + 1);

    (void)iw_mutate_insert(s, at, IW_MUTATE_FPDU, side, ulpdu, size);
}

/* Makes a plausible local operation; rarely one that ends the connection. */
static void make_operation(struct iw_mutate_random *r, uint8_t op[IW_FUZZ_OP])
{
    static const uint8_t kinds[] = {
        IW_FUZZ_POST,       IW_FUZZ_POST,       IW_FUZZ_POST,     IW_FUZZ_POST,  IW_FUZZ_RECV,
        IW_FUZZ_RECV,       IW_FUZZ_RECV,       IW_FUZZ_REGISTER, IW_FUZZ_BIND,  IW_FUZZ_BIND,
        IW_FUZZ_INVALIDATE, IW_FUZZ_DEREGISTER, IW_FUZZ_OUTPUT,   IW_FUZZ_ANSWER};
    static const uint16_t sizes[] = {0, 1, 4, 8, 16, 64, 128, 500, 512, 1024, 1500, 4096, 0xffff};

    op[0] = iw_mutate_chance(r, 12) ? (uint8_t)iw_mutate_below(r, IW_FUZZ_OPS)
                                    : kinds[iw_mutate_below(r, sizeof kinds)];
    if (iw_mutate_chance(r, 3))
        op[0] |= IW_FUZZ_OP_B;
    op[1] = (uint8_t)iw_mutate_below(r, iw_mutate_chance(r, 4) ? 256 : 11);
    op[2] = (uint8_t)(iw_mutate_chance(r, 2) ? iw_mutate_next(r) : 8);
    op[3] = (uint8_t)iw_mutate_below(r, iw_mutate_chance(r, 4) ? 24 : IW_FUZZ_REGIONS);
    for (unsigned i = 4; i < IW_FUZZ_OP; i += 2) {
        uint16_t size = sizes[iw_mutate_below(r, sizeof sizes / sizeof sizes[0])];
        if (i > 4 && iw_mutate_chance(r, 2))
            size = 0;
        op[i] = (uint8_t)size;
        op[i + 1] = (uint8_t)(size >> 8);
    }
}

/* Changes one octet of one operation, or all of it. */
static void change_local(struct iw_mutate_script *s, struct iw_mutate_random *r)
{
    struct iw_mutate_part *p = any_part(s, r, IW_MUTATE_OTHER);
    uint32_t at;
    uint8_t *op;

    if (!p || (p->step & IW_FUZZ_KIND) != IW_FUZZ_LOCAL || p->length < IW_FUZZ_OP)
        return;
    op = s->octets + p->at + IW_FUZZ_OP * iw_mutate_below(r, p->length / IW_FUZZ_OP);
    if (iw_mutate_chance(r, 4)) {
        make_operation(r, op);
        return;
    }
    at = iw_mutate_below(r, IW_FUZZ_OP);
    op[at] = (uint8_t)(iw_mutate_chance(r, 2) ? iw_mutate_below(r, 16) : iw_mutate_next(r));
}

static void insert_step(struct iw_mutate_script *s, struct iw_mutate_random *r)
{
    static const uint8_t kinds[] = {IW_FUZZ_LOCAL, IW_FUZZ_LOCAL, IW_FUZZ_LOCAL,
                                    IW_FUZZ_LOCAL, IW_FUZZ_TIME,  IW_FUZZ_AT,
                                    IW_FUZZ_FIN,   IW_FUZZ_RST,   IW_FUZZ_NONE};
    uint8_t body[16];
    unsigned kind = kinds[iw_mutate_below(r, sizeof kinds)];
    size_t at;

    if (s->commands && kind != IW_FUZZ_LOCAL && !iw_mutate_chance(r, 4))
        kind = iw_mutate_below(r, 2); /* IW_FUZZ_A or _B */

    if (kind == IW_FUZZ_LOCAL && !iw_mutate_chance(r, 8)) {
        make_operation(r, body);
        (void)iw_mutate_insert(s, iw_mutate_below(r, s->count + 1), IW_MUTATE_OTHER, kind, body,
                               IW_FUZZ_OP);
        return;
    }

    for (size_t i = 0; i < sizeof body; i++)
        body[i] = (uint8_t)(iw_mutate_chance(r, 2) ? iw_mutate_below(r, 8) : iw_mutate_next(r));
    if (kind == IW_FUZZ_NONE) { /* of the harness `bent`: one switch */
        body[1] &= 1;
        (void)iw_mutate_insert(s, iw_mutate_below(r, s->count + 1), IW_MUTATE_OTHER, kind, body, 3);
        return;
    }
    if (kind == IW_FUZZ_AT && iw_mutate_chance(r, 2))
        kind |= IW_FUZZ_OF_B;
    at = iw_mutate_below(r, s->count + 1);
    (void)iw_mutate_insert(s, at, IW_MUTATE_OTHER, kind, body,
                           kind == IW_FUZZ_TIME ? 2 : iw_mutate_below(r, sizeof body + 1));
}

/* Inserts copies of one part or of a row of them, after them or anywhere. */
static void repeat(struct iw_mutate_script *s, struct iw_mutate_random *r)
{
    size_t from = iw_mutate_below(r, s->count), to, count = 1;
    size_t times = iw_mutate_chance(r, 8) ? 1u + iw_mutate_below(r, 16) : 1;

    if (s->count == 0)
        return;
    if (iw_mutate_chance(r, 4))
        count += iw_mutate_below(r, s->count - from < 8 ? s->count - from : 8);
    to = iw_mutate_chance(r, 3) ? iw_mutate_below(r, s->count + 1) : from + count;
    for (size_t k = 0; k < times * count; k++, to++) {
        if (!iw_mutate_copy(s, from, to))
            return;
        from += to <= from ? 2 : 1;
    }
}

/* Splits a segment into two, the first without L. */
static void split(struct iw_mutate_script *s, struct iw_mutate_random *r)
{
    struct iw_mutate_part *p = any_part(s, r, IW_MUTATE_FPDU);
    size_t at = p ? (size_t)(p - s->part) : 0, header, first, rest;
    uint8_t *o;

    if (!p || p->length == 0)
        return;
    o = s->octets + p->at;
    header = o[IW_AT_DDP_CONTROL] & IW_DDP_T ? IW_DDP_TAGGED_HEADER : IW_DDP_UNTAGGED_HEADER;
    if (p->length <= header + 1 || !iw_mutate_copy(s, at, at + 1))
        return;
    first = 1 + iw_mutate_below(r, p->length - header - 1);
    rest = p->length - header - first;
    p->length = (uint32_t)(header + first);
    o = s->octets + p->at;
    o[0] = (uint8_t)(o[0] & ~IW_DDP_L);
    p = &s->part[at + 1];
    o = s->octets + p->at;
    memmove(o + header, o + header + first, rest);
    p->length = (uint32_t)(header + rest);
    if (o[0] & IW_DDP_T)
        (void)iw_put64(o + 6, iw_get64(o + 6) + first);
    else
        (void)iw_put32(o + 14, iw_get32(o + 14) + (uint32_t)first);
}

static void change_settings(struct iw_mutate_script *s, struct iw_mutate_random *r)
{
    uint32_t bit = iw_mutate_below(r, 8 * IW_FUZZ_SETTINGS);

    if (iw_mutate_chance(r, 2))
        bit %= 8;
    s->settings[bit / 8] ^= (uint8_t)(1u << bit % 8);
    if (iw_mutate_chance(r, 4))
        return;
    if (bit / 8 == 0 && 1u << bit == IW_FUZZ_MARKERS_A)
        s->markers[0] = (s->settings[0] & IW_FUZZ_MARKERS_A) != 0;
    if (bit / 8 == 0 && 1u << bit == IW_FUZZ_MARKERS_B)
        s->markers[1] = (s->settings[0] & IW_FUZZ_MARKERS_B) != 0;
}

static void repair(struct iw_mutate_script *s, struct iw_mutate_random *r,
                   const struct intent *wanted)
{
    if (!wanted->frame && !iw_mutate_chance(r, 16))
        iw_mutate_repair_fpdus(s);
    if (!wanted->startup && !iw_mutate_chance(r, 16))
        iw_mutate_repair_startups(s);
    if (!iw_mutate_chance(r, wanted->numbers ? 2 : 12))
        iw_mutate_renumber(s);
    if (!iw_mutate_chance(r, wanted->numbers ? 2 : 4))
        iw_mutate_reoffset(s);
}

static void change_once(struct iw_mutate_script *s, struct iw_mutate_random *r,
                        iw_mutate_octets_fn octets, struct intent *wanted)
{
    static const uint8_t without_fpdus[] = {5, 6, 8, 10, 14, 15, 15, 20, 21, 23, 23};
    uint32_t what = iw_mutate_below(r, 25);
    size_t at, other; /* drawn first: the order of arguments is each compiler's own */

    if (s->commands)
        what = without_fpdus[iw_mutate_below(r, sizeof without_fpdus)];
    switch (what) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
        change_fields(s, r, wanted);
        break;
    case 5:
    case 6:
    case 7:
        repeat(s, r);
        break;
    case 8:
    case 9:
        at = iw_mutate_below(r, s->count);
        iw_mutate_drop(s, at, 1u + (iw_mutate_chance(r, 4) ? iw_mutate_below(r, 8) : 0));
        break;
    case 10:
    case 11:
        at = iw_mutate_below(r, s->count);
        other = iw_mutate_below(r, s->count);
        if (s->count > 1) /* without any part, not even part[0] is one */
            iw_mutate_swap(s, at, other);
        break;
    case 12:
    case 13:
        insert_fpdu(s, r);
        break;
    case 14:
    case 15:
        insert_step(s, r);
        break;
    case 16:
        split(s, r);
        break;
    case 17:
        change_startup(s, r, wanted);
        break;
    case 18:
        bend_frame(s, r, wanted);
        break;
    case 19:
        cut(s, r);
        break;
    case 20:
        change_settings(s, r);
        break;
    case 21:
        change_octets(s, r, octets);
        break;
    case 22:
        interleave(s, r);
        break;
    case 23:
        change_local(s, r);
        break;
    default:
        send_early(s, r);
        break;
    }
    if (s->count > PARTS_WANTED && iw_mutate_chance(r, 2)) {
        at = iw_mutate_below(r, s->count);
        iw_mutate_drop(s, at, 1u + iw_mutate_below(r, 16));
    }
}

void iw_mutate_change(struct iw_mutate_script *s, struct iw_mutate_random *r,
                      iw_mutate_octets_fn octets)
{
    struct intent wanted = {0};

    for (uint32_t n = 1 + (iw_mutate_chance(r, 2) ? 0 : iw_mutate_below(r, 4)); n > 0; n--)
        change_once(s, r, octets, &wanted);
    repair(s, r, &wanted);
}

void iw_mutate_cross(struct iw_mutate_script *s, const struct iw_mutate_script *other,
                     struct iw_mutate_random *r)
{
    struct intent wanted = {0};
    size_t from = iw_mutate_below(r, other->count),
           count = 1 + iw_mutate_below(r, other->count - from);
    size_t at = iw_mutate_below(r, s->count + 1);

    if (iw_mutate_chance(r, 2)) /* what comes from there on is the other's */
        iw_mutate_drop(s, at, s->count);
    for (size_t i = 0; i < count && from + i < other->count; i++) {
        const struct iw_mutate_part *p = &other->part[from + i];
        uint32_t place = (uint32_t)s->used;
        if (!iw_mutate_insert(s, at + i, IW_MUTATE_OTHER, 0, other->octets + p->at, p->length))
            break;
        s->part[at + i] = *p;
        s->part[at + i].at = place;
    }
    repair(s, r, &wanted);
}
