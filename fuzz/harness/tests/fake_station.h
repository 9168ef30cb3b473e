/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_FAKE_STATION_H
#define FUZZ_FAKE_STATION_H

/* Stations and a witness that do nothing: they note what they are asked for (spy.h), stations by
 * their numbers, and do what the test says. */

#include "oracle/witness.h"

extern struct fake_station {
    struct iw_station *station[2]; /* in the order of their start */
    size_t count;
    struct iw_witness *witness;
    int input_at; /* result */
    uint64_t edge[2];
    bool inside[2];         /* part of an FPDU has come */
    const char *output[2];  /* hexadecimal: leaves with the next call of iw_station_output */
    bool ends[2], reset[2]; /* then comes this */
    bool endless;
    void (*hook)(struct iw_station *s, const char *call); /* called by all calls with a station */
} fake;

/* Forgets what a test set, not the stations. */
void fake_reset(void);

#endif
