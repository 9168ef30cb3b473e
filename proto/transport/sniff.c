/* SPDX-License-Identifier: BSD-3-Clause */
/* A listener that takes plain TCP, too: which of the two a connection is, by its first octets. */
#include "transport/transport_internal.h"

#include "iwarp/mpa.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define MS UINT64_C(1000000)
enum { LONGER = 10, OFFER_AGAIN = 10 /* ms */ };

/* Returns the descriptor, which is the caller's again. */
static int leave(struct iw_sniff *s)
{
    const int fd = s->fd;
    struct iw_reactor *r = s->source.reactor;
    if (!s->plain)
        epoll_ctl(r->epoll, EPOLL_CTL_DEL, fd, NULL);
    LIST_REMOVE(s, entry);
    r->sniffed--;
    s->fd = -1;
    iw_source_kill(&s->source);
    return fd;
}

static void offer(struct iw_sniff *s, uint64_t now)
{
    struct iw_listener *l = s->listener;
    /* Before it is given away: a duplicate would stay in the set, and name what is gone. */
    if (!s->plain)
        epoll_ctl(s->source.reactor->epoll, EPOLL_CTL_DEL, s->fd, NULL);
    s->plain = true;
    if (l->config.plain(l->config.context, s->fd)) {
        (void)leave(s);
        return;
    }
    s->deadline = now + OFFER_AGAIN * MS;
}

/* `over`: no more octets will come. */
static void look(struct iw_sniff *s, bool over, uint64_t now)
{
    uint8_t octets[IW_MPA_KEY_LENGTH];
    const ssize_t n = recv(s->fd, octets, sizeof(octets), MSG_PEEK | MSG_DONTWAIT);
    enum iw_mpa_sniffed what = IW_MPA_SNIFFED_OTHER;
    if (n < 0 && (errno == EAGAIN || errno == EINTR) && !over)
        return;
    if (n > 0)
        what = iw_mpa_sniff(octets, (size_t)n);
    if (what == IW_MPA_SNIFFED_MORE && over)
        what = IW_MPA_SNIFFED_OTHER;
    switch (what) {
    case IW_MPA_SNIFFED_MPA: {
        struct iw_listener *l = s->listener;
        iw_listener_admit(l, leave(s));
        break;
    }
    case IW_MPA_SNIFFED_OTHER:
        offer(s, now);
        break;
    default:
        if (!s->begun)
            s->deadline = now + (uint64_t)s->listener->config.sniff * LONGER * MS;
        s->begun = true;
        break;
    }
}

static void handle(struct iw_source *source, uint32_t events)
{
    struct iw_sniff *s = (struct iw_sniff *)source;
    if (!s->plain) /* else it is broken, which epoll reports in any case */
        look(s, (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0, iw_transport_now());
}

static void release(struct iw_source *source)
{
    close(leave((struct iw_sniff *)source));
}

bool iw_sniff_begin(struct iw_listener *l, int fd)
{
    struct iw_reactor *r = l->source.reactor;
    struct iw_sniff *s = calloc(1, sizeof(*s));
    /* Edges: octets that are looked at stay where they are. */
    if (s == NULL || iw_source_add(r, &s->source, fd, EPOLLIN | EPOLLRDHUP | EPOLLET) != 0) {
        free(s);
        return false;
    }
    s->source.handle = handle;
    s->source.release = release;
    s->source.own = &s->fd;
    s->fd = fd;
    s->listener = l;
    s->deadline = iw_transport_now() + l->config.sniff * MS;
    LIST_INSERT_HEAD(&r->sniffs, s, entry);
    r->sniffed++;
    return true;
}

void iw_sniff_tick(struct iw_reactor *r, uint64_t now)
{
    struct iw_sniff *s = LIST_FIRST(&r->sniffs), *next;
    for (; s != NULL; s = next) {
        next = LIST_NEXT(s, entry);
        if (s->deadline <= now)
            offer(s, now);
    }
}

void iw_sniff_drop(struct iw_listener *l)
{
    const struct linger reset = {.l_onoff = 1};
    struct iw_sniff *s = LIST_FIRST(&l->source.reactor->sniffs), *next;
    for (; s != NULL; s = next) {
        next = LIST_NEXT(s, entry);
        if (s->listener != l)
            continue;
        (void)setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        close(leave(s));
    }
}
