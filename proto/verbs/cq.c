/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues and the channels of their events. */
#include "verbs/cq.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct iw_verbs_channel *channel_of(struct ibv_comp_channel *channel)
{
    return (struct iw_verbs_channel *)channel;
}

/* ---- channels ---- */

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
    struct iw_verbs_channel *channel = calloc(1, sizeof(*channel));
    if (channel == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    channel->base.context = context;
    channel->base.fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    if (channel->base.fd < 0) {
        free(channel);
        return NULL;
    }
    TAILQ_INIT(&channel->ready);
    iw_verbs_own(channel->base.fd, true);
    iw_verbs_lock();
    iw_verbs_context(context)->uses++;
    iw_verbs_unlock();
    return &channel->base;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *base)
{
    iw_verbs_lock();
    bool used = base->refcnt > 0;
    if (!used)
        iw_verbs_context(base->context)->uses--;
    iw_verbs_unlock();
    if (used)
        return EBUSY;
    iw_verbs_own(base->fd, false);
    close(base->fd);
    free(channel_of(base));
    return 0;
}

static void raise_event(struct iw_verbs_cq *cq)
{
    struct iw_verbs_channel *channel = channel_of(cq->base.channel);
    cq->armed = IW_VERBS_UNARMED;
    if (channel == NULL)
        return;
    if (cq->events++ == 0)
        TAILQ_INSERT_TAIL(&channel->ready, cq, ready_entry);
    iw_verbs_signal(channel->base.fd, channel->waiters);
}

static void drop_events(struct iw_verbs_cq *cq)
{
    struct iw_verbs_channel *channel = channel_of(cq->base.channel);
    if (cq->events > 0)
        TAILQ_REMOVE(&channel->ready, cq, ready_entry);
    for (; cq->events > 0; cq->events--)
        iw_verbs_unsignal(channel->base.fd);
}

static bool have_event(const void *channel)
{
    return !TAILQ_EMPTY(&((const struct iw_verbs_channel *)channel)->ready);
}

/* Waits until the channel has an event. */
static int await_event(struct iw_verbs_channel *channel)
{
    if (have_event(channel))
        return 0;
    if ((fcntl(channel->base.fd, F_GETFL) & O_NONBLOCK) != 0) {
        iw_verbs_poll();
        if (have_event(channel))
            return 0;
        errno = EAGAIN;
        return -1;
    }
    return iw_verbs_wait(channel->base.fd, &channel->waiters, have_event, channel);
}

int ibv_get_cq_event(struct ibv_comp_channel *base, struct ibv_cq **out, void **context)
{
    struct iw_verbs_channel *channel = channel_of(base);
    iw_verbs_lock();
    int result = await_event(channel);
    if (result == 0) {
        struct iw_verbs_cq *cq = TAILQ_FIRST(&channel->ready);
        TAILQ_REMOVE(&channel->ready, cq, ready_entry);
        if (--cq->events > 0)
            TAILQ_INSERT_TAIL(&channel->ready, cq, ready_entry);
        iw_verbs_unsignal(base->fd);
        cq->reported++;
        *out = ibv_cq_ex_to_cq(&cq->base);
        *context = cq->base.cq_context;
    }
    iw_verbs_unlock();
    if (result != 0)
        iw_verbs_found_nothing();
    return result;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int count)
{
    pthread_mutex_lock(&cq->mutex);
    cq->comp_events_completed += count;
    pthread_cond_signal(&cq->cond);
    pthread_mutex_unlock(&cq->mutex);
}

/* ---- queues ---- */

struct iw_verbs_cq *iw_verbs_make_cq(struct ibv_context *context, uint32_t cqe, void *cq_context,
                                     struct ibv_comp_channel *channel, uint32_t vector)
{
    if (cqe < 1 || cqe > IW_VERBS_CQE || vector >= (uint32_t)context->num_comp_vectors) {
        errno = EINVAL;
        return NULL;
    }
    struct iw_verbs_cq *cq = calloc(1, sizeof(*cq));
    if (cq != NULL)
        cq->entries = calloc(cqe, sizeof(*cq->entries));
    if (cq == NULL || cq->entries == NULL) {
        free(cq);
        errno = ENOMEM;
        return NULL;
    }
    cq->room = cqe;
    cq->base.context = context;
    cq->base.channel = channel;
    cq->base.cq_context = cq_context;
    cq->base.cqe = (int)cqe;
    pthread_mutex_init(&cq->base.mutex, NULL);
    pthread_cond_init(&cq->base.cond, NULL);
    pthread_mutex_init(&cq->polling, NULL);
    iw_verbs_lock();
    iw_verbs_context(context)->uses++;
    if (channel != NULL)
        channel->refcnt++;
    iw_verbs_unlock();
    return cq;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
                             struct ibv_comp_channel *channel, int vector)
{
    struct iw_verbs_cq *cq =
        iw_verbs_make_cq(context, (uint32_t)cqe, cq_context, channel, (uint32_t)vector);
    return cq != NULL ? ibv_cq_ex_to_cq(&cq->base) : NULL;
}

int ibv_resize_cq(struct ibv_cq *base, int cqe)
{
    struct iw_verbs_cq *cq = iw_verbs_cq_of(base);
    int result = 0;
    if (cqe < 1 || cqe > IW_VERBS_CQE)
        return EINVAL;
    struct ibv_wc *entries = calloc((size_t)cqe, sizeof(*entries));
    if (entries == NULL)
        return ENOMEM;
    iw_verbs_lock();
    if (cq->count > (uint32_t)cqe) {
        result = EINVAL;
    } else {
        struct ibv_wc *before = cq->entries;
        for (uint32_t i = 0; i < cq->count; i++)
            entries[i] = before[(cq->first + i) % cq->room];
        cq->entries = entries;
        cq->first = 0;
        cq->room = (uint32_t)cqe;
        base->cqe = cqe;
        entries = before;
    }
    iw_verbs_unlock();
    free(entries);
    return result;
}

int ibv_destroy_cq(struct ibv_cq *base)
{
    struct iw_verbs_cq *cq = iw_verbs_cq_of(base);
    iw_verbs_lock();
    bool used = cq->uses > 0;
    if (!used) {
        drop_events(cq);
        iw_verbs_async_forget(base->context, base);
        if (base->channel != NULL)
            base->channel->refcnt--;
        iw_verbs_context(base->context)->uses--;
    }
    iw_verbs_unlock();
    if (used)
        return EBUSY;
    pthread_mutex_lock(&base->mutex);
    while (base->comp_events_completed != cq->reported ||
           base->async_events_completed != cq->async_reported)
        pthread_cond_wait(&base->cond, &base->mutex);
    pthread_mutex_unlock(&base->mutex);
    pthread_mutex_destroy(&base->mutex);
    pthread_cond_destroy(&base->cond);
    pthread_mutex_destroy(&cq->polling);
    free(cq->entries);
    free(cq);
    return 0;
}

int iw_verbs_req_notify_cq(struct ibv_cq *base, int solicited_only)
{
    struct iw_verbs_cq *cq = iw_verbs_cq_of(base);
    iw_verbs_lock();
    if (cq->armed != IW_VERBS_NEXT)
        cq->armed = solicited_only ? IW_VERBS_SOLICITED : IW_VERBS_NEXT;
    if (base->channel != NULL && !iw_verbs_driven(base->channel->fd))
        iw_verbs_cover();
    iw_verbs_unlock();
    return 0;
}

/* ---- entries ---- */

void iw_verbs_cq_stir(struct ibv_cq *base)
{
    atomic_store_explicit(&iw_verbs_cq_of(base)->drained, false, memory_order_relaxed);
}

void iw_verbs_cq_push(struct ibv_cq *base, const struct ibv_wc *wc, bool solicited)
{
    struct iw_verbs_cq *cq = iw_verbs_cq_of(base);
    if (cq->count == cq->room) {
        struct ibv_async_event event = {.element.cq = base, .event_type = IBV_EVENT_CQ_ERR};
        if (!cq->overrun)
            iw_verbs_async(base->context, &event);
        cq->overrun = true;
        return;
    }
    iw_verbs_cq_stir(base);
    if (cq->count == 0) /* a queue that empties stays in the cache */
        cq->first = 0;
    cq->entries[(cq->first + cq->count++) % cq->room] = *wc;
    if (cq->armed == IW_VERBS_NEXT ||
        (cq->armed == IW_VERBS_SOLICITED && (solicited || wc->status != IBV_WC_SUCCESS)))
        raise_event(cq);
}

void iw_verbs_cq_clean(struct ibv_cq *base, uint32_t qp_num)
{
    struct iw_verbs_cq *cq = iw_verbs_cq_of(base);
    uint32_t kept = 0, count = cq->count;
    for (uint32_t i = 0; i < count; i++) {
        struct ibv_wc wc = cq->entries[(cq->first + i) % cq->room];
        if (wc.qp_num != qp_num)
            cq->entries[(cq->first + kept++) % cq->room] = wc;
    }
    cq->count = kept;
}

bool iw_verbs_cq_take(struct iw_verbs_cq *cq, struct ibv_wc *wc)
{
    if (cq->count == 0)
        return false;
    *wc = cq->entries[cq->first];
    cq->first = (cq->first + 1) % cq->room;
    cq->count--;
    return true;
}

static bool has_enough(const struct iw_verbs_cq *cq, int room)
{
    return cq->count > 0 && room > 0 && cq->count >= (uint32_t)room;
}

int iw_verbs_poll_cq(struct ibv_cq *base, int room, struct ibv_wc *wc)
{
    struct iw_verbs_cq *cq = iw_verbs_cq_of(base);
    int taken = 0;
    /* The look with which a program finds that it has taken the last entry: a receive in vain would
     * keep it from the answer that it has found. The next look receives. */
    if (atomic_load_explicit(&cq->drained, memory_order_relaxed) &&
        atomic_exchange_explicit(&cq->drained, false, memory_order_acquire))
        return 0;
    iw_verbs_lock();
    if (has_enough(cq, room))
        iw_verbs_poll_later();
    else
        iw_verbs_poll();
    while (taken < room && iw_verbs_cq_take(cq, &wc[taken]))
        taken++;
    if (taken > 0 && cq->count == 0 && !cq->overrun)
        atomic_store_explicit(&cq->drained, true, memory_order_relaxed);
    if (taken == 0 && cq->overrun)
        taken = -EIO;
    iw_verbs_unlock();
    if (taken == 0)
        iw_verbs_found_nothing();
    return taken;
}
