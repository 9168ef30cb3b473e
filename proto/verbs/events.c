/* SPDX-License-Identifier: BSD-3-Clause */
/* Asynchronous events of a context. */
#include "verbs/objects.h"

#include <errno.h>
#include <fcntl.h>

static bool is_of(const struct ibv_async_event *event, const void *object)
{
    switch (event->event_type) {
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_DEVICE_FATAL:
        return false;
    default:
        return (const void *)event->element.qp == object;
    }
}

void iw_verbs_async(struct ibv_context *context, const struct ibv_async_event *event)
{
    struct iw_verbs_context *c = iw_verbs_context(context);
    if (c->async_count == IW_VERBS_ASYNC)
        return;
    c->async[(c->async_first + c->async_count++) % IW_VERBS_ASYNC] = *event;
    iw_verbs_signal(context->async_fd, c->async_waiters);
}

void iw_verbs_async_qp(struct iw_verbs_qp *qp, enum ibv_event_type type)
{
    struct ibv_async_event event = {.element.qp = &qp->base.qp_base, .event_type = type};
    iw_verbs_async(qp->base.qp_base.context, &event);
}

void iw_verbs_async_forget(struct ibv_context *context, const void *object)
{
    struct iw_verbs_context *c = iw_verbs_context(context);
    unsigned kept = 0, count = c->async_count;
    for (unsigned i = 0; i < count; i++) {
        struct ibv_async_event event = c->async[(c->async_first + i) % IW_VERBS_ASYNC];
        if (is_of(&event, object))
            iw_verbs_unsignal(context->async_fd);
        else
            c->async[(c->async_first + kept++) % IW_VERBS_ASYNC] = event;
    }
    c->async_count = kept;
}

/* Returns the count of events of this one's object that have been fetched or acknowledged. */
static unsigned *reported(const struct ibv_async_event *event)
{
    switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
        return &((struct iw_verbs_cq *)(void *)event->element.cq)->async_reported;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
        return &((struct iw_verbs_srq *)(void *)event->element.srq)->async_reported;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        return &((struct iw_verbs_qp *)(void *)event->element.qp)->async_reported;
    default:
        return NULL;
    }
}

static bool have_event(const void *context)
{
    return ((const struct iw_verbs_context *)context)->async_count > 0;
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
    struct iw_verbs_context *c = iw_verbs_context(context);
    int result = 0;
    iw_verbs_lock();
    if (c->async_count == 0 && (fcntl(context->async_fd, F_GETFL) & O_NONBLOCK) != 0) {
        errno = EAGAIN;
        result = -1;
    } else {
        result = iw_verbs_wait(context->async_fd, &c->async_waiters, have_event, c);
    }
    if (result == 0) {
        *event = c->async[c->async_first];
        c->async_first = (c->async_first + 1) % IW_VERBS_ASYNC;
        c->async_count--;
        iw_verbs_unsignal(context->async_fd);
        unsigned *count = reported(event);
        if (count != NULL)
            ++*count;
    }
    iw_verbs_unlock();
    return result;
}

static void acknowledge(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *completed)
{
    pthread_mutex_lock(mutex);
    ++*completed;
    pthread_cond_signal(cond);
    pthread_mutex_unlock(mutex);
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
    struct ibv_cq *cq = event->element.cq;
    struct ibv_srq *srq = event->element.srq;
    struct ibv_qp *qp = event->element.qp;
    switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
        acknowledge(&cq->mutex, &cq->cond, &cq->async_events_completed);
        break;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
        acknowledge(&srq->mutex, &srq->cond, &srq->events_completed);
        break;
    default:
        if (reported(event) != NULL)
            acknowledge(&qp->mutex, &qp->cond, &qp->events_completed);
    }
}
