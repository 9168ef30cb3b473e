/* SPDX-License-Identifier: BSD-3-Clause */
#include "ucma/ucma.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct iw_ucma_event *make(struct iw_ucma_id *id, uint32_t kind, int status)
{
    struct iw_ucma_event *e = calloc(1, sizeof(*e));
    if (e == NULL)
        return NULL;
    e->id = id;
    e->response.id = id->handle;
    e->response.event = kind;
    e->response.status = (uint32_t)status;
    return e;
}

static void queue(struct iw_ucma_event *e)
{
    struct iw_ucma_file *file = e->id->file;
    TAILQ_INSERT_TAIL(&file->events, e, entry);
    iw_verbs_signal(file->fd, file->waiters);
}

static void unqueue(struct iw_ucma_event *e)
{
    TAILQ_REMOVE(&e->id->file->events, e, entry);
    iw_verbs_unsignal(e->id->file->fd);
}

/* It no longer waits, whether the program fetched it or not. */
static void finish(struct iw_ucma_event *e)
{
    unqueue(e);
    if (e->asked != NULL)
        e->id->waiting--;
    free(e);
}

static void add_private(struct rdma_ucm_conn_param *p, struct iw_endpoint *ep)
{
    const uint8_t *data;
    size_t length = iw_endpoint_private(ep, &data);
    if (length > IW_VERBS_PRIVATE_DATA)
        length = IW_VERBS_PRIVATE_DATA;
    if (length > 0)
        memcpy(p->private_data, data, length);
    p->private_data_len = (uint8_t)length;
}

static uint8_t depth(const struct iw_mpa_agreed *agreed, uint16_t said)
{
    return !agreed->enhanced || said > IW_VERBS_READS ? IW_VERBS_READS : (uint8_t)said;
}

/* What the peer asks to read at once is what this end must have resources for. */
static void add_depths(struct rdma_ucm_conn_param *p, const struct iw_mpa_agreed *agreed)
{
    if (agreed == NULL)
        return;
    p->responder_resources = depth(agreed, agreed->peer_ord);
    p->initiator_depth = depth(agreed, agreed->peer_ird);
}

void iw_ucma_event_push(struct iw_ucma_id *id, uint32_t kind, int status,
                        const struct iw_verbs_link *link)
{
    /* A connection that was not accepted yet has no name that the program knows. */
    struct iw_ucma_event *e = id->uid != 0 ? make(id, kind, status) : NULL;
    struct iw_endpoint *ep = link != NULL ? iw_verbs_link_endpoint(link) : NULL;
    if (e == NULL)
        return;
    if (ep != NULL) {
        add_private(&e->response.param.conn, ep);
        add_depths(&e->response.param.conn, iw_endpoint_agreed(ep));
    }
    queue(e);
}

bool iw_ucma_event_ask(struct iw_ucma_id *listener, struct iw_ucma_id *asked)
{
    struct iw_ucma_event *e = make(listener, IW_UCMA_CONNECT_REQUEST, 0);
    struct iw_endpoint *ep = iw_verbs_link_endpoint(asked->link);
    if (e == NULL)
        return false;
    e->asked = asked;
    e->response.id = asked->handle;
    add_private(&e->response.param.conn, ep);
    add_depths(&e->response.param.conn, iw_endpoint_requested(ep));
    listener->waiting++;
    queue(e);
    return true;
}

static bool have_event(const void *file)
{
    return !TAILQ_EMPTY(&((const struct iw_ucma_file *)file)->events);
}

/* The thread that waits has been cancelled, without the lock. */
static void cancelled(void *file)
{
    iw_verbs_lock();
    iw_ucma_file_release(file);
    iw_verbs_unlock();
}

/* Waits until the file has an event. Returns 0 or an errno. */
static int await_event(struct iw_ucma_file *file)
{
    int result;
    if (have_event(file))
        return 0;
    if ((fcntl(file->fd, F_GETFL) & O_NONBLOCK) != 0) {
        iw_verbs_poll();
        return have_event(file) ? 0 : EAGAIN;
    }
    pthread_cleanup_push(cancelled, file);
    result = iw_verbs_wait(file->fd, &file->waiters, have_event, file);
    pthread_cleanup_pop(0);
    return result != 0 ? EINTR : 0;
}

int iw_ucma_event_get(struct iw_ucma_file *file, struct rdma_ucm_event_resp *out)
{
    file->users++;
    int result = await_event(file);
    if (result == 0) {
        struct iw_ucma_event *e = TAILQ_FIRST(&file->events);
        e->response.uid = e->id->uid;
        e->id->events_reported++;
        *out = e->response;
        finish(e);
    }
    iw_ucma_file_release(file);
    return result;
}

void iw_ucma_events_drop(struct iw_ucma_id *id)
{
    struct iw_ucma_event *e = TAILQ_FIRST(&id->file->events);
    while (e != NULL) {
        struct iw_ucma_event *next = TAILQ_NEXT(e, entry);
        if (e->id == id || e->asked == id) {
            struct iw_ucma_id *asked = e->asked != id ? e->asked : NULL;
            finish(e);
            if (asked != NULL)
                iw_ucma_id_destroy(asked);
            next = TAILQ_FIRST(&id->file->events); /* that may have dropped others */
        }
        e = next;
    }
}

void iw_ucma_events_move(struct iw_ucma_id *id, struct iw_ucma_file *to)
{
    struct iw_ucma_file *from = id->file;
    struct iw_ucma_event *e = TAILQ_FIRST(&from->events);
    while (e != NULL) {
        struct iw_ucma_event *next = TAILQ_NEXT(e, entry);
        if (e->id == id) {
            unqueue(e);
            TAILQ_INSERT_TAIL(&to->events, e, entry);
            iw_verbs_signal(to->fd, to->waiters);
            if (e->asked != NULL) {
                LIST_REMOVE(e->asked, entry);
                LIST_INSERT_HEAD(&to->ids, e->asked, entry);
                e->asked->file = to;
            }
        }
        e = next;
    }
}
