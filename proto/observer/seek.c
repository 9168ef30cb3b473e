/* SPDX-License-Identifier: BSD-3-Clause */
/* Seeks the start of an FPDU after a gap, or in a connection whose beginning was not seen. */
#include <string.h>

#include "iwarp/octets.h"
#include "observer/observer_internal.h"

enum {
    SHORTEST = IW_MPA_LENGTH_FIELD + IW_DDP_TAGGED_HEADER, /* octets that can be judged */
    CREDIT = 16 /* octets of CRC that the search may compute for each octet searched */
};

void iw_observer_unframe(struct iw_observer *o, struct iw_observed_side *s)
{
    if (!s->seeking)
        s->framed_until = s->unproven ? s->framed_until : s->next;
    s->seeking = s->missed = true;
    s->unproven = s->cut = false;
    iw_observer_lose_place(o, s);
}

bool iw_observer_plausible(const struct iw_observer *o, const struct iw_ddp_header *h)
{
    unsigned seen = 0;

    return (!o->version_known || iw_ddp_version(h) == o->version) && iw_ddp_version(h) <= 1 &&
           iw_rdmap_check_header(h, iw_ddp_version(h), o->config.extensions, NULL) ==
               IW_CHECK_NONE &&
           iw_rdmap_check_reserved(h, &seen) == IW_CHECK_NONE;
}

enum iw_fpdu_probe iw_observer_probe_header(const struct iw_observer *o,
                                            const struct iw_deframer *d, uint64_t pos,
                                            const uint8_t *octets, size_t length, uint32_t *size)
{
    uint8_t head[IW_DDP_UNTAGGED_HEADER];
    struct iw_fpdu fpdu;
    size_t n = iw_deframer_peek(d, pos, octets, length, &fpdu, head, sizeof(head));
    *size = fpdu.size;
    if (fpdu.size == 0)
        return IW_PROBE_CUT;
    if (fpdu.length < IW_DDP_TAGGED_HEADER || fpdu.length > IW_MPA_ULPDU_MAX)
        return IW_PROBE_BAD;
    struct iw_ddp_header h;
    if (iw_wire_get_ddp(head, n, &h) < 0)
        return n < sizeof(head) && n < fpdu.length ? IW_PROBE_CUT : IW_PROBE_BAD;
    return iw_observer_plausible(o, &h) ? IW_PROBE_GOOD : IW_PROBE_BAD;
}

/* Returns whether IW_OBSERVER_CHAIN consecutive FPDUs could lie here: all but the last are whole.
 */
static enum iw_fpdu_probe probe_chain(const struct iw_observer *o, const struct iw_deframer *d,
                                      uint64_t pos, const uint8_t *octets, size_t length)
{
    for (int k = 0; k < IW_OBSERVER_CHAIN; k++) {
        uint32_t size;
        enum iw_fpdu_probe probe = iw_observer_probe_header(o, d, pos, octets, length, &size);
        if (probe != IW_PROBE_GOOD || k + 1 == IW_OBSERVER_CHAIN)
            return probe;
        if (size >= length)
            return IW_PROBE_CUT;
        pos += size;
        octets += size;
        length -= size;
    }
    return IW_PROBE_GOOD;
}

/* Does the same as iw_deframer_probe with the CRC, as long as the search can afford it. */
static enum iw_fpdu_probe probe_crc(struct iw_observed_side *s, uint64_t pos, const uint8_t *octets,
                                    size_t length, uint32_t size)
{
    struct iw_deframer d = s->deframer;

    if (size > length)
        return IW_PROBE_CUT;
    if (size > s->credit)
        return IW_PROBE_BAD;
    s->credit -= size;
    d.crc = true;
    return iw_deframer_probe(&d, pos, octets, length);
}

/* Probes one candidate, with the Markers as known or supposed. */
static enum iw_fpdu_probe probe(struct iw_observer *o, struct iw_observed_side *s, uint64_t pos,
                                const uint8_t *octets, size_t length)
{
    uint32_t size;
    enum iw_fpdu_probe probe =
        iw_observer_probe_header(o, &s->deframer, pos, octets, length, &size);
    if (probe != IW_PROBE_GOOD)
        return probe;
    if (s->deframer.crc || !s->crc_known) {
        probe = probe_crc(s, pos, octets, length, size);
        if (probe == IW_PROBE_GOOD)
            s->found_by = IW_RESYNC_CRC;
        if (probe != IW_PROBE_BAD || s->crc_known || s->crc_seen)
            return probe;
    }
    s->found_by = IW_RESYNC_CHAIN;
    return probe_chain(o, &s->deframer, pos, octets, length);
}

static void found(struct iw_observer *o, struct iw_observed_side *s, uint64_t pos)
{
    s->seeking = false;
    s->unproven = s->found_by != IW_RESYNC_MARKER;
    s->aligned = 0;
    s->found_at = pos;
    if (!s->crc_known)
        s->deframer.crc = s->crc_seen = s->found_by != IW_RESYNC_CHAIN;
    iw_observer_begin(o, IW_OBSERVED_RESYNC, s->self, s->framed_until, pos);
    o->now->found_by = s->found_by;
    iw_observer_show(o);
}

/* ---- Markers whose places are known ---- */

static size_t seek_marked(struct iw_observer *o, struct iw_observed_side *s, const uint8_t *octets,
                          size_t length, bool last)
{
    uint64_t start, marker;
    size_t from = 0;
    while (iw_deframer_marked(&s->deframer, s->next + from, octets + from, length - from, &start,
                              &marker)) {
        size_t at = (size_t)(start - s->next);
        uint32_t size;
        enum iw_fpdu_probe verdict =
            iw_observer_probe_header(o, &s->deframer, start, octets + at, length - at, &size);
        if (verdict == IW_PROBE_GOOD) /* the Marker and its FPDU vouch for each other */
            verdict = start + size <= marker ? IW_PROBE_BAD
                                             : probe(o, s, start, octets + at, length - at);
        if (verdict == IW_PROBE_GOOD) {
            s->found_by = s->found_by == IW_RESYNC_CRC ? IW_RESYNC_MARKER : IW_RESYNC_CHAIN;
            found(o, s, start);
            return at;
        }
        if (verdict == IW_PROBE_CUT && !last)
            return at;
        from = (size_t)(marker - s->next) + IW_MPA_MARKER;
    }
    return last ? length : 0;
}

/* ---- no Markers, or their places are not known ---- */

bool iw_observer_may_begin(const uint8_t *octets)
{
    return iw_get16(octets) >= IW_DDP_TAGGED_HEADER &&
           (octets[IW_MPA_LENGTH_FIELD + IW_AT_DDP_CONTROL] & IW_DDP_RSVD) == 0 &&
           (octets[IW_MPA_LENGTH_FIELD + IW_AT_RDMAP_CONTROL] & IW_RDMAP_RSV) == 0;
}

/* Octets that no Marker can hide: one that leads, or those above. */
static bool may_begin(const uint8_t *octets, size_t length)
{
    static const uint8_t leading[IW_MPA_MARKER] = {0};

    return length >= IW_MPA_MARKER &&
           (memcmp(octets, leading, sizeof(leading)) == 0 || iw_observer_may_begin(octets));
}

/* Supposes that an FPDU begins at `pos` and that the first Marker from there on stands where octets
 * look like one, from which the places of Markers follow. */
static enum iw_fpdu_probe suppose_marker(struct iw_observer *o, struct iw_observed_side *s,
                                         uint64_t pos, const uint8_t *octets, size_t length)
{
    enum iw_fpdu_probe verdict = IW_PROBE_BAD;
    uint64_t start = s->deframer.start;

    if (!may_begin(octets, length))
        return verdict;
    for (uint32_t at = 0; at < IW_MPA_MARKER_PERIOD; at += IW_MPA_MARKER) {
        if (at + IW_MPA_MARKER > length)
            return verdict == IW_PROBE_BAD ? IW_PROBE_CUT : verdict;
        struct iw_mpa_marker m;
        (void)iw_wire_get_marker(octets + at, IW_MPA_MARKER, &m);
        if (m.reserved != 0 || m.fpduptr != at)
            continue;
        s->deframer.markers = true;
        s->deframer.start = pos + at;
        verdict = probe(o, s, pos, octets, length);
        /* Zeros are no proof of a Marker, unless a CRC covers them. */
        if (verdict == IW_PROBE_GOOD && at == 0 && s->found_by == IW_RESYNC_CHAIN)
            verdict = IW_PROBE_BAD;
        if (verdict == IW_PROBE_GOOD)
            return verdict;
        s->deframer.markers = false;
        s->deframer.start = start;
    }
    return verdict;
}

static enum iw_fpdu_probe probe_any(struct iw_observer *o, struct iw_observed_side *s, uint64_t pos,
                                    const uint8_t *octets, size_t length)
{
    enum iw_fpdu_probe plain = IW_PROBE_BAD, marked = IW_PROBE_BAD;

    if (!s->markers_wanted)
        plain = probe(o, s, pos, octets, length);
    if (s->markers_known || plain == IW_PROBE_GOOD)
        return plain;
    marked = suppose_marker(o, s, pos, octets, length);
    if (marked == IW_PROBE_GOOD)
        s->markers_known = true;
    return marked == IW_PROBE_BAD ? plain : marked;
}

size_t iw_observer_seek(struct iw_observer *o, struct iw_observed_side *s, const uint8_t *octets,
                        size_t length, bool last)
{
    size_t at = 0;

    if (s->next + length > s->searched) {
        uint64_t fresh = s->next + length - (s->searched > s->next ? s->searched : s->next);
        s->searched = s->next + length;
        s->credit = fresh < (UINT32_MAX - s->credit) / CREDIT ? s->credit + (uint32_t)fresh * CREDIT
                                                              : UINT32_MAX;
    }
    if (s->markers_known && s->deframer.markers)
        return seek_marked(o, s, octets, length, last);
    if (s->step > 1)
        at = (size_t)(0 - (s->next - s->deframer.start)) % s->step;
    for (; at + SHORTEST <= length; at += s->step) {
        enum iw_fpdu_probe verdict = probe_any(o, s, s->next + at, octets + at, length - at);

        if (verdict == IW_PROBE_GOOD) {
            found(o, s, s->next + at);
            return at;
        }
        if (verdict == IW_PROBE_CUT && !last)
            return at;
    }
    return last || at > length ? length : at;
}
