/* SPDX-License-Identifier: BSD-3-Clause */
/* FPDUs that a deframer hands out early, for tests of the search after a gap. */
#ifndef MPA_EARLY_H
#define MPA_EARLY_H

#include "mpa_support.h"

/* A perfect FPDU: a Send of no octets. */
#define IMAGE "00124143 00000000 00000000 00000001 00000000 587be8c4"
enum { IMAGE_SIZE = 24 };

/* The FPDUs that were handed out early, since `early_begin`. */
struct mpa_early {
    struct iw_fpdu fpdu[256];
    uint8_t octets[MPA_SEEN_OCTETS];
    size_t at[256], used, count;
    unsigned answers;    /* bit i: what the FPDU i mod 32 is answered */
    uint64_t crc_octets; /* of which a CRC was computed */
};
extern struct mpa_early early;

/* Begins anew; each early FPDU is taken. */
void early_begin(struct mpa_rig *rig, bool markers, bool crc);
/* Feeds octets `from` to `to` of the reference's stream. Returns what the deframer does. */
int early_feed(struct mpa_rig *rig, const struct mpa_reference *r, size_t from, size_t to);
/* The early one `which` is the FPDU at `pos`, and comes in order as number `index` with the same
 * octets. */
void early_assert(const struct mpa_rig *rig, size_t which, size_t index, uint64_t pos);
/* Adds an FPDU with `length` octets of payload to the reference. */
void early_add(struct mpa_reference *r, size_t length);

#endif
