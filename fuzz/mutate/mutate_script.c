/* SPDX-License-Identifier: BSD-3-Clause */
#include "mutate/mutate.h"

#include <string.h>

#include "iwarp/crc32c.h"
#include "iwarp/octets.h"
#include "iwarp/wire.h"

/* ---- octets of FPDUs ---- */

/* One FPDU being read or written octet by octet. */
struct walk {
    uint64_t pos; /* of `data` in the stream, counted from the start of full operation */
    bool markers;
    size_t i;        /* octets of it passed so far */
    bool begun;      /* ULPDU_Length has */
    uint64_t header; /* its position */
    uint32_t seen;   /* Markers passed */
};

static bool marker_due(const struct walk *w)
{
    return w->markers && (w->pos + w->i) % IW_MPA_MARKER_PERIOD == 0;
}

/* Returns the correct Marker for this place (RFC 5044 §4.3). */
static uint32_t marker_value(const struct walk *w)
{
    return w->begun ? (uint32_t)((w->pos + w->i - w->header) & 0xffffu) : 0;
}

/* Passes an octet that is no Marker. */
static void pass(struct walk *w)
{
    if (!w->begun)
        w->header = w->pos + w->i;
    w->begun = true;
    w->i++;
}

/* Reads `count` content octets. Returns false if the octets end. */
static bool content(struct walk *w, const uint8_t *data, size_t length, struct iw_mutate_part *p,
                    uint8_t *out, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        if (marker_due(w)) {
            if (length - w->i < IW_MPA_MARKER)
                return false;
            uint32_t wrong = iw_get32(data + w->i) ^ marker_value(w);
            if (wrong != 0 && p->bend == 0) {
                p->bend = wrong;
                p->marker = (uint16_t)w->seen;
            }
            w->seen++;
            w->i += IW_MPA_MARKER;
        }
        if (w->i >= length)
            return false;
        out[k] = data[w->i];
        pass(w);
    }
    return true;
}

/* Reads the FPDU at `pos`. Returns its octets on the stream, 0 if it is not all there. Does not set
 * p->octets; the ULPDU, at most 65535 octets, goes to `ulpdu`. */
static size_t read_fpdu(const uint8_t *data, size_t length, uint64_t pos, bool markers, bool crc,
                        struct iw_mutate_part *p, uint8_t *ulpdu)
{
    struct walk w = {.pos = pos, .markers = markers};
    uint8_t field[4] = {0};

    p->bend = 0;
    memset(p->pad, 0, sizeof(p->pad));
    if (!content(&w, data, length, p, field, 2))
        return 0;
    p->length = iw_get16(field);
    if (length - w.i < p->length || !content(&w, data, length, p, ulpdu, p->length) ||
        !content(&w, data, length, p, p->pad, iw_wire_pad(p->length)) ||
        !content(&w, data, length, p, field, 1)) /* the Marker before the field is covered, too */
        return 0;
    p->crc = crc ? iw_crc32c_finish(iw_crc32c_portable(IW_CRC32C_INIT, data, w.i - 1)) : 0;
    if (!content(&w, data, length, p, field + 1, 3))
        return 0;
    p->crc ^= iw_crc32c_get(field);
    return w.i;
}

static void mark(struct walk *w, const struct iw_mutate_part *p, uint8_t *out)
{
    if (!marker_due(w))
        return;
    (void)iw_put32(out + w->i, marker_value(w) ^ (w->seen == p->marker ? p->bend : 0));
    w->seen++;
    w->i += IW_MPA_MARKER;
}

static void put(struct walk *w, const struct iw_mutate_part *p, uint8_t *out, const uint8_t *octets,
                size_t count)
{
    for (size_t k = 0; k < count; k++) {
        mark(w, p, out);
        out[w->i] = octets[k];
        pass(w);
    }
}

static size_t write_fpdu(const struct iw_mutate_part *p, const uint8_t *ulpdu, uint64_t pos,
                         bool markers, bool crc, uint8_t *out, size_t room)
{
    struct walk w = {.pos = pos, .markers = markers};

    if (iw_wire_fpdu_size(p->length) + IW_MPA_MARKER * (2u + p->length / 508u) > room)
        return 0;
    uint8_t field[4];
    (void)iw_put16(field, (uint16_t)(p->length + p->stated));
    put(&w, p, out, field, 2);
    put(&w, p, out, ulpdu, p->length);
    put(&w, p, out, p->pad, iw_wire_pad(p->length));
    mark(&w, p, out); /* the CRC covers it */
    uint32_t good = crc ? iw_crc32c_finish(iw_crc32c_portable(IW_CRC32C_INIT, out, w.i)) : 0;
    iw_crc32c_put(field, good ^ p->crc);
    put(&w, p, out, field, sizeof(field));
    return w.i;
}

size_t iw_mutate_frame(const struct iw_mutate_script *s, const struct iw_mutate_part *p,
                       uint64_t pos, uint8_t *out, size_t room)
{
    if (p->kind == IW_MUTATE_FPDU)
        return write_fpdu(p, s->octets + p->at, pos, s->markers[p->step & 1], s->crc, out, room);
    if (p->length > room)
        return 0;
    memcpy(out, s->octets + p->at, p->length);
    return p->length;
}

/* ---- reading ---- */

/* A side's stream. */
struct stream {
    const uint8_t *octets;
    size_t length;
    size_t begin; /* of full operation */
};

/* Returns the octets of the start-up frame with which `octets` begins; 0 if there is none. */
static size_t startup_size(const uint8_t *octets, size_t length)
{
    if (length < 4 || memcmp(octets, iw_mpa_request_key, 4) != 0)
        return 0;
    struct iw_mpa_startup_header h;
    if (iw_wire_get_startup(octets, length, &h) == IW_WIRE_SHORT ||
        length - IW_MPA_STARTUP_HEADER < h.pd_length)
        return length;
    return IW_MPA_STARTUP_HEADER + h.pd_length;
}

/* Reads the part that begins at `at` of a stream. Returns the octets that it takes. Puts its own
 * octets at the arena's end. Octets that are no FPDU end with their step, at `until`; after them
 * (`lost`) only a correct CRC shows the next FPDU. */
static size_t read_part(struct iw_mutate_script *s, const struct stream *t, size_t at, size_t until,
                        bool lost, unsigned side, struct iw_mutate_part *p)
{
    const struct iw_mutate_part none = {.kind = IW_MUTATE_OCTETS,
                                        .step = (uint8_t)side,
                                        .at = (uint32_t)s->used,
                                        .length = (uint32_t)(until - at)};

    *p = none;
    if (at == 0 && t->begin > 0) {
        p->kind = IW_MUTATE_STARTUP;
        p->length = (uint32_t)t->begin;
        memcpy(s->octets + s->used, t->octets, t->begin);
        return t->begin;
    }
    size_t size = read_fpdu(t->octets + at, t->length - at, at - t->begin, s->markers[side], s->crc,
                            p, s->octets + s->used);
    if (size != 0 && (p->crc == 0 || (!lost && p->length >= IW_DDP_TAGGED_HEADER))) {
        p->kind = IW_MUTATE_FPDU;
        return size;
    }
    *p = none;
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): a stream with a part has octets */
    memcpy(s->octets + s->used, t->octets + at, until - at);
    return until - at;
}

/* Returns the number of FPDUs with a correct CRC with which the stream begins. */
static size_t good_fpdus(struct iw_mutate_script *s, const struct stream *t, bool markers)
{
    size_t at = t->begin, good = 0;
    struct iw_mutate_part p;
    while (good < 8) {
        size_t size = read_fpdu(t->octets + at, t->length - at, at - t->begin, markers, true, &p,
                                s->octets + s->used);
        if (size == 0 || p.crc != 0)
            break;
        good++;
        at += size;
    }
    return good;
}

/* Reads the cuts of the part at [start, start+size) of its stream. */
static void read_cuts(const struct iw_mutate_script *s, struct iw_mutate_part *p, size_t start,
                      size_t size, const uint8_t *data, size_t length)
{
    struct iw_fuzz_input in = iw_fuzz_open(data, length);
    struct iw_fuzz_step step;
    size_t pos = 0;
    while (iw_fuzz_step(&in, &step)) {
        if (step.kind > IW_FUZZ_B || (!s->single && step.kind != (p->step & IW_FUZZ_KIND)))
            continue;
        if (pos > start && pos < start + size && p->cuts < IW_MUTATE_CUTS &&
            pos - start <= UINT16_MAX)
            p->cut[p->cuts++] = (uint16_t)(pos - start);
        pos += step.length;
        if (pos >= start + size)
            break;
    }
}

bool iw_mutate_read(struct iw_mutate_script *s, const uint8_t *data, size_t size)
{
    if (size > IW_MUTATE_INPUT_MAX)
        return false;
    s->count = 0;
    s->used = 0;
    struct iw_fuzz_input in = iw_fuzz_open(data, size);
    memcpy(s->settings, in.settings, sizeof(s->settings));

    s->crc = (s->settings[0] & IW_FUZZ_CRC) != 0;
    static const uint8_t bit[2] = {IW_FUZZ_MARKERS_A, IW_FUZZ_MARKERS_B};
    struct stream stream[2] = {{0}};
    struct iw_fuzz_step step;
    for (unsigned side = 0; side < 2; side++) {
        struct stream *t = &stream[side];
        t->octets = s->octets + s->used;
        in = iw_fuzz_open(data, size);
        while (iw_fuzz_step(&in, &step)) {
            if (step.kind > IW_FUZZ_B || (s->single ? 0 : step.kind) != side)
                continue;
            memcpy(s->octets + s->used, step.body, step.length);
            s->used += step.length;
            t->length += step.length;
        }
        t->begin = startup_size(t->octets, t->length);
        size_t with = good_fpdus(s, t, true);
        size_t without = good_fpdus(s, t, false);
        s->markers[side] = with > without || (with == without && (s->settings[0] & bit[side]) != 0);
        s->crc = s->crc || with > 0 || without > 0;
    }

    bool lost[2] = {false};
    size_t done[2] = {0}, given[2] = {0};
    in = iw_fuzz_open(data, size);
    while (iw_fuzz_step(&in, &step)) {
        unsigned side = s->single ? 0 : step.kind;
        bool other = step.kind > IW_FUZZ_B || s->commands;
        unsigned kind = step.kind | (step.of_b ? IW_FUZZ_OF_B : 0u);
        if (other || step.length == 0) {
            if (!iw_mutate_insert(s, s->count, other ? IW_MUTATE_OTHER : IW_MUTATE_OCTETS, kind,
                                  step.body, step.length))
                return false;
            continue;
        }
        size_t begin = given[side];
        given[side] += step.length;
        while (done[side] < given[side]) {
            struct iw_mutate_part *p = &s->part[s->count];
            if (s->count == IW_MUTATE_PARTS || s->used > IW_MUTATE_ARENA - 2u * UINT16_MAX)
                return false;
            size_t taken =
                read_part(s, &stream[side], done[side], given[side], lost[side], side, p);
            lost[side] = p->kind > IW_MUTATE_FPDU; /* it is octets */
            p->step = (uint8_t)kind;
            p->joined = done[side] > begin;
            s->used += p->length;
            if (done[side] + taken > given[side])
                read_cuts(s, p, done[side], taken, data, size);
            done[side] += taken;
            s->count++;
        }
    }
    return true;
}

/* ---- writing ---- */

struct writer {
    uint8_t *out;
    size_t room, length;
    size_t header; /* of the step being written; 0: none */
};

/* Begins a step; the octets that are appended next set its length. */
static bool begin_step(struct writer *w, uint8_t kind)
{
    if (w->room - w->length < IW_FUZZ_STEP)
        return false;
    w->header = w->length;
    w->out[w->length] = kind;
    w->length += IW_FUZZ_STEP;
    return true;
}

static size_t step_length(const struct writer *w)
{
    return w->length - w->header - IW_FUZZ_STEP;
}

static bool append(struct writer *w, uint8_t kind, const uint8_t *octets, size_t length)
{
    if (step_length(w) + length > IW_MUTATE_STEP_MAX && !begin_step(w, kind))
        return false;
    if (w->room - w->length < length)
        return false;
    memcpy(w->out + w->length, octets, length);
    w->length += length;
    w->out[w->header + 1] = (uint8_t)step_length(w);
    w->out[w->header + 2] = (uint8_t)(step_length(w) >> 8);
    return true;
}

/* Appends the octets of one part, `length` of them, cut into steps. */
static bool append_part(struct writer *w, const struct iw_mutate_part *p, bool joins,
                        const uint8_t *octets, size_t length)
{
    size_t from = 0;

    if (!joins && !begin_step(w, p->step))
        return false;
    for (unsigned k = 0; k < p->cuts; k++) {
        if (p->cut[k] <= from || p->cut[k] >= length)
            continue;
        if (!append(w, p->step, octets + from, p->cut[k] - from) || !begin_step(w, p->step))
            return false;
        from = p->cut[k];
    }
    while (length - from > IW_MUTATE_STEP_MAX) {
        if (!append(w, p->step, octets + from, IW_MUTATE_STEP_MAX))
            return false;
        from += IW_MUTATE_STEP_MAX;
    }
    return append(w, p->step, octets + from, length - from);
}

size_t iw_mutate_write(const struct iw_mutate_script *s, uint8_t *out, size_t room)
{
    struct writer w = {.out = out, .room = room};

    if (room < IW_FUZZ_SETTINGS)
        return 0;
    memcpy(out, s->settings, IW_FUZZ_SETTINGS);
    w.length = IW_FUZZ_SETTINGS;
    uint8_t frame[IW_MPA_FPDU_MAX + IW_MPA_STARTUP_MAX];
    uint64_t pos[2] = {0};
    for (size_t i = 0; i < s->count; i++) {
        const struct iw_mutate_part *p = &s->part[i];
        const uint8_t *octets = s->octets + p->at;
        size_t length = p->length, before = w.length, header = w.header;
        bool joins =
            p->joined && i > 0 && s->part[i - 1].step == p->step && p->kind != IW_MUTATE_OTHER;

        if (p->kind == IW_MUTATE_FPDU) {
            length = iw_mutate_frame(s, p, pos[iw_mutate_side(s, p)], frame, sizeof(frame));
            octets = frame;
        }
        if (p->kind == IW_MUTATE_STARTUP)
            pos[iw_mutate_side(s, p)] = 0;
        else if (p->kind != IW_MUTATE_OTHER)
            pos[iw_mutate_side(s, p)] += length;
        if (!append_part(&w, p, joins, octets, length)) {
            w.length = before;
            if (header > 0) { /* the step before is as long as it was */
                size_t kept = before - header - IW_FUZZ_STEP;
                out[header + 1] = (uint8_t)kept;
                out[header + 2] = (uint8_t)(kept >> 8);
            }
            break;
        }
    }
    return w.length;
}
