/* SPDX-License-Identifier: BSD-3-Clause */
/* How a connection comes by its socket: connecting, and taking over one that is connected. */
#include "transport/transport_internal.h"

#include "host/address.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Tries the remaining addresses until one accepts or is under way. */
static void try_addresses(struct iw_connection *c)
{
    for (; c->address != NULL; c->address = c->address->ai_next) {
        const struct addrinfo *a = c->address;
        c->fd = socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol);
        if (c->fd < 0) {
            c->error = errno;
            continue;
        }
        iw_socket_prepare(c->fd);
        c->connecting = true;
        bool done = connect(c->fd, a->ai_addr, a->ai_addrlen) == 0;
        if ((done || errno == EINPROGRESS) && iw_connection_arm(c, EPOLL_CTL_ADD) == 0)
            return; /* one that is done is writable, too */
        c->error = errno;
        iw_connection_close(c, false);
    }
    c->connecting = false;
    iw_connection_lose(c, ECONNREFUSED);
}

void iw_connection_progress(struct iw_connection *c)
{
    c->error = iw_socket_error(c->fd);
    if (c->error == 0) {
        fcntl(c->fd, F_SETFL, fcntl(c->fd, F_GETFL) & ~O_NONBLOCK);
        iw_connection_established(c, true);
        return;
    }
    if (c->address == NULL) { /* the caller's own socket */
        c->connecting = false;
        iw_connection_lose(c, c->error);
        return;
    }
    iw_connection_close(c, false);
    c->address = c->address->ai_next;
    try_addresses(c);
}

struct iw_connection *iw_transport_connect(struct iw_reactor *r, struct iw_domain *domain,
                                           const struct iw_host_port *to,
                                           const struct iw_endpoint_config *endpoint,
                                           const struct iw_connection_ops *ops, void *context,
                                           char *error, size_t room)
{
    struct addrinfo *addresses = iw_address_resolve(to->host, to->port, false, error, room);
    if (addresses == NULL)
        return NULL;
    char *name = malloc(IW_TRANSPORT_TEXT);
    struct iw_connection *c =
        name != NULL ? iw_connection_create(r, domain, endpoint, ops, context) : NULL;
    if (c == NULL) {
        snprintf(error, room, "cannot make an endpoint: %s",
                 errno == EINVAL
                     ? "its configuration contradicts itself or its private data is too long"
                     : "no memory");
        free(name);
        freeaddrinfo(addresses);
        return NULL;
    }
    c->addresses = addresses;
    c->address = addresses;
    c->name = name;
    iw_transport_print_host_port(to, name, IW_TRANSPORT_TEXT);
    try_addresses(c);
    iw_pending_add(r, c);
    return c;
}

struct iw_connection *iw_transport_connect_socket(struct iw_reactor *r, struct iw_domain *domain,
                                                  int fd, const struct sockaddr *to,
                                                  socklen_t length,
                                                  const struct iw_endpoint_config *endpoint,
                                                  const struct iw_connection_ops *ops,
                                                  void *context)
{
    struct iw_connection *c = iw_connection_create(r, domain, endpoint, ops, context);
    if (c == NULL)
        return NULL;
    c->fd = fd;
    c->connecting = true;
    iw_socket_prepare(fd);
    if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) ||
        (connect(fd, to, length) && errno != EINPROGRESS) || iw_connection_arm(c, EPOLL_CTL_ADD)) {
        int saved = errno;
        c->fd = -1;
        iw_connection_destroy(c);
        errno = saved;
        return NULL;
    }
    return c;
}

struct iw_connection *iw_transport_adopt(struct iw_reactor *r, struct iw_domain *domain, int fd,
                                         const struct iw_endpoint_config *endpoint,
                                         const struct iw_connection_ops *ops, void *context)
{
    struct iw_connection *c = iw_connection_create(r, domain, endpoint, ops, context);
    if (c == NULL)
        return NULL;
    if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) ||
        iw_connection_attach(c, fd, endpoint->role == IW_MPA_INITIATOR)) {
        int saved = errno;
        iw_connection_destroy(c);
        errno = saved;
        return NULL;
    }
    return c;
}
