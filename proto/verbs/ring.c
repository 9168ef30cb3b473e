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
    memset(r, 0, offsetof(struct iw_verbs_request, mrs));
    r->wr_id = wr_id;
    r->opcode = opcode;
    r->signaled = signaled;
}

void iw_verbs_ring_free(struct iw_verbs_ring *ring)
{
    for (; ring->requests != NULL && ring->head != ring->tail; ring->head++)
        iw_verbs_drop_list(iw_verbs_ring_at(ring, ring->head));
    free(ring->requests);
    ring->requests = NULL;
}
