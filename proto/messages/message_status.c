/* SPDX-License-Identifier: BSD-3-Clause */
/* What `iwarp-msg top` shows of a process. */
#include <inttypes.h>
#include <jansson.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "host/address.h"
#include "messages/message_internal.h"
#include "messages/message_status.h"

enum { BACKLOG = 8, TRIES = 64 };

#define PAUSE_NS UINT64_C(5000000) /* between two that ask */

/* Returns NULL, which json_pack takes for null, for an address of another family. */
static json_t *address_json(const struct sockaddr_storage *at)
{
    char text[INET6_ADDRSTRLEN + IF_NAMESIZE + sizeof("[%]:65535")];
    const struct sockaddr *address = (const struct sockaddr *)at;
    if (address->sa_family != AF_INET && address->sa_family != AF_INET6)
        return NULL;
    iw_address_numeric(address, sizeof(*at), text, sizeof(text));
    return json_string(text);
}

static json_int_t integer(uint64_t number)
{
    return (json_int_t)number;
}

static json_t *instance_json(uint64_t instance)
{
    char text[17];
    snprintf(text, sizeof(text), "%016" PRIx64, instance);
    return json_string(text);
}

static json_t *end_json(struct iw_messages *m)
{
    pthread_mutex_lock(&m->pool.mutex);
    const size_t pool = m->pool.octets, most = m->pool.most;
    pthread_mutex_unlock(&m->pool.mutex);
    return json_pack("{s:i, s:o, s:o?, s:I, s:i, s:I, s:I, s:I, s:I}", "version", 1, "instance",
                     instance_json(m->instance), "at", address_json(&m->address), "connections",
                     integer(m->links_up), "connections_most", m->connections, "services",
                     integer(m->counts.services), "peers", integer(m->peers_known), "pool_octets",
                     integer(pool), "pool_most", integer(most));
}

static json_t *counts_json(const struct iw_messages_counts *c)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "sent",
                     integer(c->sent), "sent_octets", integer(c->sent_octets), "received",
                     integer(c->received), "received_octets", integer(c->received_octets),
                     "delivered", integer(c->delivered), "undelivered", integer(c->undelivered),
                     "written", integer(c->written), "fetched", integer(c->fetched), "repeated",
                     integer(c->repeated), "connected", integer(c->connected), "dropped",
                     integer(c->dropped));
}

static json_t *service_json(const struct iw_service *s)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "number", integer(s->number), "queued",
                     integer(s->queued), "open", integer(s->open), "reports",
                     integer(s->held - s->open), "received", integer(s->received), "sent",
                     integer(s->sent));
}

static json_t *services_json(struct iw_messages *m)
{
    uint64_t open = 0, queued = 0;
    unsigned count = 0;
    json_t *list = json_array();
    for (unsigned i = 0; i < IW_TABLE; i++)
        for (const struct iw_service *s = m->services[i]; s != NULL; s = s->chain) {
            open += s->open;
            queued += s->queued;
            if (count++ < IW_STATUS_SERVICES)
                json_array_append_new(list, service_json(s));
        }
    return json_pack("{s:o, s:I, s:I}", "service_list", list, "queued", integer(queued), "open",
                     integer(open));
}

static const char *state_of(const struct iw_peer *p)
{
    if (p->dead)
        return "gone";
    if (p->link != NULL)
        return p->link->synced ? "connected" : "beginning";
    return p->attempt != NULL ? "connecting" : "apart";
}

static json_t *peer_json(const struct iw_peer *p)
{
    return json_pack("{s:o, s:o?, s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "instance",
                     instance_json(p->instance), "at", address_json(&p->address), "state",
                     state_of(p), "window", integer(p->next - 1 - p->heard.base), "arrived",
                     integer(p->arrived), "sent", integer(p->sent), "sent_octets",
                     integer(p->sent_octets), "received", integer(p->received), "received_octets",
                     integer(p->received_octets));
}

static json_t *peers_json(struct iw_messages *m)
{
    json_t *list = json_array();
    unsigned count = 0;
    for (unsigned i = 0; i < IW_TABLE; i++)
        for (const struct iw_peer *p = m->peers[i]; p != NULL && count < IW_STATUS_PEERS;
             p = p->chain, count++)
            json_array_append_new(list, peer_json(p));
    return json_pack("{s:o}", "peer_list", list);
}

static json_t *status_json(struct iw_messages *m)
{
    json_t *status = end_json(m);
    json_object_update_new(status, counts_json(&m->counts));
    json_object_update_new(status, services_json(m));
    json_object_update_new(status, peers_json(m));
    return status;
}

void iw_status_open(struct iw_messages *m)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool bound = false;
    for (unsigned i = 1; fd >= 0 && !bound && i <= TRIES; i++) {
        const int length = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "%s%ld.%u",
                                    IW_STATUS_NAME, (long)getpid(), i);
        bound = bind(fd, (struct sockaddr *)&name,
                     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) == 0;
    }
    if (bound && listen(fd, BACKLOG) == 0)
        m->status = fd;
    else if (fd >= 0)
        close(fd);
}

static void send_status(int fd, struct iw_messages *m)
{
    json_t *status = status_json(m);
    char *text = json_dumps(status, JSON_COMPACT);
    /* Without room in the socket's buffer nothing is sent: the other side asks again. */
    if (text != NULL) {
        const size_t length = strlen(text);
        text[length] = '\n';
        (void)send(fd, text, length + 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    free(text);
    json_decref(status);
}

void iw_status_answer(struct iw_messages *m)
{
    struct ucred who;
    socklen_t length = sizeof(who);
    m->status_due = iw_progress_now() + PAUSE_NS;
    const int fd = accept4(m->status, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) == 0 &&
        (who.uid == 0 || who.uid == geteuid()))
        send_status(fd, m);
    close(fd);
}
