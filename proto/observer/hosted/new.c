/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "iwarp/observer.h"

static void *lend(void *context, size_t size)
{
    (void)context;
    return malloc(size);
}

static void give_back(void *context, void *block, size_t size)
{
    (void)context;
    (void)size;
    free(block);
}

/* Octets of the observer itself; the scratch memory follows, aligned for any type. */
static size_t own_size(void)
{
    const size_t unit = _Alignof(max_align_t);

    return (iw_observer_size() + unit - 1) / unit * unit;
}

struct iw_observer *iw_observer_new(const struct iw_observer_config *config)
{
    struct iw_observer_config own = *config;
    char *memory = malloc(own_size() + iw_observer_scratch_size());

    if (memory == NULL)
        return NULL;
    own.lend = lend;
    own.give_back = give_back;
    own.scratch = memory + own_size();
    return iw_observer_init(memory, own_size(), &own);
}

void iw_observer_free(struct iw_observer *o)
{
    if (o == NULL)
        return;
    iw_observer_drop(o);
    free(o);
}
