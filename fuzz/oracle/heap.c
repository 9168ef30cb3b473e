/* SPDX-License-Identifier: BSD-3-Clause */
#include "heap.h"

#include <stdlib.h>
#include <string.h>

enum { GAP = 32 }; /* between blocks */

void iw_fuzz_heap_start(struct iw_fuzz_heap *h)
{
    memset(h, 0, sizeof *h);
    h->memory = malloc(IW_FUZZ_HEAP);
    IW_FUZZ_CHECK(h->memory != NULL, "no memory");
    iw_fuzz_poison(h->memory, IW_FUZZ_HEAP);
}

void *iw_fuzz_heap_alloc(void *heap, size_t size)
{
    struct iw_fuzz_heap *h = heap;
    size_t room = (size + GAP + 15) & ~(size_t)15;

    IW_FUZZ_CHECK(room <= IW_FUZZ_HEAP - h->used, "%zu octets more than the bound are allocated",
                  size);
    uint8_t *at = h->memory + h->used;
    h->used += room;
    h->live++;
    iw_fuzz_unpoison(at, size);
    if (h->kept == 0 && h->blocks < IW_FUZZ_BLOCKS) {
        h->block[h->blocks].at = at;
        h->block[h->blocks++].size = size;
    }
    return at;
}

void iw_fuzz_heap_free(void *heap, void *memory, size_t size)
{
    struct iw_fuzz_heap *h = heap;

    h->live--;
    iw_fuzz_poison(memory, size);
}

void iw_fuzz_heap_keep(struct iw_fuzz_heap *h, size_t most)
{
    h->kept = h->used;
    h->live_kept = h->live;
    for (size_t i = 0; i < h->blocks; i++) {
        if (h->block[i].size > most)
            h->block[i].size = 2 * sizeof(void *);
        h->block[i].copy = malloc(h->block[i].size);
        IW_FUZZ_CHECK(h->block[i].copy != NULL, "no memory");
        memcpy(h->block[i].copy, h->block[i].at, h->block[i].size);
    }
}

void iw_fuzz_heap_reset(struct iw_fuzz_heap *h)
{
    for (size_t i = 0; i < h->blocks; i++)
        memcpy(h->block[i].at, h->block[i].copy, h->block[i].size);
    iw_fuzz_poison(h->memory + h->kept, h->used - h->kept);
    h->used = h->kept;
    h->live = h->live_kept;
}

void iw_fuzz_heap_check(const struct iw_fuzz_heap *h, const char *who)
{
    IW_FUZZ_CHECK(h->live == h->live_kept, "%s: %zd blocks of memory are not given back", who,
                  (ssize_t)(h->live - h->live_kept));
}
