/* SPDX-License-Identifier: BSD-3-Clause */
/* Single fields: the values that are worth a try, and the places of the fields. */
#include "mutate/mutate.h"

#include <string.h>

#include "iwarp/octets.h"
#include "iwarp/rdmap.h"

struct field {
    uint8_t at, size; /* octets */
};

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* The fields of headers, in ascending order; one without octets ends a list. */
static const struct field tagged[] = {
    {IW_AT_DDP_CONTROL, 1}, {IW_AT_RDMAP_CONTROL, 1}, {IW_AT_STAG, 4}, {IW_AT_TO, 8}, {0}};
static const struct field untagged[] = {{IW_AT_DDP_CONTROL, 1},
                                        {IW_AT_RDMAP_CONTROL, 1},
                                        {IW_AT_INVALIDATE_STAG, 4},
                                        {IW_AT_QN, 4},
                                        {IW_AT_MSN, 4},
                                        {IW_AT_MO, 4},
                                        {0}};
#define RDMAP(at, size)                                                                            \
    {                                                                                              \
        IW_IN_ULPDU(at), size                                                                      \
    }
/* Of untagged messages, after the DDP header. */
static const struct field of_opcode[IW_RDMAP_OPCODE + 1][9] = {
    [IW_OP_READ_REQUEST] = {RDMAP(IW_AT_READ_SINK_STAG, 4), RDMAP(IW_AT_READ_SINK_TO, 8),
                            RDMAP(IW_AT_READ_SIZE, 4), RDMAP(IW_AT_READ_SOURCE_STAG, 4),
                            RDMAP(IW_AT_READ_SOURCE_TO, 8)},
    [IW_OP_ATOMIC_REQUEST] = {RDMAP(IW_AT_ATOMIC_OPCODE, 4), RDMAP(IW_AT_ATOMIC_ID, 4),
                              RDMAP(IW_AT_ATOMIC_STAG, 4), RDMAP(IW_AT_ATOMIC_TO, 8),
                              RDMAP(IW_AT_ATOMIC_DATA, 8), RDMAP(IW_AT_ATOMIC_MASK, 8),
                              RDMAP(IW_AT_ATOMIC_COMPARE, 8), RDMAP(IW_AT_ATOMIC_COMPARE_MASK, 8)},
    [IW_OP_ATOMIC_RESPONSE] = {RDMAP(IW_AT_RESPONSE_ID, 4), RDMAP(IW_AT_RESPONSE_VALUE, 8)},
    [IW_OP_TERMINATE] = {RDMAP(IW_AT_TERM_LAYER, 1), RDMAP(IW_AT_TERM_CODE, 1),
                         RDMAP(IW_AT_TERM_FLAGS, 1), RDMAP(IW_AT_TERM_RESERVED, 1),
                         RDMAP(IW_AT_TERM_LENGTH, 2), RDMAP(IW_AT_TERM_DDP + IW_AT_DDP_CONTROL, 1),
                         RDMAP(IW_AT_TERM_DDP + IW_AT_RDMAP_CONTROL, 1)},
};

/* Lengths at which something changes: of headers, of messages, of what MPA cuts. */
static const uint16_t lengths[] = {
    0,   1,   2,    3,    4,    7,    8,    12,   13,   14,    15,    17,   18,  19,
    20,  21,  22,   26,   28,   29,   30,   45,   46,   47,    52,    63,   64,  69,
    70,  71,  127,  128,  498,  502,  504,  506,  508,  510,   511,   512,  513, 516,
    520, 532, 1016, 1024, 1438, 1442, 1460, 2048, 4096, 16384, 32767, 32768};

static uint64_t get(const uint8_t *o, unsigned size)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < size; i++)
        v = v << 8 | o[i];
    return v;
}

static void put(uint8_t *o, unsigned size, uint64_t v)
{
    for (unsigned i = size; i-- > 0; v >>= 8)
        o[i] = (uint8_t)v;
}

/* Returns any FPDU of the script with at least `least` octets; NULL if three tries find none. */
static const uint8_t *any_ulpdu(struct iw_mutate_random *r, const struct iw_mutate_script *s,
                                size_t least, size_t *length)
{
    for (int tries = 0; s != NULL && tries < 3; tries++) {
        const struct iw_mutate_part *p = &s->part[iw_mutate_below(r, s->count)];
        if (s->count == 0 || p->kind != IW_MUTATE_FPDU || p->length < least)
            continue;
        *length = p->length;
        return s->octets + p->at;
    }
    return NULL;
}

/* Returns one of the fields that lie within `size` octets; NULL: none does. */
static const struct field *any_field(struct iw_mutate_random *r, const struct field *list,
                                     size_t size)
{
    size_t count = 0;

    while (list[count].size > 0 && (size_t)list[count].at + list[count].size <= size)
        count++;
    return count > 0 ? &list[iw_mutate_below(r, count)] : NULL;
}

static const struct field *any_rdmap_field(struct iw_mutate_random *r, const uint8_t *ulpdu,
                                           size_t size)
{
    if (size < 2 || ulpdu[IW_AT_DDP_CONTROL] & IW_DDP_T)
        return NULL;
    return any_field(r, of_opcode[ulpdu[IW_AT_RDMAP_CONTROL] & IW_RDMAP_OPCODE], size);
}

static const struct field *any_ddp_field(struct iw_mutate_random *r, const uint8_t *ulpdu,
                                         size_t size)
{
    return any_field(r, size > 0 && ulpdu[IW_AT_DDP_CONTROL] & IW_DDP_T ? tagged : untagged, size);
}

static size_t any_length(struct iw_mutate_random *r)
{
    return lengths[iw_mutate_below(r, COUNT(lengths))];
}

/* Returns an STag, or a TO at an edge. */
static uint64_t of_region(struct iw_mutate_random *r, const struct iw_mutate_region *region,
                          unsigned size)
{
    static const uint8_t before[] = {0, 1, 2, 4, 7, 8, 12, 16}; /* octets */
    uint64_t least = before[iw_mutate_below(r, COUNT(before))];

    if (size == 4)
        return region->stag;
    return region->to + (iw_mutate_chance(r, 3) ? least : region->length - least);
}

/* Returns an STag or TO of the existing regions, or a TO just past the end of one. */
static uint64_t regional(struct iw_mutate_random *r, const struct iw_mutate_script *s,
                         unsigned size)
{
    static const uint64_t tos[] = {0,      0x1000,           0x1004,           0x1008,
                                   0x1ffc, 0x2000,           0x23ff,           0x11fc,
                                   512,    UINT64_MAX - 512, UINT64_MAX - 516, UINT64_MAX - 8};

    if (s != NULL && s->n_regions)
        return of_region(r, &s->regions[iw_mutate_below(r, s->n_regions)], size);
    if (size == 4)
        return IW_FUZZ_STAG + iw_mutate_below(r, iw_mutate_chance(r, 4) ? 24 : IW_FUZZ_REGIONS);
    return tos[iw_mutate_below(r, COUNT(tos))];
}

/* Returns a number of the same size from elsewhere in the script, or one that the harnesses know,
 * or `old`. */
static uint64_t known(struct iw_mutate_random *r, const struct iw_mutate_script *s, unsigned size,
                      uint64_t old)
{
    if (size >= 4 && iw_mutate_chance(r, 3))
        return regional(r, s, size);
    for (int tries = 0; tries < 4; tries++) {
        size_t length;
        const uint8_t *o = any_ulpdu(r, s, IW_DDP_TAGGED_HEADER, &length);
        if (o == NULL)
            return old;
        const struct field *f = iw_mutate_chance(r, 2) ? any_rdmap_field(r, o, length) : NULL;
        if (f == NULL)
            f = any_ddp_field(r, o, length);
        if (f->size == size)
            return get(o + f->at, size);
    }
    return old;
}

/* Returns another number than `old`, at most `most`, modulo 2^64. */
static uint64_t other_number(struct iw_mutate_random *r, const struct iw_mutate_script *s,
                             unsigned size, uint64_t old, uint64_t most)
{
    switch (iw_mutate_below(r, 12)) {
    case 0:
        return old + 1;
    case 1:
        return old - 1;
    case 2:
        return old ^ UINT64_C(1) << iw_mutate_below(r, 8 * size);
    case 3:
        return iw_mutate_below(r, 4);
    case 4:
        return most - iw_mutate_below(r, 4);
    case 5:
        return (most >> 1) + iw_mutate_below(r, 3);
    case 6: {
        uint64_t edge = most - any_length(r);
        return edge + iw_mutate_below(r, 3);
    }
    case 7:
        return any_length(r);
    case 8:
        return old + any_length(r);
    case 9:
        return old - any_length(r);
    case 10:
        return known(r, s, size, old);
    default:
        return iw_mutate_next(r);
    }
}

static uint64_t value(struct iw_mutate_random *r, const struct iw_mutate_script *s, unsigned size,
                      uint64_t old)
{
    uint64_t most = size == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * size) - 1;

    return other_number(r, s, size, old, most) & most;
}

static void change_field(struct iw_mutate_random *r, const struct iw_mutate_script *s, uint8_t *o,
                         const struct field *f)
{
    uint64_t old = get(o + f->at, f->size);
    if (f->at == IW_AT_RDMAP_CONTROL &&
        iw_mutate_chance(r, 2)) /* of its bits the opcode is what matters most */
        put(o + f->at, 1, (old & 0xf0u) | iw_mutate_below(r, 16));
    else if (f->at <= IW_AT_RDMAP_CONTROL)
        put(o + f->at, 1, old ^ UINT64_C(1) << iw_mutate_below(r, 8));
    else if (f->size >= 4 && iw_mutate_chance(r, 2))
        put(o + f->at, f->size, known(r, s, f->size, old));
    else
        put(o + f->at, f->size, value(r, s, f->size, old));
}

size_t iw_mutate_havoc(struct iw_mutate_random *r, uint8_t *data, size_t size, size_t most)
{
    for (uint32_t n = 1 + iw_mutate_below(r, 4); n > 0; n--) {
        uint32_t at = iw_mutate_below(r, size), some = 1 + iw_mutate_below(r, 8);
        unsigned width = 1u << iw_mutate_below(r, 4);
        switch (size == 0 ? 4 : iw_mutate_below(r, 6)) {
        case 0:
            data[at] ^= (uint8_t)(1u << iw_mutate_below(r, 8));
            break;
        case 1:
            data[at] = (uint8_t)iw_mutate_next(r);
            break;
        case 2:
            if (size - at >= width)
                put(data + at, width, value(r, NULL, width, get(data + at, width)));
            break;
        case 3:
            if (some > size - at)
                some = (uint32_t)size - at;
            memmove(data + at, data + at + some, size - at - some);
            size -= some;
            break;
        case 4:
            if (some > most - size)
                break;
            memmove(data + at + some, data + at, size - at);
            for (uint32_t i = 0; i < some; i++)
                data[at + i] = (uint8_t)iw_mutate_next(r);
            size += some;
            break;
        default: {
            uint32_t from = iw_mutate_below(r, size);
            if (some > size - at)
                some = (uint32_t)size - at;
            if (some > size - from)
                some = (uint32_t)size - from;
            memmove(data + at, data + from, some);
            break;
        }
        }
    }
    return size;
}

/* Returns another length, near one at which something changes. */
static size_t other_length(struct iw_mutate_random *r, size_t size, size_t most)
{
    size_t other = any_length(r);

    if (iw_mutate_chance(r, 3))
        other = size + iw_mutate_below(r, 9);
    else if (iw_mutate_chance(r, 3))
        other = size > 8 ? size - iw_mutate_below(r, 9) : iw_mutate_below(r, size + 1);
    else if (iw_mutate_chance(r, 4)) {
        other = 512u * iw_mutate_below(r, 9);
        other += iw_mutate_below(r, 24);
    }
    return other > most ? most : other;
}

/* Gives it another length; octets that are new count on from those there. */
static void set_length(uint8_t *octets, size_t *size, size_t length)
{
    for (size_t i = *size; i < length; i++)
        octets[i] = (uint8_t)i;
    *size = length;
}

void iw_mutate_ulpdu(struct iw_mutate_random *r, const struct iw_mutate_script *s, uint8_t *ulpdu,
                     size_t *size, size_t most)
{
    size_t header = *size > 0 && ulpdu[IW_AT_DDP_CONTROL] & IW_DDP_T ? IW_DDP_TAGGED_HEADER
                                                                     : IW_DDP_UNTAGGED_HEADER;
    const struct field *f = NULL;

    switch (iw_mutate_below(r, 8)) {
    case 0:
    case 1:
        f = any_rdmap_field(r, ulpdu, *size);
        break;
    case 2: {
        size_t other = other_length(r, *size, most);
        if (iw_mutate_chance(r, 2)) /* payload of the stated length */
            other = other + header > most ? most : other + header;
        set_length(ulpdu, size, other);
        return;
    }
    case 3:
        if (*size > header) {
            *size = header + iw_mutate_havoc(r, ulpdu + header, *size - header,
                                             most > header ? most - header : 0);
            return;
        }
        break;
    case 4:
        if (*size > 0) { /* tagged becomes untagged, and the other way round; or L changes */
            ulpdu[IW_AT_DDP_CONTROL] ^= iw_mutate_chance(r, 4) ? IW_DDP_T : IW_DDP_L;
            return;
        }
        break;
    default:
        break;
    }
    if (f == NULL)
        f = any_ddp_field(r, ulpdu, *size);
    if (f != NULL)
        change_field(r, s, ulpdu, f);
    else
        *size = iw_mutate_havoc(r, ulpdu, *size, most);
}

/* Returns IRD or ORD, which have flags in their upper bits. */
static uint8_t *any_depth(struct iw_mutate_random *r, uint8_t *frame)
{
    return frame + IW_MPA_STARTUP_HEADER + 2 * iw_mutate_below(r, 2);
}

void iw_mutate_startup(struct iw_mutate_random *r, uint8_t *frame, size_t *size, size_t most)
{
    static const uint16_t pd[] = {0, 1, 2, 3, 4, 5, 8, 492, 508, 509, 511, 512, 513, 2000, 65515};
    static const uint16_t depths[] = {0, 1, 2, 16, 0x3ffd, 0x3ffe, 0x3fff};
    bool enhanced = *size >= IW_MPA_STARTUP_HEADER + IW_MPA_ENHANCED_LENGTH;

    if (*size < IW_MPA_STARTUP_HEADER) {
        *size = iw_mutate_havoc(r, frame, *size, most);
        return;
    }
    switch (iw_mutate_below(r, 9)) {
    case 0:
        frame[IW_AT_MPA_FLAGS] ^= IW_MPA_FLAG_M;
        break;
    case 1:
        frame[IW_AT_MPA_FLAGS] ^= IW_MPA_FLAG_C;
        break;
    case 2:
        frame[IW_AT_MPA_FLAGS] ^= (uint8_t)(1u << iw_mutate_below(r, 8));
        break;
    case 3:
        frame[IW_AT_MPA_REVISION] =
            (uint8_t)(iw_mutate_chance(r, 4) ? iw_mutate_next(r) : iw_mutate_below(r, 4));
        break;
    case 4: /* PD_Length alone */
        (void)iw_put16(frame + IW_AT_MPA_PD_LENGTH,
                       iw_mutate_chance(r, 2)
                           ? pd[iw_mutate_below(r, COUNT(pd))]
                           : (uint16_t)value(r, NULL, 2, iw_get16(frame + IW_AT_MPA_PD_LENGTH)));
        break;
    case 5: { /* with its private data */
        size_t other = IW_MPA_STARTUP_HEADER + pd[iw_mutate_below(r, COUNT(pd))];
        set_length(frame, size, other > most ? most : other);
        (void)iw_put16(frame + IW_AT_MPA_PD_LENGTH, (uint16_t)(*size - IW_MPA_STARTUP_HEADER));
        break;
    }
    case 6:
        if (enhanced) {
            uint8_t *depth = any_depth(r, frame);
            *depth ^= (uint8_t)(1u << (6 + iw_mutate_below(r, 2)));
        } else {
            frame[IW_AT_MPA_FLAGS] ^= IW_MPA_FLAG_S;
        }
        break;
    case 7:
        if (enhanced) {
            uint8_t *depth = any_depth(r, frame);
            (void)iw_put16(depth, (uint16_t)((iw_get16(depth) & 0xc000u) |
                                             depths[iw_mutate_below(r, COUNT(depths))]));
        } else {
            frame[IW_AT_MPA_REVISION] = 2;
        }
        break;
    default: {
        uint32_t at = iw_mutate_below(r, *size);
        frame[at] ^= (uint8_t)(1u << iw_mutate_below(r, 8));
        break;
    }
    }
}

size_t iw_mutate_make(struct iw_mutate_random *r, const struct iw_mutate_script *s, uint8_t *ulpdu,
                      size_t room)
{
    static const uint16_t payload[] = {0, 0, 1, 4, 5, 8, 16, 40, 64};
    unsigned opcode = iw_mutate_below(r, 12);
    uint32_t stag = (uint32_t)known(r, s, 4, 0x100);
    size_t length = payload[iw_mutate_below(r, COUNT(payload))];
    /* Drawn one after the other: the order of initializers is each compiler's own. */
    unsigned last = iw_mutate_chance(r, 4) ? 0u : IW_DDP_L;
    struct iw_ddp_header h = {
        .ddp_control = (uint8_t)((iw_rdmap_is_tagged(opcode) ? IW_DDP_T : 0u) | last | 1u),
        .rdmap_control = (uint8_t)(0x40u | opcode),
        .stag = stag,
        .to = known(r, s, 8, 0),
        .qn = iw_rdmap_queue(opcode),
        .msn = 1};

    if (room < 128)
        return 0;
    if (iw_rdmap_invalidates(opcode))
        h.invalidate_stag = stag;
    size_t at = (size_t)iw_wire_put_ddp(ulpdu, room, &h);

    if (opcode == IW_OP_READ_REQUEST) {
        struct iw_rdmap_read_request q = {.size = (uint32_t)length, .source_stag = stag};
        q.sink_stag = (uint32_t)known(r, s, 4, 0x200);
        q.sink_to = known(r, s, 8, 0);
        q.source_to = known(r, s, 8, 0);
        length = (size_t)iw_wire_put_read_request(ulpdu + at, room - at, &q);
    } else if (opcode == IW_OP_ATOMIC_REQUEST) {
        struct iw_rdmap_atomic_request q = {
            .remote_stag = stag, .add_swap_data = 1, .compare_mask = UINT64_MAX};
        q.opcode = iw_mutate_chance(r, 2) ? IW_ATOMIC_FETCH_ADD : IW_ATOMIC_CMP_SWAP;
        q.request_id = iw_mutate_below(r, 4);
        q.remote_to = known(r, s, 8, 0);
        q.add_swap_mask = iw_mutate_chance(r, 2) ? 0 : UINT64_MAX;
        length = (size_t)iw_wire_put_atomic_request(ulpdu + at, room - at, &q);
    } else if (opcode == IW_OP_ATOMIC_RESPONSE) {
        struct iw_rdmap_atomic_response q = {.request_id = iw_mutate_below(r, 4),
                                             .original_value = 1};
        length = (size_t)iw_wire_put_atomic_response(ulpdu + at, room - at, &q);
    } else if (opcode == IW_OP_TERMINATE) {
        struct iw_rdmap_terminate q = {.layer = (uint8_t)iw_mutate_below(r, 3)};
        q.etype = (uint8_t)iw_mutate_below(r, 4);
        q.code = (uint8_t)iw_mutate_below(r, 10);
        length = (size_t)iw_wire_put_terminate(ulpdu + at, room - at, &q);
    } else {
        if (opcode == IW_OP_IMMEDIATE || opcode == IW_OP_IMMEDIATE_SE)
            length = IW_RDMAP_IMMEDIATE;
        for (size_t i = 0; i < length; i++)
            ulpdu[at + i] = (uint8_t)(i + 1);
    }
    return at + length;
}
