/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_FAKE_ENDPOINT_H
#define FUZZ_FAKE_ENDPOINT_H

/* An endpoint that does nothing: it notes what it is asked for (spy.h) and answers as the test
 * says. */

#include "endpoint/endpoint_internal.h"
#include "iwarp/endpoint_transport.h"

enum { FAKE_LISTS = 8 };

extern struct fake_endpoint {
    struct iw_endpoint ep;            /* what iw_endpoint_create gives */
    struct iw_endpoint_config config; /* what it was given */
    int created, posted, input_at;    /* results */
    uint64_t stream, deadline;
    struct iw_event events[4]; /* taken one by one; ends with IW_EVENT_NONE, but see `event_none` */
    size_t event;
    bool event_none; /* the first one is of no kind */
    struct iw_completion done[10];
    size_t done_count;
    struct iw_iov output[FAKE_LISTS]; /* lists of one or two pieces, in turn */
    size_t outputs, output_at;
    bool paired;    /* two pieces a list */
    bool endless;   /* `output` again and again, until the connection ends */
    bool completes; /* whatever is posted completes */
    struct iw_domain *domain;
    enum iw_want want;
    const struct iw_mpa_agreed *agreed;
    void *landing, *guess;
    size_t landing_room, guess_room, guessed;
    void (*input)(void); /* called by input calls, if there is one */
    /* Addresses are noted as offsets in these: m and f. */
    const uint8_t *memory, *fresh;
    size_t memory_size;
} fake;

/* Starts anew. */
void fake_reset(void);

#endif
