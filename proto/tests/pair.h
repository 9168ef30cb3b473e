/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_PAIR_H
#define IW_TESTS_PAIR_H

/*
 * Two endpoints joined without sockets, for the tests of endpoint/: a channel that delivers in
 * pieces of a chosen size and passes on FIN and RST. Virtual time. Include from one test program.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "iwarp/endpoint_transport.h"

enum { PAIR_GUARD = 64, PAIR_MEMORY = 1 << 20 };

struct pair_side {
    struct iw_domain *domain;
    struct iw_endpoint *ep;
    struct iw_switches switches;
    struct iw_event events[8];
    size_t event_count;
    struct iw_completion completions[512];
    size_t completion_count;
    uint8_t *arena; /* guard, memory, guard */
    uint8_t *memory;
    struct iw_region region;
    uint32_t seed;
    bool auto_accept;
    uint64_t octets_out;
};

struct pair {
    struct pair_side side[2]; /* 0 initiator, 1 responder */
    size_t segment;           /* octets per delivery, 0: whole pieces */
    uint64_t now;
    /* sees every octet on its way; may change it */
    void (*tap)(struct pair *p, int from, uint8_t *octets, size_t length);
    void *tap_context;
    const uint8_t *drawn;  /* the source of randomness from now on; NULL: octets go as they come */
    long allocations_left; /* the allocation that fails, counted down; negative: none */
    long allocations_live;
};

static void *pair_alloc(void *context, size_t size)
{
    struct pair *p = context;
    if (p->allocations_left == 0)
        return NULL;
    if (p->allocations_left > 0)
        p->allocations_left--;
    void *memory = malloc(size);
    assert_non_null(memory);
    p->allocations_live++;
    return memory;
}

static void pair_free(void *context, void *memory, size_t size)
{
    struct pair *p = context;
    (void)size;
    p->allocations_live--;
    free(memory);
}

static void pair_random(void *context, void *out, size_t length)
{
    struct pair *p = context;
    uint8_t *octets = out;
    for (size_t i = 0; i < length; i++) {
        p->side[0].seed = p->side[0].seed * 1664525u + 1013904223u;
        octets[i] = (uint8_t)(p->side[0].seed >> 24);
    }
    if (p->drawn != NULL)
        memcpy(out, p->drawn, length);
}

static inline void pair_defaults(struct iw_endpoint_config config[2])
{
    for (int i = 0; i < 2; i++) {
        iw_endpoint_config_default(&config[i]);
        config[i].role = i == 0 ? IW_MPA_INITIATOR : IW_MPA_RESPONDER;
    }
}

/* Opens a pair. Each side gets its own domain with one region of PAIR_MEMORY octets (all rights).
 * The start-up reads switches at creation, so they are given here; NULL for none. */
static inline void pair_open_bent(struct pair *p, const struct iw_endpoint_config config[2],
                                  const struct iw_switches *switches)
{
    memset(p, 0, sizeof(*p));
    p->allocations_left = -1;
    p->now = 1000;
    for (int i = 0; i < 2; i++) {
        struct pair_side *s = &p->side[i];
        struct iw_env env = {p, pair_alloc, pair_free, pair_random, NULL, NULL, iw_crc32c_portable};
        struct iw_domain_limits limits = {16, 2};
        struct iw_endpoint_config c = config[i];
        p->side[0].seed = 12345;
        if (switches != NULL)
            s->switches = switches[i];
        s->auto_accept = true;
        s->domain = iw_domain_create(&env, &limits);
        assert_non_null(s->domain);
        c.pd = iw_domain_pd(s->domain);
        c.switches = &s->switches;
        s->arena = malloc(PAIR_MEMORY + 2 * PAIR_GUARD);
        assert_non_null(s->arena);
        memset(s->arena, 0xa5, PAIR_MEMORY + 2 * PAIR_GUARD);
        s->memory = s->arena + PAIR_GUARD;
        s->region = (struct iw_region){
            .base = s->memory,
            .length = PAIR_MEMORY,
            .to = 0x1000,
            .guard = PAIR_GUARD,
            .pd = c.pd,
            .access = IW_ACCESS_LOCAL_WRITE | IW_ACCESS_REMOTE_READ | IW_ACCESS_REMOTE_WRITE |
                      IW_ACCESS_REMOTE_INVALIDATE | IW_ACCESS_REMOTE_ATOMIC};
        assert_int_equal(iw_domain_register(s->domain, &s->region), 0);
        assert_int_equal(iw_endpoint_create(s->domain, &c, p->now, &s->ep), IW_OK);
    }
}

static inline void pair_open(struct pair *p, const struct iw_endpoint_config config[2])
{
    pair_open_bent(p, config, NULL);
}

static inline void pair_collect(struct pair *p, int i)
{
    struct pair_side *s = &p->side[i];
    struct iw_event event;
    while (iw_endpoint_event(s->ep, &event)) {
        assert_true(s->event_count < 8);
        s->events[s->event_count++] = event;
        if (event.kind == IW_EVENT_REQUEST && s->auto_accept)
            assert_int_equal(iw_endpoint_accept(s->ep, NULL, 0, p->now), IW_OK);
        if (event.kind == IW_EVENT_PEER_CLOSED)
            iw_endpoint_shutdown(s->ep, p->now);
    }
    s->completion_count +=
        iw_endpoint_poll(s->ep, s->completions + s->completion_count, 512 - s->completion_count);
}

static inline bool pair_carry(struct pair *p, int from)
{
    struct pair_side *s = &p->side[from], *t = &p->side[1 - from];
    const struct iw_iov *pieces;
    size_t count = iw_endpoint_output(s->ep, &pieces, p->now);
    if (count == 0)
        return false;
    size_t length = pieces[0].length;
    if (p->segment != 0 && length > p->segment)
        length = p->segment;
    if (length == 0) {
        fail_msg("an empty piece to send");
        return false;
    }
    uint8_t *copy = malloc(length);
    assert_non_null(copy);
    memcpy(copy, pieces[0].base, length);
    if (p->tap != NULL)
        p->tap(p, from, copy, length);
    s->octets_out += length;
    iw_endpoint_sent(s->ep, length, p->now);
    struct iw_iov in = {copy, length};
    iw_endpoint_input(t->ep, &in, 1, p->now);
    free(copy);
    return true;
}

/* Runs until nothing moves any more. */
static inline void pair_run(struct pair *p)
{
    for (bool busy = true; busy;) {
        busy = false;
        for (int i = 0; i < 2; i++) {
            pair_collect(p, i);
            while (pair_carry(p, i)) {
                busy = true;
                pair_collect(p, 1 - i);
            }
            if (iw_endpoint_want(p->side[i].ep) == IW_WANT_FIN) {
                iw_endpoint_fin_sent(p->side[i].ep, p->now);
                iw_endpoint_input_end(p->side[1 - i].ep, true, p->now);
                busy = true;
            }
            pair_collect(p, i);
            pair_collect(p, 1 - i);
        }
    }
}

/* A Write of side 0, from the beginning of its memory to `to` octets past that of side 1's. */
static inline void pair_post_write(struct pair *p, uint64_t id, uint64_t to, uint32_t length)
{
    struct iw_iov sge = {p->side[0].memory, length};
    struct iw_work work = {.id = id,
                           .opcode = IW_WORK_WRITE,
                           .sge = &sge,
                           .sge_count = 1,
                           .remote_stag = p->side[1].region.stag,
                           .remote_to = p->side[1].region.to + to};
    assert_int_equal(iw_endpoint_post(p->side[0].ep, &work, p->now), IW_OK);
}

static inline void pair_close(struct pair *p)
{
    for (int i = 0; i < 2; i++) {
        iw_endpoint_destroy(p->side[i].ep);
        iw_domain_destroy(p->side[i].domain);
        free(p->side[i].arena);
    }
    assert_int_equal(p->allocations_live, 0);
}

static inline const struct iw_event *pair_event(const struct pair *p, int side,
                                                enum iw_event_kind kind)
{
    for (size_t i = 0; i < p->side[side].event_count; i++)
        if (p->side[side].events[i].kind == kind)
            return &p->side[side].events[i];
    return NULL;
}

static inline const struct iw_completion *pair_completion(const struct pair *p, int side,
                                                          uint64_t id)
{
    for (size_t i = 0; i < p->side[side].completion_count; i++)
        if (p->side[side].completions[i].id == id)
            return &p->side[side].completions[i];
    return NULL;
}

#endif
