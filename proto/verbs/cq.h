/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_VERBS_CQ_H
#define IW_VERBS_CQ_H

#include "verbs/objects.h"

static inline struct iw_verbs_cq *iw_verbs_cq_of(struct ibv_cq *cq)
{
    return (struct iw_verbs_cq *)(void *)cq;
}

/* Makes a queue, without the lock. Returns NULL with errno set. */
struct iw_verbs_cq *iw_verbs_make_cq(struct ibv_context *context, uint32_t cqe, void *cq_context,
                                     struct ibv_comp_channel *channel, uint32_t vector);
/* Takes the oldest entry. Returns false if there is none. */
bool iw_verbs_cq_take(struct iw_verbs_cq *cq, struct ibv_wc *wc);

#endif
