/* SPDX-License-Identifier: BSD-3-Clause */
#include "domain.h"

#include <string.h>

#define AOPCODE 0xfu

/* RFC 7306 §5.1.1: a bit of `mask` is the top of a field, out of which nothing is carried. Without
 * their top bits the fields cannot overflow into each other; those bits are added alone. */
static uint64_t fetch_add(uint64_t old, uint64_t add, uint64_t mask)
{
    return ((old & ~mask) + (add & ~mask)) ^ ((old ^ add) & mask);
}

/* RFC 7306 §5.1.2. */
static uint64_t cmp_swap(uint64_t old, const struct iw_rdmap_atomic_request *r, bool always)
{
    if (!always && ((r->compare_data ^ old) & r->compare_mask) != 0)
        return old;
    return (old & ~r->add_swap_mask) | (r->add_swap_data & r->add_swap_mask);
}

static uint64_t result(const struct iw_switches *switches, uint64_t old,
                       const struct iw_rdmap_atomic_request *r)
{
    if (iw_switch_violated(switches, IW_CHECK_RDMAP_ATOMIC_DONE))
        return old;
    if ((r->opcode & AOPCODE) == IW_ATOMIC_CMP_SWAP)
        return cmp_swap(old, r, iw_switch_violated(switches, IW_CHECK_RDMAP_ATOMIC_COMPARE));
    bool spilt = iw_switch_violated(switches, IW_CHECK_RDMAP_ATOMIC_CARRY);
    return fetch_add(old, r->add_swap_data, spilt ? 0 : r->add_swap_mask);
}

enum iw_check iw_ddp_atomic(const struct iw_ddp_stream *s,
                            const struct iw_rdmap_atomic_request *request, uint64_t *original)
{
    uint32_t code = request->opcode & AOPCODE;
    enum iw_check failed = IW_CHECK_NONE, in_region;
    /* OP-81: code 1, Swap, is reserved. */
    if (iw_ddp_refuses(s, IW_CHECK_RDMAP_ATOMIC_OPCODE,
                       code != IW_ATOMIC_FETCH_ADD && code != IW_ATOMIC_CMP_SWAP, &failed))
        return failed;
    iw_domain_lock(s->domain);
    uint8_t *at = iw_domain_atomic_target(s, request->remote_stag, request->remote_to, &in_region);
    failed = failed == IW_CHECK_NONE ? in_region : failed;
    bool act = at != NULL && !iw_ddp_refuses(s, IW_CHECK_RDMAP_ATOMIC_ALIGN,
                                             (uintptr_t)at % sizeof(uint64_t) != 0, &failed);
    if (act && original != NULL) {
        uint64_t value;
        memcpy(&value, at, sizeof(value));
        *original = value;
        value = result(s->switches, value, request);
        memcpy(at, &value, sizeof(value));
    }
    iw_domain_unlock(s->domain);
    return failed;
}
