/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_FUZZ_HEAP_H
#define IW_FUZZ_HEAP_H

/*
 * Memory for the code that is fuzzed, in blocks one behind the other, all of it given back at once:
 * an input costs no malloc. AddressSanitizer knows the gaps between blocks, and freed blocks.
 * What was allocated before iw_fuzz_heap_keep is put back as it was by iw_fuzz_heap_reset.
 */

#include "engine/fuzz.h"

enum { IW_FUZZ_HEAP = 1 << 20, IW_FUZZ_BLOCKS = 64 };

struct iw_fuzz_heap {
    uint8_t *memory; /* IW_FUZZ_HEAP octets */
    size_t used, kept;
    size_t live, live_kept; /* blocks */
    struct {
        uint8_t *at;
        size_t size;
        uint8_t *copy;
    } block[IW_FUZZ_BLOCKS]; /* of those kept */
    size_t blocks;
};

void iw_fuzz_heap_start(struct iw_fuzz_heap *h);
/* As struct iw_env wants them. */
void *iw_fuzz_heap_alloc(void *heap, size_t size);
void iw_fuzz_heap_free(void *heap, void *memory, size_t size);
/* What was allocated so far stays. Of blocks longer than `most` only the beginning is put back. */
void iw_fuzz_heap_keep(struct iw_fuzz_heap *h, size_t most);
void iw_fuzz_heap_reset(struct iw_fuzz_heap *h);
/* Fails unless everything allocated since iw_fuzz_heap_keep was freed. */
void iw_fuzz_heap_check(const struct iw_fuzz_heap *h, const char *who);

#endif
