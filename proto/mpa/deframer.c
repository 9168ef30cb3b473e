/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "iwarp/mpa.h"
#include "iwarp/stream.h"

/* What lies at the start of the buffer; the stream's window follows it. */
struct room {
    struct iw_stream held; /* octets from d->next on that are not handed out yet */
    struct iw_iov ulpdu[IW_DEFRAMER_PIECES];
};

/* The window must hold the longest FPDU. */
_Static_assert(sizeof(struct room) <= IW_DEFRAMER_BUFFER - IW_MPA_FPDU_MAX,
               "the head of the buffer is too large");

/* A place in a list of pieces. */
struct cursor {
    const struct iw_iov *piece;
    size_t count;  /* pieces from this one on */
    size_t offset; /* into *piece */
    size_t left;   /* octets from here to the end of the list */
    uint64_t pos;  /* of the octet here */
};

/* The FPDU at d->next, as far as its length says. */
struct shape {
    uint32_t lead;   /* octets of a Marker before ULPDU_Length */
    uint32_t length; /* ULPDU_Length */
    uint32_t pad;
    uint32_t inside; /* Markers behind ULPDU_Length */
    uint32_t size;   /* on the stream */
};

enum outcome { INCOMPLETE, DELIVERED, STOPPED, SCATTERED };

void iw_deframer_init(struct iw_deframer *d, const struct iw_deframer_sink *sink, bool markers,
                      bool crc, iw_crc32c_fn crc32c, uint64_t start, void *buffer, size_t size)
{
    *d = (struct iw_deframer){.sink = sink,
                              .crc32c = crc32c,
                              .markers = markers,
                              .crc = crc,
                              .start = start,
                              .next = start};
    iw_deframer_lend(d, buffer, size);
}

static void set_up(struct iw_deframer *d)
{
    struct room *r = d->room;

    iw_stream_init(&r->held, (uint8_t *)d->room + sizeof *r, d->room_size - sizeof *r, d->next);
}

void iw_deframer_lend(struct iw_deframer *d, void *buffer, size_t size)
{
    if (!buffer || size < IW_DEFRAMER_BUFFER)
        return;
    d->room = buffer;
    d->room_size = size;
    set_up(d);
}

static bool holds(const struct iw_deframer *d)
{
    const struct room *r = d->room;

    return r && iw_stream_islands(&r->held) > 0;
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

/* ---- walking pieces ---- */

/* Octets that lie contiguously at c. */
static size_t run_at(const struct cursor *c)
{
    size_t run = c->piece->length - c->offset;

    return run < c->left ? run : c->left;
}

static uint8_t *octets_at(const struct cursor *c)
{
    return (uint8_t *)c->piece->base + c->offset;
}

static void step(struct cursor *c, size_t n)
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

static void read_at(struct cursor *c, uint8_t *out, size_t n)
{
    while (n > 0) {
        size_t run = run_at(c) < n ? run_at(c) : n;
        memcpy(out, octets_at(c), run);
        step(c, run);
        out += run;
        n -= run;
    }
}

static struct cursor cursor_at(const struct iw_iov *pieces, size_t count, uint64_t pos)
{
    struct cursor c = {.piece = pieces, .count = count, .pos = pos};

    for (size_t i = 0; i < count; i++)
        c.left += pieces[i].length;
    step(&c, 0);
    return c;
}

/* The octets held from d->next on without a gap. */
static struct cursor held_cursor(struct iw_deframer *d, struct iw_iov *piece)
{
    struct room *r = d->room;
    const uint8_t *base = NULL;

    piece->length = iw_stream_peek(&r->held, &base);
    piece->base = (uint8_t *)(uintptr_t)base;
    return cursor_at(piece, 1, d->next);
}

/* ---- one FPDU ---- */

static bool report(struct iw_deframer *d, enum iw_check check, uint64_t pos, uint64_t got,
                   uint64_t want)
{
    struct iw_fault fault = {.check = check, .pos = pos, .got = got, .want = want};

    d->stopped = d->sink->check(d->sink->context, &fault) != 0;
    return d->stopped;
}

/* Octets from `pos` to the next Marker position; 0 if one is here. */
static uint32_t to_marker(const struct iw_deframer *d, uint64_t pos)
{
    return (uint32_t)(0 - (pos - d->start)) % IW_MPA_MARKER_PERIOD;
}

static uint32_t lead_at(const struct iw_deframer *d)
{
    return d->markers && to_marker(d, d->next) == 0 ? IW_MPA_MARKER : 0;
}

/* RFC 5044 §4.3: a Marker behind the last octet of the CRC belongs to the next FPDU. */
static void take_shape(const struct iw_deframer *d, uint32_t length, struct shape *s)
{
    uint32_t content = iw_wire_fpdu_size(length);

    s->lead = lead_at(d);
    s->length = length;
    s->pad = iw_wire_pad(length);
    s->inside = 0;
    if (d->markers) {
        const uint32_t between = IW_MPA_MARKER_PERIOD - IW_MPA_MARKER;
        uint32_t first = to_marker(d, d->next + s->lead);
        if (content > first)
            s->inside = (content - first + between - 1) / between;
    }
    s->size = s->lead + content + s->inside * IW_MPA_MARKER;
}

/* True if ULPDU_Length can be read at c. */
static bool read_shape(const struct iw_deframer *d, const struct cursor *c, struct shape *s)
{
    struct cursor at = *c;
    uint32_t lead = lead_at(d);
    uint8_t field[IW_MPA_LENGTH_FIELD];

    if (c->left < lead + sizeof field)
        return false;
    step(&at, lead);
    read_at(&at, field, sizeof field);
    take_shape(d, (uint32_t)field[0] << 8 | field[1], s);
    return true;
}

/* Lists the ULPDU's pieces; 0 if there are more than the list can take. */
static size_t list_ulpdu(const struct iw_deframer *d, struct cursor c, const struct shape *s,
                         struct iw_iov *out)
{
    size_t left = s->length;
    size_t n = 0;

    step(&c, s->lead + IW_MPA_LENGTH_FIELD);
    while (left > 0) {
        size_t run = run_at(&c);
        if (d->markers) {
            uint32_t free_run = to_marker(d, c.pos);
            if (free_run == 0) {
                step(&c, IW_MPA_MARKER);
                continue;
            }
            if (run > free_run)
                run = free_run;
        }
        if (run > left)
            run = left;
        if (n == IW_DEFRAMER_PIECES)
            return n + 1;
        out[n++] = (struct iw_iov){.base = octets_at(&c), .length = run};
        step(&c, run);
        left -= run;
    }
    return n;
}

/* The CRC over everything before the CRC field, and that field. */
static uint32_t compute_crc(const struct iw_deframer *d, struct cursor c, const struct shape *s,
                            uint32_t *field)
{
    uint32_t state = IW_CRC32C_INIT;
    size_t left = s->size - IW_MPA_CRC_FIELD;
    bool wanted = d->crc || d->always_crc;
    uint8_t octets[IW_MPA_CRC_FIELD];

    while (wanted && left > 0) {
        size_t run = run_at(&c) < left ? run_at(&c) : left;
        state = d->crc32c(state, octets_at(&c), run);
        step(&c, run);
        left -= run;
    }
    step(&c, left);
    read_at(&c, octets, sizeof octets);
    *field = iw_crc32c_get(octets);
    return iw_crc32c_finish(state);
}

static bool check_marker(struct iw_deframer *d, struct cursor c, uint64_t pointer)
{
    uint64_t pos = c.pos;
    uint8_t octets[IW_MPA_MARKER];
    struct iw_mpa_marker m;

    read_at(&c, octets, sizeof octets);
    (void)iw_wire_get_marker(octets, sizeof octets, &m);
    pointer &= 0xfffcu; /* only an FPDU above the ULPDU maximum is long enough to wrap it */
    if ((m.fpduptr & 0xfffcu) != pointer &&
        report(d, IW_CHECK_MPA_MARKER_POINTER, pos + 2, m.fpduptr, pointer))
        return true;
    if (m.reserved && report(d, IW_CHECK_MPA_MARKER_RSVD, pos, m.reserved, 0))
        return true;
    return (m.fpduptr & 3u) && report(d, IW_CHECK_MPA_MARKER_LOW, pos + 3, m.fpduptr & 3u, 0);
}

/* True if the deframer stopped. */
static bool check_markers(struct iw_deframer *d, struct cursor c, const struct shape *s)
{
    uint64_t header_pos = c.pos + s->lead;

    if (s->lead && check_marker(d, c, 0))
        return true;
    step(&c, s->lead);
    for (uint32_t i = 0; i < s->inside; i++) {
        step(&c, to_marker(d, c.pos));
        if (check_marker(d, c, c.pos - header_pos))
            return true;
        step(&c, IW_MPA_MARKER);
    }
    return false;
}

static bool check_pad(struct iw_deframer *d, struct cursor c, const struct shape *s)
{
    uint8_t pad[3];
    uint32_t behind = s->pad + IW_MPA_CRC_FIELD;

    if (s->pad == 0)
        return false;
    /* A Marker may stand between the pad and the CRC field. */
    if (d->markers && to_marker(d, c.pos + s->size - IW_MPA_CRC_FIELD - IW_MPA_MARKER) == 0)
        behind += IW_MPA_MARKER;
    step(&c, s->size - behind);
    uint64_t pos = c.pos;
    read_at(&c, pad, s->pad);
    for (uint32_t i = 0; i < s->pad; i++)
        if (pad[i])
            return report(d, IW_CHECK_MPA_PAD, pos + i, pad[i], 0);
    return false;
}

/* Judges and hands out the whole FPDU at c. */
static enum outcome deliver(struct iw_deframer *d, struct cursor *c, const struct shape *s)
{
    struct room *r = d->room;
    struct iw_fpdu fpdu = {.pos = c->pos,
                           .header_pos = c->pos + s->lead,
                           .size = s->size,
                           .length = (uint16_t)s->length,
                           .markers = (uint16_t)(s->inside + (s->lead ? 1u : 0u)),
                           .crc_checked = d->crc,
                           .ulpdu = r->ulpdu};
    uint32_t crc;

    fpdu.pieces = list_ulpdu(d, *c, s, r->ulpdu);
    if (fpdu.pieces > IW_DEFRAMER_PIECES)
        return SCATTERED;
    crc = compute_crc(d, *c, s, &fpdu.crc);
    fpdu.crc_good = (d->crc || d->always_crc) && crc == fpdu.crc;
    if (d->crc && !fpdu.crc_good &&
        report(d, IW_CHECK_MPA_CRC, c->pos + s->size - IW_MPA_CRC_FIELD, fpdu.crc, crc))
        return STOPPED;
    if (d->markers && check_markers(d, *c, s))
        return STOPPED;
    if (check_pad(d, *c, s))
        return STOPPED;
    if (!d->crc && d->always_crc && !fpdu.crc_good &&
        report(d, IW_CHECK_MPA_CRC_OFF, c->pos + s->size - IW_MPA_CRC_FIELD, fpdu.crc, crc))
        return STOPPED;

    step(c, s->size);
    d->next = c->pos;
    d->fpdus++;
    d->length_judged = false;
    if (d->sink->fpdu(d->sink->context, &fpdu) != 0)
        d->stopped = true;
    return d->stopped ? STOPPED : DELIVERED;
}

/* Hands out the FPDUs that are whole at c, which stands at d->next. */
static enum outcome parse(struct iw_deframer *d, struct cursor *c)
{
    enum outcome outcome = DELIVERED;

    while (outcome == DELIVERED) {
        struct shape s;
        if (!read_shape(d, c, &s))
            return INCOMPLETE;
        if (!d->length_judged) {
            d->length_judged = true;
            if (s.length > IW_MPA_ULPDU_MAX &&
                report(d, IW_CHECK_MPA_ULPDU_MAX, d->next + s.lead, s.length, IW_MPA_ULPDU_MAX))
                return STOPPED;
        }
        if (c->left < s.size)
            return INCOMPLETE;
        outcome = deliver(d, c, &s);
    }
    return outcome;
}

/* ---- input ---- */

/* Hands out what the held octets complete. */
static enum outcome parse_held(struct iw_deframer *d)
{
    struct room *r = d->room;
    struct iw_iov piece;
    struct cursor c = held_cursor(d, &piece);
    enum outcome outcome = parse(d, &c);

    iw_stream_skip(&r->held, d->next);
    return outcome;
}

/* Moves up to `want` octets at c into the stream. False if it could not take them all. */
static bool hold(struct iw_deframer *d, struct cursor *c, size_t want)
{
    struct room *r = d->room;

    iw_stream_skip(&r->held, d->next); /* past what was parsed in place */
    while (want > 0 && c->left > 0) {
        size_t run = run_at(c) < want ? run_at(c) : want;
        size_t taken = run - iw_stream_put(&r->held, c->pos, octets_at(c), run);
        step(c, taken);
        want -= taken;
        if (taken < run)
            return false;
    }
    return true;
}

/* How many octets at c shall be copied before looking again: if c continues the octets held and
 * nothing lies beyond them, only what completes the FPDU; else everything. */
static size_t wanted(struct iw_deframer *d, const struct cursor *c)
{
    struct room *r = d->room;
    struct iw_iov piece;
    struct cursor held = held_cursor(d, &piece);
    struct shape s;

    if (c->pos != d->next + held.left || iw_stream_gap(&r->held))
        return c->left;
    if (read_shape(d, &held, &s))
        return s.size - held.left;
    return lead_at(d) + IW_MPA_LENGTH_FIELD - held.left;
}

/* Passes over octets that were handed out or are held without a gap. */
static void skip_known(struct iw_deframer *d, struct cursor *c)
{
    struct iw_iov piece;
    struct cursor held = held_cursor(d, &piece);
    uint64_t known = d->next + held.left;

    if (c->pos < known)
        step(c, known - c->pos < c->left ? (size_t)(known - c->pos) : c->left);
}

int iw_deframer_input(struct iw_deframer *d, uint64_t pos, const struct iw_iov *data, size_t pieces)
{
    struct cursor c = cursor_at(data, pieces, pos);

    if (d->stopped)
        return -1;
    if (c.left > 0 && (!d->room || c.left > UINT64_MAX - pos))
        return -2;
    for (;;) {
        enum outcome outcome;
        uint64_t from, next = d->next;
        bool all;

        if (c.left > 0)
            skip_known(d, &c);
        if (c.left == 0)
            return 0;
        if (!holds(d) && c.pos == d->next) {
            outcome = parse(d, &c);
            if (outcome == STOPPED)
                break;
            if (c.left == 0)
                return 0;
        }
        from = c.pos;
        all = hold(d, &c, wanted(d, &c));
        outcome = parse_held(d);
        if (outcome == STOPPED)
            break;
        if (!all && c.pos == from && d->next == next)
            return -2;
    }
    set_up(d); /* nothing is handed out any more */
    return -1;
}

bool iw_deframer_end(const struct iw_deframer *d, uint64_t pos)
{
    /* OP-08: a lone Marker may have gone out before the FPDU that it would belong to. */
    return pos == d->next || pos == d->next + lead_at(d);
}
