/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_MESSAGES_RESOLVER_LIMIT_H
#define IW_MESSAGES_RESOLVER_LIMIT_H

/* Bounds on how much a resolver does per second, whoever asks for it. Times in ns. */

#include "messages/resolver_place.h"

#include <stdbool.h>
#include <stdint.h>

/* Takes `rate` per second, and as many at once after a second of rest. */
struct iw_resolver_bucket {
    uint64_t full; /* until then what was taken counts */
};

enum { IW_RESOLVER_SOURCES = 256 };

struct iw_resolver_limits {
    struct iw_resolver_bucket asked, all;
    struct iw_resolver_bucket sources[IW_RESOLVER_SOURCES]; /* by a hash of the address */
    uint32_t seed; /* random, so that nobody can choose whose bucket is his */
};

/* Takes one. Returns false if there is none left. */
bool iw_resolver_bucket_take(struct iw_resolver_bucket *bucket, uint32_t rate, uint64_t now);
/* Takes one datagram of a source. The source's own bucket comes first, so that a flood from one
 * address leaves the others theirs. */
bool iw_resolver_limits_take(struct iw_resolver_limits *limits,
                             const struct iw_resolver_place *source, uint64_t now);

#endif
