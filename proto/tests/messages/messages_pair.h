/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_MESSAGES_PAIR_H
#define IW_TESTS_MESSAGES_PAIR_H

/* Ends of iwarp/messages.h in one process, on the loopback interface. Include from one program. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>

#include "iwarp/messages.h"

enum { GUARD_MS = 120000 }; /* against hanging */

struct world_end {
    struct iw_messages *m;
    struct iw_service *s;
    struct sockaddr_storage at;
};

static inline struct iw_messages_config loopback(struct sockaddr_in *at)
{
    *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return (struct iw_messages_config){.listen = (const struct sockaddr *)at};
}

static inline void open_end(struct world_end *e, const struct iw_messages_config *config,
                            uint32_t number)
{
    char error[200] = "";
    if (iw_messages_open(config, &e->m, error, sizeof(error)) != 0)
        fail_msg("%s", error);
    assert_true(iw_messages_address(e->m, &e->at) > 0);
    assert_int_equal(iw_messages_service(e->m, number, &e->s), 0);
}

/* Two ends with the services 1 and 2; the first one knows where 2 is. */
static inline void open_pair(struct world_end *a, struct world_end *b)
{
    struct sockaddr_in at;
    const struct iw_messages_config config = loopback(&at);
    open_end(a, &config, 1);
    open_end(b, &config, 2);
    assert_int_equal(iw_messages_place(a->m, 2, (const struct sockaddr *)&b->at), 0);
}

static inline void close_pair(struct world_end *a, struct world_end *b)
{
    iw_messages_close(a->m);
    iw_messages_close(b->m);
}

static inline int send_octets(struct iw_service *s, uint32_t to, const void *octets, size_t length,
                              unsigned flags, uint64_t tag)
{
    const struct iovec piece = {(void *)(uintptr_t)octets, length};
    return iw_messages_send(s, to, &piece, 1, flags, tag);
}

static inline struct iw_message receive(struct iw_service *s)
{
    struct iw_message got;
    if (iw_messages_receive(s, &got, GUARD_MS) != 0)
        fail_msg("receive: %s", strerror(errno));
    return got;
}

/* What octet `at` of the message `which` is. */
static inline uint8_t octet(uint32_t which, size_t at)
{
    return (uint8_t)(which * 37 + at * 7 + (at >> 8) * 13 + (at >> 16));
}

static inline void fill_octets(uint8_t *out, uint32_t which, size_t from, size_t length)
{
    for (size_t i = 0; i < length; i++)
        out[i] = octet(which, from + i);
}

static inline bool right_octets(const uint8_t *octets, uint32_t which, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (octets[i] != octet(which, i))
            return false;
    return true;
}

#endif
