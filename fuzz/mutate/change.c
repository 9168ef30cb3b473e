/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes to whole scripts. */
#include "mutate/mutate.h"

#include <string.h>

#include "iwarp/octets.h"
#include "iwarp/wire.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

enum {
    GROWTH = 4096,    /* octets to which a part is made longer at most, with rare exceptions */
    PARTS_WANTED = 64 /* longer scripts are rather shortened */
};

/* What changes share; the flags say what was done on purpose, and needs no repair. */
struct change {
    struct iw_mutate_random *r;
    iw_mutate_octets_fn octets; /* NULL: iw_mutate_havoc */
    bool numbers;               /* MSN or MO */
    bool frame;                 /* CRC, length or Marker */
    bool startup;               /* PD_Length */
};

enum { ANY = -1 }; /* kind of part */

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

static void change_fields(struct iw_mutate_script *s, struct change *c)
{
    struct iw_mutate_part *p = any_part(s, c->r, IW_MUTATE_FPDU);
    size_t most = p != NULL ? loosen(s, p, c->r) : 0;

    if (most == 0)
        return;
    uint8_t before[IW_DDP_UNTAGGED_HEADER];
    size_t size = p->length, head = size < sizeof(before) ? size : sizeof(before);
    uint8_t *o = s->octets + s->used;
    memcpy(before, o, head);
    iw_mutate_ulpdu(c->r, s, o, &size, most);
    p->length = (uint32_t)size;
    s->used += size;
    if (head == sizeof(before) && size >= head && memcmp(before + 10, o + 10, 8) != 0)
        c->numbers = true;
}

static void change_startup(struct iw_mutate_script *s, struct change *c)
{
    struct iw_mutate_part *p = any_part(s, c->r, IW_MUTATE_STARTUP);
    size_t most = p != NULL ? loosen(s, p, c->r) : 0;

    if (most == 0)
        return;
    size_t size = p->length;
    iw_mutate_startup(c->r, s->octets + s->used, &size, most);
    if (size == p->length)
        c->startup = true;
    p->length = (uint32_t)size;
    s->used += size;
}

static void change_octets(struct iw_mutate_script *s, struct change *c)
{
    struct iw_mutate_part *p = any_part(s, c->r, ANY);
    size_t most = p != NULL ? loosen(s, p, c->r) : 0;
    uint8_t *o = s->octets + s->used;

    if (most == 0)
        return;
    if (p->kind == IW_MUTATE_OCTETS && iw_mutate_chance(c->r, 2)) { /* it may be a ULPDU alone */
        size_t size = p->length;
        iw_mutate_ulpdu(c->r, s, o, &size, most);
        p->length = (uint32_t)size;
    } else if (c->octets != NULL)
        p->length = (uint32_t)c->octets(o, p->length, most);
    else
        p->length = (uint32_t)iw_mutate_havoc(c->r, o, p->length, most);
    s->used += p->length;
}

/* ---- framing ---- */

static void bend_frame(struct iw_mutate_script *s, struct change *c)
{
    static const uint16_t stated[] = {1, 2, 4, 0xffff, 0xfffe, 0xfffc, 0x8000, 508, 512};
    struct iw_mutate_part *p = any_part(s, c->r, IW_MUTATE_FPDU);

    if (p == NULL)
        return;
    c->frame = true;
    switch (iw_mutate_below(c->r, 5)) {
    case 0:
        p->crc = iw_mutate_chance(c->r, 2) ? 1u << iw_mutate_below(c->r, 32)
                                           : (uint32_t)iw_mutate_next(c->r);
        break;
    case 1:
        p->stated = stated[iw_mutate_below(c->r, COUNT(stated))];
        break;
    case 2:
        p->stated = (uint16_t)(0u - p->length +
                               iw_mutate_below(c->r, 20)); /* ULPDU_Length is that small number */
        break;
    case 3:
        p->pad[0] = p->pad[1] = p->pad[2] = (uint8_t)iw_mutate_next(c->r);
        break;
    default:
        p->marker = (uint16_t)iw_mutate_below(c->r, 1 + p->length / 508u);
        p->bend = 1u << iw_mutate_below(c->r, 32);
        break;
    }
}

/* Changes where steps begin and end. */
static void cut(struct iw_mutate_script *s, struct change *c)
{
    struct iw_mutate_part *p = any_part(s, c->r, ANY);

    if (p == NULL)
        return;
    switch (iw_mutate_below(c->r, 4)) {
    case 0:
        p->joined = !p->joined;
        break;
    case 1:
        p->cuts = 0;
        break;
    case 2: /* many small ones */
        p->cuts = 0;
        for (uint16_t at = 0, some = (uint16_t)(1 + iw_mutate_below(c->r, 8));
             p->cuts < IW_MUTATE_CUTS;)
            p->cut[p->cuts++] = at = (uint16_t)(at + some);
        break;
    default: {
        uint16_t at =
            (uint16_t)(1 + iw_mutate_below(c->r, iw_mutate_chance(c->r, 2) ? 24 : p->length + 8));
        if (p->cuts > 0 && !(p->cuts < IW_MUTATE_CUTS && p->cut[p->cuts - 1] < at))
            p->cuts = 0;
        p->cut[p->cuts++] = at;
        break;
    }
    }
    if (iw_mutate_chance(c->r, 8)) /* everything in as few steps as can be */
        for (; p < s->part + s->count; p++)
            p->joined = true;
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
static void interleave(struct iw_mutate_script *s, struct change *c)
{
    struct iw_mutate_part *p = any_part(s, c->r, IW_MUTATE_FPDU);
    if (p == NULL)
        return;
    size_t at = (size_t)(p - s->part), room = IW_MUTATE_ARENA - s->used;
    uint8_t *frame = s->octets + s->used;

    if (at + 1 >= s->count || same_stream(s, at + 1, p) || s->count + 1 > IW_MUTATE_PARTS)
        return;
    size_t size = iw_mutate_frame(s, p, position(s, at, frame, room), frame, room);
    if (size < 2)
        return;
    s->used += size;
    size_t first = 1 + iw_mutate_below(c->r, size - 1);
    p->kind = IW_MUTATE_OCTETS;
    p->at = (uint32_t)(frame - s->octets);
    p->length = (uint32_t)first;
    p->cuts = 0;
    if (!iw_mutate_insert(s, at + 2, IW_MUTATE_OCTETS, p->step, frame + first, size - first))
        p->length = (uint32_t)size;
}

/* Inserts a copy of later octets, out of order: IW_FUZZ_AT, with the distance ahead. */
static void send_early(struct iw_mutate_script *s, struct change *c)
{
    size_t from = iw_mutate_below(c->r, s->count), to = from, ahead = 0, size = 0;
    uint8_t *body = s->octets + s->used;
    size_t room = IW_MUTATE_ARENA - s->used;

    if (s->count == 0 || s->part[from].kind == IW_MUTATE_OTHER || room < 2)
        return;
    unsigned side = iw_mutate_side(s, &s->part[from]);
    uint64_t pos = position(s, from, body, room);
    for (uint32_t some = 1 + iw_mutate_below(c->r, 3); some > 0 && to < s->count; to++) {
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
    if (iw_mutate_chance(c->r, 4) && size > 4) { /* only its end */
        uint32_t skip = iw_mutate_below(c->r, size);
        memmove(body + 2, body + 2 + skip, size - skip);
        size -= skip;
        ahead += skip;
    }
    if (iw_mutate_chance(c->r, 8))
        ahead |= 0x8000u;
    body[0] = (uint8_t)ahead;
    body[1] = (uint8_t)(ahead >> 8);
    s->used += size + 2;
    (void)iw_mutate_insert(s, from, IW_MUTATE_OTHER,
                           IW_FUZZ_AT | (side == IW_FUZZ_B ? IW_FUZZ_OF_B : 0u), body, size + 2);
}

/* ---- which parts there are ---- */

static void insert_fpdu(struct iw_mutate_script *s, struct change *c)
{
    const struct iw_mutate_part *like = any_part(s, c->r, IW_MUTATE_FPDU);
    uint8_t ulpdu[256];
    size_t size = iw_mutate_make(c->r, s, ulpdu, sizeof(ulpdu));
    unsigned side = like != NULL ? like->step : iw_mutate_chance(c->r, 4) ? IW_FUZZ_B : IW_FUZZ_A;
    size_t at = like != NULL && iw_mutate_chance(c->r, 2) ? (size_t)(like - s->part) + 1
                                                          : iw_mutate_below(c->r, s->count + 1);

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
                                    : kinds[iw_mutate_below(r, sizeof(kinds))];
    if (iw_mutate_chance(r, 3))
        op[0] |= IW_FUZZ_OP_B;
    op[1] = (uint8_t)iw_mutate_below(r, iw_mutate_chance(r, 4) ? 256 : 11);
    op[2] = (uint8_t)(iw_mutate_chance(r, 2) ? iw_mutate_next(r) : 8);
    op[3] = (uint8_t)iw_mutate_below(r, iw_mutate_chance(r, 4) ? 24 : IW_FUZZ_REGIONS);
    for (unsigned i = 4; i < IW_FUZZ_OP; i += 2) {
        uint16_t size = sizes[iw_mutate_below(r, COUNT(sizes))];
        if (i > 4 && iw_mutate_chance(r, 2))
            size = 0;
        op[i] = (uint8_t)size;
        op[i + 1] = (uint8_t)(size >> 8);
    }
}

/* Changes one octet of one operation, or all of it. */
static void change_local(struct iw_mutate_script *s, struct change *c)
{
    struct iw_mutate_part *p = any_part(s, c->r, IW_MUTATE_OTHER);

    if (p == NULL || (p->step & IW_FUZZ_KIND) != IW_FUZZ_LOCAL || p->length < IW_FUZZ_OP)
        return;
    uint8_t *op = s->octets + p->at + IW_FUZZ_OP * iw_mutate_below(c->r, p->length / IW_FUZZ_OP);
    if (iw_mutate_chance(c->r, 4)) {
        make_operation(c->r, op);
        return;
    }
    uint32_t at = iw_mutate_below(c->r, IW_FUZZ_OP);
    op[at] =
        (uint8_t)(iw_mutate_chance(c->r, 2) ? iw_mutate_below(c->r, 16) : iw_mutate_next(c->r));
}

static void insert_step(struct iw_mutate_script *s, struct change *c)
{
    static const uint8_t kinds[] = {IW_FUZZ_LOCAL, IW_FUZZ_LOCAL, IW_FUZZ_LOCAL,
                                    IW_FUZZ_LOCAL, IW_FUZZ_TIME,  IW_FUZZ_AT,
                                    IW_FUZZ_FIN,   IW_FUZZ_RST,   IW_FUZZ_NONE};
    unsigned kind = kinds[iw_mutate_below(c->r, sizeof(kinds))];

    if (s->commands && kind != IW_FUZZ_LOCAL && !iw_mutate_chance(c->r, 4))
        kind = iw_mutate_below(c->r, 2); /* IW_FUZZ_A or _B */
    bool plausible = kind == IW_FUZZ_LOCAL && !iw_mutate_chance(c->r, 8);
    uint8_t body[16];
    if (plausible)
        make_operation(c->r, body);
    for (size_t i = 0; i < sizeof(body) && !plausible; i++)
        body[i] =
            (uint8_t)(iw_mutate_chance(c->r, 2) ? iw_mutate_below(c->r, 8) : iw_mutate_next(c->r));
    if (kind == IW_FUZZ_NONE) /* of the harness `bent`: one switch */
        body[1] &= 1;
    if (kind == IW_FUZZ_AT && iw_mutate_chance(c->r, 2))
        kind |= IW_FUZZ_OF_B;
    size_t at = iw_mutate_below(c->r, s->count + 1);
    size_t length = plausible              ? IW_FUZZ_OP
                    : kind == IW_FUZZ_NONE ? 3
                    : kind == IW_FUZZ_TIME ? 2
                                           : iw_mutate_below(c->r, sizeof(body) + 1);
    (void)iw_mutate_insert(s, at, IW_MUTATE_OTHER, kind, body, length);
}

/* Inserts copies of one part or of a row of them, after them or anywhere. */
static void repeat(struct iw_mutate_script *s, struct change *c)
{
    size_t from = iw_mutate_below(c->r, s->count), to, count = 1;
    size_t times = iw_mutate_chance(c->r, 8) ? 1u + iw_mutate_below(c->r, 16) : 1;

    if (s->count == 0)
        return;
    if (iw_mutate_chance(c->r, 4))
        count += iw_mutate_below(c->r, s->count - from < 8 ? s->count - from : 8);
    to = iw_mutate_chance(c->r, 3) ? iw_mutate_below(c->r, s->count + 1) : from + count;
    for (size_t k = 0; k < times * count; k++, to++) {
        if (!iw_mutate_copy(s, from, to))
            return;
        from += to <= from ? 2 : 1;
    }
}

/* Splits a segment into two, the first without L. */
static void split(struct iw_mutate_script *s, struct change *c)
{
    struct iw_mutate_part *p = any_part(s, c->r, IW_MUTATE_FPDU);
    size_t at = p != NULL ? (size_t)(p - s->part) : 0;

    if (p == NULL || p->length == 0)
        return;
    uint8_t *o = s->octets + p->at;
    size_t header = o[IW_AT_DDP_CONTROL] & IW_DDP_T ? IW_DDP_TAGGED_HEADER : IW_DDP_UNTAGGED_HEADER;
    if (p->length <= header + 1 || !iw_mutate_copy(s, at, at + 1))
        return;
    size_t first = 1 + iw_mutate_below(c->r, p->length - header - 1);
    size_t rest = p->length - header - first;
    p->length = (uint32_t)(header + first);
    o = s->octets + p->at;
    o[0] = (uint8_t)(o[0] & ~IW_DDP_L);
    p = &s->part[at + 1];
    o = s->octets + p->at;
    memmove(o + header, o + header + first, rest);
    p->length = (uint32_t)(header + rest);
    if (o[0] & IW_DDP_T)
        (void)iw_put64(o + IW_AT_TO, iw_get64(o + IW_AT_TO) + first);
    else
        (void)iw_put32(o + IW_AT_MO, iw_get32(o + IW_AT_MO) + (uint32_t)first);
}

static void change_settings(struct iw_mutate_script *s, struct change *c)
{
    uint32_t bit = iw_mutate_below(c->r, 8 * IW_FUZZ_SETTINGS);

    if (iw_mutate_chance(c->r, 2))
        bit %= 8;
    s->settings[bit / 8] ^= (uint8_t)(1u << bit % 8);
    if (iw_mutate_chance(c->r, 4))
        return;
    if (bit / 8 == 0 && 1u << bit == IW_FUZZ_MARKERS_A)
        s->markers[0] = (s->settings[0] & IW_FUZZ_MARKERS_A) != 0;
    if (bit / 8 == 0 && 1u << bit == IW_FUZZ_MARKERS_B)
        s->markers[1] = (s->settings[0] & IW_FUZZ_MARKERS_B) != 0;
}

static void drop(struct iw_mutate_script *s, struct change *c)
{
    size_t at = iw_mutate_below(c->r, s->count);

    iw_mutate_drop(s, at, 1u + (iw_mutate_chance(c->r, 4) ? iw_mutate_below(c->r, 8) : 0));
}

static void swap(struct iw_mutate_script *s, struct change *c)
{
    size_t at = iw_mutate_below(c->r, s->count);
    size_t other = iw_mutate_below(c->r, s->count);

    if (s->count > 1) /* without any part, not even part[0] is one */
        iw_mutate_swap(s, at, other);
}

static void repair(struct iw_mutate_script *s, const struct change *c)
{
    if (!c->frame && !iw_mutate_chance(c->r, 16))
        iw_mutate_repair_fpdus(s);
    if (!c->startup && !iw_mutate_chance(c->r, 16))
        iw_mutate_repair_startups(s);
    if (!iw_mutate_chance(c->r, c->numbers ? 2 : 12))
        iw_mutate_renumber(s);
    if (!iw_mutate_chance(c->r, c->numbers ? 2 : 4))
        iw_mutate_reoffset(s);
}

typedef void (*change_fn)(struct iw_mutate_script *s, struct change *c);

/* Each is as frequent as it stands here. */
static const change_fn changes[] = {change_fields, change_fields, change_fields,
                                    change_fields, change_fields, repeat,
                                    repeat,        repeat,        drop,
                                    drop,          swap,          swap,
                                    insert_fpdu,   insert_fpdu,   insert_step,
                                    insert_step,   split,         change_startup,
                                    bend_frame,    cut,           change_settings,
                                    change_octets, interleave,    change_local,
                                    send_early};
static const change_fn changes_without_fpdus[] = {
    repeat,      repeat,          drop,          swap,         insert_step, insert_step,
    insert_step, change_settings, change_octets, change_local, change_local};

/* Makes a change of a kind that chance decides; of a long script it may drop parts as well. */
static void apply_random_change(struct iw_mutate_script *s, struct change *c)
{
    change_fn change = changes[iw_mutate_below(c->r, COUNT(changes))];

    if (s->commands)
        change = changes_without_fpdus[iw_mutate_below(c->r, COUNT(changes_without_fpdus))];
    change(s, c);
    if (s->count > PARTS_WANTED && iw_mutate_chance(c->r, 2)) {
        size_t at = iw_mutate_below(c->r, s->count);
        iw_mutate_drop(s, at, 1u + iw_mutate_below(c->r, 16));
    }
}

void iw_mutate_change(struct iw_mutate_script *s, struct iw_mutate_random *r,
                      iw_mutate_octets_fn octets)
{
    struct change c = {.r = r, .octets = octets};

    for (uint32_t n = 1 + (iw_mutate_chance(r, 2) ? 0 : iw_mutate_below(r, 4)); n > 0; n--)
        apply_random_change(s, &c);
    repair(s, &c);
}

void iw_mutate_cross(struct iw_mutate_script *s, const struct iw_mutate_script *other,
                     struct iw_mutate_random *r)
{
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
    repair(s, &(struct change){.r = r});
}
