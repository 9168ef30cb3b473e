/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs/link.h"
#include "verbs/spare_receives.h"

#include <stdlib.h>
#include <string.h>

enum { SPARES = 16, ROOM = 64 };

#define ID (UINT64_C(1) << 62) /* of receives of the endpoint that are spare ones */

/* A ring: of those that the endpoint was given, the first `done` have a message that waits. */
struct iw_verbs_spares {
    struct {
        uint8_t octets[ROOM];
        struct iw_completion message;
    } all[SPARES];
    unsigned first, used, done;
};

static atomic_bool wanted;

IW_VERBS_EXPORT void iwarp_receives_spare(void)
{
    atomic_store(&wanted, true);
}

bool iw_verbs_spares_make(struct iw_verbs_qp *qp)
{
    if (!atomic_load(&wanted) || qp->init.srq != NULL)
        return true;
    qp->spares = calloc(1, sizeof(*qp->spares));
    return qp->spares != NULL;
}

uint32_t iw_verbs_spares_depth(const struct iw_verbs_qp *qp)
{
    return qp->spares != NULL ? SPARES : 0;
}

void iw_verbs_spares_reset(struct iw_verbs_qp *qp)
{
    if (qp->spares != NULL)
        qp->spares->first = qp->spares->used = qp->spares->done = 0;
}

/* No more is taken from TCP than one step brings, and the peer's end is not seen: whoever sees it
 * posts no receive any more. */
static void hold(const struct iw_verbs_qp *qp, bool on)
{
    if (qp->link != NULL && qp->link->connection != NULL)
        iw_connection_hold(qp->link->connection, on);
}

void iw_verbs_spare_give(struct iw_verbs_qp *qp, struct iw_endpoint *ep)
{
    struct iw_verbs_spares *s = qp->spares;
    if (s == NULL || s->used == SPARES)
        return;
    const unsigned at = (s->first + s->used) % SPARES;
    const struct iw_iov octets = {s->all[at].octets, ROOM};
    if (iw_endpoint_post_recv(ep, ID + at, &octets, 1) != IW_OK)
        return;
    s->used++;
}

bool iw_verbs_spare_take(struct iw_verbs_qp *qp, const struct iw_completion *done)
{
    struct iw_verbs_spares *s = qp->spares;
    if (s == NULL || done->opcode != IW_WORK_RECV || done->id < ID)
        return false;
    if (done->status != IW_STATUS_OK) {
        s->used = s->done; /* the connection is over: those after it are flushed as well */
        return true;
    }
    s->all[(s->first + s->done++) % SPARES].message = *done;
    hold(qp, true); /* not before: the rest of a message may be still to come */
    return true;
}

/* The message goes to the next receive that was posted. */
static void pass(struct iw_verbs_qp *qp, const uint8_t *octets, struct iw_completion *message)
{
    struct iw_verbs_ring *ring = &qp->recvs;
    const struct iw_verbs_request *r = iw_verbs_ring_at(ring, ring->given);
    size_t done = 0;
    for (unsigned i = 0; i < r->sge_count && done < message->length && !message->immediate; i++) {
        size_t part = message->length - done;
        if (part > r->iov[i].length)
            part = r->iov[i].length;
        if (part > 0)
            memcpy(r->iov[i].base, octets + done, part);
        done += part;
    }
    if (done < message->length && !message->immediate) {
        message->status = IW_STATUS_LOCAL_FAULT;
        message->check = IW_CHECK_DDP_TOO_LONG;
    }
    message->id = ring->given++;
    iw_verbs_complete(qp, message);
}

bool iw_verbs_spares_settle(struct iw_verbs_qp *qp)
{
    struct iw_verbs_spares *s = qp->spares;
    if (s == NULL || s->used == 0)
        return true;
    while (s->done > 0 && qp->recvs.given != qp->recvs.tail) {
        const unsigned at = s->first;
        s->first = (s->first + 1) % SPARES;
        s->used--;
        s->done--;
        pass(qp, s->all[at].octets, &s->all[at].message);
    }
    if (s->done == 0)
        hold(qp, false);
    return s->used == 0;
}
