/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_MPA_DEFRAME_H
#define IW_MPA_DEFRAME_H

#include <string.h>

#include "iwarp/mpa.h"
#include "iwarp/stream.h"

/*
 * deframer.c  octets in, FPDUs in order and their checks
 * shape.c     where the parts of one FPDU lie
 * resync.c    FPDUs after a gap
 */

/* Consecutive FPDUs that were handed out early, whole ones only. */
struct iw_run {
    uint64_t begin;
    uint32_t length;
    bool placed; /* the answer of the sink, the same for all of them */
};

/* The most runs that are remembered. Neighbours with the same answer are one run, so only gaps and
 * alternating answers use them up; then nothing more is handed out early until the in-order pass
 * has removed some. */
enum { IW_DEFRAMER_RUNS = 64 };

/* The beginning of the buffer; the stream's window follows it. */
struct iw_deframer_room {
    struct iw_stream held; /* octets from d->next on that are not handed out yet */
    struct iw_iov ulpdu[IW_DEFRAMER_PIECES];
    size_t runs;
    struct iw_run run[IW_DEFRAMER_RUNS]; /* ascending, none before d->next */
};

/* The window must hold the longest FPDU. */
_Static_assert(sizeof(struct iw_deframer_room) <= IW_DEFRAMER_BUFFER - IW_MPA_FPDU_MAX,
               "the head of the buffer is too large");

/* ---- walking pieces ---- */

/* A place in a list of pieces. */
struct iw_cursor {
    const struct iw_iov *piece;
    size_t count;  /* pieces from this one on */
    size_t offset; /* into *piece */
    size_t left;   /* octets from here to the end of the list */
    uint64_t pos;  /* of the octet here */
};

/* Returns the octets that lie contiguously at c. */
static inline size_t iw_cursor_run(const struct iw_cursor *c)
{
    size_t run = c->piece->length - c->offset;

    return run < c->left ? run : c->left;
}

static inline uint8_t *iw_cursor_octets(const struct iw_cursor *c)
{
    return (uint8_t *)c->piece->base + c->offset;
}

static inline void iw_cursor_step(struct iw_cursor *c, size_t n)
{
    c->pos += n;
    c->left -= n;
    c->offset += n;
    while (c->count > 1 && c->offset >= c->piece->length) {
        c->offset -= c->piece->length;
        c->piece++;
        c->count--;
    }
}

static inline void iw_cursor_read(struct iw_cursor *c, uint8_t *out, size_t n)
{
    while (n > 0) {
        size_t run = iw_cursor_run(c) < n ? iw_cursor_run(c) : n;
        memcpy(out, iw_cursor_octets(c), run);
        iw_cursor_step(c, run);
        out += run;
        n -= run;
    }
}

static inline struct iw_cursor iw_cursor_at(const struct iw_iov *pieces, size_t count, uint64_t pos)
{
    struct iw_cursor c = {.piece = pieces, .count = count, .pos = pos};

    for (size_t i = 0; i < count; i++)
        c.left += pieces[i].length;
    iw_cursor_step(&c, 0);
    return c;
}

/* ---- shape.c ---- */

/* The FPDU at some position, as far as its length determines it. */
struct iw_shape {
    uint32_t lead;   /* octets of a Marker before ULPDU_Length */
    uint32_t length; /* ULPDU_Length */
    uint32_t pad;
    uint32_t inner_markers; /* Markers after ULPDU_Length */
    uint32_t size;          /* on the stream */
};

/* Returns the octets from `pos` to the next Marker position; 0 if one is here. */
static inline uint32_t iw_to_marker(const struct iw_deframer *d, uint64_t pos)
{
    if (d->period != IW_MPA_MARKER_PERIOD)
        return iw_marker_after(d->period, d->start, pos);
    return (uint32_t)(d->start - pos) % IW_MPA_MARKER_PERIOD;
}

/* Returns the octets that follow the pad. */
static inline uint32_t iw_shape_trailer(const struct iw_deframer *d)
{
    return d->bare ? 0 : IW_MPA_CRC_FIELD;
}

/* Returns the octets of the Marker that stands before the ULPDU_Length of an FPDU at `pos`. */
static inline uint32_t iw_shape_lead(const struct iw_deframer *d, uint64_t pos)
{
    return d->markers && iw_to_marker(d, pos) == 0 ? IW_MPA_MARKER : 0;
}

/* Reads the FPDU at c. Returns false if its ULPDU_Length is not here. */
bool iw_shape_read(const struct iw_deframer *d, const struct iw_cursor *c, struct iw_shape *s);

/* Lists the ULPDU's pieces in the room, of the whole FPDU at c, and describes it. A number above
 * IW_DEFRAMER_PIECES means that there are too many pieces for the list. */
struct iw_fpdu iw_shape_fpdu(const struct iw_deframer *d, struct iw_cursor c,
                             const struct iw_shape *s);

/* Returns the CRC over everything before the CRC field of the whole FPDU at c; *field is that
 * field. */
uint32_t iw_shape_crc(const struct iw_deframer *d, struct iw_cursor c, const struct iw_shape *s,
                      uint32_t *field);

/* Returns the Marker at c, and moves past it. */
struct iw_mpa_marker iw_shape_marker(struct iw_cursor *c);

/* ---- resync.c ---- */

/* Searches after an input call whose octets [pos, end) are held, which are `whole` unless some were
 * refused: FPDUs that they complete after a gap are handed out early. */
void iw_resync_search(struct iw_deframer *d, uint64_t pos, uint64_t end, bool whole);

/* Called when the FPDU at `pos` is about to be handed out in order. Returns true if it was handed
 * out early and placed. */
bool iw_resync_pass(struct iw_deframer *d, uint64_t pos, uint32_t size);

#endif
