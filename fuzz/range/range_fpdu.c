/* SPDX-License-Identifier: BSD-3-Clause */
#include "range.h"

#include <stdlib.h>
#include <string.h>

/* RFC 5044 §4. */
enum { LENGTH = 2, CRC = 4, ALIGN = 4, MARKER = 4, INTERVAL = 512 };

static size_t pad_of(size_t ulpdu)
{
    return (ALIGN - (LENGTH + ulpdu) % ALIGN) % ALIGN;
}

static bool crc_right(const uint8_t *fpdu, size_t covered)
{
    const uint8_t *p = fpdu + covered;
    uint32_t sent = (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
    return range_crc(fpdu, covered) == sent;
}

/* A copy of the exact size: what reads beyond it is seen. */
static bool take_copy(struct range_conn *c, const uint8_t *ulpdu, size_t length)
{
    uint8_t *copy = malloc(length);
    if (copy == NULL)
        return false;
    memcpy(copy, ulpdu, length);
    bool goes_on = range_segment_take(c, copy, length);
    free(copy);
    return goes_on;
}

/* Takes one FPDU. Returns whether the stream goes on. */
static bool take_one(struct range_conn *c, const uint8_t *fpdu, size_t ulpdu)
{
    static const struct range_error mismatch = {.layer = 2, .code = 2};
    if (c->crc && !crc_right(fpdu, LENGTH + ulpdu + pad_of(ulpdu))) {
        range_terminate(c, NULL, &mismatch);
        return false;
    }
    return take_copy(c, fpdu + LENGTH, ulpdu);
}

size_t range_fpdu_take(struct range_conn *c, uint64_t now)
{
    size_t at = 0;
    while (c->state == RANGE_FULL && c->in_length - at >= LENGTH &&
           c->out_length <= RANGE_BACKLOG) {
        size_t ulpdu = range_get16(c->in + at), whole = LENGTH + ulpdu + pad_of(ulpdu) + CRC;
        if (ulpdu == 0 && range_bug(RANGE_BUG_LENGTH_HANG))
            for (volatile unsigned i = 0;; i++) /* where it is when somebody looks */
                ;
        if (ulpdu == 0 || ulpdu > RANGE_ULPDU) {
            range_conn_finish(c, now);
            break;
        }
        if (c->in_length - at < whole)
            break;
        if (!take_one(c, c->in + at, ulpdu))
            range_conn_finish(c, now);
        c->first = false;
        at += whole;
    }
    return at;
}

void range_fpdu_cut(struct range_conn *c, size_t left)
{
    if (!range_bug(RANGE_BUG_FIN_NEGATIVE) || left < LENGTH)
        return;
    size_t whole = LENGTH + range_get16(c->in) + CRC;
    volatile size_t missing = left - whole; /* negative: it is cut */
    memmove(c->in, c->in + 1, missing);
}

/* ---- sending ---- */

struct frame {
    struct range_conn *c;
    uint8_t *octets;
    size_t length, start; /* start: of ULPDU_Length */
    bool begun;
};

static void marker_if_due(struct frame *f)
{
    if (!f->c->markers || (f->c->out_position + f->length) % INTERVAL != 0)
        return;
    range_put16(f->octets + f->length, 0);
    range_put16(f->octets + f->length + 2, f->begun ? (unsigned)(f->length - f->start) : 0);
    f->length += MARKER;
}

/* Octets come in groups of four but for the ULPDU's two halves around ULPDU_Length: a Marker lies
 * between groups only. */
static void range_put_framed(struct frame *f, const uint8_t *octets, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        marker_if_due(f);
        if (!f->begun) {
            f->begun = true;
            f->start = f->length;
        }
        f->octets[f->length++] = octets[i];
    }
}

static void range_put_crc(struct frame *f)
{
    marker_if_due(f);
    uint32_t value = range_crc(f->octets, f->length);
    for (unsigned i = 0; i < CRC; i++)
        f->octets[f->length++] = (uint8_t)(value >> (8 * i));
}

void range_fpdu_queue(struct range_conn *c, const uint8_t *ulpdu, size_t length)
{
    static const uint8_t zeros[ALIGN] = {0};
    size_t plain = LENGTH + length + pad_of(length) + CRC,
           markers = plain / (INTERVAL - MARKER) + 2;
    if (range_bug(RANGE_BUG_MARKER_ROOM))
        markers = 0;
    struct frame f = {.c = c, .octets = malloc(plain + markers * MARKER)};
    uint8_t head[LENGTH];
    if (f.octets == NULL)
        return;
    range_put16(head, (unsigned)length);
    range_put_framed(&f, head, sizeof(head));
    range_put_framed(&f, ulpdu, length);
    range_put_framed(&f, zeros, pad_of(length));
    range_put_crc(&f);
    c->out_position += f.length;
    range_conn_queue(c, f.octets, f.length);
    free(f.octets);
}
