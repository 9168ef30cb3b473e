/* SPDX-License-Identifier: BSD-3-Clause */
#include "address.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/clock.h"
#include "host/number.h"

bool iw_address_cut(const char *text, struct iw_address_parts *out)
{
    const char *colon = strrchr(text, ':'), *end = text + strlen(text);
    *out = (struct iw_address_parts){.host = text};
    if (text[0] == '[') {
        out->host = text + 1;
        end = strchr(text, ']');
        colon = end != NULL && end[1] == ':' ? end + 1 : NULL;
        if (end == NULL || (colon == NULL && end[1] != '\0'))
            return false;
    } else if (colon != NULL && strchr(text, ':') == colon) {
        end = colon;
    } else {
        colon = NULL;
    }
    out->length = (size_t)(end - out->host);
    out->port = colon != NULL ? colon + 1 : NULL;
    return true;
}

bool iw_address_read_port(const char *text, uint16_t low, uint16_t *out)
{
    enum { DIGITS = 5 };
    uint64_t number;
    const size_t digits = strspn(text, "0123456789");
    if (digits > DIGITS || text[digits] != '\0' || !iw_number(text, low, UINT16_MAX, &number))
        return false;
    *out = (uint16_t)number;
    return true;
}

struct addrinfo *iw_address_resolve(const char *host, uint16_t port, bool passive, char *error,
                                    size_t room)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0)};
    char service[8];
    snprintf(service, sizeof(service), "%u", (unsigned)port);
    struct addrinfo *list = NULL;
    int status = getaddrinfo(host, service, &hints, &list);
    if (status)
        snprintf(error, room, "cannot resolve host \"%.255s\": %s", host, gai_strerror(status));
    return status ? NULL : list;
}

void iw_address_numeric(const struct sockaddr *address, socklen_t length, char *text, size_t room)
{
    char host[NI_MAXHOST], port[8];
    bool internet = address->sa_family == AF_INET || address->sa_family == AF_INET6;
    if (!internet || getnameinfo(address, length, host, sizeof(host), port, sizeof(port),
                                 NI_NUMERICHOST | NI_NUMERICSERV))
        snprintf(text, room, "-");
    else
        snprintf(text, room, address->sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

uint16_t iw_address_port(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)(const void *)address)->sin_port);
    if (address->sa_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)(const void *)address)->sin6_port);
    return 0;
}

/* Returns 0, or an errno. */
static int await_connection(int fd, uint64_t deadline)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int problem = 0;
    socklen_t length = sizeof(problem);
    for (int n; (n = poll(&p, 1, iw_clock_left(deadline))) <= 0;) {
        if (n < 0 && errno != EINTR)
            return errno;
        if (iw_clock_now() >= deadline)
            return ETIMEDOUT;
    }
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &length) ? errno : problem;
}

/* Returns `fd` if there is no problem; else closes it and returns -1 with errno. */
static int keep_unless(int problem, int fd)
{
    if (!problem)
        return fd;
    close(fd);
    errno = problem;
    return -1;
}

static int open_socket(const struct addrinfo *a, int flags, iw_address_prepare *prepare,
                       void *context)
{
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    if (fd >= 0 && prepare != NULL && !prepare(context, fd))
        return keep_unless(errno, fd);
    return fd;
}

static int connect_one(const struct addrinfo *a, uint64_t deadline, iw_address_prepare *prepare,
                       void *context)
{
    int fd = open_socket(a, deadline ? SOCK_NONBLOCK : 0, prepare, context);
    if (fd < 0)
        return -1;
    int problem = connect(fd, a->ai_addr, a->ai_addrlen) ? errno : 0;
    if (problem == EINPROGRESS || problem == EINTR)
        problem = await_connection(fd, deadline ? deadline : UINT64_MAX);
    return keep_unless(problem, fd);
}

int iw_address_connect(const struct addrinfo *list, uint64_t deadline, iw_address_prepare *prepare,
                       void *context)
{
    int fd = -1;
    for (const struct addrinfo *a = list; a != NULL && fd < 0; a = a->ai_next)
        fd = connect_one(a, deadline, prepare, context);
    return fd;
}

static int listen_one(const struct addrinfo *a, int backlog, int flags, iw_address_prepare *prepare,
                      void *context)
{
    int fd = open_socket(a, flags, prepare, context);
    if (fd < 0)
        return -1;
    bool good = !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) &&
                !bind(fd, a->ai_addr, a->ai_addrlen) && !listen(fd, backlog);
    return keep_unless(good ? 0 : errno, fd);
}

int iw_address_listen(const struct addrinfo *list, int backlog, int flags,
                      iw_address_prepare *prepare, void *context)
{
    int fd = -1;
    for (const struct addrinfo *a = list; a != NULL && fd < 0; a = a->ai_next)
        fd = listen_one(a, backlog, flags, prepare, context);
    return fd;
}
