/* SPDX-License-Identifier: BSD-3-Clause */
/* A hunt without connections: the test decides when a sequence is over and what came of it, and
 * all that the hunt does is noted in one text. */
#ifndef LIVE_TESTS_HUNT_STAGE_H
#define LIVE_TESTS_HUNT_STAGE_H

#include "live_support.h"

enum { STAGE_SEEDS = 3 };

extern struct iw_hunt_options options;
extern struct iw_hunt hunt;

extern struct stage {
    char noted[4096];
    uint64_t now;
    struct {
        struct iw_hunt_input *input;
        uint64_t number;
    } busy[IW_HUNT_SLOTS];
    unsigned n_busy, room; /* room: sequences that may still be started */
    void (*call)(void *context, struct iw_hunt_done *d);
    /* What is so from a sequence's number on; 0: it is not. */
    uint64_t dead_from, stray_from, refused_from, refused_to;
    enum iw_hunt_kind looks_like;
    enum iw_check broken; /* by each sequence */
    enum { SAME, EACH, RARER } rows;
    struct iw_hunt_finding *found; /* by looking into what happened */
    bool closes;                   /* that ends the peer */
    enum iw_target_opened opened;  /* ... after good_opens, bad_opens times */
    int opens, good_opens, bad_opens;
    int deadly, fresh; /* sequences; places in the peer */
    unsigned step_ms, made;
    bool slow;        /* a step ends one sequence */
    const char *only; /* the first characters of what is noted; NULL: all is */
    volatile int stop;
} stage;

/* A test's set-up and teardown. */
int stage_begin(void **state);
int stage_end(void **state);
void stage_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Asks for all that has been noted, which is then forgotten. */
void stage_noted(const char *expected);
/* Runs the hunt and asks for its status and for what it did ... */
void stage_goes(int status, const char *expected);
/* ... and for what it printed. */
void stage_fails(int status, const char *printed, const char *expected);

#endif
