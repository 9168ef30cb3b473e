/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/stream.h"

#include <string.h>

/* Offsets are distances from `next`; those of held octets are at most the capacity. */
static size_t range_begin(const struct iw_stream *s, size_t k)
{
    return (size_t)(s->range[k].pos - s->next);
}

static size_t range_end(const struct iw_stream *s, size_t k)
{
    return range_begin(s, k) + s->range[k].length;
}

static bool before(uint64_t a, uint64_t b)
{
    return a - b > UINT64_MAX / 2;
}

void iw_stream_init(struct iw_stream *s, void *buffer, size_t capacity, uint64_t start)
{
    /* The ranges are left alone: none is in use, and this runs for every call that brings octets.
     */
    s->buffer = buffer;
    s->capacity = capacity;
    s->head = 0;
    s->next = start;
    s->count = 0;
    s->conflicts = 0;
    s->conflict_pos = 0;
}

static void compare_overlap(struct iw_stream *s, size_t begin, size_t end, const uint8_t *data)
{
    const uint8_t *held = s->buffer + s->head + begin;
    size_t length = end - begin;
    if (memcmp(held, data, length) == 0)
        return;
    if (s->conflicts == 0) {
        size_t i = 0;
        while (held[i] == data[i])
            i++;
        s->conflict_pos = s->next + begin + i;
    }
    s->conflicts++;
}

size_t iw_stream_put(struct iw_stream *s, uint64_t pos, const void *data, size_t length)
{
    const uint8_t *from = data;
    if (before(pos, s->next)) {
        uint64_t old = s->next - pos;
        if (old >= length)
            return 0;
        from += old;
        length -= (size_t)old;
        pos = s->next;
    }
    if (length == 0)
        return 0;
    if (pos - s->next >= s->capacity)
        return length;
    size_t begin = (size_t)(pos - s->next);
    size_t refused = length > s->capacity - begin ? length - (s->capacity - begin) : 0;
    size_t end = begin + (length - refused);

    /* Ranges first..last-1 touch or overlap the new octets and become one with them. */
    size_t first = 0;
    while (first < s->count && range_end(s, first) < begin)
        first++;
    size_t last = first;
    while (last < s->count && range_begin(s, last) <= end)
        last++;
    if (first == last && begin != 0) {
        size_t islands = s->count - (s->count != 0 && range_begin(s, 0) == 0 ? 1u : 0u);
        if (islands == IW_STREAM_RANGES)
            return length;
    }

    if (end > s->capacity - s->head) {
        if (s->count != 0)
            memmove(s->buffer, s->buffer + s->head, range_end(s, s->count - 1));
        s->head = 0;
    }
    size_t at = begin;
    for (size_t k = first; k < last; k++) {
        size_t held = range_begin(s, k);
        size_t held_end = range_end(s, k);
        if (at < held) {
            memcpy(s->buffer + s->head + at, from + (at - begin), held - at);
            at = held;
        }
        size_t common = held_end < end ? held_end : end;
        if (at < common) {
            compare_overlap(s, at, common, from + (at - begin));
            at = common;
        }
    }
    if (at < end)
        memcpy(s->buffer + s->head + at, from + (at - begin), end - at);

    if (first != last) {
        size_t low = range_begin(s, first) < begin ? range_begin(s, first) : begin;
        size_t high = range_end(s, last - 1) > end ? range_end(s, last - 1) : end;
        begin = low;
        end = high;
    }
    memmove(&s->range[first + 1], &s->range[last], (s->count - last) * sizeof(s->range[0]));
    s->count = s->count - (last - first) + 1;
    s->range[first].pos = s->next + begin;
    s->range[first].length = end - begin;
    return refused;
}

size_t iw_stream_peek(const struct iw_stream *s, const uint8_t **data)
{
    *data = s->buffer + s->head;
    return s->count != 0 && s->range[0].pos == s->next ? s->range[0].length : 0;
}

void iw_stream_consume(struct iw_stream *s, size_t n)
{
    const uint8_t *data;
    size_t held = iw_stream_peek(s, &data);
    iw_stream_skip(s, s->next + (n < held ? n : held));
}

uint64_t iw_stream_next(const struct iw_stream *s)
{
    return s->next;
}

bool iw_stream_gap(const struct iw_stream *s)
{
    return s->count > 1 || (s->count == 1 && s->range[0].pos != s->next);
}

size_t iw_stream_islands(const struct iw_stream *s)
{
    return s->count;
}

size_t iw_stream_island(const struct iw_stream *s, size_t k, uint64_t *pos, const uint8_t **data)
{
    if (k >= s->count)
        return 0;
    *pos = s->range[k].pos;
    *data = s->buffer + s->head + range_begin(s, k);
    return s->range[k].length;
}

void iw_stream_skip(struct iw_stream *s, uint64_t to)
{
    if (!before(s->next, to))
        return;
    size_t gone = 0;
    while (gone < s->count && !before(to, s->range[gone].pos + s->range[gone].length))
        gone++;
    s->count -= gone;
    memmove(&s->range[0], &s->range[gone], s->count * sizeof(s->range[0]));
    if (s->count == 0) {
        s->head = 0;
    } else {
        s->head += (size_t)(to - s->next);
        if (before(s->range[0].pos, to)) {
            s->range[0].length -= (size_t)(to - s->range[0].pos);
            s->range[0].pos = to;
        }
    }
    s->next = to;
}

uint64_t iw_stream_unwrap(uint64_t reference, uint32_t seq)
{
    uint32_t ahead = seq - (uint32_t)reference;
    uint64_t step = ahead < UINT32_C(0x80000000) ? ahead : ahead | UINT64_C(0xffffffff00000000);
    return reference + step;
}
