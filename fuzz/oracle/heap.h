/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_FUZZ_HEAP_H
#define IW_FUZZ_HEAP_H

/*
 * Memory for the code under test, in consecutive blocks that are all freed at once: an input costs
 * no malloc. AddressSanitizer knows the gaps between blocks, and freed blocks. iw_fuzz_heap_reset
 * restores everything that was allocated before iw_fuzz_heap_keep.
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
/* Callbacks for struct iw_env. */
void *iw_fuzz_heap_alloc(void *heap, size_t size);
void iw_fuzz_heap_free(void *heap, void *memory, size_t size);
/* Keeps everything allocated so far. Of blocks longer than `most` a reset restores only the
 * beginning. */
void iw_fuzz_heap_keep(struct iw_fuzz_heap *h, size_t most);
void iw_fuzz_heap_reset(struct iw_fuzz_heap *h);
/* Fails unless everything allocated since iw_fuzz_heap_keep was freed. */
void iw_fuzz_heap_check(const struct iw_fuzz_heap *h, const char *who);

#endif
