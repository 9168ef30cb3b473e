/* SPDX-License-Identifier: BSD-3-Clause */
#include "deframe.h"

#include "iwarp/octets.h"
#include "marker.h"

uint64_t iw_mpa_position_every(uint32_t period, uint64_t start, uint64_t pos, uint64_t octets)
{
    uint32_t free_run = iw_marker_after(period, start, pos);

    return pos + octets + IW_MPA_MARKER * iw_markers_before(octets, free_run, period);
}

uint64_t iw_mpa_position(uint64_t start, uint64_t pos, uint64_t octets)
{
    return iw_mpa_position_every(IW_MPA_MARKER_PERIOD, start, pos, octets);
}

uint64_t iw_deframer_position(const struct iw_deframer *d, const struct iw_fpdu *fpdu,
                              uint64_t offset)
{
    uint64_t octets = IW_MPA_LENGTH_FIELD + offset;

    return d->markers ? iw_mpa_position_every(d->period, d->start, fpdu->header_pos, octets)
                      : fpdu->header_pos + octets;
}

/* RFC 5044 §4.3: a Marker after the last octet of the CRC belongs to the next FPDU. */
static void take_shape(const struct iw_deframer *d, uint64_t pos, uint32_t length,
                       struct iw_shape *s)
{
    uint32_t content = iw_wire_fpdu_size(length) - IW_MPA_CRC_FIELD + iw_shape_trailer(d);

    s->lead = iw_shape_lead(d, pos);
    s->length = length;
    s->pad = iw_wire_pad(length);
    s->inner_markers = 0;
    if (d->markers)
        s->inner_markers =
            (uint32_t)iw_markers_before(content - 1, iw_to_marker(d, pos + s->lead), d->period);
    s->size = s->lead + content + s->inner_markers * IW_MPA_MARKER;
}

static uint32_t ulpdu_length(const struct iw_deframer *d, const uint8_t *field)
{
    return d->turned ? (uint32_t)field[1] << 8 | field[0] : iw_get16(field);
}

bool iw_shape_read(const struct iw_deframer *d, const struct iw_cursor *c, struct iw_shape *s)
{
    uint32_t lead = iw_shape_lead(d, c->pos);
    uint8_t field[IW_MPA_LENGTH_FIELD];
    if (c->left < lead + sizeof(field))
        return false;
    if (iw_cursor_run(c) >= lead + sizeof(field)) {
        take_shape(d, c->pos, ulpdu_length(d, iw_cursor_octets(c) + lead), s);
        return true;
    }
    struct iw_cursor at = *c;
    iw_cursor_step(&at, lead);
    iw_cursor_read(&at, field, sizeof(field));
    take_shape(d, c->pos, ulpdu_length(d, field), s);
    return true;
}

/* An FPDU that lies in one piece: its ULPDU begins at `at`, `free_run` octets before a Marker. At
 * most 131 pieces. */
static size_t list_whole(uint8_t *at, uint32_t free_run, uint32_t period, size_t left,
                         struct iw_iov *out)
{
    size_t n = 0;

    while (left > 0) {
        size_t run = free_run < left ? free_run : left;
        if (run > 0)
            out[n++] = (struct iw_iov){.base = at, .length = run};
        at += run + IW_MPA_MARKER;
        left -= run;
        free_run = period - IW_MPA_MARKER;
    }
    return n;
}

/* One more than the list can take: there are too many pieces. */
static size_t list_ulpdu(const struct iw_deframer *d, struct iw_cursor c, const struct iw_shape *s,
                         struct iw_iov *out)
{
    size_t left = s->length;
    size_t n = 0;

    iw_cursor_step(&c, s->lead + IW_MPA_LENGTH_FIELD);
    if (d->markers && iw_cursor_run(&c) >= s->size - s->lead - IW_MPA_LENGTH_FIELD)
        return list_whole(iw_cursor_octets(&c), iw_to_marker(d, c.pos), d->period, left, out);
    while (left > 0) {
        size_t run = iw_cursor_run(&c);
        if (d->markers) {
            uint32_t free_run = iw_to_marker(d, c.pos);
            if (free_run == 0) {
                iw_cursor_step(&c, IW_MPA_MARKER);
                continue;
            }
            if (run > free_run)
                run = free_run;
        }
        if (run > left)
            run = left;
        if (n == IW_DEFRAMER_PIECES)
            return n + 1;
        out[n++] = (struct iw_iov){.base = iw_cursor_octets(&c), .length = run};
        iw_cursor_step(&c, run);
        left -= run;
    }
    return n;
}

struct iw_fpdu iw_shape_fpdu(const struct iw_deframer *d, struct iw_cursor c,
                             const struct iw_shape *s)
{
    struct iw_deframer_room *r = d->room;

    return (struct iw_fpdu){.pos = c.pos,
                            .header_pos = c.pos + s->lead,
                            .size = s->size,
                            .length = (uint16_t)s->length,
                            .markers = (uint16_t)(s->inner_markers + (s->lead ? 1u : 0u)),
                            .period = d->period,
                            .crc_checked = d->crc,
                            .ulpdu = r->ulpdu,
                            .pieces = list_ulpdu(d, c, s, r->ulpdu)};
}

uint32_t iw_shape_crc(const struct iw_deframer *d, struct iw_cursor c, const struct iw_shape *s,
                      uint32_t *field)
{
    uint32_t state = IW_CRC32C_INIT;
    size_t left = s->size - IW_MPA_CRC_FIELD;
    bool wanted = d->crc || d->always_crc;
    *field = 0;
    if (d->bare)
        return 0;
    if (iw_cursor_run(&c) >= s->size) {
        const uint8_t *at = iw_cursor_octets(&c);
        *field = iw_crc32c_get(at + left);
        return iw_crc32c_finish(wanted ? d->crc32c(state, at, left) : state);
    }
    while (wanted && left > 0) {
        size_t run = iw_cursor_run(&c) < left ? iw_cursor_run(&c) : left;
        state = d->crc32c(state, iw_cursor_octets(&c), run);
        iw_cursor_step(&c, run);
        left -= run;
    }
    iw_cursor_step(&c, left);
    uint8_t octets[IW_MPA_CRC_FIELD];
    iw_cursor_read(&c, octets, sizeof(octets));
    *field = iw_crc32c_get(octets);
    return iw_crc32c_finish(state);
}

struct iw_mpa_marker iw_shape_marker(struct iw_cursor *c)
{
    uint8_t octets[IW_MPA_MARKER];
    iw_cursor_read(c, octets, sizeof(octets));
    struct iw_mpa_marker m;
    (void)iw_wire_get_marker(octets, sizeof(octets), &m);
    return m;
}
