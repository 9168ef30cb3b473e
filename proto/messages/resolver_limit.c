/* SPDX-License-Identifier: BSD-3-Clause */
#include "messages/resolver_limit.h"
#include "messages/resolver.h"

#include <stddef.h>

enum { SECOND = 1000000000 };

bool iw_resolver_bucket_take(struct iw_resolver_bucket *bucket, uint32_t rate, uint64_t now)
{
    const uint64_t step = SECOND / rate;
    if (bucket->full < now)
        bucket->full = now;
    if (bucket->full - now > SECOND - step)
        return false;
    bucket->full += step;
    return true;
}

/* FNV-1a */
static uint32_t mix_source(uint32_t seed, const struct iw_resolver_place *source)
{
    uint32_t hash = seed ^ 2166136261U;
    for (size_t i = 0; i < sizeof(source->address); i++)
        hash = (hash ^ source->address[i]) * 16777619U;
    return hash ^ hash >> 16;
}

bool iw_resolver_limits_take(struct iw_resolver_limits *limits,
                             const struct iw_resolver_place *source, uint64_t now)
{
    struct iw_resolver_bucket *own =
        &limits->sources[mix_source(limits->seed, source) % IW_RESOLVER_SOURCES];
    return iw_resolver_bucket_take(own, IW_RESOLVER_SOURCE_MOST, now) &&
           iw_resolver_bucket_take(&limits->all, IW_RESOLVER_ANSWERS_MOST, now);
}
