/* SPDX-License-Identifier: BSD-3-Clause */
#include "range.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

/* RFC 5040 §4.4, RFC 7306 §5. */
enum {
    TAGGED = 14,
    UNTAGGED = 18,
    REQUEST = 28,
    ATOMIC = 52,
    ATOMIC_RESPONSE = 12,
    RESPONSE_OPCODE = 0x42,
    ATOMIC_OPCODE = 0x4b,
    LAST_TAGGED = 0xc1,
    MORE_TAGGED = 0x81,
    LAST_UNTAGGED = 0x41,
    WORD = 8
};

struct request {
    uint32_t sink_stag, size, source_stag;
    uint64_t sink_to, source_to;
};

static bool wrong(struct range_error *error, unsigned type, unsigned code, bool request)
{
    *error = (struct range_error){0, (uint8_t)type, (uint8_t)code, request};
    return false;
}

/* ---- Read ---- */

static void range_copy_source(uint8_t *out, const uint8_t *source, size_t length)
{
    memcpy(out, source, length);
}

/* Collects the source in pieces, as for writev(). */
static void range_gather(uint8_t *out, const uint8_t *source, size_t length)
{
    enum { PIECE = 16, PIECES = 4 };
    struct iovec pieces[PIECES];
    size_t n = 0;
    for (size_t at = 0; at < length; at += PIECE) {
        size_t part = length - at < PIECE ? length - at : PIECE;
        pieces[n++] = (struct iovec){.iov_base = out + at, .iov_len = part};
    }
    for (size_t i = 0, at = 0; i < n; i++) {
        memcpy(pieces[i].iov_base, source + at, pieces[i].iov_len);
        at += pieces[i].iov_len;
    }
}

static void respond(struct range_conn *c, const struct request *r, const uint8_t *source)
{
    size_t most = c->mulpdu - TAGGED, at = 0;
    uint8_t *out = malloc(c->mulpdu);
    if (out == NULL)
        abort();
    do {
        size_t part = r->size - at < most ? r->size - at : most;
        out[0] = at + part == r->size ? LAST_TAGGED : MORE_TAGGED;
        out[1] = RESPONSE_OPCODE;
        range_put32(out + 2, r->sink_stag);
        range_put64(out + 6, r->sink_to + at);
        if (part > 0 && range_bug(RANGE_BUG_GATHER_STACK))
            range_gather(out + TAGGED, source + at, part);
        else if (part > 0)
            range_copy_source(out + TAGGED, source + at, part);
        range_fpdu_queue(c, out, TAGGED + part);
        at += part;
    } while (at < r->size);
    free(out);
}

/* RFC 5040 §7.2: STag, rights, range, wrap. */
static bool source_right(struct range_conn *c, const struct request *r, const uint8_t **source,
                         struct range_error *error)
{
    struct range_region *region = range_region_find(c, r->source_stag);
    if (region == NULL || region->freed)
        return wrong(error, 1, 0, true);
    bool wraps = r->source_to + r->size < r->source_to;
    size_t offset = range_region_offset(c, region, r->source_to);
    if (range_bug(RANGE_BUG_READ_WRAP) && wraps && offset + r->size <= region->length) {
        *source = region->data + (intptr_t)offset;
        return true;
    }
    if (wraps)
        return wrong(error, 1, 4, true);
    if (!range_region_holds(c, region, r->source_to, r->size))
        return wrong(error, 1, 1, true);
    *source = region->data + offset;
    return true;
}

bool range_read_take(struct range_conn *c, const struct range_segment *s, struct range_error *error)
{
    if (s->payload_length != REQUEST || s->mo != 0 || !s->last)
        return wrong(error, 2, 0xff, false);
    struct request r = {.sink_stag = range_get32(s->payload),
                        .sink_to = range_get64(s->payload + 4),
                        .size = range_get32(s->payload + 12),
                        .source_stag = range_get32(s->payload + 16),
                        .source_to = range_get64(s->payload + 20)};
    const uint8_t *source = NULL;
    if (r.size > 0 && !source_right(c, &r, &source, error))
        return false;
    c->request_msn++;
    respond(c, &r, source);
    return true;
}

/* ---- Atomic ---- */

struct atomic {
    uint32_t operation;
    uint64_t data, mask, compare, compare_mask;
};

static uint64_t add_fields(uint64_t old, uint64_t add, uint64_t mask)
{
    uint64_t sum = 0;
    unsigned carry = 0;
    for (unsigned bit = 0; bit < 64; bit++) {
        unsigned digit = carry + (unsigned)(old >> bit & 1) + (unsigned)(add >> bit & 1);
        sum |= (uint64_t)(digit & 1) << bit;
        carry = mask >> bit & 1 ? 0 : digit >> 1;
    }
    return sum;
}

/* Returns what was there before. */
static uint64_t range_apply_atomic(uint8_t *at, const struct atomic *a)
{
    uint64_t *word = (uint64_t *)(void *)at;
    uint64_t old = *word;
    if (a->operation == 0)
        *word = add_fields(old, a->data, a->mask);
    else if (((a->compare ^ old) & a->compare_mask) == 0)
        *word = (old & ~a->mask) | (a->data & a->mask);
    return old;
}

static void answer_atomic(struct range_conn *c, uint32_t request, uint64_t old)
{
    uint8_t out[UNTAGGED + ATOMIC_RESPONSE] = {LAST_UNTAGGED, ATOMIC_OPCODE};
    range_put32(out + 6, 3);
    range_put32(out + 10, c->atomic_msn++);
    range_put32(out + UNTAGGED, request);
    range_put64(out + UNTAGGED + 4, old);
    range_fpdu_queue(c, out, sizeof(out));
}

bool range_atomic_take(struct range_conn *c, const struct range_segment *s,
                       struct range_error *error)
{
    if (s->payload_length != ATOMIC || s->mo != 0 || !s->last)
        return wrong(error, 2, 0xff, false);
    const uint8_t *p = s->payload;
    struct atomic a = {.operation = range_get32(p) & 0x0f,
                       .data = range_get64(p + 20),
                       .mask = range_get64(p + 28),
                       .compare = range_get64(p + 36),
                       .compare_mask = range_get64(p + 44)};
    if (a.operation != 0 && a.operation != 2)
        return wrong(error, 2, 6, false);
    uint64_t to = range_get64(p + 12);
    struct range_region *r = range_region_find(c, range_get32(p + 8));
    if (r == NULL || r->freed || !r->writable)
        return wrong(error, 1, r == NULL || r->freed ? 0 : 2, false);
    if (to + WORD < to)
        return wrong(error, 1, 4, false);
    if (!range_region_holds(c, r, to, WORD))
        return wrong(error, 1, 1, false);
    if (to % WORD != 0 && !range_bug(RANGE_BUG_ATOMIC_ALIGN))
        return wrong(error, 2, 7, false);
    c->request_msn++;
    answer_atomic(c, range_get32(p + 4),
                  range_apply_atomic(r->data + range_region_offset(c, r, to), &a));
    return true;
}
