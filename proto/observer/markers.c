/* SPDX-License-Identifier: BSD-3-Clause */
/* Markers that stand elsewhere than the start-up frames say: at no place, at any, at others. */
#include "iwarp/octets.h"
#include "observer/observer_internal.h"

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

/* ---- Markers at other places ---- */

/* A guess where the Markers of the FPDU at s->next stand. Offsets count from its first octet. */
struct places {
    size_t at;       /* the first of them; IW_MPA_MARKER_PERIOD or more: none is in the FPDU */
    uint32_t period; /* of periods[] */
    size_t lead;     /* octets of Markers before ULPDU_Length */
    size_t size;     /* of the FPDU with them */
    size_t elsewhere, due; /* the first Marker where none belongs; the first place that lacks one */
    unsigned displaced;    /* Markers where none belongs */
};

/* What senders may take for 512 octets: those; one Marker less, as if it counted twice; or one
 * more, as if it did not count. */
static const uint16_t periods[] = {IW_MPA_MARKER_PERIOD, IW_MPA_MARKER_PERIOD - IW_MPA_MARKER,
                                   IW_MPA_MARKER_PERIOD + IW_MPA_MARKER};
enum {
    PERIODS = sizeof(periods) / sizeof(periods[0]),
    SHORTEST = IW_MPA_MARKER_PERIOD - 2 * IW_MPA_MARKER /* octets between two Markers */
};

enum { HEADER = IW_MPA_MARKER + IW_MPA_LENGTH_FIELD + IW_DDP_UNTAGGED_HEADER };

/* What all guesses share. */
struct sought {
    const uint8_t *octets;
    size_t length;
    size_t first;     /* where the first Marker belongs, in the FPDU or after it */
    uint32_t period;  /* of those that belong; another than 512 is known of this sender */
    bool crc;         /* CRCs are in force */
    bool cut;         /* some guess fits, and the end of its FPDU is not here yet */
    size_t summed;    /* the size whose CRC was computed last; 0: none */
    bool summed_good; /* it was right */
    iw_crc32c_fn sum;
};

/* Whether a Marker stands there: its FPDUPTR is right. */
static bool is_marker(const struct sought *k, const struct places *p, size_t at)
{
    return at + IW_MPA_MARKER <= k->length && iw_get16(k->octets + at) == 0 &&
           iw_get16(k->octets + at + IW_MPA_MARKER / 2) == (at > p->lead ? at - p->lead : 0);
}

/* Whether a Marker may be meant there, with a wrong value of its reserved bits. */
static bool may_be_marker(const struct sought *k, const struct places *p, size_t at)
{
    return at + IW_MPA_MARKER <= k->length && at >= p->lead &&
           (iw_get16(k->octets + at + IW_MPA_MARKER / 2) & ~3u) == at - p->lead;
}

/* Whether a Marker belongs at an offset: by what was agreed or is known, by the guess. */
static bool agreed(const struct sought *k, size_t at)
{
    return at % k->period == k->first;
}

static bool guessed(const struct places *p, size_t at)
{
    return at >= p->at && (at - p->at) % p->period == 0;
}

static bool crc_right(struct sought *k, size_t size)
{
    if (k->summed != size) {
        k->summed = size;
        k->summed_good = iw_observer_crc_right(k->sum, k->octets, size);
    }
    return k->summed_good;
}

/* Returns whether the first Marker of a guess that stands where none belongs is where it comes to
 * stand if another period counts from the first FPDU on. */
static bool in_other_step(const struct iw_observed_side *s, const struct places *p)
{
    const struct iw_deframer *d = &s->deframer;
    uint64_t at = s->next + p->elsewhere;
    bool in_step = false;

    if (iw_quirk_in(s->found, IW_QUIRK_MARKERS_PLACE) || at < d->start)
        return false;
    for (size_t i = 1; i < PERIODS; i++)
        in_step = in_step || (at - d->start) % periods[i] == 0;
    return in_step;
}

/* Returns whether a guess may turn out to fit when more octets are here, so that the CRC that is
 * wrong over the FPDU as agreed is no verdict yet. */
static bool worth_waiting(const struct iw_observer *o, const struct iw_observed_side *s,
                          const struct sought *k, const struct places *p,
                          const struct iw_deframer *other)
{
    const iw_quirks never_right = iw_quirk_bit(IW_QUIRK_CRC_OTHER) |
                                  iw_quirk_bit(IW_QUIRK_CRC_ORDER) |
                                  iw_quirk_bit(IW_QUIRK_CRC_POLYNOMIAL);
    size_t more = IW_MPA_MARKER * (2 + p->size / SHORTEST); /* if agreed Markers are none */
    uint32_t size;

    if ((s->found & never_right) != 0)
        return false; /* no CRC will show it */
    /* Its ULPDU_Length stands elsewhere, so the size as agreed says nothing. */
    if ((p->lead > 0) != (k->first == 0))
        return (k->crc || p->lead > 0) &&
               iw_observer_probe_header(o, other, s->next, k->octets, k->length, &size) !=
                   IW_PROBE_BAD;
    return p->displaced > 0 && p->size - k->length <= more;
}

/* Completes a guess. Returns whether the FPDU fits it, and not what was agreed: each Marker of the
 * guess is right, and the CRC, if in force; at a place where one belongs there is none, or one
 * stands where none belongs. */
static bool fits_with(const struct iw_observer *o, const struct iw_observed_side *s,
                      struct sought *k, struct places *p)
{
    struct iw_deframer other = s->deframer;
    bool lacks = false;
    unsigned meant = 0; /* may be Markers all the same, or payload by chance */
    uint32_t size;

    p->lead = p->at == 0 ? IW_MPA_MARKER : 0;
    if (p->lead + IW_MPA_LENGTH_FIELD > k->length)
        return false;
    /* A Marker after the last octet of the CRC belongs to the next FPDU. */
    p->size = p->lead + iw_wire_fpdu_size(iw_get16(k->octets + p->lead));
    for (size_t at = p->lead > 0 ? p->period : p->at; at < p->size; at += p->period)
        p->size += IW_MPA_MARKER;
    bool whole = p->size <= k->length;
    p->displaced = 0;
    for (size_t at = p->at; at < p->size && (whole || at + IW_MPA_MARKER <= k->length);
         at += p->period) {
        if (!is_marker(k, p, at))
            return false;
        if (!agreed(k, at) && p->displaced++ == 0)
            p->elsewhere = at;
    }
    other.markers = true;
    other.start = s->next + (p->at < p->size ? p->at : p->size);
    other.period = (uint16_t)p->period;
    if (!whole) {
        k->cut = k->cut || worth_waiting(o, s, k, p, &other);
        return false;
    }
    for (size_t at = k->first; at < p->size; at += k->period) {
        if (guessed(p, at))
            continue;
        meant += may_be_marker(k, p, at) ? 1 : 0;
        if (!lacks)
            p->due = at;
        lacks = true;
    }
    if (!lacks)
        p->due = k->first;
    return (lacks || p->displaced > 0) && (meant == 0 || meant < p->displaced) &&
           iw_observer_probe_header(o, &other, s->next, k->octets, k->length, &size) ==
               IW_PROBE_GOOD &&
           (!k->crc || crc_right(k, p->size));
}

/* Tries all guesses. Returns how many fit; *best is the one of them with the least shift. */
static unsigned guess(const struct iw_observer *o, const struct iw_observed_side *s,
                      struct sought *k, struct places *best)
{
    unsigned found = 0;
    size_t least = SIZE_MAX;

    for (size_t i = 0; i < PERIODS; i++) {
        /* The last one: none inside, which only a CRC can show. */
        for (size_t at = 0; at <= IW_MPA_MARKER_PERIOD; at += IW_MPA_MARKER) {
            struct places p = {.at = at, .period = periods[i]};
            if (i > 0 && at >= p.period)
                break; /* there would be one before it */
            size_t shift = at > k->first ? at - k->first : k->first - at;
            if (!fits_with(o, s, k, &p))
                continue;
            if (at >= p.size && (i > 0 || !k->crc || at < IW_MPA_MARKER_PERIOD))
                continue;
            if (i > 0 && at + (p.period < periods[0] ? p.period : periods[0]) >= p.size)
                continue; /* the period makes no difference */
            found++;
            if (shift < least) {
                *best = p;
                least = shift;
            }
        }
    }
    return found;
}

/* Returns whether the Marker at offset `at`, where none belongs, is the second of its kind: the
 * one before was in another FPDU, a multiple of a period before, and had another FPDUPTR, so that
 * no payload that is sent again looks like both. */
static bool is_second(const struct iw_observed_side *s, size_t at)
{
    uint64_t distance = s->next + at - s->marker_elsewhere;
    bool in_step = false;

    for (size_t i = 0; i < PERIODS; i++)
        in_step = in_step || distance % periods[i] == 0;
    return in_step && s->marker_elsewhere > 0 && s->marker_elsewhere_at != at;
}

/* Returns whether a Marker was meant where the guess lacks the first one that belongs there: a
 * wrong FPDUPTR has zeros around it, and is not zero itself, as payload may be. */
static bool was_meant(const struct sought *k, const struct places *p)
{
    uint32_t octets = p->due + IW_MPA_MARKER <= k->length ? iw_get32(k->octets + p->due) : 0;

    return octets != 0 && (octets & ~0xfffcu) == 0;
}

/* Returns whether it is proven that the Markers stand elsewhere. Payload may look like a Marker at
 * some place, but not like two of them, nor just where one of another period is; nor does a CRC
 * that is wrong over the FPDU as agreed match by chance over the FPDU as guessed. */
static bool proven(struct iw_observed_side *s, const struct sought *k, const struct places *p,
                   bool alone, bool crc_failed)
{
    if (crc_failed)
        return true; /* the guess has the right one */
    if (!alone)
        return false;
    if (p->displaced > 1 || is_second(s, p->elsewhere) ||
        (p->displaced == 1 && in_other_step(s, p) && !was_meant(k, p)))
        return true;
    s->marker_elsewhere = s->next + p->elsewhere;
    s->marker_elsewhere_at = p->elsewhere;
    return false;
}

static struct sought seek(const struct iw_observed_side *s, const uint8_t *octets, size_t length)
{
    const struct iw_deframer *d = &s->deframer;

    return (struct sought){.octets = octets,
                           .length = length,
                           .first = iw_marker_after(d->period, d->start, s->next),
                           .period = d->period,
                           .crc = s->deframer.crc,
                           .sum = s->deframer.crc32c};
}

/* The deframer goes on by a guess. One Marker of an FPDU does not say how far the next one is: if
 * it is a multiple of another period from the first of all, that. If the guess is wrong, the next
 * Marker shows it. */
static void frame_by(struct iw_observed_side *s, const struct places *p)
{
    struct iw_deframer *d = &s->deframer;
    bool inside = p->at < p->size;

    d->start = s->next + (inside ? p->at : p->size);
    d->period = (uint16_t)p->period;
    if (inside && p->at + p->period < p->size)
        return;
    d->period = IW_MPA_MARKER_PERIOD;
    for (size_t i = 1; i < PERIODS; i++) {
        uint32_t after = iw_marker_after(periods[i], s->marker_first, s->next);
        if (inside ? after != p->at : after < p->size)
            continue;
        d->start = s->next + after;
        d->period = periods[i];
        return;
    }
}

/* Takes a proven guess, the best of `found`. Returns whether framing can follow it; else the fault
 * is found again, as nothing is looked through. */
static bool follow(struct iw_observed_side *s, const struct places *p, unsigned found)
{
    bool none = p->displaced == 0;
    const struct iw_fault fault = {.check = IW_CHECK_MPA_MARKER_PLACE,
                                   .pos = s->next + (none ? p->due : p->elsewhere),
                                   .got = none ? p->size : p->elsewhere,
                                   .want = p->due};

    if (found > 1) {
        s->marker_fault = fault;
        return false;
    }
    if (!iw_quirk_in(s->found | s->marker_quirk, IW_QUIRK_MARKERS_PLACE))
        s->marker_first = s->deframer.start;
    owe(s, IW_QUIRK_MARKERS_PLACE, fault.pos, fault.got, fault.want);
    frame_by(s, p);
    s->marker_retaken = s->next;
    return true;
}

/* What the octets of a side's first FPDU say of Markers that are due and do not begin it. */
enum first {
    FIRST_NONE,      /* there are none */
    FIRST_ELSEWHERE, /* they stand at other places, by which framing goes on */
    FIRST_WAITS      /* more octets are needed */
};

/* Without CRCs in force the header alone counts: none. `size`: of the FPDU without Markers. */
static enum first first_due(const struct iw_observer *o, struct iw_observed_side *s,
                            const uint8_t *octets, size_t length, size_t size)
{
    struct sought k = seek(s, octets, length);
    struct places p = {0};
    bool seen = false; /* octets that look like a Marker */

    if (!k.crc)
        return FIRST_NONE;
    if (length < size)
        return FIRST_WAITS;
    if (crc_right(&k, size))
        return FIRST_NONE;
    for (size_t at = IW_MPA_MARKER; at < size; at += IW_MPA_MARKER)
        seen = seen || is_marker(&k, &p, at);
    if (!seen)
        return FIRST_NONE;
    if (guess(o, s, &k, &p) == 1 && p.displaced > 0 && follow(s, &p, 1))
        return FIRST_ELSEWHERE;
    s->marker_fault.check = IW_CHECK_NONE;
    return length < size + IW_MPA_MARKER * (1 + size / SHORTEST) ? FIRST_WAITS : FIRST_NONE;
}

bool iw_observer_first_marker(struct iw_observer *o, struct iw_observed_side *s,
                              const uint8_t *octets, size_t length)
{
    struct iw_deframer other = s->deframer;
    bool markers = other.markers;
    uint32_t size;

    if (s->segments > 0 || s->marker_retaken == s->next || !certain(o, s))
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
    if (verdict != IW_PROBE_GOOD)
        return verdict != IW_PROBE_CUT;
    enum first first = markers ? first_due(o, s, octets, length, size) : FIRST_NONE;
    if (first == FIRST_NONE) {
        s->deframer.markers = !markers;
        owe(s, markers ? IW_QUIRK_MARKERS_MISSING : IW_QUIRK_MARKERS_UNASKED, s->next, !markers,
            markers);
    }
    return first != FIRST_WAITS;
}

/* Returns whether a Marker in the header of the FPDU is wrong. */
static bool in_header(const struct iw_observer *o, const struct iw_observed_side *s)
{
    for (size_t i = 0; i < o->scratch->n_pending; i++) {
        const struct iw_fault *f = &o->scratch->pending[i];
        if (f->check != IW_CHECK_MPA_CRC && f->pos - s->next < HEADER)
            return true;
    }
    return false;
}

enum iw_marker_places iw_observer_seek_markers(struct iw_observer *o, struct iw_observed_side *s,
                                               bool crc_failed)
{
    bool known = iw_quirk_in(s->found, IW_QUIRK_MARKERS_PLACE);
    /* There was none in its first FPDU, which may have been too short for the first of them. */
    bool late =
        crc_failed && !s->deframer.markers && iw_quirk_in(s->found, IW_QUIRK_MARKERS_MISSING);
    struct sought k = seek(s, o->raw, o->raw_length);
    struct places p = {0};

    if (!(s->deframer.markers || late) || !certain(o, s))
        return IW_MARKERS_IN_PLACE;
    unsigned found = s->marker_retaken == s->next ? 0 : guess(o, s, &k, &p);
    if (found == 0 && k.cut && !s->ends)
        return IW_MARKERS_CUT;
    s->deframer.markers = true;
    if (late && (found != 1 || p.displaced == 0)) {
        enum iw_fpdu_probe verdict =
            iw_deframer_probe(&s->deframer, s->next, o->raw, o->raw_length);
        if (verdict == IW_PROBE_GOOD) {
            s->marker_retaken = s->next;
            return IW_MARKERS_FOUND; /* where they belong: only the first was left out */
        }
        s->deframer.markers = false;
        return verdict == IW_PROBE_BAD || s->ends ? IW_MARKERS_IN_PLACE : IW_MARKERS_CUT;
    }
    if (found > 0 && (known || proven(s, &k, &p, found == 1, crc_failed)))
        return follow(s, &p, found) ? IW_MARKERS_FOUND : IW_MARKERS_LOST;
    /* It may be the header's octets that were taken for a Marker, or a Marker for some of them. */
    return known || in_header(o, s) || (found > 0 && p.elsewhere < HEADER) ? IW_MARKERS_UNSURE
                                                                           : IW_MARKERS_IN_PLACE;
}

/* Returns whether a Marker that belongs into the FPDU, or before it, is wrong or none. */
static bool is_wrong(const struct sought *k)
{
    const size_t lead = k->first == 0 ? IW_MPA_MARKER : 0;
    const struct places here = {.lead = lead};

    return k->first + IW_MPA_MARKER <= k->length &&
           k->first < lead + iw_wire_fpdu_size(iw_get16(k->octets + lead)) &&
           !is_marker(k, &here, k->first);
}

/* Returns whether the next FPDU begins after one of this size. */
static enum iw_fpdu_probe begins_after(const struct iw_observer *o,
                                       const struct iw_observed_side *s,
                                       const struct iw_deframer *d, const struct sought *k,
                                       size_t size)
{
    uint32_t next;

    if (size >= k->length)
        return IW_PROBE_CUT;
    return iw_observer_probe_header(o, d, s->next + size, k->octets + size, k->length - size,
                                    &next);
}

/* Returns whether octets that no CRC covers are framed as guessed: the next FPDU begins where that
 * leads to, and not where the framing as agreed does. */
static enum iw_fpdu_probe leads_on(const struct iw_observer *o, const struct iw_observed_side *s,
                                   const struct sought *k, const struct places *p, bool last)
{
    struct iw_deframer other = s->deframer;
    uint32_t size;
    enum iw_fpdu_probe agreed =
        iw_observer_probe_header(o, &s->deframer, s->next, k->octets, k->length, &size);

    other.markers = true;
    other.start = s->next + p->at;
    other.period = (uint16_t)p->period;
    if (agreed == IW_PROBE_GOOD)
        agreed = size == p->size ? IW_PROBE_GOOD /* what follows says nothing */
                                 : begins_after(o, s, &s->deframer, k, size);
    if (agreed == IW_PROBE_GOOD)
        return IW_PROBE_BAD;
    if (p->size == k->length && (last || agreed == IW_PROBE_BAD))
        return IW_PROBE_GOOD; /* the octets end there as well */
    enum iw_fpdu_probe next = begins_after(o, s, &other, k, p->size);
    return next == IW_PROBE_GOOD && agreed == IW_PROBE_CUT ? IW_PROBE_CUT : next;
}

/* Does the same as iw_observer_lacks_marker without CRCs, also for a side whose first Marker was
 * left out: others may stand elsewhere. */
static bool lacks_uncovered(struct iw_observer *o, struct iw_observed_side *s, struct sought *k,
                            bool last, bool *waits)
{
    const bool late = !s->deframer.markers;
    struct places p = {0};

    if (late ? !iw_quirk_in(s->found | s->marker_quirk, IW_QUIRK_MARKERS_MISSING) : !is_wrong(k))
        return false;
    unsigned found = guess(o, s, k, &p);
    *waits = found == 0 && k->cut && !last;
    if (found != 1 || p.displaced == 0)
        return false;
    enum iw_fpdu_probe verdict = p.displaced > 1 ? IW_PROBE_GOOD : leads_on(o, s, k, &p, last);
    *waits = verdict == IW_PROBE_CUT && !last;
    if (verdict != IW_PROBE_GOOD)
        return false;
    s->marker_quirk &= ~iw_quirk_bit(IW_QUIRK_MARKERS_MISSING);
    s->deframer.markers = true;
    if (follow(s, &p, 1))
        iw_deframer_move(&s->deframer, s->next);
    else
        iw_observer_lose_markers(o, s);
    return true;
}

bool iw_observer_lacks_marker(struct iw_observer *o, struct iw_observed_side *s, bool missing,
                              bool last, bool *waits)
{
    struct sought k = seek(s, o->raw, o->raw_length);
    struct places p = {0};

    if (k.length < 2 * IW_MPA_MARKER || !certain(o, s) || s->marker_retaken == s->next)
        return false;
    if (!k.crc)
        return lacks_uncovered(o, s, &k, last, waits);
    if (!s->deframer.markers)
        return false;
    /* Of a side whose Markers drift, one may stand before an FPDU that should not, or the reverse.
     */
    bool leads = is_marker(&k, &(struct places){.lead = IW_MPA_MARKER}, 0);
    bool odd = leads != (k.first == 0) && iw_quirk_in(s->found, IW_QUIRK_MARKERS_PLACE);
    size_t lead = (k.first == 0) != odd ? IW_MPA_MARKER : 0;
    size_t content = iw_wire_fpdu_size(iw_get16(k.octets + lead));
    size_t most = content + IW_MPA_MARKER * (2 + content / SHORTEST);
    if ((!missing && !odd) || k.length < content) {
        *waits = odd;
        return false;
    }
    unsigned found = guess(o, s, &k, &p);
    if (found == 0) {
        *waits = odd && k.length < most;
        return false;
    }
    if (follow(s, &p, found))
        iw_deframer_move(&s->deframer, s->next);
    else
        iw_observer_lose_markers(o, s);
    return true;
}
