/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_FUZZ_MUTATE_AFL_H
#define IW_FUZZ_MUTATE_AFL_H

/* What AFL++ calls in a custom mutator (its API of version 4), as far as mutate_afl.c has it.
 * `data` is what afl_custom_init returned; octets in *out are borrowed until the next call. */

#include <stddef.h>
#include <stdint.h>

/* Returns the mutator's state, freed by afl_custom_deinit; NULL without memory. */
void *afl_custom_init(void *afl, unsigned seed);
void afl_custom_deinit(void *data);
/* Each returns the number of octets in *out: of a new input, and of one as it is to be executed. */
size_t afl_custom_fuzz(void *data, uint8_t *octets, size_t size, uint8_t **out, uint8_t *add,
                       size_t add_size, size_t most);
size_t afl_custom_post_process(void *data, uint8_t *octets, size_t size, uint8_t **out);
/* Begins to shorten an input. Returns 1 if there is a shorter one to try, else 0. */
int32_t afl_custom_init_trim(void *data, uint8_t *octets, size_t size);
/* Returns the number of octets of the shorter input, in *out. */
size_t afl_custom_trim(void *data, uint8_t **out);
/* Takes whether that one was as `good`. Returns 0 if there is another to try, else 1. */
int32_t afl_custom_post_trim(void *data, unsigned char good);

#endif
