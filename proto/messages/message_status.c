/* SPDX-License-Identifier: BSD-3-Clause */
/* What `iwarp-msg top` shows of a process. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "messages/message_internal.h"
#include "messages/message_status.h"

enum { ROOM = IW_STATUS_ROOM, BACKLOG = 8, TRIES = 64 };

#define PAUSE_NS UINT64_C(5000000) /* between two that ask */

/* JSON without jansson, which programs that link with this library would need for nothing else. No
 * string has to be escaped: they are digits, addresses as inet_ntop() writes them, and names of
 * states. */
struct text {
    char *octets;
    size_t length;
};

static void add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *t, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const int length = vsnprintf(t->octets + t->length, ROOM - t->length, format, list);
    va_end(list);
    if (length > 0 && (size_t)length < ROOM - t->length)
        t->length += (size_t)length;
}

static void add_address(struct text *t, const struct sockaddr_storage *at)
{
    char host[INET6_ADDRSTRLEN] = "";
    if (at->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)at;
        inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
        add(t, "\"%s:%u\"", host, ntohs(in->sin_port));
    } else if (at->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const void *)at;
        inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof(host));
        add(t, "\"[%s]:%u\"", host, ntohs(in->sin6_port));
    } else {
        add(t, "null");
    }
}

static void add_end(struct text *t, struct iw_messages *m)
{
    pthread_mutex_lock(&m->pool.mutex);
    const size_t pool = m->pool.octets, most = m->pool.most;
    pthread_mutex_unlock(&m->pool.mutex);
    const struct iw_messages_counts *c = &m->counts;
    add(t, "{\"version\":1,\"instance\":\"%016" PRIx64 "\",\"at\":", m->instance);
    add_address(t, &m->address);
    add(t,
        ",\"connections\":%u,\"connections_most\":%d,\"services\":%" PRIu64
        ",\"peers\":%u,\"pool_octets\":%zu,\"pool_most\":%zu",
        m->links_up, m->connections, c->services, m->peers_known, pool, most);
    add(t,
        ",\"sent\":%" PRIu64 ",\"sent_octets\":%" PRIu64 ",\"received\":%" PRIu64
        ",\"received_octets\":%" PRIu64 ",\"delivered\":%" PRIu64 ",\"undelivered\":%" PRIu64
        ",\"written\":%" PRIu64 ",\"fetched\":%" PRIu64 ",\"repeated\":%" PRIu64
        ",\"connected\":%" PRIu64 ",\"dropped\":%" PRIu64,
        c->sent, c->sent_octets, c->received, c->received_octets, c->delivered, c->undelivered,
        c->written, c->fetched, c->repeated, c->connected, c->dropped);
}

static void add_services(struct text *t, struct iw_messages *m)
{
    unsigned count = 0;
    uint64_t open = 0, queued = 0;
    add(t, ",\"service_list\":[");
    for (unsigned i = 0; i < IW_TABLE; i++)
        for (const struct iw_service *s = m->services[i]; s != NULL; s = s->chain) {
            open += s->open;
            queued += s->queued;
            if (count >= IW_STATUS_SERVICES)
                continue;
            add(t,
                "%s{\"number\":%" PRIu32
                ",\"queued\":%u,\"open\":%u,\"reports\":%u,\"received\":%" PRIu64
                ",\"sent\":%" PRIu64 "}",
                count++ > 0 ? "," : "", s->number, s->queued, s->open, s->held - s->open,
                s->received, s->sent);
        }
    add(t, "],\"queued\":%" PRIu64 ",\"open\":%" PRIu64, queued, open);
}

static const char *state_of(const struct iw_peer *p)
{
    if (p->dead)
        return "gone";
    if (p->link != NULL)
        return p->link->synced ? "connected" : "beginning";
    return p->attempt != NULL ? "connecting" : "apart";
}

static void add_peers(struct text *t, struct iw_messages *m)
{
    unsigned count = 0;
    add(t, ",\"peer_list\":[");
    for (unsigned i = 0; i < IW_TABLE; i++)
        for (const struct iw_peer *p = m->peers[i]; p != NULL && count < IW_STATUS_PEERS;
             p = p->chain) {
            add(t, "%s{\"instance\":\"%016" PRIx64 "\",\"at\":", count++ > 0 ? "," : "",
                p->instance);
            add_address(t, &p->address);
            add(t,
                ",\"state\":\"%s\",\"window\":%" PRIu64 ",\"arrived\":%u,\"sent\":%" PRIu64
                ",\"sent_octets\":%" PRIu64 ",\"received\":%" PRIu64 ",\"received_octets\":%" PRIu64
                "}",
                state_of(p), p->next - 1 - p->heard.base, p->arrived, p->sent, p->sent_octets,
                p->received, p->received_octets);
        }
    add(t, "]}\n");
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

void iw_status_answer(struct iw_messages *m)
{
    struct ucred who;
    socklen_t length = sizeof(who);
    struct text t = {0};
    m->status_due = iw_progress_now() + PAUSE_NS;
    const int fd = accept4(m->status, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) == 0 &&
        (who.uid == 0 || who.uid == geteuid()))
        t.octets = malloc(ROOM);
    if (t.octets != NULL) {
        add_end(&t, m);
        add_services(&t, m);
        add_peers(&t, m);
        /* Who does not take it at once asks again. */
        (void)send(fd, t.octets, t.length, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    free(t.octets);
    close(fd);
}
