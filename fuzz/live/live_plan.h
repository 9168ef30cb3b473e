/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HUNT_PLAN_H
#define IW_HUNT_PLAN_H

/* An input as it is sent: one stream of octets, the frames in it, and the events with their places.
 */

#include "live_input.h"
#include "live_trace.h"
#include "world.h"

enum { IW_HUNT_UNITS = 256, IW_HUNT_MARKS = 512, IW_HUNT_EACH = 64 };

enum iw_hunt_unit_kind { IW_UNIT_STARTUP, IW_UNIT_FPDU, IW_UNIT_OCTETS };

struct iw_hunt_unit {
    enum iw_hunt_unit_kind kind;
    uint32_t at, length;
};

struct iw_hunt_mark {
    uint8_t kind; /* IW_FUZZ_TIME, _FIN, _RST; IW_FUZZ_B: what follows is another write */
    uint16_t ms;
    uint32_t at;
};

struct iw_hunt_plan {
    uint8_t *octets; /* owned */
    size_t length;
    struct iw_hunt_unit units[IW_HUNT_UNITS];
    size_t n_units;
    struct iw_hunt_mark marks[IW_HUNT_MARKS];
    size_t n_marks;
};

/* `p` keeps its memory from one call to the next. */
void iw_hunt_plan_make(struct iw_hunt_plan *p, const struct iw_hunt_input *in);
void iw_hunt_plan_free(struct iw_hunt_plan *p);

/* The values on one connection that placeholders stand for. */
struct iw_hunt_known {
    const struct iw_hunt_world *world;
    bool markers;      /* the peer asked for them */
    uint64_t position; /* of full operation */
    uint32_t asked_stag[8];
    uint64_t asked_to[8];
    size_t asked, answered; /* Read Requests of the peer's */
};

/* A place in an FPDU's ULPDU that a placeholder is in. */
struct iw_hunt_place {
    size_t at;  /* of the STag */
    size_t to;  /* of the TO; 0: none */
    int memory; /* -1: the peer's Read Request */
};
/* Finds where a message names memory of its receiver by STag and TO. Returns false if it does not.
 */
bool iw_hunt_named(const uint8_t *ulpdu, size_t length, struct iw_hunt_place *out);
/* Finds the placeholders of a ULPDU, at most two. Returns their number. */
size_t iw_hunt_places(const uint8_t *ulpdu, size_t length, struct iw_hunt_place out[2]);

/* Renders the unit as it is sent into *out (freed by the caller). Returns its length. */
size_t iw_hunt_render(const struct iw_hunt_plan *p, const struct iw_hunt_unit *unit,
                      struct iw_hunt_known *known, uint8_t **out);
/* Returns the stimulus that sending this unit is: enum iw_hunt_stimulus, or an opcode. */
uint8_t iw_hunt_said(const struct iw_hunt_plan *p, const struct iw_hunt_unit *unit);

#endif
