/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_INSTRUMENT_H
#define IW_RUNNER_INSTRUMENT_H

/*
 * Instruments: good exchanges with which cases measure a target. The first that works is a case's
 * fence.
 */

#include <stdbool.h>

#include "iwarp/mpa.h"
#include "iwarp/rules.h"

enum iw_instrument {
    IW_INSTRUMENT_EMPTY_READ,           /* a Read of no octets that names no buffer */
    IW_INSTRUMENT_PLAIN_READ,           /* the same after a start-up that agrees on no depths */
    IW_INSTRUMENT_READ,                 /* a Read of one octet */
    IW_INSTRUMENT_EMPTY_READ_OF_BUFFER, /* a Read of no octets that names a buffer */
    IW_INSTRUMENT_WRITE,                /* a Write of one octet, in which the agent looks */
    IW_INSTRUMENT_ECHO,     /* a Send that is taken, or comes back where there is no agent */
    IW_INSTRUMENT_TERMINATE /* an error, and the Terminate for it */
};

enum { IW_INSTRUMENT_COUNT = IW_INSTRUMENT_TERMINATE + 1 };

/* What a target does with an instrument. */
enum iw_ability {
    IW_ABILITY_UNKNOWN,
    IW_ABILITY_WORKS,
    IW_ABILITY_SILENT, /* it does nothing */
    IW_ABILITY_ENDS,   /* it ends the connection, with a Terminate or without */
    IW_ABILITY_ODD     /* it answers in another way */
};

/* What is known of a target, in each role that it can have (enum iw_mpa_role). */
struct iw_instruments {
    enum iw_ability of[2][IW_INSTRUMENT_COUNT];
};

/* Returns "empty-read", "read" ... */
const char *iw_instrument_name(enum iw_instrument instrument);
/* Finds the instrument of this name. Returns false if there is none. */
bool iw_instrument_find(const char *name, enum iw_instrument *out);
/* Returns "works", "silent", "ends" or "odd"; NULL if nothing is known. */
const char *iw_ability_name(enum iw_ability ability);
/* Finds the ability of this name. Returns false if there is none. */
bool iw_ability_find(const char *name, enum iw_ability *out);
/* Returns whether a rule is about this instrument: a case of it judges the exchange that others
 * take for granted. */
bool iw_instrument_serves(enum iw_instrument instrument, const struct iw_rule *rule);
/* Returns what is known of an instrument; `all` NULL: nothing. */
enum iw_ability iw_instrument_ability(const struct iw_instruments *all, enum iw_mpa_role role,
                                      enum iw_instrument instrument);

#endif
