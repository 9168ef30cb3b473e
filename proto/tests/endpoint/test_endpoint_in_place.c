/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

#include "endpoint/endpoint_internal.h"

/* iw_endpoint_config.in_place: registered memory is sent from where it lies, and is let go. */

enum { READ = 3600, SOURCE = 16, SINK = 4096 };

static void open_in_place(struct pair *p, bool crc)
{
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    for (int i = 0; i < 2; i++) {
        config[i].mpa.crc = crc;
        config[i].in_place = true;
    }
    pair_open(p, config);
    const struct iw_region *source = &p->side[1].region, *sink = &p->side[0].region;
    for (size_t i = 0; i < READ; i++)
        p->side[1].memory[SOURCE + i] = (uint8_t)(i * 7 + i / 256);
    struct iw_work read = {.id = 1,
                           .opcode = IW_WORK_READ,
                           .length = READ,
                           .remote_stag = source->stag,
                           .remote_to = source->to + SOURCE,
                           .sink_stag = sink->stag,
                           .sink_to = sink->to + SINK};
    assert_int_equal(iw_endpoint_post(p->side[0].ep, &read, p->now), IW_OK);
    /* Until the request is there: the answer is the caller's business. */
    while (pair_carry(p, 0) || pair_carry(p, 1)) {
        pair_collect(p, 0);
        pair_collect(p, 1);
        if (pair_event(p, 0, IW_EVENT_ESTABLISHED) != NULL) {
            assert_true(pair_carry(p, 0));
            break;
        }
    }
}

static bool within(const struct iw_iov *piece, const uint8_t *memory, size_t length)
{
    return (uint8_t *)piece->base >= memory && (uint8_t *)piece->base < memory + length;
}

/* Octets that are listed where the source lies. */
static size_t lent(const struct pair *p, const struct iw_iov *pieces, size_t count)
{
    size_t octets = 0;
    for (size_t i = 0; i < count; i++)
        if (within(&pieces[i], p->side[1].memory, PAIR_MEMORY))
            octets += pieces[i].length;
    return octets;
}

static void expect_read(struct pair *p)
{
    pair_run(p);
    const struct iw_completion *done = pair_completion(p, 0, 1);
    assert_non_null(done);
    assert_int_equal(done->status, IW_STATUS_OK);
    for (size_t i = 0; i < READ; i++)
        assert_int_equal(p->side[0].memory[SINK + i], (uint8_t)(i * 7 + i / 256));
    assert_int_equal(p->side[0].memory[SINK - 1], 0xa5);
    assert_int_equal(p->side[0].memory[SINK + READ], 0xa5);
}

/* Octets that were not sent at once are sent as they were, even if the source changes. */
static void test_a_source_that_goes_meanwhile(void **state)
{
    static const size_t taken[] = {0,    1,    15,   16,   17,   100,  1440, 1459,
                                   1460, 1500, 1859, 1860, 1861, 2919, 3000, 3600};
    (void)state;
    for (size_t i = 0; i < 2 * sizeof(taken) / sizeof(*taken); i++) {
        struct pair p;
        const struct iw_iov *pieces;
        uint8_t octets[3700];
        size_t n = 0, counts[IW_ENDPOINT_LISTS], of = taken[i / 2];
        open_in_place(&p, false);
        if (i % 2 == 1) { /* as two lists, of 1860 and 1780 octets */
            p.side[1].ep->lists_min = 0;
            iw_endpoint_set_emss(p.side[1].ep, 1861);
        }
        size_t lists = iw_endpoint_output_lists(p.side[1].ep, &pieces, counts, 2, p.now);
        assert_int_equal(lists, 1 + i % 2);
        size_t count = counts[0] + (lists > 1 ? counts[1] : 0);
        assert_int_equal(lent(&p, pieces, count), READ);
        for (size_t k = 0; k < count && n < of; k++) {
            size_t step = pieces[k].length < of - n ? pieces[k].length : of - n;
            memcpy(octets + n, pieces[k].base, step);
            n += step;
        }
        iw_endpoint_sent(p.side[1].ep, n, p.now);
        struct iw_iov in = {octets, n};
        iw_endpoint_input(p.side[0].ep, &in, 1, p.now);

        assert_int_equal(iw_domain_deregister(p.side[1].domain, p.side[1].region.stag), 0);
        memset(p.side[1].memory, 0xee, PAIR_MEMORY);
        count = iw_endpoint_output(p.side[1].ep, &pieces, p.now);
        assert_int_not_equal(count, 0);
        assert_int_equal(lent(&p, pieces, count), 0);
        expect_read(&p);
        pair_close(&p);
    }
}

/* A CRC that was made before would be wrong if the source changed before the socket took it. */
static void test_a_source_under_a_crc_is_copied(void **state)
{
    struct pair p;
    const struct iw_iov *pieces;
    (void)state;
    open_in_place(&p, true);
    size_t count = iw_endpoint_output(p.side[1].ep, &pieces, p.now);
    assert_int_not_equal(count, 0);
    assert_int_equal(lent(&p, pieces, count), 0);
    expect_read(&p);
    pair_close(&p);
}

/* ---- landing ---- */

enum { WRITE = 50000, LONG_READ = 60000 };

/* Every octet that comes is put where iw_endpoint_landing says, or else given to the input. `most`:
 * octets of one receive. Returns how many landed. */
static size_t receive_all(struct pair *p, int from, size_t most)
{
    struct pair_side *s = &p->side[from], *t = &p->side[1 - from];
    const struct iw_iov *pieces;
    size_t total = 0;
    while (iw_endpoint_output(s->ep, &pieces, p->now) > 0) {
        size_t length = pieces[0].length < most ? pieces[0].length : most;
        uint8_t *octets = malloc(length);
        assert_non_null(octets);
        memcpy(octets, pieces[0].base, length);
        iw_endpoint_sent(s->ep, length, p->now);
        void *at;
        size_t room = iw_endpoint_landing(t->ep, &at), landed = room < length ? room : length;
        if (landed > 0) {
            memcpy(at, octets, landed);
            iw_endpoint_landed(t->ep, landed, p->now);
        }
        total += landed;
        struct iw_iov in = {octets + landed, length - landed};
        iw_endpoint_input(t->ep, &in, 1, p->now);
        free(octets);
        pair_collect(p, 1 - from);
    }
    return total;
}

static void open_landing(struct pair *p, bool crc)
{
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    for (int i = 0; i < 2; i++) {
        config[i].mpa.crc = crc;
        config[i].mulpdu = 40000;
        config[i].in_place = true;
    }
    pair_open(p, config);
    pair_run(p);
    for (size_t i = 0; i < LONG_READ; i++) {
        p->side[0].memory[i] = (uint8_t)(i * 13 + i / 256);
        p->side[1].memory[SINK + WRITE + i] = (uint8_t)(i * 5 + i / 256);
    }
}

static void post_long_read(struct pair *p)
{
    struct iw_work work = {.id = 2,
                           .opcode = IW_WORK_READ,
                           .length = LONG_READ,
                           .remote_stag = p->side[1].region.stag,
                           .remote_to = p->side[1].region.to + SINK + WRITE,
                           .sink_stag = p->side[0].region.stag,
                           .sink_to = p->side[0].region.to + 100000};
    assert_int_equal(iw_endpoint_post(p->side[0].ep, &work, p->now), IW_OK);
}

/* However the octets are cut, a Write, a Send after it and a Read have their full effect. */
static void test_landing_in_any_pieces(void **state)
{
    static const size_t pieces[] = {1, 7, 16, 17, 1000, 20000, 23616, 39999, 40008, SIZE_MAX};
    (void)state;
    for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
        struct pair p;
        open_landing(&p, false);
        struct iw_iov sink = {p.side[1].memory, 8}, hello = {p.side[0].memory, 5};
        struct iw_work send = {.id = 3, .opcode = IW_WORK_SEND, .sge = &hello, .sge_count = 1};
        assert_int_equal(iw_endpoint_post_recv(p.side[1].ep, 9, &sink, 1), IW_OK);
        pair_post_write(&p, 1, SINK, WRITE);
        assert_int_equal(iw_endpoint_post(p.side[0].ep, &send, p.now), IW_OK);
        post_long_read(&p);
        size_t written = receive_all(&p, 0, pieces[i]), read = receive_all(&p, 1, pieces[i]);
        /* With whole pieces the payload comes in one, of which nothing is here before. */
        assert_true(written > 16384 && written <= 40000 - 14);
        assert_true(read > 16384);
        pair_collect(&p, 0);
        assert_int_equal(pair_completion(&p, 0, 2)->status, IW_STATUS_OK);
        assert_int_equal(pair_completion(&p, 1, 9)->length, 5);
        assert_memory_equal(p.side[1].memory, p.side[0].memory, 5);
        assert_memory_equal(p.side[1].memory + SINK, p.side[0].memory, WRITE);
        assert_int_equal(p.side[1].memory[SINK - 1], 0xa5);
        assert_memory_equal(p.side[0].memory + 100000, p.side[1].memory + SINK + WRITE, LONG_READ);
        assert_int_equal(p.side[0].memory[100000 + LONG_READ], 0xa5);
        pair_close(&p);
    }
}

/* Nothing may be placed before its CRC is seen to be good. */
static void test_no_landing_under_a_crc(void **state)
{
    struct pair p;
    (void)state;
    open_landing(&p, true);
    pair_post_write(&p, 1, SINK, WRITE);
    assert_int_equal(receive_all(&p, 0, 1000), 0);
    assert_memory_equal(p.side[1].memory + SINK, p.side[0].memory, WRITE);
    pair_close(&p);
}

/* Carries `octets` of the first FPDU, a landing included, and says what the landing is then. */
static size_t begin_landing(struct pair *p, size_t octets)
{
    const struct iw_iov *pieces;
    void *at;
    for (size_t done = 0, length; done < octets; done += length) {
        assert_int_not_equal(iw_endpoint_output(p->side[0].ep, &pieces, p->now), 0);
        length = pieces[0].length < octets - done ? pieces[0].length : octets - done;
        struct iw_iov in = {pieces[0].base, length};
        iw_endpoint_input(p->side[1].ep, &in, 1, p->now);
        iw_endpoint_sent(p->side[0].ep, length, p->now);
    }
    return iw_endpoint_landing(p->side[1].ep, &at);
}

static void test_a_sink_that_goes_meanwhile(void **state)
{
    struct pair p;
    void *at;
    (void)state;
    open_landing(&p, false);
    pair_post_write(&p, 1, SINK, WRITE);
    assert_int_equal(begin_landing(&p, 116), 40000 - 14 - 100);
    assert_int_equal(iw_domain_deregister(p.side[1].domain, p.side[1].region.stag), 0);
    memset(p.side[1].memory, 0xee, PAIR_MEMORY);
    assert_int_equal(iw_endpoint_landing(p.side[1].ep, &at), 0);
    (void)receive_all(&p, 0, 5000);
    assert_int_equal(pair_event(&p, 1, IW_EVENT_FAULT)->fault.check, IW_CHECK_DDP_STAG);
    for (size_t i = 0; i < PAIR_MEMORY; i++)
        assert_int_equal(p.side[1].memory[i], 0xee);
    pair_close(&p);
}

/* The check that would find the STag gone is switched off under way: its octets are lost. */
static void test_a_sink_that_goes_unchecked(void **state)
{
    struct pair p;
    const char *error;
    void *at;
    (void)state;
    open_landing(&p, false);
    memset(p.side[1].memory, 0xee, PAIR_MEMORY);
    pair_post_write(&p, 1, SINK, WRITE);
    assert_int_equal(begin_landing(&p, 116), 40000 - 14 - 100);
    assert_int_equal(iw_domain_deregister(p.side[1].domain, p.side[1].region.stag), 0);
    assert_int_equal(iw_switches_set(&p.side[1].switches, IW_SWITCH_IGNORE, "ddp-stag", &error), 1);
    assert_int_equal(iw_endpoint_landing(p.side[1].ep, &at), 0);
    (void)receive_all(&p, 0, 5000);
    assert_null(pair_event(&p, 1, IW_EVENT_FAULT));
    assert_memory_equal(p.side[1].memory + SINK, p.side[0].memory, 100);
    for (size_t i = SINK + 100; i < PAIR_MEMORY; i++)
        assert_int_equal(p.side[1].memory[i], 0xee);
    pair_close(&p);
}

/* The rest of the Write comes, and finds no memory: that at 0 has the beginning only. */
static void expect_no_more(struct pair *p)
{
    void *at;
    assert_int_equal(iw_endpoint_landing(p->side[1].ep, &at), 0);
    (void)receive_all(p, 0, 5000);
    const struct iw_event *fault = pair_event(p, 1, IW_EVENT_FAULT);
    assert_non_null(fault);
    assert_int_equal(fault->fault.check, IW_CHECK_DDP_STAG);
    assert_int_equal(fault->fault.pos, 28); /* after Request, length and control octets */
    assert_memory_equal(p->side[1].memory, p->side[0].memory, 100);
    for (size_t i = 100; i < PAIR_MEMORY; i++)
        assert_int_equal(p->side[1].memory[i], 0xa5);
}

/* A window that goes elsewhere gets another STag, and that of the Write is not valid any more. */
static void test_a_window_that_moves_meanwhile(void **state)
{
    struct pair p;
    (void)state;
    open_landing(&p, false);
    memset(p.side[1].memory, 0xa5, PAIR_MEMORY);
    struct iw_region parent = p.side[1].region;
    parent.access |= IW_ACCESS_BIND;
    assert_int_equal(iw_domain_register(p.side[1].domain, &parent), 0);
    struct iw_region window = {
        .to = 0x1000, .length = WRITE, .access = IW_ACCESS_REMOTE_WRITE, .stream = parent.stream};
    assert_int_equal(iw_domain_bind(p.side[1].domain, parent.stag, &window), 0);
    p.side[1].region.stag = window.stag;
    pair_post_write(&p, 1, 0, WRITE);
    assert_int_equal(begin_landing(&p, 116), 40000 - 14 - 100);
    window.to += 100000;
    assert_int_equal(iw_domain_bind(p.side[1].domain, parent.stag, &window), 0);
    expect_no_more(&p);
    pair_close(&p);
}

/* The STag is drawn again for other memory, and perhaps for the old memory in the end. */
static void test_an_stag_that_comes_again_meanwhile(void **state)
{
    (void)state;
    for (int back = 0; back < 2; back++) {
        struct pair p;
        open_landing(&p, false);
        memset(p.side[1].memory, 0xa5, PAIR_MEMORY);
        struct iw_region *r = &p.side[1].region;
        uint32_t stag = r->stag;
        pair_post_write(&p, 1, 0, WRITE);
        assert_int_equal(begin_landing(&p, 116), 40000 - 14 - 100);
        for (int i = 0; i <= back; i++) {
            uint32_t number = stag - 1u - (uint32_t)i; /* a domain adds what it has drawn before */
            assert_int_equal(iw_domain_deregister(p.side[1].domain, stag), 0);
            p.drawn = (const uint8_t *)&number;
            r->base = p.side[1].memory + (i == 0 ? 100000 : 0);
            r->length = PAIR_MEMORY - 100000;
            assert_int_equal(iw_domain_register(p.side[1].domain, r), 0);
            p.drawn = NULL;
            assert_int_equal(r->stag, stag);
            void *at;
            assert_int_equal(iw_endpoint_landing(p.side[1].ep, &at), 0);
        }
        expect_no_more(&p);
        pair_close(&p);
    }
}

static void test_no_landing_outside(void **state)
{
    struct pair p;
    (void)state;
    open_landing(&p, false);
    pair_post_write(&p, 1, PAIR_MEMORY - WRITE + 20000, WRITE);
    assert_int_equal(begin_landing(&p, 116), 0);
    (void)receive_all(&p, 0, 5000);
    assert_int_equal(pair_event(&p, 1, IW_EVENT_FAULT)->fault.check, IW_CHECK_DDP_TO_BOUNDS);
    pair_close(&p);
}

/* The peer closes inside the FPDU. */
static void test_the_end_of_a_landing_is_missed(void **state)
{
    struct pair p;
    (void)state;
    open_landing(&p, false);
    pair_post_write(&p, 1, SINK, WRITE);
    size_t room = begin_landing(&p, 116);
    assert_int_equal(room, 40000 - 14 - 100);
    iw_endpoint_landed(p.side[1].ep, room, p.now);
    iw_endpoint_input_end(p.side[1].ep, true, p.now);
    pair_collect(&p, 1);
    assert_int_equal(pair_event(&p, 1, IW_EVENT_FAULT)->fault.check, IW_CHECK_MPA_FIN_INSIDE);
    pair_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_source_that_goes_meanwhile),
        cmocka_unit_test(test_a_source_under_a_crc_is_copied),
        cmocka_unit_test(test_landing_in_any_pieces),
        cmocka_unit_test(test_no_landing_under_a_crc),
        cmocka_unit_test(test_a_sink_that_goes_meanwhile),
        cmocka_unit_test(test_a_sink_that_goes_unchecked),
        cmocka_unit_test(test_a_window_that_moves_meanwhile),
        cmocka_unit_test(test_an_stag_that_comes_again_meanwhile),
        cmocka_unit_test(test_no_landing_outside),
        cmocka_unit_test(test_the_end_of_a_landing_is_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
