/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

#include "endpoint/endpoint_internal.h"

/*
 * Segments of more than 16 KiB that are wrong, without CRC and Markers: their payload could be
 * received where it seems to belong (iw_endpoint_landing) before they are refused. Whatever is
 * wrong and however the octets come, no octet changes.
 */

enum {
    PAYLOAD = 40000,
    FIRST = 116,        /* octets that come before the rest: a header, and some payload */
    REGION_AT = 100000, /* in side 1's memory, whose other octets are guards */
    OTHER_AT = 200000,
    SINK = 1000, /* of a Read, in the region */
    ASKED = 30000,
    RECEIVE_AT = 300000,
    RECEIVE = PAYLOAD - 1
};

#define REGION_TO UINT64_C(0x100000)

/* The faults of a segment. */
struct bad {
    uint8_t ddp, rdmap;    /* control octets */
    uint32_t stag_bits;    /* of the STag that are not the region's */
    bool other;            /* the STag is that of the other region */
    uint64_t to;           /* tagged */
    uint32_t qn, msn, mo;  /* untagged */
    uint32_t payload;      /* octets */
    enum iw_check check;   /* that finds it, */
    uint32_t offset;       /* at this octet of the ULPDU, */
    uint64_t got, want;    /* with these values */
    bool in_place_of_read; /* a Read is outstanding */
};

/* Values that are known when the regions are. */
#define STAG_GOT UINT64_MAX
#define STAG_WANTED (UINT64_MAX - 1)

static const struct bad writes[] = {
    {.rdmap = 0x40,
     .to = REGION_TO + 1,
     .check = IW_CHECK_DDP_TO_BOUNDS,
     .offset = 6,
     .got = REGION_TO + 1},
    {.rdmap = 0x40,
     .to = REGION_TO - 1,
     .check = IW_CHECK_DDP_TO_BASE,
     .offset = 6,
     .got = REGION_TO - 1},
    {.rdmap = 0x40,
     .to = REGION_TO + PAYLOAD,
     .check = IW_CHECK_DDP_TO_BASE,
     .offset = 6,
     .got = REGION_TO + PAYLOAD},
    {.rdmap = 0x40,
     .to = REGION_TO + (UINT64_C(1) << 32),
     .check = IW_CHECK_DDP_TO_BASE,
     .offset = 6,
     .got = REGION_TO + (UINT64_C(1) << 32)},
    {.rdmap = 0x40,
     .to = UINT64_MAX - 100,
     .check = IW_CHECK_DDP_TO_WRAP,
     .offset = 6,
     .got = UINT64_MAX - 100},
    {.rdmap = 0x40,
     .stag_bits = 0xff,
     .to = REGION_TO,
     .check = IW_CHECK_DDP_STAG,
     .offset = 2,
     .got = STAG_GOT},
    {.rdmap = 0x40,
     .other = true,
     .to = REGION_TO,
     .check = IW_CHECK_DDP_STAG_ACCESS,
     .offset = 2,
     .got = STAG_GOT},
    {.rdmap = 0x80,
     .to = REGION_TO,
     .check = IW_CHECK_RDMAP_VERSION,
     .offset = 1,
     .got = 2,
     .want = 1},
    {.ddp = 0xc2,
     .rdmap = 0x40,
     .to = REGION_TO,
     .check = IW_CHECK_DDP_VERSION_TAGGED,
     .got = 2,
     .want = 1},
    {.rdmap = 0x43, .to = REGION_TO, .check = IW_CHECK_RDMAP_OPCODE_TAGGED, .offset = 1, .got = 3},
};

static const struct bad responses[] = {
    {.rdmap = 0x42,
     .to = REGION_TO + SINK + 1,
     .payload = ASKED,
     .check = IW_CHECK_RDMAP_RESPONSE_TO,
     .offset = 6,
     .got = REGION_TO + SINK + 1,
     .want = REGION_TO + SINK,
     .in_place_of_read = true},
    {.rdmap = 0x42,
     .to = REGION_TO + SINK - 1,
     .payload = ASKED,
     .check = IW_CHECK_RDMAP_RESPONSE_TO,
     .offset = 6,
     .got = REGION_TO + SINK - 1,
     .want = REGION_TO + SINK,
     .in_place_of_read = true},
    {.rdmap = 0x42,
     .to = REGION_TO + SINK,
     .payload = ASKED + 1,
     .check = IW_CHECK_RDMAP_RESPONSE_PAST,
     .offset = 14,
     .got = ASKED + 1,
     .want = ASKED,
     .in_place_of_read = true},
    {.rdmap = 0x42,
     .to = REGION_TO + SINK,
     .payload = ASKED - 1,
     .check = IW_CHECK_RDMAP_RESPONSE_SIZE,
     .offset = 14,
     .got = ASKED - 1,
     .want = ASKED,
     .in_place_of_read = true},
    {.rdmap = 0x42,
     .other = true,
     .to = REGION_TO + SINK,
     .payload = ASKED,
     .check = IW_CHECK_RDMAP_RESPONSE_STAG,
     .offset = 2,
     .got = STAG_GOT,
     .want = STAG_WANTED,
     .in_place_of_read = true},
    {.rdmap = 0x42,
     .stag_bits = 0xff,
     .to = REGION_TO + SINK,
     .payload = ASKED,
     .check = IW_CHECK_RDMAP_RESPONSE_STAG,
     .offset = 2,
     .got = STAG_GOT,
     .want = STAG_WANTED,
     .in_place_of_read = true},
    {.rdmap = 0x42,
     .to = REGION_TO + SINK,
     .payload = ASKED,
     .check = IW_CHECK_RDMAP_RESPONSE_UNSOLICITED,
     .offset = 1,
     .got = 0x42},
};

static const struct bad sends[] = {
    {.rdmap = 0x43,
     .msn = 1,
     .check = IW_CHECK_DDP_TOO_LONG,
     .offset = 14,
     .got = PAYLOAD,
     .want = RECEIVE},
    {.rdmap = 0x43,
     .msn = 1,
     .mo = 2,
     .payload = PAYLOAD - 2,
     .check = IW_CHECK_DDP_TOO_LONG,
     .offset = 14,
     .got = PAYLOAD,
     .want = RECEIVE},
    {.rdmap = 0x43,
     .msn = 1,
     .mo = RECEIVE + 1,
     .check = IW_CHECK_DDP_MO,
     .offset = 14,
     .got = RECEIVE + 1,
     .want = RECEIVE},
    {.rdmap = 0x43,
     .msn = 1,
     .mo = 0xffffff00,
     .check = IW_CHECK_DDP_MO,
     .offset = 14,
     .got = 0xffffff00,
     .want = RECEIVE},
    {.rdmap = 0x43,
     .msn = 2,
     .payload = RECEIVE,
     .check = IW_CHECK_DDP_MSN,
     .offset = 10,
     .got = 2,
     .want = 1},
    {.rdmap = 0x43,
     .msn = 0,
     .payload = RECEIVE,
     .check = IW_CHECK_DDP_MSN,
     .offset = 10,
     .want = 1},
    {.rdmap = 0x43,
     .qn = 1,
     .msn = 1,
     .payload = RECEIVE,
     .check = IW_CHECK_RDMAP_OPCODE_QUEUE,
     .offset = 6,
     .got = 1},
    {.rdmap = 0x43,
     .qn = 4,
     .msn = 1,
     .payload = RECEIVE,
     .check = IW_CHECK_DDP_QN,
     .offset = 6,
     .got = 4},
    {.ddp = 0x40,
     .rdmap = 0x43,
     .msn = 1,
     .payload = RECEIVE,
     .check = IW_CHECK_DDP_VERSION_UNTAGGED,
     .want = 1},
};

static struct iw_region other; /* its owner may not have it written to, but may read into it */

static void open_long(struct pair *p, bool read)
{
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    for (int i = 0; i < 2; i++) {
        config[i].mpa.crc = false;
        config[i].in_place = true;
        config[i].extensions = false;
    }
    pair_open(p, config);
    pair_post_write(p, 1, 0, 0);
    pair_run(p);
    struct pair_side *s = &p->side[1];
    assert_int_equal(iw_domain_deregister(s->domain, s->region.stag), 0);
    s->region.base = s->memory + REGION_AT;
    s->region.length = PAYLOAD;
    s->region.to = REGION_TO;
    s->region.guard = 0;
    assert_int_equal(iw_domain_register(s->domain, &s->region), 0);
    other = s->region;
    other.base = s->memory + OTHER_AT;
    other.access = IW_ACCESS_LOCAL_WRITE | IW_ACCESS_REMOTE_READ;
    assert_int_equal(iw_domain_register(s->domain, &other), 0);
    struct iw_iov receive = {s->memory + RECEIVE_AT, RECEIVE};
    assert_int_equal(iw_endpoint_post_recv(s->ep, 7, &receive, 1), IW_OK);
    struct iw_work work = {.id = 8,
                           .opcode = IW_WORK_READ,
                           .sink_stag = s->region.stag,
                           .sink_to = REGION_TO + SINK,
                           .length = ASKED};
    if (read)
        assert_int_equal(iw_endpoint_post(s->ep, &work, p->now), IW_OK);
    const struct iw_iov *pieces;
    while (iw_endpoint_output(s->ep, &pieces, p->now) > 0)
        iw_endpoint_sent(s->ep, pieces[0].length, p->now);
    memset(s->arena, 0xa5, PAIR_MEMORY + 2 * PAIR_GUARD);
}

static uint8_t *put(uint8_t *out, uint64_t value, unsigned octets)
{
    for (unsigned i = 0; i < octets; i++)
        *out++ = (uint8_t)(value >> (8 * (octets - 1 - i)));
    return out;
}

/* The FPDU that is wrong; its octets. The CRC field is not looked at. */
static size_t make(const struct pair *p, const struct bad *b, uint8_t *out)
{
    bool tagged = (b->rdmap & 0xf) != 3 || b->to != 0;
    uint32_t payload = b->payload != 0 ? b->payload : PAYLOAD;
    uint32_t stag = (b->other ? other.stag : p->side[1].region.stag) ^ b->stag_bits;
    uint8_t *at = put(out, (tagged ? 14 : 18) + payload, 2);
    *at++ = b->ddp != 0 ? b->ddp : tagged ? 0xc1 : 0x41;
    *at++ = b->rdmap;
    at = put(at, tagged ? stag : 0, 4);
    if (tagged) {
        at = put(at, b->to, 8);
    } else {
        at = put(at, b->qn, 4);
        at = put(at, b->msn, 4);
        at = put(at, b->mo, 4);
    }
    memset(at, 0xee, payload);
    at += payload;
    while ((at - out) % 4 != 0)
        *at++ = 0;
    return (size_t)(put(at, 0, 4) - out);
}

/* As a socket would hand them out: octets for which there is a landing go there. `most`: of one
 * receive. */
static void take_in(struct pair *p, const uint8_t *octets, size_t length, size_t first, size_t most)
{
    struct iw_endpoint *ep = p->side[1].ep;
    for (size_t done = 0, n; done < length; done += n) {
        void *at;
        n = done == 0 ? first : most;
        if (n > length - done)
            n = length - done;
        size_t room = iw_endpoint_landing(ep, &at), landed = room < n ? room : n;
        if (landed > 0) {
            memcpy(at, octets + done, landed);
            iw_endpoint_landed(ep, landed, p->now);
        }
        struct iw_iov in = {(uint8_t *)(uintptr_t)(octets + done + landed), n - landed};
        if (in.length > 0)
            iw_endpoint_input(ep, &in, 1, p->now);
    }
    pair_collect(p, 1);
}

static uint64_t value_of(const struct pair *p, const struct bad *b, uint64_t value)
{
    if (value == STAG_GOT)
        return b->other ? other.stag : p->side[1].region.stag ^ b->stag_bits;
    return value == STAG_WANTED ? p->side[1].region.stag : value;
}

static void expect_refused(const struct bad *list, size_t count)
{
    static const size_t ways[][2] = {
        {SIZE_MAX, SIZE_MAX}, {FIRST, SIZE_MAX}, {FIRST, 1000}, {20, 16500}, {1, 17000}};
    static uint8_t octets[PAYLOAD + 64], want[PAIR_MEMORY + 2 * PAIR_GUARD];
    memset(want, 0xa5, sizeof(want));
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof(ways) / sizeof(*ways); k++) {
            const struct bad *b = &list[i];
            struct pair p;
            open_long(&p, b->in_place_of_read);
            uint64_t start = p.side[1].ep->deframer.next;
            take_in(&p, octets, make(&p, b, octets), ways[k][0], ways[k][1]);
            const struct iw_event *fault = pair_event(&p, 1, IW_EVENT_FAULT);
            assert_non_null(fault);
            assert_int_equal(fault->fault.check, b->check);
            assert_int_equal(fault->fault.pos, start + 2 + b->offset);
            assert_int_equal(fault->fault.got, value_of(&p, b, b->got));
            assert_int_equal(fault->fault.want, value_of(&p, b, b->want));
            assert_memory_equal(p.side[1].arena, want, sizeof(want));
            for (size_t n = 0; n < p.side[1].completion_count; n++)
                assert_int_not_equal(p.side[1].completions[n].status, IW_STATUS_OK);
            pair_close(&p);
        }
}

static void test_writes(void **state)
{
    (void)state;
    expect_refused(writes, sizeof(writes) / sizeof(*writes));
}

static void test_responses(void **state)
{
    (void)state;
    expect_refused(responses, sizeof(responses) / sizeof(*responses));
}

static void test_sends(void **state)
{
    (void)state;
    expect_refused(sends, sizeof(sends) / sizeof(*sends));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writes),
        cmocka_unit_test(test_responses),
        cmocka_unit_test(test_sends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
