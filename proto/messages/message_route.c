/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers to peers. Messages of a number wait here until it has a peer; they keep their order when
 * it moves: none goes to the new place before all that the old one had been sent have their fate.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "messages/message_internal.h"

enum { RETRY_NS = 50 * 1000000 };

struct iw_route *iw_route_get(struct iw_messages *m, uint32_t number)
{
    struct iw_route *r = m->routes[number % IW_TABLE];
    while (r != NULL && r->number != number)
        r = r->chain;
    if (r != NULL || (r = calloc(1, sizeof(*r))) == NULL)
        return r;
    r->number = number;
    TAILQ_INIT(&r->queue);
    r->chain = m->routes[number % IW_TABLE];
    m->routes[number % IW_TABLE] = r;
    return r;
}

static void list(struct iw_messages *m, struct iw_route *r, bool listed)
{
    if (listed == r->listed)
        return;
    r->listed = listed;
    if (listed)
        TAILQ_INSERT_TAIL(&m->unrouted, r, entry);
    else
        TAILQ_REMOVE(&m->unrouted, r, entry);
    if (listed)
        iw_progress_due(m);
}

void iw_route_learn(struct iw_messages *m, uint32_t number, uint64_t instance)
{
    m->learned[number % IW_TABLE].number = number;
    m->learned[number % IW_TABLE].instance = instance;
}

static bool same_place(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    if (a->ss_family != b->ss_family)
        return false;
    if (a->ss_family == AF_INET) {
        const struct sockaddr_in *x = (const void *)a, *y = (const void *)b;
        return x->sin_port == y->sin_port && x->sin_addr.s_addr == y->sin_addr.s_addr;
    }
    const struct sockaddr_in6 *x = (const void *)a, *y = (const void *)b;
    return a->ss_family == AF_INET6 && x->sin6_port == y->sin6_port &&
           memcmp(&x->sin6_addr, &y->sin6_addr, sizeof(x->sin6_addr)) == 0;
}

static struct iw_peer *peer_at(struct iw_messages *m, const struct sockaddr_storage *at)
{
    const struct iw_link *link;
    TAILQ_FOREACH(link, &m->links, entry)
    if (link->state == IW_LINK_UP && link->peer != NULL && !link->peer->dead &&
        same_place(&link->peer->address, at))
        return link->peer;
    return NULL;
}

static struct iw_link *attempt_at(struct iw_messages *m, const struct sockaddr_storage *at)
{
    struct iw_link *link;
    TAILQ_FOREACH(link, &m->links, entry)
    if (link->state == IW_LINK_BEGUN && same_place(&link->to, at))
        return link;
    return NULL;
}

/* Takes the peer that listens there, or begins to connect. */
static void go_to(struct iw_messages *m, struct iw_route *r, const struct sockaddr_storage *at)
{
    r->peer = peer_at(m, at);
    if (r->peer != NULL)
        return;
    r->attempt = attempt_at(m, at);
    if (r->attempt == NULL)
        r->attempt = iw_link_connect(m, at);
}

/* Looks for the peer of a route. */
static void resolve(struct iw_messages *m, struct iw_route *r, uint64_t now)
{
    if (r->peer != NULL || r->attempt != NULL || now < r->retry)
        return;
    r->retry = now + RETRY_NS;
    if (r->placed) {
        go_to(m, r, &r->at);
    } else if (m->learned[r->number % IW_TABLE].number == r->number && m->trusts_senders) {
        struct iw_peer *p = iw_peer_find(m, m->learned[r->number % IW_TABLE].instance);
        if (p != NULL && !p->dead && (p->link != NULL || p->address.ss_family != 0))
            r->peer = p;
    }
    struct sockaddr_storage at;
    uint64_t instance;
    if (r->placed || r->peer != NULL || m->resolver == NULL ||
        iw_resolver_find(m->resolver, r->number, 0, &at, &instance) != 0)
        return;
    struct iw_peer *p = iw_peer_find(m, instance);
    r->asked = instance;
    if (p != NULL && p->link != NULL && !p->dead)
        r->peer = p;
    else
        go_to(m, r, &at);
}

void iw_route_forget(struct iw_messages *m, struct iw_route *r, uint64_t instance)
{
    if (m->learned[r->number % IW_TABLE].number == r->number)
        m->learned[r->number % IW_TABLE].number = 0;
    if (m->resolver != NULL && !r->placed)
        iw_resolver_forget(m->resolver, r->number, instance);
}

void iw_route_push(struct iw_messages *m, struct iw_route *r)
{
    if (!TAILQ_EMPTY(&r->queue))
        resolve(m, r, iw_progress_now());
    while (!TAILQ_EMPTY(&r->queue) && r->peer != NULL && (r->open == 0 || r->last == r->peer)) {
        struct iw_outgoing *o = TAILQ_FIRST(&r->queue);
        TAILQ_REMOVE(&r->queue, o, entry);
        if (o->length > r->peer->longest && r->peer->longest > 0) {
            iw_service_fate(m, o, EMSGSIZE);
            continue;
        }
        r->open++;
        r->last = r->peer;
        iw_peer_queue(m, r->peer, o);
    }
    list(m, r, !TAILQ_EMPTY(&r->queue));
    if (r->peer != NULL)
        iw_peer_pump(m, r->peer);
}

void iw_route_queue(struct iw_messages *m, struct iw_outgoing *o)
{
    struct iw_outgoing *before = TAILQ_LAST(&o->route->queue, iw_outgoings);
    while (before != NULL && before->order > o->order)
        before = TAILQ_PREV(before, iw_outgoings, entry);
    if (before != NULL)
        TAILQ_INSERT_AFTER(&o->route->queue, before, o, entry);
    else
        TAILQ_INSERT_HEAD(&o->route->queue, o, entry);
    iw_route_push(m, o->route);
}

void iw_route_done(struct iw_messages *m, struct iw_outgoing *o)
{
    struct iw_route *r = o->route;
    if (--r->open == 0 && !TAILQ_EMPTY(&r->queue)) {
        r->retry = 0;
        list(m, r, true); /* a tick pushes it: the caller is in the middle of its peer's lists */
    }
}

/* Calls for each route. */
static void each(struct iw_messages *m,
                 void (*call)(struct iw_messages *m, struct iw_route *r, void *of), void *of)
{
    for (unsigned i = 0; i < IW_TABLE; i++)
        for (struct iw_route *r = m->routes[i]; r != NULL; r = r->chain)
            call(m, r, of);
}

struct attempted {
    struct iw_link *link;
    struct iw_peer *peer;
};

static void one_attempted(struct iw_messages *m, struct iw_route *r, void *of)
{
    const struct attempted *a = of;
    if (r->attempt != a->link)
        return;
    r->attempt = NULL;
    if (r->peer == NULL)
        r->peer = a->peer;
    if (a->peer == NULL)
        iw_route_forget(m, r, r->asked);
    if (a->peer != NULL)
        iw_route_push(m, r);
}

void iw_route_attempted(struct iw_messages *m, struct iw_link *link, struct iw_peer *peer)
{
    each(m, one_attempted, &(struct attempted){link, peer});
}

static void one_dropped(struct iw_messages *m, struct iw_route *r, void *of)
{
    const struct iw_peer *peer = of;
    if (r->peer == peer) {
        r->peer = NULL;
        iw_route_forget(m, r, peer->instance);
    }
    if (r->last == peer && r->open == 0)
        r->last = NULL;
}

void iw_route_drop(struct iw_messages *m, struct iw_peer *peer)
{
    each(m, one_dropped, peer);
}

void iw_route_tick(struct iw_messages *m, uint64_t now)
{
    struct iw_route *r = TAILQ_FIRST(&m->unrouted);
    while (r != NULL) {
        struct iw_route *next = TAILQ_NEXT(r, entry);
        iw_route_push(m, r);
        /* While the old place is asked for the fate of what it has, nothing has expired. */
        for (struct iw_outgoing *o = TAILQ_FIRST(&r->queue); r->open == 0 && o != NULL;) {
            struct iw_outgoing *after = TAILQ_NEXT(o, entry);
            if (now >= o->deadline) {
                TAILQ_REMOVE(&r->queue, o, entry);
                iw_service_fate(m, o, EHOSTUNREACH);
            }
            o = after;
        }
        list(m, r, !TAILQ_EMPTY(&r->queue));
        r = next;
    }
}

int iw_messages_place(struct iw_messages *m, uint32_t number, const struct sockaddr *at)
{
    const socklen_t length = at == NULL                  ? 0
                             : at->sa_family == AF_INET  ? sizeof(struct sockaddr_in)
                             : at->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                         : 0;
    if (number == 0 || (at != NULL && length == 0)) {
        errno = EINVAL;
        return -1;
    }
    pthread_mutex_lock(&m->mutex);
    struct iw_route *r = iw_route_get(m, number);
    if (r != NULL) {
        r->placed = at != NULL;
        memset(&r->at, 0, sizeof(r->at));
        if (at != NULL)
            memcpy(&r->at, at, length);
        if (r->peer != NULL && (at == NULL || !same_place(&r->peer->address, &r->at)))
            r->peer = NULL;
        r->attempt = NULL;
        r->retry = 0;
        iw_route_push(m, r);
    }
    pthread_mutex_unlock(&m->mutex);
    if (r == NULL)
        errno = ENOMEM;
    return r != NULL ? 0 : -1;
}
