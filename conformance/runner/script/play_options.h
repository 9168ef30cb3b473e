/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_PLAY_OPTIONS_H
#define IW_RUNNER_PLAY_OPTIONS_H

/* How cases are read and played. */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "iwarp/quirk.h"

struct iw_instruments;

/* What lib/replay_case.lua is to play: words of the command line, NULL where nothing was said. */
struct iw_replay {
    const char *capture; /* below the folder of recordings */
    const char *as;      /* "initiator", "responder": the side that is played */
    const char *stream;  /* numbers, separated by commas */
    const char *map;     /* of one that is known, or a file's path */
    const char *time;    /* "keep", "drop", "scale=X" */
    const char *private; /* hexadecimal */
};

/* So many of the target's longest timers, one after the other, a case may wait for above its
 * deadline, and its end again. */
enum { IW_CASE_TIMERS = 4 };

/* Zeros mean the defaults. */
struct iw_run_options {
    const char *library; /* folder of the vocabulary (conformance/lib); required */
    const char *pcaps;   /* folder of the recordings (pcaps/) that iw.capture reads; NULL: none */
    const struct iw_replay *replay; /* of the command of that name; else NULL */
    const char *pcap_dir;           /* where <case id>.pcapng goes; NULL: no captures */
    unsigned round;    /* of a case that is repeated, from 0; later ones have it in that name */
    double patience;   /* seconds that an expectation waits for the peer, default 3 */
    double deadline;   /* seconds that a case may take, default 20 */
    double time_scale; /* multiplies both and every window, default 1 */
    size_t memory;     /* octets that a case's Lua state may take, default 64 MiB */
    bool exchange;     /* the result has what was exchanged */
    bool no_quirks;    /* quirks of a peer are not looked through (iwarp/quirk.h) */
    bool hazards;      /* also cases with the tag "hazard", which may wedge a peer for good */
    const struct iw_instruments *instruments; /* what works with the target; NULL: not known */
    const iw_quirks *quirks; /* that the target has shown already, by its role; NULL: not known */
    FILE *trace;             /* every message in the one-line syntax, as it happens; NULL: none */
};

#endif
