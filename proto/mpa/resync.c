/* SPDX-License-Identifier: BSD-3-Clause */
#include "deframe.h"

/* Octets held after a gap. */
struct island {
    const uint8_t *octets;
    uint64_t begin, end;
};

/* Returns a list of one piece from `pos` to `end`. */
static struct iw_cursor look(const struct island *land, uint64_t pos, uint64_t end,
                             struct iw_iov *piece)
{
    *piece = (struct iw_iov){.base = (uint8_t *)(uintptr_t)(land->octets + (pos - land->begin)),
                             .length = (size_t)(end - pos)};
    return iw_cursor_at(piece, 1, pos);
}

/* ---- what was handed out early ---- */

static uint64_t end_of(const struct iw_run *run)
{
    return run->begin + run->length;
}

/* Returns the place of the first run that ends after `pos`. */
static size_t run_behind(const struct iw_deframer_room *r, uint64_t pos)
{
    size_t k = 0;

    while (k < r->runs && end_of(&r->run[k]) <= pos)
        k++;
    return k;
}

static void remove_run(struct iw_deframer_room *r, size_t k)
{
    r->runs--;
    memmove(&r->run[k], &r->run[k + 1], (r->runs - k) * sizeof(r->run[0]));
}

/* Joins runs k and k+1, if possible. */
static void join(struct iw_deframer_room *r, size_t k)
{
    struct iw_run *run = &r->run[k];

    if (k + 1 < r->runs && end_of(run) == run[1].begin && run->placed == run[1].placed) {
        run->length += run[1].length;
        remove_run(r, k + 1);
    }
}

/* Remembers an FPDU; there must be room for one run. Returns the end of the run that the FPDU is
 * now in. */
static uint64_t remember(struct iw_deframer_room *r, uint64_t pos, uint32_t size, bool placed)
{
    size_t k = run_behind(r, pos);

    memmove(&r->run[k + 1], &r->run[k], (r->runs - k) * sizeof(r->run[0]));
    r->run[k] = (struct iw_run){.begin = pos, .length = size, .placed = placed};
    r->runs++;
    join(r, k);
    uint64_t end = end_of(&r->run[k]);
    if (k > 0)
        join(r, k - 1);
    return end;
}

bool iw_resync_pass(struct iw_deframer *d, uint64_t pos, uint32_t size)
{
    struct iw_deframer_room *r = d->room;
    struct iw_run *run = &r->run[0];

    if (r->runs == 0 || run->begin >= pos + size)
        return false;
    /* Held octets never change, so an FPDU found from the same start has the same size. */
    if (run->begin != pos) {
        d->misled = true;
        r->runs = 0;
        return false;
    }
    bool placed = run->placed;
    run->begin += size;
    run->length -= size;
    if (run->length == 0)
        remove_run(r, 0);
    return placed;
}

/* ---- judging ---- */

static bool markers_agree(const struct iw_deframer *d, struct iw_cursor c, const struct iw_shape *s)
{
    uint64_t header_pos = c.pos + s->lead;

    if (!d->markers)
        return true;
    if (s->lead && (iw_shape_marker(&c).fpduptr & 0xfffcu) != 0)
        return false;
    for (uint32_t i = 0; i < s->inner_markers; i++) {
        iw_cursor_step(&c, iw_to_marker(d, c.pos));
        uint64_t pointer = c.pos - header_pos;
        if ((iw_shape_marker(&c).fpduptr & 0xfffcu) != pointer)
            return false;
    }
    return true;
}

static enum iw_fpdu_probe judge(const struct iw_deframer *d, const struct iw_cursor *c,
                                struct iw_shape *s)
{
    if (!iw_shape_read(d, c, s))
        return IW_PROBE_CUT;
    if (s->length == 0 || s->length > IW_MPA_ULPDU_MAX)
        return IW_PROBE_BAD;
    if (s->size > c->left)
        return IW_PROBE_CUT;
    if (!markers_agree(d, *c, s))
        return IW_PROBE_BAD;
    uint32_t field;
    return !d->crc || iw_shape_crc(d, *c, s, &field) == field ? IW_PROBE_GOOD : IW_PROBE_BAD;
}

/* As remember(). */
static uint64_t hand_out(struct iw_deframer *d, struct iw_cursor c, const struct iw_shape *s)
{
    struct iw_deframer_room *r = d->room;
    struct iw_fpdu fpdu = iw_shape_fpdu(d, c, s);
    iw_cursor_step(&c, s->size - IW_MPA_CRC_FIELD);
    uint8_t octets[IW_MPA_CRC_FIELD];
    iw_cursor_read(&c, octets, sizeof(octets));
    fpdu.crc = iw_crc32c_get(octets);
    fpdu.crc_good = true;
    return remember(r, fpdu.pos, s->size, d->sink->early(d->sink->context, &fpdu));
}

/* ---- Markers ---- */

enum marked { MARKED, UNMARKED, MARKER_LIES };

/* Finds the first start in the island that a Marker in it points to, and that Marker. */
static enum marked marked_start(const struct iw_deframer *d, const struct island *land,
                                uint64_t *start, uint64_t *marker)
{
    uint64_t at = land->begin + iw_to_marker(d, land->begin);

    for (; at < land->end && land->end - at >= IW_MPA_MARKER; at += d->period) {
        struct iw_iov piece;
        struct iw_cursor c = look(land, at, land->end, &piece);
        uint32_t back = iw_shape_marker(&c).fpduptr & 0xfffcu; /* RFC 5044 §4.2 */
        if (back > at - land->begin)
            continue;
        *marker = at;
        *start = at - back;
        if (back == 0) /* it belongs to the FPDU that follows */
            return MARKED;
        if (iw_to_marker(d, *start) == 0) /* where a Marker stands no FPDU begins */
            return MARKER_LIES;
        if (iw_to_marker(d, *start - IW_MPA_MARKER) != 0)
            return MARKED;
        if (*start - land->begin >= IW_MPA_MARKER) {
            *start -= IW_MPA_MARKER;
            return MARKED;
        }
    }
    return UNMARKED;
}

/* RFC 5044 §5.2: a Marker gives the start of an FPDU, and each good FPDU the start of the next. */
static void follow_markers(struct iw_deframer *d, const struct island *land)
{
    uint64_t pos, marker;
    enum marked marked = marked_start(d, land, &pos, &marker);
    d->misled = marked == MARKER_LIES;
    if (marked != MARKED)
        return;
    const struct iw_deframer_room *r = d->room;
    while (r->runs < IW_DEFRAMER_RUNS) {
        size_t k = run_behind(r, pos);
        if (k < r->runs && r->run[k].begin == pos) {
            pos = marker = end_of(&r->run[k]);
            continue;
        }
        struct iw_iov piece;
        struct iw_cursor c = look(land, pos, land->end, &piece);
        struct iw_shape s;
        enum iw_fpdu_probe verdict = judge(d, &c, &s);
        /* Nothing but its own CRC vouches for a Marker: the FPDU must hold it. And no FPDU may
         * reach into another. */
        if (verdict == IW_PROBE_GOOD &&
            (pos + s.size <= marker || (k < r->runs && r->run[k].begin < pos + s.size)))
            verdict = IW_PROBE_BAD;
        if (verdict == IW_PROBE_BAD) /* the in-order pass will report the fault */
            d->misled = true;
        if (verdict != IW_PROBE_GOOD)
            return;
        pos = marker = hand_out(d, c, &s);
    }
}

/* ---- aligned headers ---- */

/* Checks one TCP segment, at [pos, end): if it is a list of whole FPDUs from end to end, hands them
 * out. The cheapest checks come first. */
static void take_segment(struct iw_deframer *d, const struct island *land, uint64_t pos,
                         uint64_t end)
{
    enum { MEASURE, JUDGE, HAND_OUT };
    const struct iw_deframer_room *r = d->room;

    for (int pass = MEASURE; pass <= HAND_OUT; pass++) {
        for (uint64_t at = pos; at < end;) {
            struct iw_iov piece;
            struct iw_cursor c = look(land, at, end, &piece);
            struct iw_shape s;
            size_t k = run_behind(r, at);
            if (k < r->runs && r->run[k].begin == at && end_of(&r->run[k]) <= end) {
                at = end_of(&r->run[k]);
                continue;
            }
            if (r->runs == IW_DEFRAMER_RUNS || !iw_shape_read(d, &c, &s) || s.size > c.left ||
                (k < r->runs && r->run[k].begin < at + s.size))
                return;
            if (pass == JUDGE && judge(d, &c, &s) != IW_PROBE_GOOD)
                return;
            at = pass == HAND_OUT ? hand_out(d, c, &s) : at + s.size;
        }
    }
}

void iw_resync_search(struct iw_deframer *d, uint64_t pos, uint64_t end, bool whole)
{
    const struct iw_deframer_room *r = d->room;
    if (d->misled || !d->crc || end <= pos || !iw_stream_gap(&r->held))
        return;
    struct island land;
    size_t length, k = 0;
    do {
        length = iw_stream_island(&r->held, k++, &land.begin, &land.octets);
        land.end = land.begin + length;
    } while (length > 0 && land.end < end);
    if (length == 0 || land.begin == d->next)
        return;
    if (d->markers)
        follow_markers(d, &land);
    else if (d->aligned && whole && pos >= land.begin)
        take_segment(d, &land, pos, end);
}

/* ---- for a caller that holds the octets itself ---- */

enum iw_fpdu_probe iw_deframer_probe(const struct iw_deframer *d, uint64_t pos, const uint8_t *data,
                                     size_t length)
{
    const struct island land = {.octets = data, .begin = pos, .end = pos + length};
    struct iw_iov piece;
    struct iw_cursor c = look(&land, pos, land.end, &piece);
    struct iw_shape s;
    return judge(d, &c, &s);
}

bool iw_deframer_marked(const struct iw_deframer *d, uint64_t pos, const uint8_t *data,
                        size_t length, uint64_t *start, uint64_t *marker)
{
    const struct island land = {.octets = data, .begin = pos, .end = pos + length};

    return marked_start(d, &land, start, marker) == MARKED;
}

size_t iw_deframer_peek(const struct iw_deframer *d, uint64_t pos, const uint8_t *data,
                        size_t length, struct iw_fpdu *fpdu, uint8_t *ulpdu, size_t room)
{
    const struct island land = {.octets = data, .begin = pos, .end = pos + length};
    struct iw_iov piece;
    struct iw_cursor c = look(&land, pos, land.end, &piece);
    *fpdu = (struct iw_fpdu){.pos = pos};
    struct iw_shape s;
    if (!iw_shape_read(d, &c, &s))
        return 0;
    fpdu->header_pos = pos + s.lead;
    fpdu->size = s.size;
    fpdu->length = (uint16_t)s.length;
    fpdu->markers = (uint16_t)(s.inner_markers + (s.lead ? 1u : 0u));
    fpdu->period = d->period;
    room = room < s.length ? room : s.length;
    iw_cursor_step(&c, s.lead + IW_MPA_LENGTH_FIELD);
    size_t n = 0;
    while (n < room && c.left > 0) {
        size_t run = room - n < c.left ? room - n : c.left;
        if (d->markers && iw_to_marker(d, c.pos) == 0) {
            iw_cursor_step(&c, IW_MPA_MARKER < c.left ? IW_MPA_MARKER : c.left);
            continue;
        }
        if (d->markers && run > iw_to_marker(d, c.pos))
            run = iw_to_marker(d, c.pos);
        iw_cursor_read(&c, ulpdu + n, run);
        n += run;
    }
    return n;
}
