/* SPDX-License-Identifier: BSD-3-Clause */
#include "deframe.h"

#include "iwarp/octets.h"

void iw_deframer_init(struct iw_deframer *d, const struct iw_deframer_sink *sink, bool markers,
                      bool crc, iw_crc32c_fn crc32c, uint64_t start, void *buffer, size_t size)
{
    *d = (struct iw_deframer){.sink = sink,
                              .crc32c = crc32c,
                              .markers = markers,
                              .crc = crc,
                              .period = IW_MPA_MARKER_PERIOD,
                              .start = start,
                              .next = start};
    iw_deframer_lend(d, buffer, size);
}

static void set_up(struct iw_deframer *d)
{
    struct iw_deframer_room *r = d->room;

    iw_stream_init(&r->held, (uint8_t *)d->room + sizeof(*r), d->room_size - sizeof(*r), d->next);
    r->runs = 0;
}

void iw_deframer_lend(struct iw_deframer *d, void *buffer, size_t size)
{
    if (buffer == NULL || size < IW_DEFRAMER_BUFFER)
        return;
    d->room = buffer;
    d->room_size = size;
    set_up(d);
}

static bool holds(const struct iw_deframer *d)
{
    const struct iw_deframer_room *r = d->room;

    return r != NULL && iw_stream_islands(&r->held) > 0;
}

bool iw_deframer_idle(const struct iw_deframer *d)
{
    return !holds(d);
}

void *iw_deframer_return(struct iw_deframer *d)
{
    void *buffer = d->room;

    if (holds(d))
        return NULL;
    d->room = NULL;
    d->room_size = 0;
    return buffer;
}

/* Returns the octets held from d->next on without a gap. */
static struct iw_cursor held_cursor(struct iw_deframer *d, struct iw_iov *piece)
{
    struct iw_deframer_room *r = d->room;
    const uint8_t *base = NULL;

    piece->length = iw_stream_peek(&r->held, &base);
    piece->base = (uint8_t *)(uintptr_t)base;
    return iw_cursor_at(piece, 1, d->next);
}

/* ---- one FPDU ---- */

static bool report(struct iw_deframer *d, enum iw_check check, uint64_t pos, uint64_t got,
                   uint64_t want)
{
    struct iw_fault fault = {.check = check, .pos = pos, .got = got, .want = want};

    d->stopped = d->sink->check(d->sink->context, &fault) != 0;
    return d->stopped;
}

static bool check_marker(struct iw_deframer *d, struct iw_cursor c, uint64_t pointer)
{
    uint64_t pos = c.pos;
    struct iw_mpa_marker m = iw_shape_marker(&c);

    pointer &= 0xfffcu; /* only an FPDU above the ULPDU maximum is long enough to wrap it */
    if ((m.fpduptr & 0xfffcu) != pointer &&
        report(d, IW_CHECK_MPA_MARKER_POINTER, pos + IW_AT_MARKER_FPDUPTR, m.fpduptr, pointer))
        return true;
    if (m.reserved && report(d, IW_CHECK_MPA_MARKER_RSVD, pos, m.reserved, 0))
        return true;
    return (m.fpduptr & 3u) &&
           report(d, IW_CHECK_MPA_MARKER_LOW, pos + IW_AT_MARKER_FPDUPTR + 1, m.fpduptr & 3u, 0);
}

/* Returns whether the Markers inside an FPDU that lies in one piece, from ULPDU_Length at c on, are
 * right. If it returns false, or the FPDU does not lie in one piece, the Markers are checked one by
 * one. */
static bool markers_right(const struct iw_deframer *d, const struct iw_cursor *c,
                          const struct iw_shape *s)
{
    const uint8_t *octets = iw_cursor_octets(c);
    uint32_t offset = iw_to_marker(d, c->pos), wrong = 0;

    if (iw_cursor_run(c) < s->size - s->lead)
        return false;
    for (uint32_t i = 0; i < s->inner_markers; i++, offset += d->period)
        wrong |= iw_get32(octets + offset) ^ (offset & 0xfffcu);
    return wrong == 0;
}

/* Returns true if the deframer stopped. */
static bool check_markers(struct iw_deframer *d, struct iw_cursor c, const struct iw_shape *s)
{
    uint64_t header_pos = c.pos + s->lead;

    if (s->lead && check_marker(d, c, 0))
        return true;
    iw_cursor_step(&c, s->lead);
    if (markers_right(d, &c, s))
        return false;
    for (uint32_t i = 0; i < s->inner_markers; i++) {
        iw_cursor_step(&c, iw_to_marker(d, c.pos));
        if (check_marker(d, c, c.pos - header_pos))
            return true;
        iw_cursor_step(&c, IW_MPA_MARKER);
    }
    return false;
}

static bool check_pad(struct iw_deframer *d, struct iw_cursor c, const struct iw_shape *s)
{
    if (s->pad == 0)
        return false;
    uint32_t trailer = iw_shape_trailer(d), after = s->pad + trailer;
    if (!d->markers && iw_cursor_run(&c) >= s->size) {
        const uint8_t *at = iw_cursor_octets(&c) + s->size - after;
        uint32_t wrong = 0;
        for (uint32_t i = 0; i < s->pad; i++)
            wrong |= at[i];
        if (wrong == 0)
            return false;
    }
    /* A Marker may stand between the pad and the CRC field. */
    if (d->markers && iw_to_marker(d, c.pos + s->size - trailer - IW_MPA_MARKER) == 0)
        after += IW_MPA_MARKER;
    iw_cursor_step(&c, s->size - after);
    uint64_t pos = c.pos;
    uint8_t pad[3];
    iw_cursor_read(&c, pad, s->pad);
    for (uint32_t i = 0; i < s->pad; i++)
        if (pad[i])
            return report(d, IW_CHECK_MPA_PAD, pos + i, pad[i], 0);
    return false;
}

/* Judges and hands out the whole FPDU at c. Returns false if the deframer stopped, or if the FPDU
 * lies in too many pieces and has to be copied together first. */
static bool deliver(struct iw_deframer *d, struct iw_cursor *c, const struct iw_shape *s)
{
    struct iw_fpdu fpdu = iw_shape_fpdu(d, *c, s);
    if (iw_cursor_run(c) > 2 * s->size) /* CRC and ULPDU_Length after next, if as far again */
        __builtin_prefetch(iw_cursor_octets(c) + 2 * s->size - IW_MPA_CRC_FIELD);
    if (fpdu.pieces > IW_DEFRAMER_PIECES)
        return false;
    uint32_t crc = iw_shape_crc(d, *c, s, &fpdu.crc);
    fpdu.crc_good = (d->crc || d->always_crc) && crc == fpdu.crc;
    if (d->crc && !fpdu.crc_good &&
        report(d, IW_CHECK_MPA_CRC, c->pos + s->size - IW_MPA_CRC_FIELD, fpdu.crc, crc))
        return false;
    if ((d->markers && check_markers(d, *c, s)) || check_pad(d, *c, s))
        return false;
    if (!d->crc && d->always_crc && !fpdu.crc_good &&
        report(d, IW_CHECK_MPA_CRC_OFF, c->pos + s->size - IW_MPA_CRC_FIELD, fpdu.crc, crc))
        return false;

    fpdu.placed_early = iw_resync_pass(d, c->pos, s->size);
    iw_cursor_step(c, s->size);
    d->next = c->pos;
    d->fpdus++;
    d->length_judged = false;
    d->stopped = d->sink->fpdu(d->sink->context, &fpdu) != 0;
    return !d->stopped;
}

/* Reads the FPDU at d->next, where c stands. Returns false if its ULPDU_Length is not here. */
static bool measure(struct iw_deframer *d, const struct iw_cursor *c, struct iw_shape *s)
{
    if (!iw_shape_read(d, c, s))
        return false;
    if (!d->length_judged) {
        d->length_judged = true;
        if (s->length > IW_MPA_ULPDU_MAX)
            report(d, IW_CHECK_MPA_ULPDU_MAX, d->next + s->lead, s->length, IW_MPA_ULPDU_MAX);
    }
    return true;
}

/* Hands out the FPDUs that are whole at c, which stands at d->next. */
static void parse(struct iw_deframer *d, struct iw_cursor *c)
{
    struct iw_shape s;
    while (measure(d, c, &s) && !d->stopped)
        if (c->left < s.size || !deliver(d, c, &s))
            return;
}

/* ---- input ---- */

/* Hands out the FPDUs that the held octets complete. */
static void parse_held(struct iw_deframer *d)
{
    struct iw_deframer_room *r = d->room;
    struct iw_iov piece;
    struct iw_cursor c = held_cursor(d, &piece);
    parse(d, &c);
    iw_stream_skip(&r->held, d->next);
}

/* Moves up to `want` octets at c into the stream. Returns false if it could not take them all. */
static bool hold(struct iw_deframer *d, struct iw_cursor *c, size_t want)
{
    struct iw_deframer_room *r = d->room;

    iw_stream_skip(&r->held, d->next); /* past the octets that were parsed in place */
    while (want > 0 && c->left > 0) {
        size_t run = iw_cursor_run(c) < want ? iw_cursor_run(c) : want;
        size_t taken = run - iw_stream_put(&r->held, c->pos, iw_cursor_octets(c), run);
        iw_cursor_step(c, taken);
        want -= taken;
        if (taken < run)
            return false;
    }
    return true;
}

/* Returns how many octets at c to copy before looking again: if c continues the octets held and
 * nothing lies beyond them, only those that complete the FPDU; otherwise all. */
static size_t wanted(struct iw_deframer *d, const struct iw_cursor *c)
{
    struct iw_deframer_room *r = d->room;
    struct iw_iov piece;
    struct iw_cursor held = held_cursor(d, &piece);
    if (c->pos != d->next + held.left || iw_stream_gap(&r->held))
        return c->left;
    struct iw_shape s;
    if (iw_shape_read(d, &held, &s))
        return s.size - held.left;
    return iw_shape_lead(d, d->next) + IW_MPA_LENGTH_FIELD - held.left;
}

/* Passes over octets that were handed out or are held without a gap. */
static void skip_known(struct iw_deframer *d, struct iw_cursor *c)
{
    struct iw_iov piece;
    struct iw_cursor held = held_cursor(d, &piece);
    uint64_t known = d->next + held.left;
    if (c->pos < known)
        iw_cursor_step(c, known - c->pos < c->left ? (size_t)(known - c->pos) : c->left);
}

/* Takes the octets at c. Returns 0, -1 or -2 like iw_deframer_input. */
static int take(struct iw_deframer *d, struct iw_cursor *c)
{
    for (;;) {
        uint64_t next = d->next;

        if (c->left > 0)
            skip_known(d, c);
        if (c->left > 0 && !holds(d) && c->pos == d->next)
            parse(d, c);
        if (d->stopped)
            return -1;
        if (c->left == 0)
            return 0;
        uint64_t from = c->pos;
        bool all = hold(d, c, wanted(d, c));
        parse_held(d);
        if (d->stopped)
            return -1;
        if (!all && c->pos == from && d->next == next)
            return -2;
    }
}

int iw_deframer_input(struct iw_deframer *d, uint64_t pos, const struct iw_iov *data, size_t pieces)
{
    if (d->stopped)
        return -1;
    struct iw_cursor c = iw_cursor_at(data, pieces, pos);
    if (c.left > 0 && (d->room == NULL || c.left > UINT64_MAX - pos))
        return -2;
    if (c.left == 0)
        return 0;
    int result = take(d, &c);
    if (result == -1)
        set_up(d); /* nothing is handed out any more */
    else if (d->sink->early != NULL && holds(d))
        iw_resync_search(d, pos, c.pos, result == 0);
    return result;
}

uint32_t iw_deframer_measure(struct iw_deframer *d, const struct iw_iov *data, size_t pieces)
{
    struct iw_cursor c = iw_cursor_at(data, pieces, d->next);
    struct iw_shape s;
    return measure(d, &c, &s) ? s.size : 0;
}

size_t iw_deframer_held(struct iw_deframer *d, const uint8_t **octets)
{
    if (!holds(d) || iw_stream_gap(&((struct iw_deframer_room *)d->room)->held))
        return 0;
    struct iw_iov piece;
    (void)held_cursor(d, &piece);
    *octets = piece.base;
    return piece.length;
}

void iw_deframer_lift(struct iw_deframer *d)
{
    set_up(d);
}

void iw_deframer_pass(struct iw_deframer *d, uint32_t size)
{
    iw_deframer_move(d, d->next + size);
    d->fpdus++;
    if (d->room != NULL)
        set_up(d);
}

void iw_deframer_move(struct iw_deframer *d, uint64_t pos)
{
    d->next = pos;
    d->length_judged = false;
}

uint64_t iw_deframer_edge(struct iw_deframer *d)
{
    struct iw_iov piece;
    return holds(d) ? d->next + held_cursor(d, &piece).left : d->next;
}

bool iw_deframer_end(const struct iw_deframer *d, uint64_t pos)
{
    /* OP-08: a lone Marker may have gone out before the FPDU that it would belong to. */
    return pos == d->next || pos == d->next + iw_shape_lead(d, d->next);
}
