/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_FAR_H
#define IW_TESTS_FAR_H

/* One endpoint whose peer's octets come out of order. The peer is a framer of the tests' own.
 * Include from one test program, instead of pair.h. */

#include <stdio.h>

#include "iwarp/stream.h"
#include "mpa_support.h"
#include "pair.h"

#define REQUEST "4d504120494420526571204672616d65 40010000"
#define REPLY "4d504120494420526570204672616d65 40010000"

enum { FRAME = 20, MEMORY = 16384, TO = 0x1000 };

struct far {
    struct pair pair; /* for the allocator and the random source */
    struct iw_domain *domain;
    struct iw_endpoint *ep;
    struct iw_endpoint_config config;
    struct iw_switches switches;
    uint8_t memory[MEMORY];
    uint32_t stag;
    struct mpa_reference peer; /* the octets that the peer sends after its start-up frame */
    unsigned early, in;        /* FPDUs traced */
    uint64_t early_pos;
    size_t sent; /* octets that came out */
};

static inline void on_trace(void *context, const struct iw_trace *t)
{
    struct far *f = context;
    if (t->kind == IW_TRACE_FPDU_EARLY) {
        f->early++;
        f->early_pos = t->pos;
        assert_true(t->length > 0 && t->ulpdu_length >= t->length);
    }
    f->in += t->kind == IW_TRACE_FPDU_IN;
}

static inline void drain(struct far *f)
{
    const struct iw_iov *pieces;
    while (iw_endpoint_output(f->ep, &pieces, 0) > 0) {
        f->sent += pieces[0].length;
        iw_endpoint_sent(f->ep, pieces[0].length, 0);
    }
}

/* A responder that asks for Markers and is not yet started. */
static inline struct far *open_far(void)
{
    struct far *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->pair.allocations_left = -1;
    iw_endpoint_config_default(&f->config);
    assert_true(f->config.early_placement);
    assert_false(f->config.aligned_peer);
    f->config.role = IW_MPA_RESPONDER;
    f->config.mpa.revision = 1;
    f->config.mpa.enhanced = false;
    f->config.mpa.markers = true;
    f->config.switches = &f->switches;
    f->config.trace = on_trace;
    f->config.trace_context = f;
    return f;
}

static inline void create(struct far *f)
{
    struct iw_env env = {&f->pair, pair_alloc, pair_free,         pair_random,
                         NULL,     NULL,       iw_crc32c_portable};
    struct iw_domain_limits limits = {4, 2};
    f->domain = iw_domain_create(&env, &limits);
    assert_non_null(f->domain);
    f->config.pd = iw_domain_pd(f->domain);
    struct iw_region region = {.base = f->memory,
                               .length = sizeof(f->memory),
                               .to = TO,
                               .pd = f->config.pd,
                               .access = IW_ACCESS_REMOTE_WRITE | IW_ACCESS_REMOTE_READ |
                                         IW_ACCESS_LOCAL_WRITE};
    assert_int_equal(iw_domain_register(f->domain, &region), 0);
    f->stag = region.stag;
    f->peer = (struct mpa_reference){.markers = f->config.mpa.markers, .crc = f->config.mpa.crc};
    assert_int_equal(iw_endpoint_create(f->domain, &f->config, 0, &f->ep), IW_OK);
}

static inline void close_far(struct far *f)
{
    iw_endpoint_destroy(f->ep);
    for (unsigned n = 0; n < 2; n++) /* all pool buffers are back */
        assert_non_null(iw_domain_borrow(f->domain));
    iw_domain_destroy(f->domain);
    assert_int_equal(f->pair.allocations_live, 0);
    mpa_reference_free(&f->peer);
    free(f);
}

static inline int at_hex(struct far *f, uint64_t pos, const char *hex)
{
    uint8_t octets[256];
    struct iw_iov in = {octets, mpa_hex(octets, hex)};
    return iw_endpoint_input_at(f->ep, pos, &in, 1, 0);
}

static inline void take_event(struct far *f, enum iw_event_kind kind, enum iw_check check)
{
    struct iw_event event;
    assert_true(iw_endpoint_event(f->ep, &event));
    assert_int_equal(event.kind, kind);
    if (kind == IW_EVENT_FAULT)
        assert_int_equal(event.fault.check, check);
}

static inline void no_event(struct far *f)
{
    struct iw_event event;
    assert_false(iw_endpoint_event(f->ep, &event));
}

static inline void start(struct far *f)
{
    assert_int_equal(at_hex(f, 0, REQUEST), IW_OK);
    take_event(f, IW_EVENT_REQUEST, IW_CHECK_NONE);
    assert_int_equal(iw_endpoint_accept(f->ep, NULL, 0, 0), IW_OK);
    drain(f);
    take_event(f, IW_EVENT_ESTABLISHED, IW_CHECK_NONE);
}

/* ---- octets that the peer sends; each function returns the start of its FPDU in f->peer ---- */

static inline size_t segment(struct far *f, const char *hex, size_t length, uint8_t value)
{
    uint8_t ulpdu[4096];
    size_t begin = f->peer.length, n = mpa_hex(ulpdu, hex);
    for (size_t i = 0; i < length; i++)
        ulpdu[n + i] = (uint8_t)(value + i);
    mpa_reference_frame(&f->peer, ulpdu, n + length);
    return begin;
}

static inline size_t tagged(struct far *f, const char *control, uint64_t to, size_t length,
                            uint8_t value)
{
    char hex[64];
    snprintf(hex, sizeof(hex), "%s %08x %016llx", control, (unsigned)f->stag,
             (unsigned long long)to);
    return segment(f, hex, length, value);
}

static inline size_t put(struct far *f, uint64_t to, size_t length, uint8_t value)
{
    return tagged(f, "c140", to, length, value);
}

static inline size_t send_segment(struct far *f, unsigned msn, unsigned mo, bool last,
                                  size_t length, uint8_t value)
{
    char hex[64];
    snprintf(hex, sizeof(hex), "%s43 00000000 00000000 %08x %08x", last ? "41" : "01", msn, mo);
    return segment(f, hex, length, value);
}

static inline int give(struct far *f, size_t from, size_t to)
{
    uint8_t *copy = malloc(to - from + 1);
    assert_non_null(copy);
    memcpy(copy, f->peer.octets + from, to - from);
    struct iw_iov in[2] = {{copy, (to - from) / 2},
                           {copy + (to - from) / 2, to - from - (to - from) / 2}};
    int result = iw_endpoint_input_at(f->ep, FRAME + from, in, 2, 0);
    free(copy);
    return result;
}

static inline bool holds(const uint8_t *memory, size_t length, uint8_t value)
{
    for (size_t i = 0; i < length; i++)
        if (memory[i] != (uint8_t)(value + i))
            return false;
    return true;
}

static inline bool untouched(const struct far *f)
{
    static const uint8_t zeros[MEMORY];
    return memcmp(f->memory, zeros, MEMORY) == 0;
}

/* A started connection on which one empty Write has come, followed by a gap: another empty Write of
 * the peer's, [*gap, *after). */
static inline struct far *open_gap(size_t *gap, size_t *after)
{
    struct far *f = open_far();
    create(f);
    start(f);
    put(f, 0, 0, 0);
    *gap = put(f, 0, 0, 0);
    *after = f->peer.length;
    assert_int_equal(give(f, 0, *gap), IW_OK);
    assert_int_equal(f->in, 1);
    return f;
}

static inline void post_recv(struct far *f, uint64_t id, size_t at, size_t length)
{
    struct iw_iov sge[2] = {{f->memory + at, length / 3},
                            {f->memory + at + length / 3, length - length / 3}};
    assert_int_equal(iw_endpoint_post_recv(f->ep, id, sge, 2), IW_OK);
}

static inline void expect_completion(struct far *f, uint64_t id, uint32_t length)
{
    struct iw_completion c;
    assert_int_equal(iw_endpoint_poll(f->ep, &c, 1), 1);
    assert_int_equal(c.id, id);
    assert_int_equal(c.status, IW_STATUS_OK);
    assert_int_equal(c.length, length);
}

static inline void no_completion(struct far *f)
{
    struct iw_completion c;
    assert_int_equal(iw_endpoint_poll(f->ep, &c, 1), 0);
}

#endif
