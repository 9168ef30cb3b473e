/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_LONE_PLAY_H
#define IW_TESTS_LONE_PLAY_H

/*
 * Conversations of a peer with one endpoint, as literal octets, and the fault that the endpoint
 * finds in them. Include from one test program.
 */

#include "lone_ulpdu.h"

#define REQ "4d504120494420526571204672616d65 "
#define REP "4d504120494420526570204672616d65 "

/* The configuration of the endpoint and its posted work, in addition to the defaults of lone.h:
 * CRCs and Markers off, revision 1, client-server, IRD and ORD 16. */
enum {
    INITIATOR = 1 << 0, /* else the responder */
    CRC = 1 << 1,
    MARKERS = 1 << 2, /* it receives them */
    REV_2 = 1 << 3,
    PEER_TO_PEER = 1 << 4,   /* enhanced; of the forms it has Send alone */
    DEPTH_1 = 1 << 5,        /* IRD 1, ORD 1 */
    SHORT = 1 << 6,          /* MULPDU 128 */
    RECV = 1 << 7,           /* two receives of 8 octets each, at the beginning of its memory */
    READ = 1 << 8,           /* a Read of 8 octets to TO 0x1000 of its region */
    ADD_1 = 1 << 9,          /* an atomic, after that */
    SENDS = 1 << 10,         /* an empty Send that cannot leave before the peer's first FPDU */
    NO_POOL = 1 << 11,       /* of buffers */
    ODD_PD = 1 << 12,        /* its region belongs to another PD, */
    ODD_STREAM = 1 << 13,    /* to another stream, */
    NO_ACCESS = 1 << 14,     /* gives no right to the peer, */
    NO_INVALIDATE = 1 << 15, /* may not be invalidated by it */
    LEFT_TO_ULP = 1 << 16,   /* IRD and ORD 0x3fff */
    READ_0 = 1 << 17,        /* a Read of no octet */
    REV_2_PLAIN = 1 << 18    /* revision 2, not enhanced */
};

enum { PLAY_STEPS = 6 };

/*
 * One step is one input. It begins with a letter, or it is a ULPDU:
 *   s  octets of a start-up; without any, frames that suit the configuration are exchanged first
 *   x  octets of full operation
 *   F  FIN        L  loss of the connection        T  the deadline passes
 */
struct play {
    enum iw_check check;
    unsigned flags;
    const char *steps[PLAY_STEPS];
    uint64_t pos, got, want;
};

/* In `got` and `want`: the STag of the endpoint's region. */
#define OWN_STAG (UINT64_MAX - 1)

static inline struct iw_endpoint_config play_config(unsigned flags)
{
    struct iw_endpoint_config c = lone_config(
        (flags & INITIATOR) != 0 ? IW_MPA_INITIATOR : IW_MPA_RESPONDER, (flags & CRC) != 0);
    c.mpa.markers = (flags & MARKERS) != 0;
    if ((flags & (REV_2 | PEER_TO_PEER)) != 0) {
        c.mpa.revision = 2;
        c.mpa.enhanced = true;
    }
    if ((flags & REV_2_PLAIN) != 0)
        c.mpa.revision = 2;
    if ((flags & PEER_TO_PEER) != 0) {
        c.mpa.peer_to_peer = (flags & INITIATOR) != 0;
        c.mpa.rtr = IW_MPA_RTR_SEND;
    }
    if ((flags & DEPTH_1) != 0)
        c.mpa.ird = c.mpa.ord = 1;
    if ((flags & LEFT_TO_ULP) != 0)
        c.mpa.ird = c.mpa.ord = 0x3fff;
    if ((flags & SHORT) != 0)
        c.mulpdu = 128;
    return c;
}

static inline void play_region(struct lone *l, unsigned flags)
{
    struct iw_region r;
    assert_true(iw_domain_lookup(l->domain, l->stag, &r));
    if ((flags & ODD_PD) != 0)
        r.pd = iw_domain_pd(l->domain);
    if ((flags & ODD_STREAM) != 0)
        r.stream = iw_domain_stream(l->domain);
    if ((flags & NO_ACCESS) != 0)
        r.access = 0;
    if ((flags & NO_INVALIDATE) != 0)
        r.access &= ~IW_ACCESS_REMOTE_INVALIDATE;
    assert_int_equal(iw_domain_register(l->domain, &r), 0);
    l->stag = r.stag;
}

static inline void play_work(struct lone *l, unsigned flags)
{
    struct iw_work read = {
        .id = 11, .opcode = IW_WORK_READ, .sink_stag = l->stag, .sink_to = 0x1000, .length = 8};
    if ((flags & RECV) != 0) {
        post_recv(l, 1, 0, 8);
        post_recv(l, 2, 8, 8);
    }
    if ((flags & READ_0) != 0)
        read.length = 0;
    if ((flags & (READ | READ_0)) != 0)
        assert_int_equal(post(l, read), IW_OK);
    if ((flags & ADD_1) != 0)
        post_add(l, 12, 1);
    if ((flags & SENDS) != 0)
        assert_int_equal(post(l, (struct iw_work){.id = 13, .opcode = IW_WORK_SEND}), IW_OK);
}

static inline void play_octets(struct lone *l, const char *hex)
{
    uint8_t octets[1500];
    size_t length = unhex(l, hex, octets, sizeof(octets));
    uint8_t *copy = malloc(length + 1); /* octets that are not there cannot be read */
    assert_non_null(copy);
    memcpy(copy, octets, length);
    struct iw_iov in = {copy, length};
    iw_endpoint_input(l->ep, &in, 1, 0);
    free(copy);
}

static inline void play_startup(struct lone *l, const char *hex)
{
    play_octets(l, hex);
    if (iw_endpoint_accept(l->ep, NULL, 0, 0) == IW_OK)
        drain(l);
}

static inline const char *play_default(unsigned flags)
{
    bool initiator = (flags & INITIATOR) != 0;
    if ((flags & PEER_TO_PEER) != 0)
        return initiator ? REP "10020004 c0100010" : REQ "10020004 c0100010";
    if ((flags & REV_2) != 0)
        return initiator ? REP "10020004 00100010" : REQ "10020004 00100010";
    return initiator ? REP "00010000" : REQ "00010000";
}

static inline void play_step(struct lone *l, const char *step)
{
    uint8_t octets[1100];
    struct iw_iov in = {octets, 0};
    switch (step[0]) {
    case 's':
        play_startup(l, step + 1);
        break;
    case 'x':
        play_octets(l, step + 1);
        break;
    case 'F':
    case 'L':
        iw_endpoint_input_end(l->ep, step[0] == 'F', 0);
        break;
    case 'T':
        iw_endpoint_tick(l->ep, iw_endpoint_deadline(l->ep));
        break;
    default:
        in.length = frame(l, step, octets, sizeof(octets));
        iw_endpoint_input(l->ep, &in, 1, 0);
        break;
    }
    drain(l);
}

static inline void play_open(struct lone *l, unsigned flags)
{
    lone_open_as(l, play_config(flags), (flags & NO_POOL) != 0 ? 0 : 2);
    play_region(l, flags);
}

/* Plays all steps; `l` is open. Returns the fault found, of check IW_CHECK_NONE if there was none.
 */
static inline struct iw_fault play_steps(struct lone *l, unsigned flags, const char *const *steps)
{
    struct iw_event event;
    drain(l);
    if (steps[0] == NULL || steps[0][0] != 's') {
        play_startup(l, play_default(flags));
        l->frame = (flags & (REV_2 | PEER_TO_PEER)) != 0 ? 24 : 20;
    }
    play_work(l, flags);
    drain(l);
    for (size_t i = 0; i < PLAY_STEPS && steps[i] != NULL; i++)
        play_step(l, steps[i]);
    struct iw_fault fault = {.check = IW_CHECK_NONE};
    while (iw_endpoint_event(l->ep, &event))
        if (event.fault.check != IW_CHECK_NONE)
            fault = event.fault;
    return fault;
}

static inline uint64_t play_value(const struct lone *l, uint64_t value)
{
    return value == OWN_STAG ? l->stag : value;
}

static inline void play_expect(const struct lone *l, const struct play *row, struct iw_fault fault)
{
    uint64_t got = play_value(l, row->got), want = play_value(l, row->want);
    if (fault.check != row->check || fault.pos != l->frame + row->pos || fault.got != got ||
        fault.want != want)
        fail_msg("%s, %s: %s at %llu, got %llx, want %llx", iw_check_info(row->check)->name,
                 row->steps[0], iw_check_info(fault.check)->name, (unsigned long long)fault.pos,
                 (unsigned long long)fault.got, (unsigned long long)fault.want);
}

#endif
