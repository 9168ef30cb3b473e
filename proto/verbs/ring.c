/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs/objects.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

bool iw_verbs_ring_make(struct iw_verbs_ring *ring, uint32_t depth)
{
    *ring = (struct iw_verbs_ring){.depth = depth > 0 ? depth : 1};
    ring->requests = calloc(ring->depth, sizeof(*ring->requests));
    return ring->requests != NULL;
}

void iw_verbs_request_begin(struct iw_verbs_request *r, uint64_t wr_id, enum ibv_wc_opcode opcode,
                            bool signaled)
{
    /* One by one: gcc would clear them with `rep stos`, and what is read next would wait for it. */
    r->wr_id = wr_id;
    r->opcode = opcode;
    r->signaled = signaled;
    r->unposted = r->bad = false;
    r->parts = r->sge_count = 0;
    r->status = IBV_WC_SUCCESS;
    r->length = 0;
    r->atomic_result = NULL;
    r->binding.mw = NULL;
}

void iw_verbs_ring_free(struct iw_verbs_ring *ring)
{
    for (; ring->requests != NULL && ring->head != ring->tail; ring->head++)
        iw_verbs_drop_list(iw_verbs_ring_at(ring, ring->head));
    free(ring->requests);
    ring->requests = NULL;
}
