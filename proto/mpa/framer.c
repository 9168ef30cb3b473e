/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "iwarp/mpa.h"
#include "iwarp/octets.h"
#include "marker.h"

/* The FPDU under construction. */
struct build {
    const struct iw_switches *switches;
    iw_crc32c_fn crc32c; /* NULL: no CRC */
    uint32_t state;
    uint32_t period; /* of the Markers; 0: none */
    uint64_t pos;
    uint64_t header_pos; /* of ULPDU_Length */
    struct iw_iov *out;
    size_t room;
    size_t pieces; /* may run past room: then the FPDU does not fit */
    uint8_t *own;  /* next free octet of the scratch */
};

void iw_framer_init(struct iw_framer *f, bool markers, bool crc, iw_crc32c_fn crc32c,
                    const struct iw_switches *switches)
{
    *f = (struct iw_framer){.markers = markers, .crc = crc, .crc32c = crc32c, .switches = switches};
}

static void append(struct build *b, void *base, size_t length)
{
    struct iw_iov *last = b->pieces > 0 && b->pieces <= b->room ? &b->out[b->pieces - 1] : NULL;

    if (b->crc32c != NULL)
        b->state = b->crc32c(b->state, base, length);
    b->pos += length;
    if (last != NULL && (uint8_t *)last->base + last->length == (uint8_t *)base) {
        last->length += length;
        return;
    }
    if (b->pieces < b->room)
        b->out[b->pieces] = (struct iw_iov){.base = base, .length = length};
    b->pieces++;
}

/* Appends octets that are in the scratch already. */
static void append_own(struct build *b, size_t length)
{
    uint8_t *base = b->own;

    b->own += length;
    append(b, base, length);
}

/* Puts a Marker here if one is due; `pointer` is its FPDUPTR. */
static void mark(struct build *b, uint64_t pointer)
{
    struct iw_mpa_marker m = {.reserved = 0, .fpduptr = (uint16_t)pointer};

    if (b->period == 0 || b->pos % b->period != 0)
        return;
    if (iw_switch_violated(b->switches, IW_CHECK_MPA_MARKER_POINTER))
        m.fpduptr = (uint16_t)(m.fpduptr + 4u);
    if (iw_switch_violated(b->switches, IW_CHECK_MPA_MARKER_RSVD))
        m.reserved = 1;
    if (iw_switch_violated(b->switches, IW_CHECK_MPA_MARKER_LOW))
        m.fpduptr |= 3u;
    (void)iw_wire_put_marker(b->own, IW_MPA_MARKER, &m);
    append_own(b, IW_MPA_MARKER);
}

static void append_ulpdu(struct build *b, const struct iw_iov *piece)
{
    uint8_t *from = piece->base;
    size_t left = piece->length;

    while (left > 0) {
        size_t chunk = left;
        mark(b, b->pos - b->header_pos);
        if (b->period > 0 && chunk > b->period - b->pos % b->period)
            chunk = (size_t)(b->period - b->pos % b->period);
        append(b, from, chunk);
        from += chunk;
        left -= chunk;
    }
}

static void append_crc(struct build *b)
{
    uint32_t crc = 0;

    if (b->crc32c != NULL && !iw_switch_violated(b->switches, IW_CHECK_MPA_CRC_DEMAND)) {
        crc = iw_crc32c_finish(b->state);
        if (iw_switch_violated(b->switches, IW_CHECK_MPA_CRC))
            crc ^= 1u;
    }
    b->crc32c = NULL; /* the field does not cover itself */
    iw_crc32c_put(b->own, crc);
    append_own(b, IW_MPA_CRC_FIELD);
}

/* Returns the octets between Markers, themselves included; 0: no Markers. */
static uint32_t marker_period(const struct iw_framer *f)
{
    bool markers = f->markers ? !iw_switch_violated(f->switches, IW_CHECK_MPA_MARKER_MISSING)
                              : iw_switch_violated(f->switches, IW_CHECK_MPA_MARKER_UNASKED);

    if (!markers)
        return 0;
    if (iw_switch_violated(f->switches, IW_CHECK_MPA_MARKER_PLACE))
        return IW_MPA_MARKER_PERIOD + IW_MPA_MARKER; /* 512 octets, not counting the Marker */
    return IW_MPA_MARKER_PERIOD;
}

uint32_t iw_framer_size(const struct iw_framer *f, uint32_t ulpdu)
{
    uint32_t period = marker_period(f), size = iw_wire_fpdu_size(ulpdu);
    if (period == 0)
        return size;
    uint32_t place = (uint32_t)(f->pos % period), free_run = place == 0 ? 0 : period - place;
    return size + IW_MPA_MARKER * (uint32_t)iw_markers_before(size - 1, free_run, period);
}

int iw_framer_frame(struct iw_framer *f, const struct iw_iov *ulpdu, size_t pieces,
                    struct iw_iov *out, size_t room, uint8_t *scratch)
{
    size_t most =
        iw_switch_violated(f->switches, IW_CHECK_MPA_ULPDU_MAX) ? UINT16_MAX : IW_MPA_ULPDU_MAX;
    struct build b = {.switches = f->switches,
                      .crc32c = f->crc ? f->crc32c : NULL,
                      .state = IW_CRC32C_INIT,
                      .period = marker_period(f),
                      .pos = f->pos,
                      .out = out,
                      .room = room};
    size_t length = 0;
    for (size_t i = 0; i < pieces; i++) {
        if (ulpdu[i].length > most - length)
            return -1;
        length += ulpdu[i].length;
    }
    if (length == 0)
        return -1;
    b.own = scratch;
    mark(&b, 0);
    b.header_pos = b.pos;
    b.own[0] = (uint8_t)(length >> 8);
    b.own[1] = (uint8_t)length;
    if (b.period == 0 && (uint8_t *)ulpdu[0].base == b.own + IW_MPA_LENGTH_FIELD) {
        append_own(&b, IW_MPA_LENGTH_FIELD + ulpdu[0].length);
        ulpdu++;
        pieces--;
    } else {
        append_own(&b, IW_MPA_LENGTH_FIELD);
    }
    for (size_t i = 0; i < pieces && b.pieces <= room; i++)
        append_ulpdu(&b, &ulpdu[i]);
    unsigned pad = iw_wire_pad((uint32_t)length);
    if (pad > 0) {
        memset(b.own, iw_switch_violated(f->switches, IW_CHECK_MPA_PAD) ? 0xff : 0, pad);
        append_own(&b, pad);
    }
    mark(&b, b.pos - b.header_pos);
    append_crc(&b);
    if (b.pieces > room)
        return -1;
    f->pos = b.pos;
    return (int)b.pieces;
}

/* ---- one piece ---- */

/* Writes the octets of an FPDU in sequence. */
struct copy {
    uint8_t *at;
    uint64_t pos, header_pos;
};

static void copy_octets(struct copy *c, const uint8_t *from, size_t length)
{
    uint8_t *at = c->at;
    uint64_t pos = c->pos;
    while (length > 0) {
        if (pos % IW_MPA_MARKER_PERIOD == 0) {
            at = iw_put32(at, (uint16_t)(pos - c->header_pos));
            pos += IW_MPA_MARKER;
        }
        size_t free_run = IW_MPA_MARKER_PERIOD - (size_t)(pos % IW_MPA_MARKER_PERIOD);
        size_t chunk = free_run < length ? free_run : length;
        memmove(at, from, chunk);
        at += chunk;
        pos += chunk;
        from += chunk;
        length -= chunk;
    }
    c->at = at;
    c->pos = pos;
}

/* The same without Markers. The first piece may lie where it belongs already. */
static uint32_t copy_unmarked(struct iw_framer *f, const struct iw_iov *ulpdu, size_t pieces,
                              uint8_t *out)
{
    uint8_t *at = out + IW_MPA_LENGTH_FIELD;
    for (size_t i = 0; i < pieces; at += ulpdu[i++].length)
        if (ulpdu[i].length > 0 && at != ulpdu[i].base)
            memmove(at, ulpdu[i].base, ulpdu[i].length);
    const uint32_t length = (uint32_t)(at - out) - IW_MPA_LENGTH_FIELD;
    out[0] = (uint8_t)(length >> 8);
    out[1] = (uint8_t)length;
    for (uint32_t pad = iw_wire_pad(length); pad > 0; pad--)
        *at++ = 0;
    uint32_t crc = 0;
    if (f->crc)
        crc = iw_crc32c_finish(f->crc32c(IW_CRC32C_INIT, out, (size_t)(at - out)));
    iw_crc32c_put(at, crc);
    at += IW_MPA_CRC_FIELD;
    f->pos += (uint64_t)(at - out);
    return (uint32_t)(at - out);
}

uint32_t iw_framer_copy(struct iw_framer *f, const struct iw_iov *ulpdu, size_t pieces,
                        uint8_t *out)
{
    if (!f->markers)
        return copy_unmarked(f, ulpdu, pieces, out);
    struct copy c = {.at = out, .pos = f->pos};
    uint32_t length = 0;
    for (size_t i = 0; i < pieces; i++)
        length += (uint32_t)ulpdu[i].length;
    uint8_t field[IW_MPA_CRC_FIELD] = {0};
    field[0] = (uint8_t)(length >> 8);
    field[1] = (uint8_t)length;
    /* A Marker before the length field points to it. */
    c.header_pos = c.pos;
    copy_octets(&c, field, IW_MPA_LENGTH_FIELD);
    c.header_pos = c.pos - IW_MPA_LENGTH_FIELD;
    for (size_t i = 0; i < pieces; i++)
        copy_octets(&c, ulpdu[i].base, ulpdu[i].length);
    memset(field, 0, sizeof(field));
    copy_octets(&c, field, iw_wire_pad(length));
    /* The CRC covers a Marker before its field (RFC 5044 §4.4), which is no piece of it. */
    copy_octets(&c, field, IW_MPA_CRC_FIELD);
    if (f->crc) {
        uint32_t crc = f->crc32c(IW_CRC32C_INIT, out, (size_t)(c.at - out) - IW_MPA_CRC_FIELD);
        iw_crc32c_put(c.at - IW_MPA_CRC_FIELD, iw_crc32c_finish(crc));
    }
    f->pos = c.pos;
    return (uint32_t)(c.at - out);
}
