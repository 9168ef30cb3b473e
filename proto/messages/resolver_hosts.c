/* SPDX-License-Identifier: BSD-3-Clause */
#include "messages/resolver_hosts.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/address.h"

enum { NAME = 256 };

/* Sets *name and *port, which is `otherwise` if the text names none. Returns false if it is no host
 * with or without a port. */
static bool cut(const char *text, uint16_t otherwise, char *name, uint16_t *port)
{
    struct iw_address_parts parts;
    *port = otherwise;
    if (!iw_address_cut(text, &parts) || parts.length == 0 || parts.length >= NAME ||
        (parts.port != NULL && !iw_address_read_port(parts.port, 1, port)))
        return false;
    memcpy(name, parts.host, parts.length);
    name[parts.length] = '\0';
    return true;
}

static int read_host(const char *text, uint16_t otherwise, struct iw_resolver_place *places,
                     size_t *count, char *error, size_t room)
{
    char name[NAME];
    uint16_t port;
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *list = NULL;
    if (!cut(text, otherwise, name, &port)) {
        snprintf(error, room, "\"%.255s\": expected HOST, HOST:PORT or [ADDRESS]:PORT", text);
        errno = EINVAL;
        return -1;
    }
    const int status = getaddrinfo(name, NULL, &hints, &list);
    if (status != 0) {
        snprintf(error, room, "cannot resolve host \"%s\": %s", name, gai_strerror(status));
        errno = status == EAI_MEMORY ? ENOMEM : EADDRNOTAVAIL;
        return -1;
    }
    size_t taken = 0;
    for (const struct addrinfo *a = list; a != NULL && taken < IW_RESOLVER_ADDRESSES;
         a = a->ai_next)
        if (iw_resolver_place_from(&places[*count], a->ai_addr)) {
            places[*count].port = port;
            ++*count;
            taken++;
        }
    freeaddrinfo(list);
    return 0;
}

int iw_resolver_hosts_read(const struct iw_resolver_config *config, uint16_t port,
                           struct iw_resolver_place **places, size_t *count, char *error,
                           size_t room)
{
    *places = NULL;
    *count = 0;
    if (config->host_count > IW_RESOLVER_HOSTS_MOST) {
        snprintf(error, room, "%zu hosts: expected at most %d", config->host_count,
                 IW_RESOLVER_HOSTS_MOST);
        errno = EINVAL;
        return -1;
    }
    if (config->host_count == 0)
        return 0;
    *places = calloc(config->host_count * IW_RESOLVER_ADDRESSES, sizeof(**places));
    if (*places == NULL) {
        snprintf(error, room, "no memory");
        return -1;
    }
    for (size_t i = 0; i < config->host_count; i++)
        if (read_host(config->hosts[i], port, *places, count, error, room) != 0) {
            const int saved = errno;
            free(*places);
            *places = NULL;
            *count = 0;
            errno = saved;
            return -1;
        }
    return 0;
}
