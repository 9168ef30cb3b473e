/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_DDP_DOMAIN_H
#define IW_DDP_DOMAIN_H

#include "iwarp/ddp.h"

enum { IW_DOMAIN_REGIONS_MAX = 1 << 24, IW_DOMAIN_SCRATCH = 256 };
/* Buffers of the largest pool that is allocated one by one; of each allocation in larger ones. */
enum { IW_DOMAIN_SMALL_POOL = 256, IW_DOMAIN_BLOCK = 64 };

struct iw_region_slot {
    struct iw_region region;
    uint32_t next_free; /* index + 1 of the next free slot */
    uint32_t parent;    /* a window: index + 1 of the region that it is bound to; else 0 */
    uint32_t windows;   /* bound to this region */
};

struct iw_domain {
    struct iw_env env;
    struct iw_domain_limits limits;
    struct iw_region_slot *regions;
    uint32_t *table; /* open addressing: index + 1 into regions, 0 empty */
    uint32_t table_mask;
    uint32_t free_region;  /* index + 1 of the first of those given back, 0 if there is none */
    uint32_t used_regions; /* slots from here on were never used, and not written */
    uint8_t **blocks;      /* the allocations for the pool */
    uint32_t block;        /* buffers of each */
    void **idle;           /* the buffers that nobody has, the last given back on top */
    uint32_t idle_count;
    uint32_t last_pd;
    uint64_t last_stream;
    uint32_t stag_step;
    /* Where an unknown STag leads when the check for it is switched off. */
    _Alignas(uint64_t) uint8_t scratch[IW_DOMAIN_SCRATCH];
};

/* Takes the lock of the domain, if its environment has one. */
void iw_domain_lock(const struct iw_domain *d);
/* Gives the lock back. */
void iw_domain_unlock(const struct iw_domain *d);
/* place.c: makes a check, unless one has failed already. Returns true if the access must not
 * happen.
 */
bool iw_ddp_refuses(const struct iw_ddp_stream *s, enum iw_check check, bool wrong,
                    enum iw_check *failed);
/* place.c, under the lock: returns the 8 octets that an atomic acts on, checked as a read source
 * with another right. NULL if it must not happen; *failed is the first check that fails. */
uint8_t *iw_domain_atomic_target(const struct iw_ddp_stream *s, uint32_t stag, uint64_t to,
                                 enum iw_check *failed);
/* Finds a region, under the lock. Returns NULL if there is none. */
struct iw_region *iw_domain_find(const struct iw_domain *d, uint32_t stag);

#endif
