/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_FUZZ_MEMORY_H
#define IW_FUZZ_MEMORY_H

/*
 * A consumer's memory and what it ought to hold. Octets change only where somebody was told that
 * they may: a posted receive or the sink of a Read makes them loose until it completes; what the
 * peer writes is written into the model, too. All others must be as the model has them, always.
 */

#include "engine/fuzz.h"

#include "iwarp/mpa.h"

enum { IW_FUZZ_MEMORY = 16384 };

struct iw_fuzz_memory {
    uint8_t octets[IW_FUZZ_MEMORY];
    uint8_t model[IW_FUZZ_MEMORY];
    uint8_t loose[IW_FUZZ_MEMORY]; /* how many may write here */
    const uint8_t *fresh;          /* what it begins with */
};

/* Once, and before each input. */
void iw_fuzz_memory_start(struct iw_fuzz_memory *m);
void iw_fuzz_memory_reset(struct iw_fuzz_memory *m);

/* [at, at+length) may change from now on; it may not any more: what is there now stays. */
void iw_fuzz_memory_loosen(struct iw_fuzz_memory *m, size_t at, size_t length);
void iw_fuzz_memory_fasten(struct iw_fuzz_memory *m, size_t at, size_t length);
/* [at, at+length) may differ from the model; it may not any more: what the model says counts. */
void iw_fuzz_memory_pardon(struct iw_fuzz_memory *m, size_t at, size_t length);
void iw_fuzz_memory_expect(struct iw_fuzz_memory *m, size_t at, size_t length);

/* Somebody was right to put these octets here. */
void iw_fuzz_memory_write(struct iw_fuzz_memory *m, size_t at, const uint8_t *octets,
                          size_t length);

/* Fails if an octet is not what it ought to be. `who` names the memory. */
void iw_fuzz_memory_check(const struct iw_fuzz_memory *m, const char *who);

#endif
