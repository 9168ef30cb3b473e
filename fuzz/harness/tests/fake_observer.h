/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_FAKE_OBSERVER_H
#define FUZZ_FAKE_OBSERVER_H

/* An observer that notes its calls (spy.h), and sees what the test says. */

#include "spy.h"

#include "iwarp/observer.h"

extern struct fake_observer {
    struct iw_observer_config config;
    struct iw_observation sees[2][4]; /* in each of the two runs, at the first call */
    size_t count[2];
    size_t runs;
    bool none, joined, keeps; /* keeps: a block that it borrowed */
    bool begun;
    void *block;
} fake;

/* Forgets what a test set. */
void fake_reset(void);

#endif
