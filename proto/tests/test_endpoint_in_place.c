/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

/* iw_endpoint_config.in_place: registered memory is sent from where it lies, and is let go. */

enum { READ = 3000, SOURCE = 16, SINK = 4096 };

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

/* What was not taken at once is sent as it was, whatever becomes of the source. */
static void test_a_source_that_goes_meanwhile(void **state)
{
    static const size_t taken[] = {0, 1, 15, 16, 17, 100, 1440, 1459, 1460, 1500, 2919, 2999, 3000};
    (void)state;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        struct pair p;
        const struct iw_iov *pieces;
        uint8_t octets[3100];
        size_t n = 0;
        open_in_place(&p, false);
        size_t count = iw_endpoint_output(p.side[1].ep, &pieces, p.now);
        assert_int_equal(lent(&p, pieces, count), READ);
        for (size_t k = 0; k < count && n < taken[i]; k++) {
            size_t step = pieces[k].length < taken[i] - n ? pieces[k].length : taken[i] - n;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_source_that_goes_meanwhile),
        cmocka_unit_test(test_a_source_under_a_crc_is_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
