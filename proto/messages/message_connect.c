/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections begin: requests out and in, events of rdma_cm. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "host/address.h"
#include "messages/message_internal.h"

static const uint8_t busy = 1; /* private data of a refusal by a process that is there */

static struct iw_link *new_link(struct iw_messages *m, enum iw_link_state state)
{
    struct iw_link *link = calloc(1, sizeof(*link));
    if (link == NULL)
        return NULL;
    link->m = m;
    link->state = state;
    link->begun = iw_progress_now();
    TAILQ_INSERT_TAIL(&m->links, link, entry);
    m->links_all++;
    return link;
}

static void drop_link(struct iw_messages *m, struct iw_link *link)
{
    TAILQ_REMOVE(&m->links, link, entry);
    m->links_all--;
    free(link);
}

static bool full(const struct iw_messages *m)
{
    return m->links_all >= (unsigned)m->connections + IW_LINKS_MORE;
}

struct iw_link *iw_link_connect(struct iw_messages *m, const struct sockaddr_storage *to)
{
    struct iw_link *link = full(m) ? NULL : new_link(m, IW_LINK_BEGUN);
    if (link == NULL)
        return NULL;
    link->to = *to;
    if (rdma_create_id(m->channel, &link->id, link, RDMA_PS_TCP) != 0) {
        drop_link(m, link);
        return NULL;
    }
    struct sockaddr_storage copy = *to;
    if (rdma_resolve_addr(link->id, NULL, (struct sockaddr *)&copy, (int)(m->timeout / 1000000)) !=
        0) {
        rdma_destroy_id(link->id);
        drop_link(m, link);
        return NULL;
    }
    iw_progress_due(m);
    return link;
}

/* Octets of the longest message that this end takes. */
static size_t longest(const struct iw_messages *m)
{
    const size_t most = m->pool.most / 2 < IW_MESSAGES_LONG ? m->pool.most / 2 : IW_MESSAGES_LONG;
    return most < iw_pool_longest(&m->pool) ? most : iw_pool_longest(&m->pool);
}

static void greet(struct iw_link *link, struct rdma_conn_param *how,
                  uint8_t octets[static IW_MESSAGE_GREETING])
{
    const struct iw_messages *m = link->m;
    iw_message_put_greeting(
        &(struct iw_message_greeting){.instance = m->instance,
                                      .grants = link->granted,
                                      .longest = (uint32_t)longest(m),
                                      .port =
                                          iw_address_port((const struct sockaddr *)&m->address)},
        octets);
    link->stated = link->granted;
    *how = (struct rdma_conn_param){.private_data = octets,
                                    .private_data_len = IW_MESSAGE_GREETING,
                                    .responder_resources = m->reads,
                                    .initiator_depth = m->reads,
                                    .retry_count = 7,
                                    .rnr_retry_count = 7};
}

static bool connect_now(struct iw_link *link)
{
    struct rdma_conn_param how;
    uint8_t octets[IW_MESSAGE_GREETING];
    if (!iw_link_prepare(link))
        return false;
    greet(link, &how, octets);
    return rdma_connect(link->id, &how) == 0;
}

/* Where the process that has connected to us listens. */
static void set_address(struct iw_link *link)
{
    struct sockaddr *from = rdma_get_peer_addr(link->id);
    if (from->sa_family == AF_INET) {
        memcpy(&link->to, from, sizeof(struct sockaddr_in));
        ((struct sockaddr_in *)&link->to)->sin_port = htons(link->greeting.port);
    } else if (from->sa_family == AF_INET6) {
        memcpy(&link->to, from, sizeof(struct sockaddr_in6));
        ((struct sockaddr_in6 *)&link->to)->sin6_port = htons(link->greeting.port);
    }
}

/* Takes a greeting of a peer that has a receive for the SYNC, and not more than it can have. */
static bool read_greeting(const uint8_t *octets, size_t length, struct iw_message_greeting *out)
{
    return iw_message_get_greeting(octets, length, out) && out->grants > 0 &&
           out->grants <= 2 * IW_LINK_RECEIVES;
}

static void requested(struct iw_messages *m, struct rdma_cm_id *id, const uint8_t *octets,
                      size_t length)
{
    struct iw_message_greeting greeting;
    struct rdma_conn_param how;
    uint8_t own[IW_MESSAGE_GREETING];
    struct iw_link *link = NULL;
    if (!read_greeting(octets, length, &greeting) || m->closing || full(m) ||
        iw_peer_get(m, greeting.instance) == NULL ||
        (link = new_link(m, IW_LINK_ACCEPTED)) == NULL) {
        rdma_reject(id, &busy, sizeof(busy));
        rdma_destroy_id(id);
        return;
    }
    link->id = id;
    id->context = link;
    link->greeting = greeting;
    set_address(link);
    if (!iw_link_prepare(link)) {
        rdma_reject(id, &busy, sizeof(busy));
        iw_link_end(link);
        return;
    }
    greet(link, &how, own);
    if (rdma_accept(id, &how) != 0)
        iw_link_end(link);
}

struct happened {
    enum rdma_cm_event_type kind;
    struct rdma_cm_id *id;
    int status;
    uint8_t octets[256];
    size_t length;
};

static void established(struct iw_link *link, const struct happened *e)
{
    if (link->ending || link->state == IW_LINK_UP)
        return;
    if (link->state == IW_LINK_BEGUN && !read_greeting(e->octets, e->length, &link->greeting))
        iw_link_end(link);
    else
        iw_link_up(link);
}

static void handle(struct iw_messages *m, const struct happened *e)
{
    struct iw_link *link = e->id->context;
    switch (e->kind) {
    case RDMA_CM_EVENT_CONNECT_REQUEST:
        requested(m, e->id, e->octets, e->length);
        return;
    case RDMA_CM_EVENT_ADDR_RESOLVED:
        if (rdma_resolve_route(e->id, (int)(m->timeout / 1000000)) != 0)
            iw_link_end(link);
        return;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
        if (!connect_now(link))
            iw_link_end(link);
        return;
    case RDMA_CM_EVENT_ESTABLISHED:
        established(link, e);
        return;
    case RDMA_CM_EVENT_REJECTED:
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_CONNECT_ERROR:
        link->refused = e->length == 0 && (e->kind == RDMA_CM_EVENT_REJECTED ||
                                           e->status == -ECONNREFUSED || e->status == ECONNREFUSED);
        iw_link_end(link);
        return;
    case RDMA_CM_EVENT_DISCONNECTED:
        iw_progress_poll(m); /* what has come before it */
        iw_link_end(link);
        return;
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
        if (link != NULL)
            iw_link_end(link);
        return;
    default:
        return;
    }
}

bool iw_link_event(struct iw_messages *m)
{
    struct rdma_cm_event *e;
    if (rdma_get_cm_event(m->channel, &e) != 0)
        return false;
    struct happened h = {.kind = e->event, .id = e->id, .status = e->status};
    const struct rdma_conn_param *conn = &e->param.conn;
    if (conn->private_data != NULL &&
        (h.kind == RDMA_CM_EVENT_CONNECT_REQUEST || h.kind == RDMA_CM_EVENT_ESTABLISHED ||
         h.kind == RDMA_CM_EVENT_REJECTED)) {
        h.length = conn->private_data_len;
        memcpy(h.octets, conn->private_data, h.length);
    }
    rdma_ack_cm_event(e);
    handle(m, &h);
    return true;
}
