/* SPDX-License-Identifier: BSD-3-Clause */
/* Listeners: accept connections, and wait while there are too many connections or descriptors. */
#include "transport/transport_internal.h"

#include "host/address.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BACKLOG = 4096, LIMIT = 1024 };
#define RETRY_AFTER UINT64_C(1000000000) /* ns, when descriptors or memory have run out */
#define SNIFF_AGAIN UINT64_C(20000000)   /* ns, when too many are undecided */

static void set_paused(struct iw_listener *l, bool paused, uint64_t resume_at)
{
    struct epoll_event e = {.events = paused ? 0 : EPOLLIN, .data.ptr = &l->source};
    l->paused = paused;
    l->resume_at = resume_at;
    epoll_ctl(l->source.reactor->epoll, EPOLL_CTL_MOD, l->fd, &e);
}

void iw_listener_resume(struct iw_listener *l)
{
    if (l->paused && l->live < l->config.limit)
        set_paused(l, false, UINT64_MAX);
}

void iw_listener_forget(struct iw_connection *c)
{
    struct iw_listener *l = c->listener;
    if (l != NULL) {
        LIST_REMOVE(c, listener_entry);
        l->live--;
        c->listener = NULL;
    }
    /* Its descriptor is free for any listener that lacked one. */
    for (l = LIST_FIRST(&c->source.reactor->listeners); l != NULL; l = LIST_NEXT(l, entry))
        iw_listener_resume(l);
}

void iw_listener_admit(struct iw_listener *l, int fd)
{
    const struct iw_listener_config *config = &l->config;
    struct iw_endpoint_config endpoint = config->endpoint;
    if (config->configure != NULL)
        config->configure(config->context, &endpoint);
    struct iw_connection *c = iw_connection_create(l->source.reactor, config->domain, &endpoint,
                                                   &config->ops, config->context);
    if (c == NULL || iw_connection_attach(c, fd, false)) {
        iw_connection_destroy(c);
        close(fd);
        return;
    }
    c->listener = l;
    LIST_INSERT_HEAD(&l->connections, c, listener_entry);
    l->live++;
    if (!config->accepted(config->context, c))
        iw_connection_destroy(c);
}

/* Accepts one per step: a storm of connections leaves the others their turns. */
static void handle(struct iw_source *s, uint32_t events)
{
    struct iw_listener *l = (struct iw_listener *)s;
    (void)events;
    if (l->live >= l->config.limit) {
        set_paused(l, true, UINT64_MAX);
        return;
    }
    if (l->config.sniff > 0 && l->source.reactor->sniffed >= IW_TRANSPORT_SNIFFED) {
        set_paused(l, true, iw_transport_now() + SNIFF_AGAIN);
        return;
    }
    int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0 && l->config.sniff == 0)
        iw_listener_admit(l, fd);
    else if (fd >= 0 && !iw_sniff_begin(l, fd))
        close(fd);
    else if (fd >= 0)
        return;
    else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
        set_paused(l, true, iw_transport_now() + RETRY_AFTER);
    /* else EAGAIN, or the client is gone again */
}

static void release(struct iw_source *s)
{
    iw_listener_destroy((struct iw_listener *)s);
}

/* Where SO_REUSEPORT fails bind() does, too; on IPv4 IPV6_V6ONLY fails harmlessly. */
static bool prepare(void *shared, int fd)
{
    if (*(const bool *)shared)
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &(int){1}, sizeof(int));
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){1}, sizeof(int));
    return true;
}

static union iw_socket_name name_of(int fd)
{
    union iw_socket_name name = {.any = {0}};
    socklen_t length = sizeof(name);
    (void)getsockname(fd, &name.any, &length);
    return name;
}

static void print_socket(int fd, char *text)
{
    union iw_socket_name name = name_of(fd);
    iw_address_numeric(&name.any, sizeof(name), text, IW_TRANSPORT_TEXT);
}

static void cannot_listen(const struct iw_host_port *at, int number, char *error, size_t room)
{
    char name[sizeof(at->host) + 10];
    iw_transport_print_host_port(at, name, sizeof(name));
    snprintf(error, room, "cannot listen on %s: %s", name, strerror(number));
}

static int bind_to(const struct iw_host_port *at, bool shared, char *error, size_t room)
{
    struct addrinfo *addresses = iw_address_resolve(at->host, at->port, true, error, room);
    if (addresses == NULL)
        return -1;
    int fd = iw_address_listen(addresses, BACKLOG, SOCK_NONBLOCK, prepare, &shared);
    if (fd < 0)
        cannot_listen(at, errno, error, room);
    freeaddrinfo(addresses);
    return fd;
}

int iw_transport_bind(const struct iw_host_port *at, char *address, char *error, size_t room)
{
    int fd = bind_to(at, false, error, room);
    if (fd >= 0 && address != NULL)
        print_socket(fd, address);
    return fd;
}

struct iw_listener *iw_transport_listen(struct iw_reactor *r, const struct iw_host_port *at,
                                        const struct iw_listener_config *config, char *error,
                                        size_t room)
{
    int fd = bind_to(at, config->shared, error, room);
    if (fd < 0)
        return NULL;
    struct iw_listener *l = iw_transport_listen_socket(r, fd, config);
    if (l == NULL) {
        cannot_listen(at, errno, error, room);
        close(fd);
    }
    return l;
}

struct iw_listener *iw_transport_listen_socket(struct iw_reactor *r, int fd,
                                               const struct iw_listener_config *config)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK))
        return NULL;
    if (config->defer) /* for one second */
        setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &(int){1}, sizeof(int));
    struct iw_listener *l = calloc(1, sizeof(*l));
    if (l == NULL || iw_source_add(r, &l->source, fd, EPOLLIN)) {
        int saved = errno;
        free(l);
        errno = saved;
        return NULL;
    }
    l->source.handle = handle;
    l->source.release = release;
    l->source.own = &l->fd;
    l->fd = fd;
    l->config = *config;
    if (l->config.limit == 0)
        l->config.limit = LIMIT;
    l->resume_at = UINT64_MAX;
    LIST_INSERT_HEAD(&r->listeners, l, entry);
    return l;
}

void iw_listener_address(const struct iw_listener *l, char *text)
{
    print_socket(l->fd, text);
}

uint16_t iw_listener_port(const struct iw_listener *l)
{
    union iw_socket_name name = name_of(l->fd);
    return iw_address_port(&name.any);
}

void iw_listener_destroy(struct iw_listener *l)
{
    if (l == NULL || l->source.dead)
        return;
    iw_sniff_drop(l);
    if (l->parked) {
        close(l->fd);
        free(l);
        return;
    }
    for (struct iw_connection *c = LIST_FIRST(&l->connections); c != NULL;
         c = LIST_NEXT(c, listener_entry))
        c->listener = NULL;
    LIST_REMOVE(l, entry);
    /* Somebody else may have a duplicate of it, with which it would stay in the set. */
    epoll_ctl(l->source.reactor->epoll, EPOLL_CTL_DEL, l->fd, NULL);
    close(l->fd);
    iw_source_kill(&l->source);
}
