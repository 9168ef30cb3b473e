/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_WITNESS_SCENE_H
#define FUZZ_WITNESS_SCENE_H

/* A witness whose observer the test plays, and the station of a responder. */

#include "oracle/witness.h"
#include "spy.h"

#include <stdio.h>

#include "iwarp/rules.h"

enum { FRAME = 20, AT = 100, SEGMENT = 60 };

/* The observer. */
static struct {
    struct iw_observer_config config;
    size_t size, room; /* as made */
    bool broken;       /* there is none */
    bool inside[2];    /* part of an FPDU of the side has come */
    bool joined;
} observer;

size_t iw_observer_size(void)
{
    return 24;
}

size_t iw_observer_scratch_size(void)
{
    return 32;
}

struct iw_observer *iw_observer_init(void *memory, size_t size,
                                     const struct iw_observer_config *config)
{
    observer.config = *config;
    observer.room = size;
    memset(memory, 1, size);
    memset(config->scratch, 1, 32);
    return observer.broken ? NULL : memory;
}

void iw_observer_drop(struct iw_observer *o)
{
    assert_non_null(o);
    spy_note("drop\n");
}

bool iw_observer_boundary(const struct iw_observer *o, enum iw_side side)
{
    assert_non_null(o);
    return !observer.inside[side];
}

bool iw_observer_joined(const struct iw_observer *o)
{
    assert_non_null(o);
    return observer.joined;
}

int iw_observer_input(struct iw_observer *o, enum iw_side side, uint64_t pos, const void *data,
                      size_t length)
{
    assert_non_null(o);
    spy_note("side %d at %llu: ", side, (unsigned long long)pos);
    spy_note_octets(data, length);
    spy_note("\n");
    return 0;
}

void iw_observer_end(struct iw_observer *o, enum iw_side side, uint64_t pos, bool reset)
{
    assert_non_null(o);
    spy_note("side %d ends at %llu%s\n", side, (unsigned long long)pos, reset ? " by reset" : "");
}

/* A responder that has seen a whole Request, and a witness of both. */
struct scene {
    struct iw_station station;
    struct iw_witness witness;
};

static inline void set(struct scene *s)
{
    memset(s, 0, sizeof(*s));
    memset(&observer, 0, sizeof(observer));
    spy_forget();
    s->station.who = "responder";
    s->station.framed_from = FRAME;
    s->station.events = 1u << IW_EVENT_ESTABLISHED;
    iw_witness_open(&s->witness, NULL, &s->station);
    s->witness.framed[IW_SIDE_INITIATOR] = s->witness.framed[IW_SIDE_RESPONDER] = true;
    s->witness.ird_stated[IW_SIDE_RESPONDER] = true;
}

#endif
