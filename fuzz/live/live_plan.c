/* SPDX-License-Identifier: BSD-3-Clause */
#include "live_plan.h"

#include <stdlib.h>
#include <string.h>

#include "host/text.h"
#include "iwarp/wire.h"
#include "station/frame.h"

enum { PAUSE_MS = 2 };

/* ---- from steps to units ---- */

static void mark(struct iw_hunt_plan *p, uint8_t kind, uint16_t ms, size_t at)
{
    if (p->n_marks < IW_HUNT_MARKS)
        p->marks[p->n_marks++] = (struct iw_hunt_mark){.kind = kind, .ms = ms, .at = (uint32_t)at};
}

static void add_octets(struct iw_hunt_plan *p, const struct iw_hunt_step *s)
{
    mark(p, IW_FUZZ_A, PAUSE_MS, p->length);
    if (s->kind == IW_FUZZ_B)
        for (size_t i = 1; i < s->length && i < IW_HUNT_EACH; i++)
            mark(p, IW_FUZZ_B, 0, p->length + i);
    if (s->length)
        memcpy(p->octets + p->length, s->octets, s->length);
    p->length += s->length;
}

static void unit(struct iw_hunt_plan *p, enum iw_hunt_unit_kind kind, size_t at, size_t length)
{
    if (length && p->n_units < IW_HUNT_UNITS)
        p->units[p->n_units++] =
            (struct iw_hunt_unit){.kind = kind, .at = (uint32_t)at, .length = (uint32_t)length};
}

/* Returns the length of the whole regular FPDU at `at`, or 0. */
static size_t fpdu_at(const struct iw_hunt_plan *p, size_t at)
{
    size_t left = p->length - at, size;

    if (left < 8)
        return 0;
    size = iw_hunt_fpdu_size((size_t)(p->octets[at] << 8 | p->octets[at + 1]));
    return size <= left && iw_hunt_regular(p->octets + at, size) ? size : 0;
}

static void find_units(struct iw_hunt_plan *p, const struct iw_hunt_input *in)
{
    size_t at = iw_hunt_startup_size(p->octets, p->length);
    size_t begins = 0, step = 0; /* of the step that comes next */

    unit(p, IW_UNIT_STARTUP, 0, at);
    while (at < p->length) {
        size_t size = fpdu_at(p, at);

        if (size) {
            unit(p, IW_UNIT_FPDU, at, size);
            at += size;
            continue;
        }
        while (step < in->n && begins <= at) {
            begins += iw_hunt_sends(&in->steps[step]) ? in->steps[step].length : 0;
            step++;
        }
        size = begins > at ? begins - at : p->length - at;
        unit(p, IW_UNIT_OCTETS, at, size);
        at += size;
    }
}

/* Adds pauses where a step begins inside a frame, so that the peer reads the octets before it.
 * Between frames the beginning of a step means nothing. */
static void make_pauses(struct iw_hunt_plan *p)
{
    size_t unit_at = 0, n = 0;

    for (size_t i = 0; i < p->n_marks; i++) {
        struct iw_hunt_mark m = p->marks[i];

        if (m.kind == IW_FUZZ_A) {
            while (unit_at < p->n_units && p->units[unit_at].at + p->units[unit_at].length <= m.at)
                unit_at++;
            if (unit_at == p->n_units || m.at <= p->units[unit_at].at ||
                p->units[unit_at].kind == IW_UNIT_OCTETS)
                continue;
            m.kind = IW_FUZZ_TIME;
        }
        p->marks[n++] = m;
    }
    p->n_marks = n;
}

void iw_hunt_plan_make(struct iw_hunt_plan *p, const struct iw_hunt_input *in)
{
    p->octets = iw_got(realloc(p->octets, iw_hunt_input_size(in) + 1));
    p->length = p->n_units = p->n_marks = 0;
    for (size_t i = 0; i < in->n; i++) {
        const struct iw_hunt_step *s = &in->steps[i];

        if (iw_hunt_sends(s))
            add_octets(p, s);
        else
            mark(p, s->kind, (uint16_t)(s->length > 1 ? s->octets[0] | s->octets[1] << 8 : 1),
                 p->length);
    }
    find_units(p, in);
    make_pauses(p);
}

void iw_hunt_plan_free(struct iw_hunt_plan *p)
{
    free(p->octets);
}

/* ---- placeholders ---- */

static uint64_t get(const uint8_t *octets, size_t n)
{
    uint64_t value = 0;

    for (size_t i = 0; i < n; i++)
        value = value << 8 | octets[i];
    return value;
}

static void put(uint8_t *octets, size_t n, uint64_t value)
{
    for (size_t i = n; i > 0; i--, value >>= 8)
        octets[i - 1] = (uint8_t)value;
}

/* Adds the place if a placeholder is there. */
static size_t place(const uint8_t *ulpdu, size_t length, size_t at, size_t to,
                    struct iw_hunt_place *out)
{
    uint32_t stag;

    if (length < at + 4 || (to && length < to + 8))
        return 0;
    stag = (uint32_t)get(ulpdu + at, 4);
    if (stag != IW_HUNT_STAG_ASKED && stag - IW_HUNT_STAG >= IW_HUNT_MEMORIES)
        return 0;
    *out = (struct iw_hunt_place){
        .at = at, .to = to, .memory = stag == IW_HUNT_STAG_ASKED ? -1 : (int)(stag - IW_HUNT_STAG)};
    return 1;
}

size_t iw_hunt_places(const uint8_t *ulpdu, size_t length, struct iw_hunt_place out[2])
{
    size_t n = 0;

    if (length < IW_DDP_TAGGED_HEADER)
        return 0;
    if (ulpdu[0] & IW_DDP_T)
        return place(ulpdu, length, 2, 6, out);
    n += place(ulpdu, length, 2, 0, out); /* to be invalidated */
    if ((ulpdu[1] & IW_RDMAP_OPCODE) == IW_OP_READ_REQUEST)
        n +=
            place(ulpdu, length, IW_DDP_UNTAGGED_HEADER + 16, IW_DDP_UNTAGGED_HEADER + 20, out + n);
    if ((ulpdu[1] & IW_RDMAP_OPCODE) == IW_OP_ATOMIC_REQUEST)
        n += place(ulpdu, length, IW_DDP_UNTAGGED_HEADER + 8, IW_DDP_UNTAGGED_HEADER + 12, out + n);
    return n;
}

static void fill(uint8_t *ulpdu, size_t length, struct iw_hunt_known *known)
{
    struct iw_hunt_place places[2];
    size_t n = iw_hunt_places(ulpdu, length, places);

    for (size_t i = 0; i < n; i++) {
        const struct iw_hunt_place *at = &places[i];
        uint64_t to = at->to ? get(ulpdu + at->to, 8) : 0;

        if (at->memory < 0) {
            size_t k = known->answered < known->asked ? known->answered++ : 0;

            k %= 8;
            put(ulpdu + at->at, 4, known->asked_stag[k]);
            if (at->to)
                put(ulpdu + at->to, 8, known->asked_to[k] + to);
        } else if ((size_t)at->memory < known->world->n_memories) {
            const struct iw_hunt_memory *m = &known->world->memories[at->memory];

            put(ulpdu + at->at, 4, m->stag);
            if (at->to)
                put(ulpdu + at->to, 8, m->to + to - IW_HUNT_TO(at->memory));
        }
    }
}

size_t iw_hunt_render(const struct iw_hunt_plan *p, const struct iw_hunt_unit *u,
                      struct iw_hunt_known *known, uint8_t **out)
{
    const uint8_t *octets = p->octets + u->at;
    size_t size = u->length;

    if (u->kind == IW_UNIT_FPDU) {
        size_t length = (size_t)(octets[0] << 8 | octets[1]);
        size_t room = iw_frame_room(length, 0);
        uint8_t *ulpdu = iw_got(malloc(length));

        memcpy(ulpdu, octets + 2, length);
        fill(ulpdu, length, known);
        *out = iw_got(malloc(room));
        size = iw_frame_build(known->position, known->markers, ulpdu, length, NULL, *out, room);
        free(ulpdu);
    } else {
        *out = iw_got(malloc(size));
        memcpy(*out, octets, size);
    }
    if (u->kind != IW_UNIT_STARTUP)
        known->position += size;
    return size;
}

uint8_t iw_hunt_said(const struct iw_hunt_plan *p, const struct iw_hunt_unit *u)
{
    if (u->kind == IW_UNIT_STARTUP)
        return iw_wire_mpa_key(p->octets + u->at) == IW_MPA_KEY_REPLY ? IW_SAID_REPLY
                                                                      : IW_SAID_REQUEST;
    if (u->kind == IW_UNIT_OCTETS || u->length < 8)
        return IW_SAID_OCTETS;
    return p->octets[u->at + 3] & IW_RDMAP_OPCODE;
}
