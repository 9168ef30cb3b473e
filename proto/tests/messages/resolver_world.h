/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RESOLVER_WORLD_H
#define RESOLVER_WORLD_H

/* Resolvers on the loopback interface, at a port that nobody else has. Include <cmocka.h> first. */

#include "messages/resolver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WAIT_MS = 120000 }; /* a guard */

/* A UDP port that is free. */
static inline uint16_t free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof(at);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &length), 0);
    close(fd);
    return ntohs(at.sin_port);
}

static inline struct iw_resolver_config plain_config(uint16_t port)
{
    return (struct iw_resolver_config){.port = port, .multicast = true, .interface = "lo"};
}

static inline struct iw_resolver *open_resolver(const struct iw_resolver_config *config)
{
    struct iw_resolver *r = NULL;
    char error[200] = "";
    if (iw_resolver_open(config, &r, error, sizeof(error)) != 0)
        fail_msg("%s", error);
    return r;
}

/* Opens one on the loopback by multicast. */
static inline struct iw_resolver *open_plain(uint16_t port)
{
    const struct iw_resolver_config config = plain_config(port);
    return open_resolver(&config);
}

static inline struct sockaddr_in ipv4_at(const char *address, uint16_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    assert_int_equal(inet_pton(AF_INET, address, &at.sin_addr), 1);
    return at;
}

static inline int claim_at(struct iw_resolver *r, uint32_t number, uint16_t port, uint64_t instance)
{
    const struct sockaddr_in at = ipv4_at("127.0.0.1", port);
    return iw_resolver_claim(r, number, (const struct sockaddr *)&at, instance);
}

/* Finds a number and returns its port; 0 if it is not found in time. */
static inline uint16_t find_port(struct iw_resolver *r, uint32_t number, int timeout_ms,
                                 uint64_t *instance)
{
    struct sockaddr_storage at;
    struct sockaddr_in v4;
    if (iw_resolver_find(r, number, timeout_ms, &at, instance) != 0)
        return 0;
    memcpy(&v4, &at, sizeof(v4));
    assert_int_equal(v4.sin_family, AF_INET);
    return ntohs(v4.sin_port);
}

#endif
