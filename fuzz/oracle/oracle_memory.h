/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_FUZZ_MEMORY_H
#define IW_FUZZ_MEMORY_H

/*
 * A consumer's memory and its expected content. Octets may change only where they are loose: a
 * posted receive or the sink of a Read makes them loose until it completes. The peer's writes go
 * into the model, too. All other octets must always equal the model.
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

/* Call _start once, and _reset before each input. */
void iw_fuzz_memory_start(struct iw_fuzz_memory *m);
void iw_fuzz_memory_reset(struct iw_fuzz_memory *m);

/* _loosen: [at, at+length) may change from now on; _fasten: it may not any more, and the model
 * takes its content. */
void iw_fuzz_memory_loosen(struct iw_fuzz_memory *m, size_t at, size_t length);
void iw_fuzz_memory_fasten(struct iw_fuzz_memory *m, size_t at, size_t length);
/* _pardon: [at, at+length) may differ from the model; _expect: it may not any more, and must equal
 * the model. */
void iw_fuzz_memory_pardon(struct iw_fuzz_memory *m, size_t at, size_t length);
void iw_fuzz_memory_expect(struct iw_fuzz_memory *m, size_t at, size_t length);

/* Records a legal write of these octets. */
void iw_fuzz_memory_write(struct iw_fuzz_memory *m, size_t at, const uint8_t *octets,
                          size_t length);

/* Fails if an octet differs from its expected value. `who` names the memory. */
void iw_fuzz_memory_check(const struct iw_fuzz_memory *m, const char *who);

#endif
