/* SPDX-License-Identifier: BSD-3-Clause */
#include "address.h"

#include <stdio.h>

struct addrinfo *iw_address_resolve(const char *host, uint16_t port, bool passive, char *error,
                                    size_t room)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0)};
    struct addrinfo *list = NULL;
    char service[8];

    snprintf(service, sizeof(service), "%u", (unsigned)port);
    int status = getaddrinfo(host, service, &hints, &list);
    if (status)
        snprintf(error, room, "cannot resolve host \"%.255s\": %s", host, gai_strerror(status));
    return status ? NULL : list;
}
