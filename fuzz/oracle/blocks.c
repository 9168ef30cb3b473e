/* SPDX-License-Identifier: BSD-3-Clause */
#include "blocks.h"

#include "engine/fuzz.h"

#include "iwarp/observer.h"

#include <sanitizer/asan_interface.h>

enum { BLOCKS = 8 }; /* that one observer borrows at a time */

static struct {
    uint8_t *at;
    bool lent;
} blocks[BLOCKS];

static unsigned limit, lent;

void *iw_fuzz_lend(void *context, size_t size)
{
    size_t i = 0;

    (void)context;
    if (limit > 0 && lent >= limit)
        return NULL;
    while (i < BLOCKS && blocks[i].lent)
        i++;
    IW_FUZZ_CHECK(i < BLOCKS && size <= IW_OBSERVER_BLOCK,
                  "the observer borrows more than it is said to");
    if (blocks[i].at == NULL)
        blocks[i].at = iw_fuzz_allocate(IW_OBSERVER_BLOCK);
    blocks[i].lent = true;
    lent++;
    ASAN_UNPOISON_MEMORY_REGION(blocks[i].at, size);
    ASAN_POISON_MEMORY_REGION(blocks[i].at + size, IW_OBSERVER_BLOCK - size);
    return blocks[i].at;
}

void iw_fuzz_give_back(void *context, void *block, size_t size)
{
    size_t i = 0;

    (void)context;
    while (i < BLOCKS && blocks[i].at != block)
        i++;
    IW_FUZZ_CHECK(i < BLOCKS && blocks[i].lent, "the observer gives back what it did not borrow");
    blocks[i].lent = false;
    lent--;
    ASAN_POISON_MEMORY_REGION(block, size);
}

void iw_fuzz_blocks_limit(unsigned most)
{
    limit = most;
}

void iw_fuzz_blocks_check(void)
{
    IW_FUZZ_CHECK(lent == 0, "the observer keeps what it borrowed");
}
