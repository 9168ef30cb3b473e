/* SPDX-License-Identifier: BSD-3-Clause */
#include "live_plan.h"

#include <stdlib.h>
#include <string.h>

#include "host/text.h"
#include "iwarp/octets.h"
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
    size_t left = p->length - at;

    if (left < 8)
        return 0;
    size_t size = iw_wire_fpdu_size(iw_get16(p->octets + at));
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

bool iw_hunt_named(const uint8_t *ulpdu, size_t length, struct iw_hunt_place *out)
{
    unsigned opcode = length >= 2 ? ulpdu[IW_AT_RDMAP_CONTROL] & IW_RDMAP_OPCODE : 0;

    if (length && ulpdu[IW_AT_DDP_CONTROL] & IW_DDP_T)
        *out = (struct iw_hunt_place){.at = IW_AT_STAG, .to = IW_AT_TO};
    else if (opcode == IW_OP_READ_REQUEST)
        *out = (struct iw_hunt_place){.at = IW_IN_ULPDU(IW_AT_READ_SOURCE_STAG),
                                      .to = IW_IN_ULPDU(IW_AT_READ_SOURCE_TO)};
    else if (opcode == IW_OP_ATOMIC_REQUEST)
        *out = (struct iw_hunt_place){.at = IW_IN_ULPDU(IW_AT_ATOMIC_STAG),
                                      .to = IW_IN_ULPDU(IW_AT_ATOMIC_TO)};
    else
        return false;
    return length >= out->to + 8;
}

/* Sets what the STag there stands for. Returns false if it is no placeholder. */
static bool identify(const uint8_t *ulpdu, struct iw_hunt_place *p)
{
    uint32_t stag = iw_get32(ulpdu + p->at);
    bool asked = stag == IW_HUNT_STAG_ASKED;

    p->memory = asked ? -1 : (int)(stag - IW_HUNT_STAG);
    return asked || stag - IW_HUNT_STAG < IW_HUNT_MEMORIES;
}

size_t iw_hunt_places(const uint8_t *ulpdu, size_t length, struct iw_hunt_place out[2])
{
    size_t n = 0;

    if (length < IW_DDP_TAGGED_HEADER)
        return 0;
    out[0] = (struct iw_hunt_place){.at = IW_AT_INVALIDATE_STAG}; /* to be invalidated */
    if (!(ulpdu[IW_AT_DDP_CONTROL] & IW_DDP_T) && identify(ulpdu, &out[0]))
        n++;
    if (iw_hunt_named(ulpdu, length, &out[n]) && identify(ulpdu, &out[n]))
        n++;
    return n;
}

/* Writes the STag and, if there is one, the TO. */
static void put_place(uint8_t *ulpdu, const struct iw_hunt_place *at, uint32_t stag, uint64_t to)
{
    (void)iw_put32(ulpdu + at->at, stag);
    if (at->to)
        (void)iw_put64(ulpdu + at->to, to);
}

static void fill(uint8_t *ulpdu, size_t length, struct iw_hunt_known *known)
{
    struct iw_hunt_place places[2];
    size_t n = iw_hunt_places(ulpdu, length, places);
    for (size_t i = 0; i < n; i++) {
        const struct iw_hunt_place *at = &places[i];
        uint64_t to = iw_get64(ulpdu + at->to); /* of no use without a TO */

        if (at->memory < 0) {
            size_t k = (known->answered < known->asked ? known->answered++ : 0) % 8;

            put_place(ulpdu, at, known->asked_stag[k], known->asked_to[k] + to);
        } else if ((size_t)at->memory < known->world->n_memories) {
            const struct iw_hunt_memory *m = &known->world->memories[at->memory];

            put_place(ulpdu, at, m->stag, m->to + to - IW_HUNT_TO(at->memory));
        }
    }
}

size_t iw_hunt_render(const struct iw_hunt_plan *p, const struct iw_hunt_unit *u,
                      struct iw_hunt_known *known, uint8_t **out)
{
    const uint8_t *octets = p->octets + u->at;
    size_t size = u->length;

    if (u->kind == IW_UNIT_FPDU) {
        size_t length = iw_get16(octets);
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
