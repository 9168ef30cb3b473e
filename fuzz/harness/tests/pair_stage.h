/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_PAIR_STAGE_H
#define FUZZ_PAIR_STAGE_H

/* Begins the tests of the harness of two endpoints: the fakes of both. */

#include "fake_station.h"
#include "spy.h"

#define SAYS(hex, said) assert_string_equal(spy_runs(&iw_fuzz_harness, hex), said)

extern struct iw_station *initiator, *responder;

/* Starts the harness, once for a program. */
int pair_start(void **state);
/* A hook (fake_station.h): both end in order. */
void pair_close_both(struct iw_station *s, const char *call);
/* Forgets what a test set: both will end in order. */
void pair_again(void);

#endif
