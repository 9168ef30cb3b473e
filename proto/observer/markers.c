/* SPDX-License-Identifier: BSD-3-Clause */
/* Markers that stand elsewhere than the start-up frames say: at no place, at any, at others. */
#include "iwarp/octets.h"
#include "observer/internal.h"

/* Returns whether the places of this side's Markers are certain but for such a quirk. */
static bool certain(const struct iw_observer *o, const struct iw_observed_side *s)
{
    return !o->config.no_quirks && !s->missed && !o->joined && !s->early_found;
}

/* The fault is found with the next FPDU, once. */
static void owe(struct iw_observed_side *s, enum iw_quirk quirk, uint64_t pos, uint64_t got,
                uint64_t want)
{
    s->marker_quirk |= iw_quirk_bit(quirk);
    if (!iw_quirk_in(s->found, quirk))
        s->marker_fault =
            (struct iw_fault){.check = iw_quirk_check(quirk), .pos = pos, .got = got, .want = want};
}

bool iw_observer_first_marker(struct iw_observer *o, struct iw_observed_side *s,
                              const uint8_t *octets, size_t length)
{
    struct iw_deframer other = s->deframer;
    bool markers = other.markers;
    uint32_t size;

    if (s->segments > 0 || !certain(o, s))
        return true;
    if (length < IW_MPA_LENGTH_FIELD)
        return true; /* nor can the deframer say anything */
    /* A leading Marker begins with zeros, and no FPDU has a length of 0, unless its CRC says so. */
    if ((iw_get16(octets) == 0) == markers)
        return true;
    if (!markers && length >= 2 * IW_MPA_MARKER &&
        (!iw_observer_may_begin(octets + IW_MPA_MARKER) ||
         (other.crc && iw_deframer_probe(&other, s->next, octets, length) == IW_PROBE_GOOD)))
        return true;
    other.markers = !markers;
    enum iw_fpdu_probe verdict =
        iw_observer_probe_header(o, &other, s->next, octets, length, &size);
    if (verdict == IW_PROBE_GOOD) {
        s->deframer.markers = !markers;
        owe(s, markers ? IW_QUIRK_MARKERS_MISSING : IW_QUIRK_MARKERS_UNASKED, s->next, !markers,
            markers);
    }
    return verdict != IW_PROBE_CUT;
}

/* Returns whether the FPDU at s->next fits if its first Marker stands `at` octets after its first
 * one. */
static bool fits_with(const struct iw_observer *o, const struct iw_observed_side *s, size_t at,
                      const uint8_t *octets, size_t length)
{
    struct iw_deframer other = s->deframer;
    uint32_t size;

    other.start = s->next + at;
    return iw_observer_probe_header(o, &other, s->next, octets, length, &size) == IW_PROBE_GOOD &&
           iw_deframer_probe(&other, s->next, octets, length) == IW_PROBE_GOOD;
}

/* Whether a Marker stands there: its FPDUPTR is right. `lead`: octets of one before ULPDU_Length.
 */
static bool is_marker(const uint8_t *octets, size_t length, size_t at, size_t lead)
{
    return at + IW_MPA_MARKER <= length && iw_get16(octets + at) == 0 &&
           iw_get16(octets + at + IW_MPA_MARKER / 2) == (at > lead ? at - lead : 0);
}

enum iw_marker_places iw_observer_seek_markers(struct iw_observer *o, struct iw_observed_side *s,
                                               const uint8_t *octets, size_t length)
{
    enum { FARTHEST = 2 * IW_MPA_MARKER_PERIOD };
    const size_t first = (size_t)((s->deframer.start - s->next) % IW_MPA_MARKER_PERIOD);
    const size_t lead = first == 0 ? IW_MPA_MARKER : 0;
    const size_t expected = first == 0 ? IW_MPA_MARKER_PERIOD : first;
    enum iw_marker_places places = IW_MARKERS_IN_PLACE;

    if (!s->deframer.markers || !certain(o, s))
        return places;
    for (size_t at = 0; at < FARTHEST; at += IW_MPA_MARKER) {
        if (at == first || at == expected || !is_marker(octets, length, at, lead))
            continue;
        if (lead == 0 && at < IW_MPA_MARKER_PERIOD && fits_with(o, s, at, octets, length)) {
            owe(s, IW_QUIRK_MARKERS_PLACE, s->next + at, at, expected);
            s->deframer.start = s->next + at;
            return IW_MARKERS_FOUND;
        }
        if (at == 0 || places != IW_MARKERS_IN_PLACE || is_marker(octets, length, expected, lead))
            continue;
        places = IW_MARKERS_ELSEWHERE;
        s->marker_fault = (struct iw_fault){
            .check = IW_CHECK_MPA_MARKER_PLACE, .pos = s->next + at, .got = at, .want = expected};
    }
    return places;
}
