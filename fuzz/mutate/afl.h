/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_FUZZ_MUTATE_AFL_H
#define IW_FUZZ_MUTATE_AFL_H

/* What AFL++ calls in a custom mutator (its API of version 4), as far as mutate_afl.c has it. */

#include <stddef.h>
#include <stdint.h>

void *afl_custom_init(void *afl, unsigned seed);
void afl_custom_deinit(void *data);
size_t afl_custom_fuzz(void *data, uint8_t *octets, size_t size, uint8_t **out, uint8_t *add,
                       size_t add_size, size_t most);
size_t afl_custom_post_process(void *data, uint8_t *octets, size_t size, uint8_t **out);
int32_t afl_custom_init_trim(void *data, uint8_t *octets, size_t size);
size_t afl_custom_trim(void *data, uint8_t **out);
int32_t afl_custom_post_trim(void *data, unsigned char good);

#endif
