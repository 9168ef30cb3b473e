/* SPDX-License-Identifier: BSD-3-Clause */
#include "heap.h"

#include "input/local.h"

#include <sanitizer/asan_interface.h>
#include <string.h>

enum { GAP = 32 }; /* between blocks */

static void *lend(void *heap, size_t size)
{
    struct iw_fuzz_heap *h = heap;
    size_t room = (size + GAP + 15) & ~(size_t)15;

    IW_FUZZ_CHECK(room <= IW_FUZZ_HEAP - h->used, "%zu octets more than the bound are allocated",
                  size);
    uint8_t *at = h->memory + h->used;
    h->used += room;
    h->live++;
    ASAN_UNPOISON_MEMORY_REGION(at, size);
    if (h->kept == 0 && h->blocks < IW_FUZZ_BLOCKS) {
        h->block[h->blocks].at = at;
        h->block[h->blocks++].size = size;
    }
    return at;
}

static void give_back(void *heap, void *memory, size_t size)
{
    struct iw_fuzz_heap *h = heap;

    h->live--;
    ASAN_POISON_MEMORY_REGION(memory, size);
}

/* Always the same, so that inputs can name STags. */
static void same_random(void *context, void *out, size_t length)
{
    uint32_t stag = IW_FUZZ_STAG;

    (void)context;
    memset(out, 0, length);
    memcpy(out, &stag, length < sizeof(stag) ? length : sizeof(stag));
}

struct iw_domain *iw_fuzz_heap_domain(struct iw_fuzz_heap *h, uint32_t regions)
{
    struct iw_env env = {.context = h,
                         .alloc = lend,
                         .free = give_back,
                         .random = same_random,
                         .crc32c = iw_crc32c_portable};
    struct iw_domain_limits limits = {.regions = regions, .buffers = IW_FUZZ_BUFFERS};

    memset(h, 0, sizeof(*h));
    h->memory = iw_fuzz_allocate(IW_FUZZ_HEAP);
    ASAN_POISON_MEMORY_REGION(h->memory, IW_FUZZ_HEAP);
    struct iw_domain *domain = iw_domain_create(&env, &limits);
    IW_FUZZ_CHECK(domain != NULL, "no domain");
    return domain;
}

void iw_fuzz_heap_keep(struct iw_fuzz_heap *h, size_t most)
{
    h->kept = h->used;
    h->live_kept = h->live;
    for (size_t i = 0; i < h->blocks; i++) {
        if (h->block[i].size > most)
            h->block[i].size = 2 * sizeof(void *);
        h->block[i].copy = iw_fuzz_allocate(h->block[i].size);
        memcpy(h->block[i].copy, h->block[i].at, h->block[i].size);
    }
}

void iw_fuzz_heap_reset(struct iw_fuzz_heap *h)
{
    for (size_t i = 0; i < h->blocks; i++)
        memcpy(h->block[i].at, h->block[i].copy, h->block[i].size);
    ASAN_POISON_MEMORY_REGION(h->memory + h->kept, h->used - h->kept);
    h->used = h->kept;
    h->live = h->live_kept;
}

void iw_fuzz_heap_check(const struct iw_fuzz_heap *h, const char *who)
{
    IW_FUZZ_CHECK(h->live == h->live_kept, "%s: %td blocks of memory are not given back", who,
                  (ptrdiff_t)(h->live - h->live_kept));
}
