/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_LONE_H
#define IW_TESTS_LONE_H

/*
 * One endpoint against literal octets: those that a peer would send, and those that must come back.
 * Include from one test program.
 */

#include "pair.h"

struct lone {
    struct pair pair; /* for the allocator and the random source */
    struct iw_domain *domain;
    struct iw_endpoint *ep;
    struct iw_switches switches;
    _Alignas(8) uint8_t memory[4096];
    uint32_t stag;
    uint8_t out[8192];
    size_t out_length;
    size_t frame; /* octets of the peer's start-up frame, once start() has fed it */
};

/* Revision 1, no Markers. */
static inline struct iw_endpoint_config lone_config(enum iw_mpa_role role, bool crc)
{
    struct iw_endpoint_config config;
    iw_endpoint_config_default(&config);
    config.role = role;
    config.mpa.crc = crc;
    config.mpa.revision = 1;
    config.mpa.enhanced = false;
    return config;
}

static inline void lone_open_as(struct lone *l, struct iw_endpoint_config config, uint32_t buffers)
{
    memset(l, 0, sizeof(*l));
    l->pair.allocations_left = -1;
    struct iw_env env = {&l->pair, pair_alloc, pair_free,         pair_random,
                         NULL,     NULL,       iw_crc32c_portable};
    struct iw_domain_limits limits = {4, buffers};
    l->domain = iw_domain_create(&env, &limits);
    assert_non_null(l->domain);
    config.pd = iw_domain_pd(l->domain);
    config.switches = &l->switches;
    struct iw_region region = {.base = l->memory,
                               .length = sizeof(l->memory),
                               .to = 0x1000,
                               .pd = config.pd,
                               .access = IW_ACCESS_REMOTE_WRITE | IW_ACCESS_REMOTE_READ |
                                         IW_ACCESS_REMOTE_INVALIDATE | IW_ACCESS_REMOTE_ATOMIC};
    assert_int_equal(iw_domain_register(l->domain, &region), 0);
    l->stag = region.stag;
    assert_int_equal(iw_endpoint_create(l->domain, &config, 0, &l->ep), IW_OK);
}

static inline void lone_open(struct lone *l, enum iw_mpa_role role, bool crc, uint32_t buffers)
{
    lone_open_as(l, lone_config(role, crc), buffers);
}

static inline void lone_close(struct lone *l)
{
    iw_endpoint_destroy(l->ep);
    iw_domain_destroy(l->domain);
    assert_int_equal(l->pair.allocations_live, 0);
}

static inline void drain(struct lone *l)
{
    const struct iw_iov *pieces;
    while (iw_endpoint_output(l->ep, &pieces, 0) > 0) {
        assert_true(l->out_length + pieces[0].length <= sizeof(l->out));
        size_t length = pieces[0].length;
        memcpy(l->out + l->out_length, pieces[0].base, length);
        l->out_length += length;
        iw_endpoint_sent(l->ep, length, 0);
    }
}

/* "SSSS" stands for the STag. */
static inline size_t unhex(const struct lone *l, const char *hex, uint8_t *out, size_t room)
{
    size_t n = 0;
    for (const char *p = hex; *p != '\0';) {
        if (*p == ' ') {
            p++;
            continue;
        }
        if (*p == 'S') {
            assert_true(strncmp(p, "SSSS", 4) == 0 && n + 4 <= room);
            for (unsigned i = 0; i < 4; i++)
                out[n++] = (uint8_t)(l->stag >> (24 - 8 * i));
            p += 4;
            continue;
        }
        char pair[3] = {p[0], p[1], '\0'};
        assert_true(n < room);
        out[n++] = (uint8_t)strtoul(pair, NULL, 16);
        p += 2;
    }
    return n;
}

static inline void feed(struct lone *l, const char *hex)
{
    uint8_t octets[1024];
    struct iw_iov in = {octets, unhex(l, hex, octets, sizeof(octets))};
    iw_endpoint_input(l->ep, &in, 1, 0);
    drain(l);
}

static inline void expect(struct lone *l, const char *hex)
{
    uint8_t want[1024];
    size_t length = unhex(l, hex, want, sizeof(want));
    assert_int_equal(l->out_length, length);
    assert_memory_equal(l->out, want, length);
    l->out_length = 0;
}

#define REQUEST "4d504120494420526571204672616d65 40010000"
#define REPLY "4d504120494420526570204672616d65 40010000"
#define REQUEST_NO_CRC "4d504120494420526571204672616d65 00010000"
#define REPLY_NO_CRC "4d504120494420526570204672616d65 00010000"
/* FPDUs with their CRCs. */
#define EMPTY_SEND "00124143 00000000 00000000 00000001 00000000 587be8c4"
#define BAD_WRITE "0012c140 11223344 00000000 00001000 deadbeef b75a39ef"
#define BAD_READ                                                                                   \
    "002e4141 00000000 00000001 00000001 00000000 aabbccdd 00000000 00002000 00000040 11223344 "   \
    "00000000 00001000 c453059c"
#define TERM_CRC "00164147 00000000 00000002 00000001 00000000 20020000 7fe42585"
#define TERM_STAG                                                                                  \
    "00264147 00000000 00000002 00000001 00000000 1100c000 0012c140 11223344 00000000 00001000 "   \
    "b5f74601"

static inline void start(struct lone *l, bool crc)
{
    struct iw_event event;
    l->frame = 20;
    feed(l, crc ? REQUEST : REQUEST_NO_CRC);
    assert_true(iw_endpoint_event(l->ep, &event));
    assert_int_equal(event.kind, IW_EVENT_REQUEST);
    assert_int_equal(iw_endpoint_accept(l->ep, NULL, 0, 0), IW_OK);
    drain(l);
    expect(l, crc ? REPLY : REPLY_NO_CRC);
    assert_true(iw_endpoint_event(l->ep, &event));
    assert_int_equal(event.kind, IW_EVENT_ESTABLISHED);
}

/* `pos`: counted from the first octet after the start-up frame, or without start() from the peer's
 * first. */
static inline void expect_fault(struct lone *l, enum iw_check check, uint64_t pos)
{
    struct iw_event event;
    do
        assert_true(iw_endpoint_event(l->ep, &event));
    while (event.kind != IW_EVENT_FAULT);
    assert_int_equal(event.fault.check, check);
    assert_int_equal(event.fault.pos, l->frame + pos);
}

#endif
