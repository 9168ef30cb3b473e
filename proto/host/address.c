/* SPDX-License-Identifier: BSD-3-Clause */
#include "address.h"

#include <stdio.h>
#include <sys/socket.h>

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
