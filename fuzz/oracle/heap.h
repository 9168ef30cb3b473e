/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_FUZZ_HEAP_H
#define IW_FUZZ_HEAP_H

/*
 * Memory for the code under test, in consecutive blocks that are all freed at once: an input costs
 * no malloc. AddressSanitizer knows the gaps between blocks, and freed blocks. iw_fuzz_heap_reset
 * restores everything that was allocated before iw_fuzz_heap_keep.
 */

#include "engine/fuzz.h"

#include "iwarp/ddp.h"

enum { IW_FUZZ_HEAP = 1 << 20, IW_FUZZ_BLOCKS = 64, IW_FUZZ_BUFFERS = 3 /* of a domain */ };

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

/* Call once: returns a domain that gives out the STags IW_FUZZ_STAG and on; for it, and for what is
 * made from it, the heap is all memory there is. */
struct iw_domain *iw_fuzz_heap_domain(struct iw_fuzz_heap *h, uint32_t regions);
/* Keeps everything allocated so far. Of blocks longer than `most` a reset restores only the
 * beginning. */
void iw_fuzz_heap_keep(struct iw_fuzz_heap *h, size_t most);
void iw_fuzz_heap_reset(struct iw_fuzz_heap *h);
/* Fails unless everything allocated since iw_fuzz_heap_keep was freed. */
void iw_fuzz_heap_check(const struct iw_fuzz_heap *h, const char *who);

#endif
