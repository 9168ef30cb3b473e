/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections and listeners that a fork leaves to both processes: neither touches them before one
 * goes on. */
#include "transport/transport_internal.h"

#include <errno.h>
#include <unistd.h>

static void leave_listener(struct iw_connection *c)
{
    if (c->listener == NULL)
        return;
    LIST_REMOVE(c, listener_entry);
    c->listener->live--;
    iw_listener_resume(c->listener);
    c->listener = NULL;
}

bool iw_connection_park(struct iw_connection *c)
{
    struct iw_reactor *r = c->source.reactor;
    if (c->parked || c->fd < 0 || c->connecting || c->streaming || c->lost || c->ending)
        return c->parked;
    epoll_ctl(r->epoll, EPOLL_CTL_DEL, c->fd, NULL);
    iw_heap_remove(r, c);
    iw_pending_remove(r, c);
    leave_listener(c);
    iw_source_remove(&c->source);
    c->parked = true;
    c->aside = false;
    return true;
}

void iw_connection_forked(struct iw_connection *c)
{
    c->tapped = NULL;
}

static bool put_on(struct iw_connection *c, struct iw_reactor *r)
{
    if (iw_heap_reserve(r) != 0)
        return false;
    (void)iw_source_add(r, &c->source, -1, 0);
    c->parked = false;
    iw_pending_add(r, c);
    return true;
}

bool iw_connection_unpark(struct iw_connection *c, struct iw_reactor *r)
{
    if (c->fd < 0)
        return iw_connection_part(c, r);
    if (!put_on(c, r))
        return false;
    c->stalled = false;
    if (iw_connection_arm(c, EPOLL_CTL_ADD) != 0)
        iw_connection_lose(c, errno);
    return true;
}

bool iw_connection_part(struct iw_connection *c, struct iw_reactor *r)
{
    if (!put_on(c, r))
        return false;
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    iw_tap_closed(c, false);
    iw_connection_lose(c, ECONNABORTED);
    return true;
}

void iw_connection_leave(struct iw_connection *c)
{
    if (c->parked && c->fd >= 0)
        close(c->fd);
    c->fd = c->parked ? -1 : c->fd;
}

void iw_listener_park(struct iw_listener *l)
{
    struct iw_connection *c;
    if (l->parked)
        return;
    while ((c = LIST_FIRST(&l->connections)) != NULL)
        leave_listener(c);
    epoll_ctl(l->source.reactor->epoll, EPOLL_CTL_DEL, l->fd, NULL);
    LIST_REMOVE(l, entry);
    iw_source_remove(&l->source);
    l->parked = true;
}

bool iw_listener_unpark(struct iw_listener *l, struct iw_reactor *r)
{
    if (iw_source_add(r, &l->source, l->fd, EPOLLIN) != 0)
        return false;
    LIST_INSERT_HEAD(&r->listeners, l, entry);
    l->paused = l->parked = false;
    l->resume_at = UINT64_MAX;
    return true;
}
