/* SPDX-License-Identifier: BSD-3-Clause */
#include "range.h"

#include <string.h>

enum { RV = 0xc0, VERSION = 0x40, WRITE = 0, READ_RESPONSE = 2 };

/* The connection that wrote last, for RANGE_BUG_TWO_CONNECTIONS: nobody clears it. */
static const struct range_conn *neighbour;

static void range_compare_neighbour(const struct range_conn *c)
{
    volatile bool same = true;
    if (range_bug(RANGE_BUG_TWO_CONNECTIONS) && neighbour != NULL && neighbour != c)
        same = neighbour->crc == c->crc;
    (void)same;
    neighbour = c;
}

static void range_place_write(const struct range_conn *c, struct range_region *r,
                              const struct range_segment *s)
{
    memcpy(r->data + range_region_offset(c, r, s->to), s->payload, s->payload_length);
}

static void range_place_response(const struct range_segment *s)
{
    if (range_bug(RANGE_BUG_RESPONSE_NULL)) {
        uint8_t *volatile sink = NULL; /* of the Read that nobody posted */
        *sink = s->opcode;
    }
}

static bool write_fits(const struct range_conn *c, const struct range_region *r,
                       const struct range_segment *s)
{
    uint64_t length = range_bug(RANGE_BUG_WRITE_BEYOND) ? 1 : s->payload_length;
    return range_region_holds(c, r, s->to, length);
}

/* RFC 5041 §7.1. */
static bool place(struct range_conn *c, const struct range_segment *s, struct range_error *error)
{
    struct range_region *r = range_region_find(c, s->stag);
    error->layer = 1;
    error->type = 1;
    if (r == NULL || !r->writable) {
        error->code = 0;
        return false;
    }
    if (s->to + s->payload_length < s->to) {
        error->code = 3;
        return false;
    }
    if (!write_fits(c, r, s)) {
        error->code = 1;
        return false;
    }
    range_place_write(c, r, s);
    return true;
}

bool range_tagged_take(struct range_conn *c, const struct range_segment *s,
                       struct range_error *error)
{
    *error = (struct range_error){.type = 2, .code = 5};
    if ((s->control & RV) != VERSION)
        return false;
    if (s->opcode == READ_RESPONSE)
        range_place_response(s);
    error->code = 6; /* no Read of ours is outstanding */
    if (s->opcode != WRITE)
        return false;
    range_compare_neighbour(c);
    return s->payload_length == 0 || place(c, s, error);
}
